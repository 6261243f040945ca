// The document and the text of a difference say what the answer holds.
#include "cairn/report/diff.h"

#include <nlohmann/json.hpp>

#include "cairn/report/rows.h"
#include "cairn/report/schema.h"
#include "catch.h"
#include "support/conforms.h"

namespace {

using namespace cairn;

using Catch::Matchers::Contains;

// 9 s against 10.31 s: 1.2 s of transfers and 0.11 s of computation more; by two settings, of which one is two keys.
contrast::Answer slower_answer() {
  constexpr core::Picoseconds k_second = 1'000'000'000'000;
  contrast::Answer made;
  made.a.file = "a.yaml";
  made.a.time = made.a.time_now = 9 * k_second;
  made.b.file = "b.yaml";
  made.b.name = "the other\x1b[31m";
  made.b.time = made.b.time_now = 10 * k_second + k_second / 100 * 31;
  made.b.fits = false;
  made.parts = {{.term = "tp_exposed", .a = k_second, .b = 2 * k_second + k_second / 5},
                {.term = "compute", .a = 8 * k_second, .b = 8 * k_second + k_second / 100 * 11}};
  made.shares = {
      {.settings = {{.key = "strategy.tp", .a = "4", .b = "8"}, {.key = "strategy.pp", .a = "4", .b = "2"}},
       .reasons = {"strategy.tp: 32 ranks"},
       .time = k_second},
      {.settings = {{.key = "strategy.stages", .a = "", .b = "balanced"}}, .reasons = {}, .time = k_second / 100 * 31}};
  made.untimed = {{.key = "name", .a = "", .b = "the other"}};
  made.runs = 4;
  return made;
}

}  // namespace

TEST_CASE("Terms of differences are the keys of a run's time") {
  const auto schema = nlohmann::ordered_json::parse(report::run_schema());
  const nlohmann::ordered_json& terms =
      schema.at(nlohmann::ordered_json::json_pointer("/properties/result/properties/time_s/properties"));
  std::vector<std::string> keys;
  for (const auto& [key, value] : terms.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>(contrast::k_terms.begin(), contrast::k_terms.end()));
}

TEST_CASE("The document of a difference is as its schema says, and has its figures") {
  const contrast::Answer made = slower_answer();
  const std::string text = report::json({.answer = made, .tool = {.version = "1", .build = "test"}});
  const nlohmann::json document = nlohmann::json::parse(text);
  test::conforms(nlohmann::json::parse(report::diff_schema()), document, "");
  const nlohmann::json& result = document.at("result");
  CHECK(result.at("difference_ps") == 1'310'000'000'000);
  CHECK(result.at("causes").is_null());
  CHECK(result.at("settings")[0].at("keys") == nlohmann::json({"strategy.tp", "strategy.pp"}));
  CHECK(result.at("sentence") == "B is 1.31 s (14.6 %) slower than A: 9 s -> 10.31 s");
  const report::Rows rows = report::rows(text);
  CHECK(rows.records.size() == 2);
}

TEST_CASE("The text begins with the answer, and escapes what is not printable") {
  const contrast::Answer made = slower_answer();
  const std::string text = report::text({.answer = made, .tool = {}});
  CHECK_THAT(text, Catch::Matchers::StartsWith("B is 1.31 s (14.6 %) slower than A: 9 s -> 10.31 s\n"));
  for (const char* words : {"tp exposed", "+1.200 s", "4 -> 8", "together", "not one by one: strategy.tp: 32 ranks",
                            "left out -> balanced", "does not fit", "the mean of all orders of change"})
    CHECK_THAT(text, Contains(words));
  CHECK(text.find('\x1b') == std::string::npos);
  contrast::Answer beyond = slower_answer();
  beyond.parts.push_back({.term = "other", .a = 0, .b = -1'000'000'000'000});
  CHECK_THAT(report::text({.answer = beyond, .tool = {}}), Contains("-1.000 s    -1.000 s"));
}
