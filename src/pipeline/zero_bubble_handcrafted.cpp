// The handcrafted zero-bubble schedules: the weight gradient waits, so that its device sends the input gradient on
// sooner, and fills what would have been bubble.
//
//   zb-h1: device s warms up with p-1-s forwards, then runs, for every micro-batch i: the next forward, the input
//          gradient of i, and the weight gradient of i-s; the rest of the weight gradients last. No more memory than
//          1f1b's first stage on any device; idle (p-1)(F+B-W).
//   zb-h2: 2(p-s)-1 forwards to warm up, then the input gradient of i, the weight gradient of i-2s, the next forward.
//          Twice the memory; no idle time between a device's first and last operation where F = B = W and m >= 2p-1.
// Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2.
#include <algorithm>

#include "kinds.h"

namespace cairn::pipeline {
namespace {

struct Handcrafted {
  std::int32_t warm_up = 0;    // forwards
  std::int32_t lag = 0;        // micro-batches by which weight gradients stay behind input gradients
  bool forward_leads = false;  // the forward of a turn comes before its gradients
};

void push_row(ScheduleBuilder& builder, std::int32_t micro_batches, const Handcrafted& rule) {
  std::int32_t forwards = std::min(micro_batches, rule.warm_up);
  for (std::int32_t i = 0; i < forwards; ++i) builder.push(Phase::forward, 0, i);
  const auto next_forward = [&] {
    if (forwards < micro_batches) builder.push(Phase::forward, 0, forwards++);
  };
  for (std::int32_t i = 0; i < micro_batches; ++i) {
    if (rule.forward_leads) next_forward();
    builder.push(Phase::input_gradient, 0, i);
    if (i >= rule.lag) builder.push(Phase::weight_gradient, 0, i - rule.lag);
    if (!rule.forward_leads) next_forward();
  }
  for (std::int32_t i = std::max(0, micro_batches - rule.lag); i < micro_batches; ++i)
    builder.push(Phase::weight_gradient, 0, i);
  builder.end_row();
}

}  // namespace

Schedule zb_h1(const Settings& settings) {
  ScheduleBuilder builder("zb-h1", settings);
  for (std::int32_t s = 0; s < settings.stages; ++s)
    push_row(builder, settings.micro_batches, {.warm_up = settings.stages - 1 - s, .lag = s, .forward_leads = true});
  return builder.take();
}

Schedule zb_h2(const Settings& settings) {
  ScheduleBuilder builder("zb-h2", settings);
  for (std::int32_t s = 0; s < settings.stages; ++s)
    push_row(builder, settings.micro_batches,
             {.warm_up = 2 * (settings.stages - s) - 1, .lag = 2 * s, .forward_leads = false});
  return builder.take();
}

}  // namespace cairn::pipeline
