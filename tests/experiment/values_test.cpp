// Jobs made from values: the same answers as from files, and errors by key alone.
#include <fstream>
#include <sstream>

#include "cairn/experiment/job.h"
#include "cairn/experiment/resolve.h"
#include "catch.h"
#include "support/complaints.h"
#include "support/shipped.h"
#include "support/source_dir.h"

namespace {

using namespace cairn;
using cairn::testing::shipped;
using Catch::Matchers::Contains;

experiment::Parts llama_on_h100() {
  const config::Loader loader = shipped();
  experiment::Parts parts;
  parts.model = models::load_model(loader, "llama-3.1-70b");
  parts.machine = hardware::load_machine(loader, "dgx-h100", {"nodes=64"});
  parts.software = software::load_software(loader, "megatron", "bf16");
  parts.calibrated = experiment::load_calibrated(loader, parts.machine);
  return parts;
}

experiment::Settings llama_settings() {
  experiment::Settings settings;
  settings.training.seq_len = 8192;
  settings.training.global_batch.sequences = 512;
  settings.strategy.tp = 8;
  settings.strategy.pp = 4;
  settings.strategy.sequence_parallel = true;
  settings.strategy.zero.stage = 1;
  return settings;
}

std::string problems(const experiment::Settings& settings, const experiment::Parts& parts) {
  return test::complaints([&] { experiment::resolve(settings, parts); });
}

std::string text_of(const std::string& file) {
  std::ifstream in(cairn::testing::source_dir() + "/" + file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("values give what the file of the same experiment gives") {
  const config::Loader loader = shipped();
  experiment::Job by_file(experiment::load(loader, "llama3-70b-64xdgx-h100"), loader);
  experiment::Job by_value(llama_settings(), llama_on_h100());
  const experiment::Result file = by_file.run(predict::Engine::both), value = by_value.run(predict::Engine::both);
  CHECK(value.prediction.time == file.prediction.time);
  CHECK(value.prediction.memory.device_peak == file.prediction.memory.device_peak);
  CHECK(value.assumptions == file.assumptions);
  CHECK(by_value.warnings() == by_file.warnings());
  CHECK(by_value.experiment().name.empty());
  CHECK(by_value.sources().all().empty());
}

TEST_CASE("what a job of every shipped experiment was made from makes it again without a file") {
  const config::Loader loader = shipped();
  for (const std::string& name : loader.names("experiments")) {
    CAPTURE(name);
    experiment::Job by_file(experiment::load(loader, name), loader);
    experiment::Job by_value(by_file.experiment(), by_file.parts());
    CHECK(by_value.run(predict::Engine::analytic).prediction.time ==
          by_file.run(predict::Engine::analytic).prediction.time);
  }
}

TEST_CASE("a job of values that is written out runs from the file that this makes") {
  experiment::Settings settings = llama_settings();
  settings.training.kernels.norm = models::NormKernel::unfused;
  experiment::Parts parts = llama_on_h100();
  parts.software.framework.host_times.per_step = core::Seconds::from_base(0.25);
  parts.calibrated.calibration.sustained *= 0.875;
  parts.calibrated.calibration.share_common();
  experiment::Job by_value(settings, parts, "mine");
  const std::string text = config::to_json(by_value.written_out(experiment::Naming::by_name));
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::json, "mine.json", diagnostics);
  diagnostics.raise_if_errors();
  experiment::Job again(experiment::read(node), shipped());
  CHECK(again.experiment().name == "mine");
  CHECK(again.run(predict::Engine::analytic).prediction.time ==
        by_value.run(predict::Engine::analytic).prediction.time);
  experiment::Job plain(llama_settings(), llama_on_h100());
  CHECK(again.run(predict::Engine::analytic).prediction.time > plain.run(predict::Engine::analytic).prediction.time);
}

TEST_CASE("a framework's choices are laid over the recipe that values name") {
  const software::Software software = software::load_software(shipped(), "megatron-deepspeed", "bf16");
  CHECK(software.recipe.gradients == numerics::Format::bf16);
  CHECK(software::load_software(shipped(), "megatron@2021").label == "megatron@2021");
}

TEST_CASE("what is wrong with values is said by key, all of it, without a place") {
  const experiment::Parts parts = llama_on_h100();
  CHECK(problems(llama_settings(), parts).empty());
  experiment::Settings settings = llama_settings();
  settings.strategy.tp = 3;
  settings.strategy.dp = 16;
  const std::string two = problems(settings, parts);
  // 3 x 4 x 16 = 192 of 512; 64 heads and 8192 tokens.
  CHECK_THAT(two,
             Contains("error: strategy.dp: tp 3 x pp 4 x dp 16 = 192 ranks, but the cluster has 512 accelerators"));
  CHECK_THAT(two,
             Contains("error: strategy.tp: tp 3 does not divide the model's 64 attention heads (choose a divisor"));
  CHECK_THAT(two, Contains("error: strategy.sequence_parallel: tp 3 does not divide the sequence length 8192"));
  settings = llama_settings();
  settings.strategy.schedule.kind = "2f2b";
  CHECK_THAT(problems(settings, parts), Contains("error: strategy.schedule"));
  settings = llama_settings();
  settings.strategy.tp = 0;
  settings.strategy.zero.stage = 4;
  CHECK_THAT(problems(settings, parts), Contains("error: strategy.tp: 0 is out of range (from 1 to 16777216 is due)") &&
                                            Contains("error: strategy.zero"));
  settings = llama_settings();
  settings.strategy.cp = 2;
  settings.strategy.attention = experiment::AttentionChoice{.scheme = "usp", .heads = 4};
  CHECK_THAT(problems(settings, parts), Contains("strategy.attention: usp has no such grid of 2 ranks"));
  experiment::Parts old = parts;
  old.software = software::load_software(shipped(), "megatron", "nvfp4");
  CHECK_THAT(problems(llama_settings(), old),
             Contains("error: training.precision: H100 SXM5 80 GB has no units for nvfp4"));
}

TEST_CASE("the program that README shows is the one that is compiled against the package") {
  const std::string program = text_of("tests/package/consumer/predict.cpp");
  REQUIRE_FALSE(program.empty());
  CHECK_THAT(text_of("README.md"), Contains("```cpp\n" + program + "```\n"));
}
