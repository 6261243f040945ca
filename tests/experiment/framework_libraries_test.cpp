// Releases of libraries that frameworks name: prices of their kernels where they were measured, the calibration's own
// elsewhere.
#include <set>
#include <string>

#include "cairn/config/read.h"
#include "cairn/experiment/job.h"
#include "cairn/software/files.h"
#include "catch.h"
#include "support/shipped.h"

namespace {

using namespace cairn;
using cairn::testing::shipped;

experiment::Settings eight_gpus() {
  experiment::Settings settings;
  settings.training.seq_len = 2048;
  settings.training.global_batch.sequences = 8;
  settings.strategy.zero.stage = 1;
  return settings;
}

experiment::Parts llama_on(const char* cluster, const char* libraries) {
  const config::Loader loader = shipped();
  experiment::Parts parts;
  parts.model = models::load_model(loader, "llama-3.1-8b");
  parts.machine = hardware::load_machine(loader, cluster);
  parts.software = software::load_software(loader, "megatron@2025", "bf16");
  parts.software.framework.libraries = libraries;
  parts.calibrated = experiment::load_calibrated(loader, parts.machine, {}, libraries);
  return parts;
}

core::Picoseconds step_time(const char* cluster, const char* libraries) {
  experiment::Job job(eight_gpus(), llama_on(cluster, libraries));
  return job.run(predict::Engine::analytic).prediction.time;
}

}  // namespace

TEST_CASE("libraries that were not measured on an accelerator leave its calibration's own") {
  CHECK(step_time("dgx-a100", "transformer-engine-2") == step_time("dgx-a100", ""));
  CHECK(step_time("dgx-h100", "transformer-engine-1") == step_time("dgx-h100", ""));
  CHECK(step_time("dgx-h100", "transformer-engine-2") != step_time("dgx-h100", ""));
}

TEST_CASE("values whose framework names libraries run the same once they were written out") {
  experiment::Job by_value(eight_gpus(), llama_on("dgx-h100", "transformer-engine-2"));
  const std::string text = config::to_json(by_value.written_out(experiment::Naming::by_name));
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::json, "written.json", diagnostics);
  diagnostics.raise_if_errors();
  experiment::Job again(experiment::read(node), shipped());
  CHECK(again.run(predict::Engine::analytic).prediction.time ==
        by_value.run(predict::Engine::analytic).prediction.time);
}

// A name that no calibration lists is misspelt, unless it is that of the calibrations' own sets.
TEST_CASE("libraries that shipped frameworks name are those of shipped calibrations") {
  const config::Loader loader = shipped();
  std::set<std::string> known{"", "transformer-engine-1"};
  for (const std::string& name : loader.names("accelerators"))
    for (const auto& each : cost::load_calibration(loader, name).libraries) known.insert(each.first);
  CHECK(known.contains("transformer-engine-2"));
  for (const std::string& name : loader.names("frameworks")) {
    const software::FrameworkProfile profile = software::load_framework(loader, name);
    CAPTURE(name, profile.libraries);
    CHECK(known.contains(profile.libraries));
    for (const auto& release : profile.releases) {
      const std::string libraries = software::load_framework(loader, name + "@" + release.first).libraries;
      CAPTURE(release.first, libraries);
      CHECK(known.contains(libraries));
    }
  }
}
