// Mutated files never crash, hang or pass an exception other than ConfigurationError. Seeded: every run is the same.
#include <string>
#include <vector>

#include "cairn/core/random.h"
#include "catch.h"
#include "described.h"

using namespace described;

namespace {

const char* const k_yaml =
    "flag: true\nnodes: 64\nratio: 0.5\nname: \"a b\"\nmemory: 80 GiB\nweights: [1, 2.5]\n"
    "intra: &link {kind: star, bandwidth: 400 Gb/s, latency: 3.5 us}\n"
    "levels:\n  - *link\n  - bandwidth: {value: 50 GB/s, source: measured, ref: t}\n"
    "named: {b: {bandwidth: 1 B/s}}\nzero: {stage: 2}\nstages: even # comment\nextra:\n  - |\n    text\n  - 'x'\n";
const char* const k_json =
    "{\"flag\": true, \"nodes\": 64, \"ratio\": 5e-1, \"name\": \"a\\u00e9\",\n \"intra\": {\"bandwidth\": \"1 "
    "GB/s\"},\n"
    " \"levels\": [{\"bandwidth\": \"1 B/s\"}], \"zero\": 1, \"stages\": [7, 8], \"extra\": {\"a\": [null, false]}}";

std::string mutate(std::string text, core::Random& random) {
  static const std::vector<std::string> pieces = {
      "{",  "}", "[",   "]",     ": ",    "- ", "\n",   "  ", "&a ", "*a",       "*link",
      "\"", "'", "|\n", "#",     "!!x ",  "? ", "<<: ", "\t", ",",   "\xc3\xa9", "\xff",
      "%",  "@", "~",   "---\n", "...\n", "0",  "-",    "\\", "\\u", "1e999",    "nan"};
  const std::size_t edits = 1 + random.below(3);
  for (std::size_t i = 0; i < edits && !text.empty(); ++i) {
    const std::size_t at = random.below(text.size());
    switch (random.below(4)) {
      case 0:
        text.erase(at, 1 + random.below(8));
        break;
      case 1:
        text.insert(at, pieces[random.below(pieces.size())]);
        break;
      case 2:
        text[at] = static_cast<char>(random.below(256));
        break;
      default:
        text.insert(at, text.substr(random.below(text.size()), 1 + random.below(40)));
        break;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("mutated files end in a structure or in errors with a message") {
  core::Random random(20240229);
  int accepted = 0;
  const int rounds = 4000;
  for (int i = 0; i < rounds; ++i) {
    const bool json = i % 3 == 0;
    const std::string text = mutate(json ? k_json : k_yaml, random);
    core::Diagnostics diagnostics;
    try {
      const config::Node node =
          config::parse_text(text, json ? config::Syntax::json : config::Syntax::yaml, "fuzz", diagnostics);
      Everything e;
      config::read(node, e, diagnostics);
      if (!diagnostics.has_errors()) {
        ++accepted;
        // What was accepted can be written and read again.
        config::read<Everything>(config::parse_text(config::to_json(e), config::Syntax::json, "again", diagnostics));
      }
      for (const core::Diagnostic& diagnostic : diagnostics.all()) REQUIRE_FALSE(diagnostic.message.empty());
    } catch (const std::exception& problem) {
      FAIL("round " << i << ": " << problem.what() << "\n" << text);
    }
  }
  // The mutations must be neither all harmless nor all fatal.
  CHECK(accepted > rounds / 50);
  CHECK(accepted < rounds / 2);
}

TEST_CASE("mutated overrides end in a tree or in errors") {
  core::Random random(7);
  for (int i = 0; i < 2000; ++i) {
    core::Diagnostics diagnostics;
    config::Node node = config::parse_text(k_yaml, config::Syntax::yaml, "fuzz", diagnostics);
    const std::string assignment = mutate("levels[1].bandwidth={value: 5 GB/s}", random);
    INFO(assignment);
    REQUIRE_NOTHROW(config::apply_override(node, assignment, diagnostics));
  }
}

TEST_CASE("long repetitions take no more than a moment") {
  for (const char* piece : {"[", "{", "- ", "? ", "a: ", "&a ", "{a", "[a: ", "'", "\"\\n", "- [", "|\n", "\n ", "#\n",
                            ", ", "*a ", "!x ", "%x\n"}) {
    std::string text;
    while (text.size() < 20000) text += piece;
    core::Diagnostics diagnostics;
    INFO(piece);
    REQUIRE_NOTHROW(config::parse_text(text, config::Syntax::yaml, "long", diagnostics));
    REQUIRE_NOTHROW(config::parse_text(text, config::Syntax::json, "long", diagnostics));
  }
}
