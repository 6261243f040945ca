#include "cairn/core/diagnostics.h"

#include "cairn/core/assert.h"
#include "catch.h"

using namespace cairn::core;

TEST_CASE("a diagnostic is one line: place, severity, key path, message, hint") {
  Diagnostic d{.severity = Severity::error,
               .file = "configs/x.yaml",
               .line = 12,
               .column = 7,
               .key_path = "inter.bandwdith",
               .message = "unknown key",
               .hint = "did you mean 'bandwidth'?"};
  CHECK(d.to_string() == "configs/x.yaml:12:7: error: inter.bandwdith: unknown key (did you mean 'bandwidth'?)");
  d.severity = Severity::warning;
  d.hint.clear();
  CHECK(d.to_string() == "configs/x.yaml:12:7: warning: inter.bandwdith: unknown key");
  d.line = 0;
  CHECK(d.to_string() == "configs/x.yaml: warning: inter.bandwdith: unknown key");
  d.key_path.clear();
  CHECK(d.to_string() == "configs/x.yaml: warning: unknown key");
  d.file.clear();
  CHECK(d.to_string() == "warning: unknown key");
}

TEST_CASE("what was meant: slips of typing, versions, beginnings") {
  const std::vector<std::string> models{"llama-2-70b", "llama-3.1-405b", "llama-3.1-70b", "llama-3.1-8b", "gpt3-175b"};
  CHECK(nearest("llama-3-70b", models) == "llama-3.1-70b");
  CHECK(nearest("llama3-70b", models) == "llama-3.1-70b");
  CHECK(nearest("llama-2-7b", models) == "llama-2-70b");
  CHECK(nearest("gpt-3-175b", models) == "gpt3-175b");
  CHECK(nearest("mixtral", models).empty());
  const std::vector<std::string> chips{"gb200-nvl72", "h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb"};
  CHECK(nearest("h200", chips) == "h200-sxm-141gb");
  CHECK(nearest("H100", chips) == "h100-sxm5-80gb");
  CHECK(nearest("b200", chips) == "b200-sxm-180gb");  // its beginning, not the middle of gb200
  CHECK(nearest("h1", chips).empty());
  CHECK(nearest("bf17", {"fp8", "bf16"}) == "bf16");
  CHECK(nearest_first("sweep", {"run", "search", "bound", "schema"}).front() != "bound");
}

TEST_CASE("diagnostics are raised together, warnings alone are not raised") {
  Diagnostics collected;
  collected.add({.severity = Severity::warning, .file = {}, .key_path = {}, .message = "first", .hint = {}});
  CHECK_FALSE(collected.has_errors());
  CHECK_NOTHROW(collected.raise_if_errors());
  collected.add({.severity = Severity::error, .file = {}, .key_path = "a", .message = "second", .hint = {}});
  collected.add({.severity = Severity::error, .file = {}, .key_path = "b", .message = "third", .hint = {}});
  CHECK(collected.error_count() == 2);
  try {
    collected.raise_if_errors();
    FAIL("not raised");
  } catch (const ConfigurationError& error) {
    CHECK(error.diagnostics().size() == 3);
    CHECK(std::string(error.what()) == "warning: first\nerror: a: second\nerror: b: third");
  }
}

TEST_CASE("a single configuration error needs no place") {
  const ConfigurationError error("strategy.tp", "0 is out of range", "at least 1 is due");
  CHECK(std::string(error.what()) == "error: strategy.tp: 0 is out of range (at least 1 is due)");
}

TEST_CASE("nearest names what was probably meant, and nothing when nothing is near") {
  const std::vector<std::string> keys = {"bandwidth", "latency", "kind"};
  CHECK(nearest("bandwdith", keys) == "bandwidth");  // two letters exchanged: distance 2, allowed 1 + 9/4 = 3
  CHECK(nearest("latncy", keys) == "latency");
  CHECK(nearest("kindd", keys) == "kind");
  CHECK(nearest("xyz", keys) == "");
  CHECK(nearest("kxnx", keys) == "kind");  // distance 2, allowed 1 + 4/4 = 2
  CHECK(nearest("kxxx", keys) == "");      // distance 3
  CHECK(nearest("kind", {}) == "");
  CHECK(nearest("ab", {"ac", "ad"}) == "ac");  // the first of equals
}

TEST_CASE("a broken invariant names the place and is no user error") {
  const auto broken = [] { CAIRN_ASSERT(1 + 1 == 3); };
  try {
    broken();
    FAIL("not raised");
  } catch (const InternalError& error) {
    CHECK(std::string(error.what()).find("test_diagnostics.cpp") != std::string::npos);
    CHECK(std::string(error.what()).find("invariant broken: 1 + 1 == 3") != std::string::npos);
  }
}
