// A job: settings with everything that they apply to - model, machine, recipe, framework, calibration - resolved to a
// plan, ready to be predicted. It is made from an experiment's files, or from values:
//
//   experiment::Job job(settings, parts);
//   const double step_s = core::to_seconds(job.run(predict::Engine::analytic).prediction.time);
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cairn/cost/calibration.h"
#include "cairn/cost/peak.h"
#include "cairn/experiment/experiment.h"
#include "cairn/experiment/interval.h"
#include "cairn/experiment/parts.h"
#include "cairn/experiment/stage_costs.h"
#include "cairn/hardware/files.h"
#include "cairn/ir/model.h"
#include "cairn/models/transformer.h"
#include "cairn/models/transformer_config.h"
#include "cairn/plan/lowering.h"
#include "cairn/predict/prediction.h"
#include "cairn/software/framework.h"
#include "cairn/software/precision.h"

namespace cairn::experiment {

// Settings under which a plan fits, and what the step then takes.
struct Remedy {
  std::vector<std::string> settings;  // as --set takes them
  double time_s = 0.0;
  double memory_bytes = 0.0;  // of the fullest device
};

// Why a plan does not fit into memory, and which changes would make it fit.
struct WhyNot {
  std::string term;  // the category that takes most memory at the peak
  std::int32_t stage = 0;
  double over_by_bytes = 0.0;
  // Changes of one setting, or of two where neither is enough alone; the one with the shortest step first. Empty: none
  // of the changes that were tried is enough. None: nothing was tried.
  std::optional<std::vector<Remedy>> changes;
};

// By how much the step time changes under another assumption, or with an effect modelled that the run leaves out.
struct Effect {
  std::string alternative;         // reads after "if": "simulation.contention=true (transfers share links)"
  double change_s = 0.0;           // step time under the alternative - step time
  std::vector<std::string> about;  // assumptions and warnings that the alternative does not need
};

struct Result {
  predict::Prediction prediction;
  std::optional<WhyNot> why_not;
  std::vector<Effect> effects;           // the largest first; only with Advice::effects
  std::vector<std::string> assumptions;  // sorted
  RunIntervals intervals;                // how far the prediction may be off
};

// How an experiment that is written out refers to the files it was read from.
enum class Naming : std::uint8_t {
  by_name,  // files of the search folders by name; the content of all others is written inline
  in_full,  // the content of all files is written inline
};

// What a run computes beside the prediction. changes: WhyNot::changes; effects: these and Result::effects. Each change
// and each effect takes about as long as the prediction: where a step has more than k_most_tried pieces of work nothing
// is tried, which a warning says.
inline constexpr std::int64_t k_most_tried = std::int64_t{1} << 22;
enum class Advice : std::uint8_t { none, changes, effects };

struct RunOptions {
  bool all_timelines = false;                                           // Prediction::event has them of every stage
  bool passes = false;                                                  // Prediction::passes
  std::function<void(std::size_t done, std::size_t of)> progress = {};  // is told how far a simulation has come
  predict::Detail detail = predict::Detail::causes;
  Advice advice = Advice::changes;
};

class Job {
 public:
  // Throws core::ConfigurationError, with the places of an experiment's keys, when settings contradict one another, the
  // model or the machine.
  Job(const Settings& settings, const Parts& parts, std::string name = {});
  Job(const LoadedExperiment& loaded, const config::Loader& loader);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Result run(predict::Engine engine, RunOptions options = {});

  const Experiment& experiment() const;
  const Parts& parts() const;
  const models::TransformerConfig& transformer() const;  // for the sequence length of the training
  const ir::Model& model() const;
  const hardware::Machine& machine() const;
  const software::PrecisionRecipe& recipe() const;
  const software::FrameworkProfile& framework() const;
  const plan::Strategy& strategy() const;
  const program::Program& program() const;
  predict::PriceTable& prices();
  predict::CostPricer& pricer();  // of those prices, with the parts of each
  pipeline::StageCosts stage_costs();
  const cost::Peak& peak() const;  // of one device, which MFU and bounds are held against
  std::int64_t gpus() const;
  RunTraits traits() const;                   // by which measured runs its prediction is judged
  std::int64_t global_batch() const;          // sequences
  const config::Sources& sources() const;     // the files that were read
  const std::filesystem::path& home() const;  // the folder of the experiment's own file; empty: it has none
  // The experiment with every setting written out, those from defaults and from the framework included. Running it from
  // any folder gives this job again.
  Experiment written_out(Naming naming) const;
  // What is not modelled as asked; after run() also prices outside the range of the calibration's measurements.
  const std::vector<std::string>& warnings() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace cairn::experiment
