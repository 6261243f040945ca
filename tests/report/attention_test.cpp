#include "cairn/report/attention.h"

#include <algorithm>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "cairn/experiment/parts.h"
#include "catch.h"
#include "report/conforms.h"
#include "report/small_run.h"

using namespace cairn;
using nlohmann::json;
using report_tests::columns;
using report_tests::conforms;
using report_tests::k_tool;
using report_tests::loader;

namespace {

attention::Request attention_request(std::int64_t nodes, std::int64_t tokens) {
  const hardware::Machine machine = hardware::load_machine(loader(), "dgx-h100", {"nodes=" + std::to_string(nodes)});
  return {.accelerator = machine.accelerator.value,
          .network = machine.network,
          .calibration = experiment::load_calibrated(loader(), machine).calibration,
          .tokens = tokens,
          .heads = 8,
          .kv_heads = 2,
          .kernel = models::AttentionKernel::flash2};
}

report::AttentionAnswer attention_of(std::vector<attention::Request> requests, bool proved = false) {
  report::AttentionAnswer answer{.cluster = "DGX H100", .accelerator = "H100", .kernel = "flash2"};
  for (const attention::Request& request : requests) {
    answer.points.push_back(attention::compare(request));
    if (proved) attention::prove(answer.points.back());
  }
  return answer;
}

void fits_a_terminal(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(columns(line) <= 100);
    CHECK((line.empty() || line.back() != ' '));
  }
}

}  // namespace

TEST_CASE("Ways of sharing attention as JSON are what their schema says") {
  attention::Request forward = attention_request(1, 4096);
  forward.backward = false;
  for (const report::AttentionAnswer& answer :
       {attention_of({attention_request(2, 4096)}, true), attention_of({forward}),
        attention_of({attention_request(1, 1001)})})  // nothing can be shared
    conforms(json::parse(report::attention_schema()), json::parse(report::json(answer, k_tool)), "");
  const json several =
      json::parse(report::json(attention_of({attention_request(1, 4096), attention_request(2, 4096)}), k_tool));
  conforms(json::parse(report::attention_comparison_schema()), several, "");
  conforms(json::parse(report::attention_schemes_schema()), json::parse(report::attention_schemes_json(k_tool)), "");
  CHECK(several["points"][1]["gpus"] == 16);
  // Backward was not asked for.
  const json alone = json::parse(report::json(attention_of({forward}), k_tool));
  for (const json& way : alone["schemes"]) {
    if (way["feasible"]) CHECK(way["time_s"]["backward"] == 0.0);
    CHECK(way["backward_ratio_to_lower_bound"].is_null());
  }
}

TEST_CASE("Ways of sharing attention as text fit a screen, the best first") {
  const report::AttentionAnswer answer = attention_of({attention_request(2, 4096)}, true);
  const std::string text = report::text(answer);
  fits_a_terminal(text);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 24);
  const attention::Way& best = *answer.points.front().best();
  CHECK(text.starts_with(std::string(best.scheme->name) + " on " + sequence::text(best.grid) + ": "));
  CHECK(text.find("not ulysses, megatron-a2a: 16 ranks cannot split 8 heads") != std::string::npos);
  const std::string full = report::text(answer, {.full = true});
  fits_a_terminal(full);
  CHECK(full.find("Assumptions") != std::string::npos);
  // All grids of one scheme.
  attention::Request one = attention_request(2, 4096);
  one.choice.scheme = "attention2d";
  CHECK(report::text(attention_of({one})).find("4 x 4 (striped)") != std::string::npos);
  const std::string several =
      report::text(attention_of({attention_request(1, 4096), attention_request(1, 8192), attention_request(2, 1001)}));
  fits_a_terminal(several);
  CHECK(several.find("8,192") != std::string::npos);
  CHECK(several.find("pad to") != std::string::npos);
  fits_a_terminal(report::attention_schemes_text());
}

TEST_CASE("A picture of attention has a panel for each number of GPUs and a line for each way that differs") {
  const report::AttentionAnswer answer = attention_of(
      {attention_request(1, 4096), attention_request(1, 8192), attention_request(2, 4096), attention_request(2, 8192)});
  const std::string svg = report::svg(answer);
  CHECK(svg.starts_with("<svg "));
  for (const char* said : {">8 GPUs<", ">16 GPUs<", ">4 Ki<", ">8 Ki<", "zigzag, megatron-p2p"})
    CHECK(svg.find(said) != std::string::npos);
  // One length: over the GPUs.
  const std::string over_gpus = report::svg(attention_of({attention_request(1, 4096), attention_request(2, 4096)}));
  CHECK(over_gpus.find(">4096 tokens<") != std::string::npos);
  CHECK(over_gpus.find(">16<") != std::string::npos);
}
