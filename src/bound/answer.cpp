#include "cairn/bound/answer.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "cairn/core/assert.h"

namespace cairn::bound {
namespace {

std::string exact_method(const pebble::ExactResult& exact) {
  return fmt::format("exact search, {} states", exact.states);
}

template <class Of>
double total(const LayersAnswer& answer, Of of) {
  double sum = 0.0;
  for (const LayerAnswer& layer : answer.layers) sum += static_cast<double>(layer.count) * of(layer);
  return sum;
}

}  // namespace

std::optional<double> Machine::balance() const {
  if (!flop_per_s) return {};
  return *flop_per_s / bytes_per_s;
}

const pebble::LowerBound& Answer::best() const {
  CAIRN_ASSERT(!lower.empty());
  return *std::max_element(lower.begin(), lower.end(), [](const auto& a, const auto& b) { return a.words < b.words; });
}

pebble::Words Answer::lower_words() const { return std::max(best().words, exact ? exact->lower : pebble::Words{0}); }

std::string Answer::lower_method() const {
  return exact && exact->lower > best().words ? exact_method(*exact) : best().method;
}

std::optional<pebble::PlayCost> Answer::play() const {
  if (exact && exact->cost) return exact->cost;
  if (upper) return pebble::PlayCost{.loads = upper->loads, .stores = upper->stores, .peak = 0};
  return {};
}

std::optional<std::string> Answer::upper_method() const {
  if (exact && exact->cost) return exact_method(*exact);
  return upper ? std::optional(upper->method) : std::nullopt;
}

const pebble::Play* Answer::cheapest() const {
  if (exact && exact->cost) return &exact->play;
  return upper ? &upper->play : nullptr;
}

std::optional<double> Answer::intensity() const {
  const double moved = bytes(lower_words());
  if (moved <= 0.0 || operations <= 0.0) return {};
  return operations / moved;
}

std::optional<double> Answer::balance() const { return machine ? machine->balance() : std::nullopt; }

double LayerAnswer::flops() const { return std::accumulate(floor.flops.begin(), floor.flops.end(), 0.0); }

double LayersAnswer::lower_bytes() const {
  return total(*this, [](const LayerAnswer& layer) { return layer.floor.lower_bytes; });
}

double LayersAnswer::operations() const {
  return total(*this, [](const LayerAnswer& layer) { return layer.flops(); });
}

std::optional<double> LayersAnswer::intensity() const {
  const double moved = lower_bytes();
  if (moved <= 0.0) return {};
  return operations() / moved;
}

std::optional<double> LayersAnswer::balance() const { return machine ? machine->balance() : std::nullopt; }

std::optional<double> LayersAnswer::mue(const LayerAnswer& layer, std::size_t op) const {
  if (layer.time_s.empty() || !machine || layer.time_s[op] <= 0.0) return {};
  return layer.floor.operators[op].lower_bytes / machine->bytes_per_s / layer.time_s[op];
}

std::optional<LayersAnswer::ClassTime> LayersAnswer::class_time(const LayerAnswer& layer,
                                                                cost::OperatorClass kind) const {
  if (layer.time_s.empty() || !machine) return {};
  ClassTime result;
  for (std::size_t i = 0; i < layer.time_s.size(); ++i) {
    result.all_s += layer.time_s[i];
    if (layer.floor.operators[i].kind == kind) result.time_s += layer.time_s[i];
  }
  if (result.time_s <= 0.0) return {};
  result.mue = layer.floor.bytes[static_cast<std::size_t>(kind)] / machine->bytes_per_s / result.time_s;
  return result;
}

}  // namespace cairn::bound
