// `cairn config template`: a file that works as it is, with every key in it.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

std::string filled(const std::string& kind) {
  const std::string file = scratch() + "/template-" + kind + ".yaml";
  const Outcome outcome = run({"config", "template", kind, "-o", file});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return file;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

json answer(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  arguments.emplace_back("-q");
  const Outcome outcome = run(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.code <= 1);
  return json::parse(outcome.out);
}

json result_of(std::vector<std::string> arguments) { return answer(std::move(arguments)).at("result"); }

}  // namespace

TEST_CASE("A template is what it says it begins with") {
  const std::string k_job = "llama3-8b-fsdp-dgx-h100";
  CHECK(result_of({"run", filled("experiment")}) == result_of({"run", "llama3-70b-64xdgx-h100"}));
  CHECK(result_of({"run", k_job, "--set", "cluster=" + filled("cluster")}) == result_of({"run", k_job}));
  CHECK(result_of({"run", k_job, "--set", "model=" + filled("model")}) == result_of({"run", k_job}));
  const auto bound = [&](const std::string& accelerator) {
    return answer({"bound", "matmul m=4096 n=4096 k=4096", "--accelerator", accelerator});
  };
  CHECK(bound(filled("accelerator")) == bound("h100-sxm5-80gb"));
}

TEST_CASE("A template has every key, and what it means") {
  for (const char* kind : {"experiment", "model", "cluster", "accelerator"}) {
    const std::string text = content(filled(kind));
    const auto check = [&](const auto& self, const json& schema) -> void {
      const json properties = schema.value("properties", json::object());
      for (const auto& [key, each] : properties.items()) {
        if (key == "extends") continue;
        INFO(kind << " " << key);
        CHECK((holds(text, " " + key + ":") || holds(text, "\n" + key + ":")));
        CHECK(holds(text, " # " + each.value("description", "?")));
        self(self, each);
      }
    };
    check(check, json::parse(run({"schema", kind}).out));
  }
}
