// BitPipe: two V-shaped pipelines of two chunks per device, one turning at either end, over two copies of the model. At
// most p micro-batches' activations are alive on a device. The order is that of list scheduling with forward and
// backward of one length.
// Source: Wu et al., "BitPipe: Bidirectional Interleaved Pipeline Parallelism", 2024, section 3.
#include "list_order.h"

namespace cairn::pipeline {

Schedule bitpipe(const Settings& settings) {
  const std::int32_t p = settings.stages;
  require(p % 2 == 0, "stages", "bitpipe needs an even number of stages, not " + std::to_string(p),
          "use " + multiples_near(p, 2) + " stages");
  require(settings.micro_batches % 2 == 0, "micro_batches",
          "bitpipe sends as many micro-batches down as up, not " + std::to_string(settings.micro_batches) + " together",
          "use " + multiples_near(settings.micro_batches, 2) + " micro-batches");
  // Chunks 0 and 1 of device d belong to the pipeline that starts at device 0, 2 and 3 to its mirror image.
  Layout layout{.chunks = 4, .chain_length = 2 * p, .placement = {}};
  for (std::int32_t device = 0; device < p; ++device)
    for (const std::int32_t stage : {device, 2 * p - 1 - device, 3 * p - 1 - device, 3 * p + device})
      layout.placement.push_back(stage);
  std::vector<std::int32_t> chain_of(settings.micro_batches);
  for (std::int32_t i = 0; i < settings.micro_batches; ++i) chain_of[i] = i % 2;
  return list_order("bitpipe", settings, layout, chain_of, {.most_halves = 2 * 2 * p});
}

}  // namespace cairn::pipeline
