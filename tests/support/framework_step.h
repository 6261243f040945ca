// A step under a framework that differs from the ideal one in a few keys, priced by both engines, which agree.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/shipped.h"
#include "support/source_dir.h"
#include "support/temporary_folder.h"

namespace cairn::testing {

// A job and the files it came from.
class FrameworkStep {
 public:
  // `experiment`: YAML that names its framework FRAMEWORK. `kernels`: of the framework's block of that name. `keys`: its
  // other blocks.
  FrameworkStep(std::string experiment, const std::string& kernels, const std::string& keys,
                const std::vector<std::string>& overrides) {
    const std::string base = source_dir() + "/configs/frameworks/ideal.yaml", name = "FRAMEWORK";
    folder_.write("tested.yaml",
                  "version: 1\nextends: " + base + "\nname: tested\nkernels: {value: {" + kernels + "}}\n" + keys);
    experiment.replace(experiment.find(name), name.size(), (folder_.path() / "tested.yaml").string());
    core::Diagnostics diagnostics;
    const config::Node node = config::parse_text(experiment, config::Syntax::yaml, "experiment.yaml", diagnostics);
    diagnostics.raise_if_errors();
    job_ = std::make_unique<experiment::Job>(experiment::read(node, overrides), shipped());
    prediction_ = job_->run(predict::Engine::both).prediction;
    CHECK(prediction_.event->makespan.time == prediction_.analytic.time);
    CHECK(prediction_.breakdown.total() == prediction_.time);
  }

  const predict::Prediction& prediction() const { return prediction_; }
  const experiment::Job& job() const { return *job_; }
  const program::Program& program() const { return job_->program(); }
  predict::PriceTable& prices() const { return job_->prices(); }
  // The first block of that name of any pass.
  const program::Block& block(const std::string& name) const {
    for (const program::Stage& stage : program().kinds)
      for (const program::Pass* pass : stage.passes)
        for (const program::BlockRun& run : pass->runs)
          if (run.block->name == name) return *run.block;
    FAIL("no block " << name);
    return *program().kinds.front().passes.front()->runs.front().block;
  }

 private:
  test::TemporaryFolder folder_;
  std::unique_ptr<experiment::Job> job_;
  predict::Prediction prediction_;
};

}  // namespace cairn::testing
