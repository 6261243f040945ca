#include "devices_bound.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/pebble/horizontal.h"
#include "cairn/pebble/operation_text.h"
#include "cairn/pebble/parallel_bounds.h"

namespace cairn::cli {
namespace {

using pebble::Cdag;
using pebble::Operation;
using pebble::Words;

constexpr double k_most_placed = 1e6;  // values times nodes

// What one device moves of any product whose operands all lie in memory: its share of the points (projection.h).
pebble::ParallelWords share_bound(const Operation& operation, std::int64_t devices, Words fast) {
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

Cdag graph_for_nodes(const Operation& operation) {
  try {
    return small_graph(operation);
  } catch (const core::ConfigurationError&) {
    throw core::ConfigurationError(
        "--devices",
        fmt::format("of {} over several devices small sizes alone are known, of at most 64 values", operation.name),
        "give smaller sizes, a product, a convolution or attention, or its graph by --cdag");
  }
}

// What a device can hold. [words]
struct DeviceMemory {
  double words = 0.0;
  std::string name;
};

DeviceMemory device_memory(const report::BoundAnswer& answer, const std::optional<hardware::Accelerator>& accelerator) {
  if (!accelerator) return {.words = static_cast<double>(answer.fast), .name = "--fast"};
  return {.words = std::floor(accelerator->device_memory().capacity.base() / answer.bytes_per_word),
          .name = "device memory of " + accelerator->name};
}

class Devices {
 public:
  Devices(const report::BoundAnswer& answer, double devices, DeviceMemory memory)
      : bytes_per_word_(answer.bytes_per_word) {
    row_ = {.devices = devices,
            .counted = report::DevicesRow::Counted::both_ways,
            .memory = memory.words,
            .memory_name = std::move(memory.name),
            .method = {},
            .premise = {}};
  }
  double devices() const { return row_.devices; }
  double memory() const { return row_.memory; }

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
  // `needed`: words that a device holds at the least. `outside`: why the bound does not hold for it, if so.
  void algorithm(std::string name, double words, double needed, std::string outside = {}) {
    if (outside.empty() && needed > row_.memory)
      outside = fmt::format("does not fit: needs {} a device, has {}", amount(needed), amount(row_.memory));
    row_.algorithms.push_back({.name = std::move(name), .words = words, .left_out = std::move(outside)});
  }
  report::DevicesRow row() { return std::move(row_); }

 private:
  std::string amount(double words) const { return core::format(core::Bytes::from_base(words * bytes_per_word_)); }
  double bytes_per_word_;
  report::DevicesRow row_;
};

// Sizes by name; `fallback` for those that were not given.
class GivenSizes {
 public:
  explicit GivenSizes(const pebble::SizeMap& sizes) : sizes_(sizes) {}
  double operator()(const char* name, double fallback) const {
    const auto found = sizes_.find(name);
    return found == sizes_.end() ? fallback : static_cast<double>(found->second);
  }

 private:
  const pebble::SizeMap& sizes_;
};

void add_matmul(Devices& row, const GivenSizes& size) {
  const pebble::ParallelMatmul problem{
      .m = size("m", 1), .n = size("n", 1), .k = size("k", 1), .devices = row.devices()};
  row.bound(pebble::matmul_bound(problem, row.memory()));
  if (problem.m != problem.n || problem.n != problem.k) return;
  for (const pebble::ParallelAlgorithm& each : pebble::matmul_algorithms(problem.m, row.devices()))
    row.algorithm(each.name, each.words, each.memory);
}

void add_attention(Devices& row, const GivenSizes& size) {
  const double heads = size("heads", 1), d = size("d", 1), given = size("kv_heads", 0);
  const double kv_heads = given > 0.0 ? given : heads;
  const pebble::ParallelAttention problem{
      .tokens = size("n", 1), .width = heads * d, .kv_width = kv_heads * d, .devices = row.devices()};
  row.bound(pebble::attention_exchange_bound(problem, size("causal", 0) > 0.0));
  // A device's share of Q and O, of K and V.
  const double rows = problem.tokens / problem.devices, queries = 2.0 * rows * problem.width,
               keys = 2.0 * rows * problem.kv_width;
  row.algorithm("ring of keys and values", ring_attention_words(problem), queries + 2.0 * keys);
  row.algorithm("heads split", ulysses_attention_words(problem), queries + keys,
                "splits heads, which lie whole on a device where the bound holds");
  if (const double side = std::floor(std::sqrt(row.devices())); side * side == row.devices())
    row.algorithm("square grid", grid_attention_words(problem, side), side * queries + keys);
}

}  // namespace

void add_nodes(report::BoundAnswer& answer, const Cdag& graph, std::int64_t nodes) {
  const auto count = static_cast<std::uint32_t>(nodes);
  const pebble::Game game{pebble::Rules::red_blue_white, pebble::Sliding::forbidden};
  const auto computed = static_cast<std::int64_t>(graph.size() - graph.input_count());
  report::NodesRow row{.nodes = nodes, .most = (computed + nodes - 1) / nodes, .received = {}, .busiest = {}};
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

void add_devices(report::BoundAnswer& answer, const Operation& operation, const BoundArguments& arguments,
                 const std::optional<hardware::Accelerator>& accelerator) {
  const auto [kind, text] = pebble::split_name(arguments.operation_text());
  const pebble::SizeMap sizes = kind == "einsum" ? pebble::SizeMap{} : pebble::parse_sizes(text);
  Devices row(answer, static_cast<double>(arguments.devices), device_memory(answer, accelerator));
  if (kind == "matmul") {
    add_matmul(row, GivenSizes(sizes));
  } else if (kind == "attention") {
    add_attention(row, GivenSizes(sizes));
  } else {
    const pebble::ParallelWords bound = share_bound(operation, arguments.devices, static_cast<Words>(row.memory()));
    if (bound.method.empty()) return add_nodes(answer, graph_for_nodes(operation), arguments.devices);
    row.bound(bound);
  }
  row.holds(static_cast<double>(operation.inputs + operation.outputs));
  answer.devices = row.row();
}

}  // namespace cairn::cli
