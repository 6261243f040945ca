#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/format_units.h"
#include "cairn/core/out_of_range.h"
#include "cairn/pebble/horizontal.h"
#include "parts.h"

namespace cairn::bound {
namespace {

constexpr double k_most_placed = 1e6;  // values times nodes

// What one device moves of any product whose operands all lie in memory: its share of the points (projection.h).
pebble::ParallelWords share_bound(const pebble::Operation& operation, std::int64_t devices, pebble::Words fast) {
  pebble::ParallelWords best{
      .words = 0.0, .method = {}, .premise = "every value computed once, any placement of the data"};
  for (const pebble::Contraction& part : operation.contractions) {
    const bool whole = std::none_of(part.accesses.begin(), part.accesses.end(), [](const pebble::Access& access) {
      return access.role == pebble::Role::read_free || access.role == pebble::Role::result_free;
    });
    if (!whole) continue;
    const pebble::LowerBound bound = projection_bound_of_share(part, devices, fast);
    if (!best.method.empty() && static_cast<double>(bound.words) <= best.words) continue;
    best.words = static_cast<double>(bound.words);
    best.method = fmt::format("{}: {}", part.name, bound.method);
  }
  return best;
}

pebble::Cdag graph_for_nodes(const pebble::Operation& operation) {
  try {
    return small_graph(operation);
  } catch (const core::ConfigurationError&) {
    throw core::ConfigurationError(
        "request.computation",
        fmt::format("of {} over several devices small sizes alone are known, of at most {} values", operation.name,
                    pebble::k_exact_max_vertices),
        "give smaller sizes, a product, a convolution or attention, or its graph");
  }
}

// What a device can hold. [words]
struct DeviceMemory {
  double words = 0.0;
  std::string name;
};

DeviceMemory device_memory(const Answer& answer, const std::optional<hardware::Accelerator>& accelerator) {
  if (!accelerator) return {.words = static_cast<double>(answer.fast), .name = {}};
  return {.words = std::floor(accelerator->device_memory().capacity.base() / answer.bytes_per_word),
          .name = "device memory of " + accelerator->name};
}

class DevicesAnswer {
 public:
  DevicesAnswer(double bytes_per_word, double devices, DeviceMemory memory) : bytes_per_word_(bytes_per_word) {
    row_ = {.devices = devices,
            .counted = DevicesRow::Counted::both_ways,
            .memory = memory.words,
            .memory_name = std::move(memory.name),
            .method = {},
            .premise = {}};
  }

  void bound(const pebble::ParallelWords& bound) {
    row_.words = bound.words;
    row_.method = bound.method;
    row_.premise = bound.premise;
  }
  // The bound holds all the same; that nothing can be left where the devices do not hold the data is said.
  void holds(double data) {
    const double held = row_.devices * row_.memory;
    if (held >= data) return;
    row_.premise += fmt::format("; all devices hold {} of the {} that the data take, so that the rest lies elsewhere",
                                amount(held), amount(data));
  }
  void algorithm(const pebble::ParallelAlgorithm& known) {
    std::string outside = known.outside;
    if (outside.empty() && known.memory > row_.memory)
      outside = fmt::format("does not fit: needs {} a device, has {}", amount(known.memory), amount(row_.memory));
    row_.algorithms.push_back({.name = known.name, .words = known.words, .left_out = std::move(outside)});
  }
  DevicesRow row() { return std::move(row_); }

 private:
  std::string amount(double words) const { return core::format(core::Bytes::from_base(words * bytes_per_word_)); }
  double bytes_per_word_;
  DevicesRow row_;
};

}  // namespace

void add_nodes(Answer& answer, const pebble::Cdag& graph, std::int64_t nodes) {
  const auto count = core::narrow<std::uint32_t>(
      nodes, {.key_path = "request.devices", .what = "nodes", .hint = "give fewer devices"});
  const pebble::Game game{pebble::Rules::red_blue_white, pebble::Sliding::forbidden};
  const auto computed = static_cast<std::int64_t>(graph.size() - graph.input_count());
  NodesRow row{.nodes = nodes, .most = (computed + nodes - 1) / nodes, .received = {}, .busiest = {}};
  const std::vector<pebble::LowerBound> received = received_lower_bounds(graph, count);
  row.received.lower = best_for(received, game);
  for (const pebble::LowerBound& each : received)
    if (each.method == pebble::k_every_placement) row.received.exact = each.words;
  row.busiest.lower = best_for(busiest_lower_bounds(graph, count, answer.fast), game);
  if (static_cast<double>(graph.size()) * static_cast<double>(nodes) <= k_most_placed) {
    row.received.upper = distribute(graph, count, {}).cost.horizontal_total();
    row.busiest.upper = distribute(graph, count, answer.fast).busiest();
  }
  answer.nodes = std::move(row);
}

void add_devices(Answer& answer, const pebble::Operation& operation, std::int64_t devices,
                 const std::optional<hardware::Accelerator>& accelerator) {
  const DeviceMemory memory = device_memory(answer, accelerator);
  const auto count = static_cast<double>(devices);
  DevicesAnswer row(answer.bytes_per_word, count, memory);
  if (operation.over_devices) {
    const pebble::ParallelBracket known = operation.over_devices(count, memory.words);
    row.bound(known.lower);
    for (const pebble::ParallelAlgorithm& each : known.algorithms) row.algorithm(each);
  } else {
    const pebble::ParallelWords bound = share_bound(operation, devices, static_cast<pebble::Words>(memory.words));
    if (bound.method.empty()) return add_nodes(answer, graph_for_nodes(operation), devices);
    row.bound(bound);
  }
  row.holds(static_cast<double>(operation.inputs + operation.outputs));
  answer.devices = row.row();
}

}  // namespace cairn::bound
