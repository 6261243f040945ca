// Hanayo: a micro-batch sweeps down and up over the devices in W waves, 2W chunks per device; one copy of the model.
// The order is that of list scheduling with forward and backward of one length. Source: Liu et al., "Hanayo", SC 2023,
// section 3.
#include "list_order.h"

namespace cairn::pipeline {

Schedule hanayo(const Settings& settings) {
  const std::vector<std::int32_t> chain_of(settings.micro_batches, 0);
  return list_order("hanayo", settings, wave_layout(settings.stages, 2 * settings.waves), chain_of, {});
}

}  // namespace cairn::pipeline
