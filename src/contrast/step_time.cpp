#include "step_time.h"

#include "cairn/experiment/experiment.h"
#include "cairn/experiment/job.h"
#include "cairn/experiment/trials.h"

namespace cairn::contrast {

core::Picoseconds step_time(const config::Node& experiment, const config::Loader& loader, predict::Engine engine) {
  const experiment::LoadedExperiment loaded = experiment::read(experiment);
  if (engine != predict::Engine::analytic) {
    experiment::Job job(loaded, loader);
    return job.run(engine, {.detail = predict::Detail::stages, .advice = experiment::Advice::none}).prediction.time;
  }
  // A whole run would also account for its memory and its bounds.
  experiment::Trials trials(loaded.experiment, experiment::load_parts(loaded, loader));
  trials.make(loaded.experiment.strategy);
  return trials.time();
}

}  // namespace cairn::contrast
