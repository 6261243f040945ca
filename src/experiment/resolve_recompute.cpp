#include <charconv>

#include <fmt/format.h>

#include "resolving.h"

namespace cairn::experiment {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "7" or "0..39".
std::optional<plan::LayerRange> layer_range(std::string_view text) {
  constexpr std::string_view k_dots = "..";
  const std::size_t dots = text.find(k_dots);
  const auto first = number(text.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : number(text.substr(dots + k_dots.size()));
  if (!first || !last || *last < *first) return std::nullopt;
  return plan::LayerRange{.first = *first, .last = *last};
}

plan::Recompute kind_of(const Recompute& recompute) {
  if (recompute.operators) return plan::Recompute::operators;
  switch (recompute.kind) {
    case RecomputeKind::none:
      return plan::Recompute::none;
    case RecomputeKind::attention:
      return plan::Recompute::attention;
    case RecomputeKind::per_op:
      return plan::Recompute::per_op;
    case RecomputeKind::full:
      return plan::Recompute::full;
  }
  return plan::Recompute::none;
}

}  // namespace

void resolve_recompute(Resolving& r) {
  const Recompute& asked = r.settings.strategy.recompute;
  plan::Strategy& strategy = r.plan.strategy;
  strategy.recompute = kind_of(asked);
  strategy.recompute_operators = asked.operators.value_or(std::vector<std::string>{});
  if (asked.method)
    strategy.recompute_layers.method =
        *asked.method == RecomputeMethod::block ? plan::RecomputeMethod::block : plan::RecomputeMethod::uniform;
  strategy.recompute_layers.count = asked.count.value_or(1);
  const std::vector<std::string> layers = asked.layers.value_or(std::vector<std::string>{});
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (const auto range = layer_range(layers[i]))
      strategy.recompute_layers.ranges.push_back(*range);
    else
      r.error(fmt::format("strategy.recompute.layers[{}]", i), fmt::format("'{}' is no range of layers", layers[i]),
              "write one layer, as in 7, or a range, as in 0..39");
  }
  const bool shares = asked.share_saved_inputs.value_or(r.parts.software.framework.gathers_saved_input);
  strategy.share_saved_inputs = shares && strategy.recompute == plan::Recompute::full && !strategy.sequence_parallel;
  if (asked.share_saved_inputs.value_or(false) && !strategy.share_saved_inputs)
    r.warn(
        "strategy.recompute.share_saved_inputs: nothing to share without full recomputation, or with sequence "
        "parallelism, which keeps shares anyway");
  if (strategy.recompute == plan::Recompute::none && (asked.method || asked.layers))
    r.warn("strategy.recompute: layers or a method without a kind or operators: nothing is recomputed");
}

}  // namespace cairn::experiment
