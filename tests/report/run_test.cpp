#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "cairn/core/assert.h"
#include "cairn/report/run.h"
#include "cairn/report/schema.h"
#include "catch.h"
#include "report/conforms.h"
#include "report/small_run.h"
#include "support/source_dir.h"

using namespace cairn;
using nlohmann::json;
using report_tests::columns;
using report_tests::conforms;
using report_tests::k_tool;
using report_tests::loader;
using report_tests::small;

namespace {

std::string document(const std::vector<std::string>& overrides = {}, predict::Engine engine = predict::Engine::both) {
  experiment::Job job(small(overrides), loader());
  const experiment::Result result = job.run(engine);
  return report::json({.job = job, .result = result, .tool = k_tool});
}

std::string page(const std::vector<std::string>& overrides, bool color) {
  experiment::Job job(small(overrides), loader());
  const experiment::Result result = job.run(predict::Engine::both);
  return report::text({.job = job, .result = result, .tool = k_tool}, {.color = color, .full = true});
}

}  // namespace

TEST_CASE("A run as JSON is what its schema says") {
  const json schema = json::parse(report::run_schema());
  CHECK(document() == document());
  conforms(schema, json::parse(document()), "");
  conforms(schema, json::parse(document({"training.global_batch=65536", "strategy.micro_batch=8192"})),
           "");  // does not fit
  conforms(schema, json::parse(document({report_tests::k_cluster_without_price}, predict::Engine::analytic)), "");
  conforms(schema, json::parse(document({}, predict::Engine::event)), "");
  conforms(schema, json::parse(document({"simulation.contention=true", "simulation.interference=true"})), "");
}

TEST_CASE("The parts of the step add up to the step") {
  for (const char* recompute : {"strategy.recompute=none", "strategy.recompute=full"}) {
    const json result = json::parse(document({recompute}))["result"];
    double sum = 0.0;
    for (const json& part : result["time_s"]) sum += part.get<double>();
    CHECK(sum == Approx(result["iteration_time_s"].get<double>()).epsilon(1e-12));
    CHECK(result["time_s"]["other"] == 0.0);
  }
}

TEST_CASE("The step by cause adds up to the step, and names a stage") {
  for (const std::vector<std::string>& overrides :
       {std::vector<std::string>{}, {"strategy.tp=1", "strategy.pp=2", "strategy.dp=4"}}) {
    const json result = json::parse(document(overrides))["result"];
    double sum = 0.0;
    for (const json& part : result["causes"]) {
      CHECK(part["time_s"] > 0.0);
      sum += part["time_s"].get<double>();
    }
    CHECK(sum == Approx(result["iteration_time_s"].get<double>()).epsilon(1e-12));
    double bubble = 0.0;
    for (const json& part : result["bubble_s"]) bubble += part.get<double>();
    CHECK(bubble == Approx(result["time_s"]["bubble"].get<double>()).epsilon(1e-12));
    CHECK(result["stages"][result["limit"]["stage"].get<std::size_t>()]["time_s"] <= result["iteration_time_s"]);
    CHECK(result["limit"]["cause"] == result["causes"][0]["cause"]);
    CHECK(result["limit"]["sentence"].get<std::string>().ends_with("."));
  }
}

TEST_CASE("The short answer of every shipped experiment is one screen of 24 lines and 80 columns") {
  const config::Loader loader({cairn::testing::source_dir() + "/configs"});
  for (const std::string& name : loader.names("experiments")) {
    INFO(name);
    experiment::Job job(experiment::load(loader, name, {"training.tokens=15 T tokens"}), loader);
    const experiment::Result result = job.run(predict::Engine::analytic, {.advice = experiment::Advice::effects});
    const std::string text = report::text({.job = job, .result = result, .tool = k_tool});
    INFO(text);
    CHECK(std::count(text.begin(), text.end(), '\n') <= 24);
    std::istringstream lines(text);
    for (std::string each; std::getline(lines, each);) CHECK(columns(each) <= 80);
    for (const char* said : {"step time", "TFLOP/s", "memory", "training", "Where the time goes", "--full"})
      CHECK(text.find(said) != std::string::npos);
    CHECK(text.find(report::limit(result.prediction).sentence.substr(0, 20)) != std::string::npos);
  }
}

TEST_CASE("Parts of memory add up to what is allocated") {
  const json memory = json::parse(document())["result"]["memory_bytes"];
  double sum = 0.0;
  for (const char* category : {"parameters", "gradients", "optimizer", "activations", "workspace"})
    sum += memory[category].get<double>();
  CHECK(sum == Approx(memory["allocated_peak"].get<double>()).epsilon(1e-12));
  CHECK(memory["stages"].size() == 2);
}

TEST_CASE("The capacity is what processes can have of a device, and a plan that nearly fills it is tight") {
  constexpr double k_gib = 1024.0 * 1024 * 1024;
  const json roomy = json::parse(document())["result"];
  const json& memory = roomy["memory_bytes"];
  // An H100 of 80 GiB reports 79.1 GiB as its total; context and communicators of the process lie within them.
  CHECK(memory["capacity"] == Approx(79.1 * k_gib).epsilon(1e-12));
  CHECK(memory["driver"] == Approx(0.9 * k_gib).epsilon(1e-12));
  CHECK(memory["driver_source"].get<std::string>().starts_with("measured: capacity less the total of 79.1 GiB"));
  CHECK(memory["device_peak"] == Approx(memory["reserved_peak"].get<double>() + 1.6 * k_gib).epsilon(1e-12));
  CHECK(memory["headroom"] == memory["capacity"].get<double>() - memory["device_peak"].get<double>());
  CHECK((roomy["fits"] == true && roomy["tight"] == false));
  CHECK(page({}, false).find(" fits, ") != std::string::npos);
  CHECK(page({}, false).find("of 79.1 GiB: 80 GiB less 922 MiB that the driver keeps") != std::string::npos);

  // The driver keeps so much more that 6 % of the capacity, 4 % of it, or less than nothing is left.
  const auto with = [&](double left) {
    const double capacity = memory["device_peak"].get<double>() / (1.0 - left);
    return std::string("cluster.accelerator={file: h100-sxm5-80gb, reserved_memory: {driver: ") +
           std::to_string(static_cast<std::int64_t>(80.0 * k_gib - capacity)) + " B}}";
  };
  const auto outcome = [&](double left) { return json::parse(document({with(left)}))["result"]; };
  CHECK((outcome(0.06)["fits"] == true && outcome(0.06)["tight"] == false));
  CHECK((outcome(0.04)["fits"] == true && outcome(0.04)["tight"] == true));
  CHECK((outcome(-0.01)["fits"] == false && outcome(-0.01)["tight"] == false));
  CHECK(outcome(-0.01)["memory_bytes"]["headroom"] < 0.0);
  CHECK(page({with(0.04)}, false).find("fits tightly") != std::string::npos);
}

TEST_CASE("Transfers that run beside other work are named, and what of them is priced") {
  const std::vector<std::string> overlapped{"strategy.overlap.dp=true", "strategy.zero=1"};
  const std::string text = page(overlapped, false);
  const std::size_t hidden = text.find("hidden beside other work: ");
  REQUIRE(hidden != std::string::npos);
  CHECK(text.find("dp ", hidden) != std::string::npos);
  std::vector<std::string> priced = overlapped;
  priced.push_back("simulation.interference=true");
  CHECK(page(priced, false).find("hidden beside other work") == std::string::npos);
}

TEST_CASE("Shared links and units are reported only where they are shared") {
  CHECK(json::parse(document())["result"]["event"]["units"].empty());
  CHECK(page({}, false).find("How busy") == std::string::npos);
  const json result = json::parse(document({"simulation.contention=true"}))["result"];
  REQUIRE(!result["event"]["units"].empty());
  double out = 0.0;
  for (const json& use : result["event"]["units"]) {
    CHECK(use["mean"] <= use["peak"]);
    CHECK(use["peak"] <= 1.0);
    CHECK(use["unit"] != "multiprocessors");
    if (use["unit"] == "intra out") out = std::max(out, use["mean"].get<double>());
  }
  // What the rank that sends most sends, over its port's 450 GB/s and the step.
  double sent = 0.0;
  for (const json& label : result["communication_bytes"]) sent += label["scale_up"].get<double>();
  CHECK(out == Approx(sent / 450e9 / result["iteration_time_s"].get<double>()).epsilon(1e-9));
  CHECK(page({"simulation.contention=true"}, false).find("intra out") != std::string::npos);
}

TEST_CASE("What was resolved stands in the document") {
  const json strategy = json::parse(document())["experiment"]["strategy"];
  CHECK(strategy["micro_batches"] == 8);  // 16 sequences over dp 2, one each
  CHECK(strategy["dp"] == 2);
  CHECK(strategy["stages"] == json::array({2, 2}));
  CHECK(strategy["vocab_parallel"] == true);  // the default for tp > 1
  const json precision = json::parse(
      document({"training.precision={recipe: bf16, gradients: bf16}"}))["experiment"]["training"]["precision"];
  CHECK(precision["recipe"] == "bf16");
  CHECK(precision["gradients"] == "bf16");
}

TEST_CASE("Engines that did not run are null") {
  const json analytic = json::parse(document({}, predict::Engine::analytic))["result"];
  CHECK(analytic["event"].is_null());
  CHECK(analytic["analytic"]["iteration_time_s"] == analytic["iteration_time_s"]);
  const json event = json::parse(document({}, predict::Engine::event))["result"];
  CHECK(event["analytic"].is_null());
  CHECK(event["event"]["events"].get<std::int64_t>() > 0);
}

TEST_CASE("No path says where files lie") {
  const std::string model = cairn::testing::source_dir() + "/configs/models/llama-3.1-8b/config.json";
  const std::string placed = document({"model={hf: " + model + "}", "training.seq_len=4096"});
  CHECK(placed.find(cairn::testing::source_dir()) == std::string::npos);
}

TEST_CASE("A number that is not finite is a bug, never null") {
  experiment::Job job(small(), loader());
  experiment::Result result = job.run(predict::Engine::analytic);
  result.prediction.model_flops = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(report::json({.job = job, .result = result, .tool = k_tool}), core::InternalError);
}

TEST_CASE("The text answers first and stays within its columns") {
  for (const std::vector<std::string>& overrides : {std::vector<std::string>{},
                                                    {"training.global_batch=65536", "strategy.micro_batch=8192"},
                                                    {"simulation.contention=true", "simulation.interference=true"}}) {
    const std::string text = page(overrides, false);
    CHECK(text.find('\033') == std::string::npos);
    const std::size_t answer = text.find("step time");
    CHECK(answer < text.find("Where the time goes"));
    CHECK(text.find("Where the time goes") < text.find("Memory at the peak"));
    CHECK(text.find("Memory at the peak") < text.find("Lower bounds"));
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t to = text.find('\n', from);
      REQUIRE(to != std::string::npos);
      INFO(text.substr(from, to - from));
      CHECK(columns(text.substr(from, to - from)) <= 100);
      CHECK((to == from || text[to - 1] != ' '));
      from = to + 1;
    }
  }
}

TEST_CASE("A plan that does not fit says so, why, and what would help") {
  const std::vector<std::string> large{"training.global_batch=65536", "strategy.micro_batch=8192"};
  const std::string text = page(large, false);
  CHECK(text.find("does not fit") != std::string::npos);
  CHECK(text.find("activations") != std::string::npos);
  const json why = json::parse(document(large))["result"]["why_not"];
  CHECK(why["term"] == "activations");
  CHECK(why["over_by_bytes"].get<double>() > 0.0);
  REQUIRE_FALSE(why["changes"].empty());
  for (std::size_t i = 1; i < why["changes"].size(); ++i)
    CHECK(why["changes"][i - 1]["time_s"] <= why["changes"][i]["time_s"]);
}

TEST_CASE("Colour changes nothing but colour") {
  const std::string plain = page({}, false);
  std::string colored = page({}, true);
  CHECK(colored.find('\033') != std::string::npos);
  for (std::size_t at = colored.find('\033'); at != std::string::npos; at = colored.find('\033'))
    colored.erase(at, colored.find('m', at) - at + 1);
  CHECK(colored == plain);
}
