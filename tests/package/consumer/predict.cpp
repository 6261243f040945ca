// What a step of Llama 3 70B takes on 64 DGX H100, in seconds.
#include <cstdio>

#include <cairn/config/shipped.h>
#include <cairn/experiment/job.h>

int main() {
  using namespace cairn;
  const config::Loader shipped(config::shipped_folders());
  experiment::Parts parts;
  parts.model = models::load_model(shipped, "llama-3.1-70b");
  parts.machine = hardware::load_machine(shipped, "dgx-h100", {"nodes=64"});
  parts.software = software::load_software(shipped, "megatron", "bf16");
  parts.calibrated = experiment::load_calibrated(shipped, parts.machine);

  experiment::Settings settings;
  settings.training = {.seq_len = 8192, .global_batch = {.sequences = 512}};
  settings.strategy = {.tp = 8, .pp = 4, .sequence_parallel = true, .zero = {.stage = 1}};
  try {
    experiment::Job job(settings, parts);
    const predict::Prediction answer = job.run(predict::Engine::event).prediction;
    std::printf("%.12f s, %s\n", core::to_seconds(answer.time), answer.fits ? "fits" : "does not fit");
  } catch (const core::ConfigurationError& error) {
    std::fprintf(stderr, "%s\n", error.what());  // strategy.tp: tp 3 does not divide the model's 64 attention heads
    return 1;
  }
}
