#include "schedule_times.h"

#include "cairn/core/diagnostics.h"

namespace cairn::cli {

pipeline::ExactTimes given_times(const ScheduleArguments& arguments, pipeline::WrittenTimes& times) {
  pipeline::ExactTimes given;
  const auto read = [&](const std::string& text, const char* option, pipeline::Fraction& target) {
    if (!text.empty()) target = times.read(text, option);
    return !text.empty();
  };
  const bool forward = read(arguments.forward, "--forward", given.forward);
  const bool input = read(arguments.input_gradient, "--input-grad", given.input_gradient);
  const bool weight = read(arguments.weight_gradient, "--weight-grad", given.weight_gradient);
  read(arguments.p2p, "--p2p", given.delay);
  read(arguments.vocabulary_forward, "--vocab-forward", given.vocabulary_forward);
  read(arguments.vocabulary_backward, "--vocab-backward", given.vocabulary_backward);
  read(arguments.optimizer, "--optimizer", given.optimizer);
  read(arguments.communication, "--communication", given.communication);
  read(arguments.copy, "--copy", given.offload);
  if (!arguments.forward_backward.empty())
    given.forward_backward = times.read(arguments.forward_backward, "--forward-backward");
  if (times.unit() && !(forward && input && weight))
    throw core::ConfigurationError("--forward", "times with units need all three of them",
                                   "give --forward, --input-grad and --weight-grad");
  return given;
}

}  // namespace cairn::cli
