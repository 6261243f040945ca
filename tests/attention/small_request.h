// Requests that tests share: DGX H100 machines as they ship.
#pragma once

#include <string>

#include "cairn/attention/comparison.h"
#include "cairn/cost/calibration.h"
#include "cairn/hardware/files.h"
#include "support/shipped.h"

namespace cairn::testing {

// `nodes` nodes of 8 GPUs; 4 heads of 16 elements, 1,024 tokens.
inline attention::Request small_request(std::int64_t nodes = 1) {
  const config::Loader loader = shipped();
  const hardware::Machine machine = hardware::load_machine(loader, "dgx-h100", {"nodes=" + std::to_string(nodes)});
  return {.accelerator = machine.accelerator.value,
          .network = machine.network,
          .calibration = cost::load_calibration(loader, "h100-sxm5-80gb"),
          .tokens = 1024,
          .heads = 4,
          .kv_heads = 4,
          .head_dim = 16};
}

inline attention::Comparison of_scheme(attention::Request request, const std::string& scheme) {
  request.choice.scheme = scheme;
  return attention::compare(request);
}

}  // namespace cairn::testing
