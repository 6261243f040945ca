#include "cairn/cost/layer_floor.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "cairn/cost/shard_pricer.h"
#include "cairn/pebble/operation.h"

namespace cairn::cost {
namespace {

using ir::TensorId;

constexpr std::array<std::string_view, k_operator_classes> k_class_names{"contraction", "normalization", "elementwise",
                                                                         "lookup"};

// A tensor as one operator, or a group of them, uses it.
struct Use {
  double bytes = 0.0;
  bool read_first = false;
  bool written = false;
};
using Uses = std::map<TensorId, Use>;

TensorId storage(const ir::Graph& graph, TensorId id) {
  while (graph.tensor(id).alias_of != ir::k_no_tensor) id = graph.tensor(id).alias_of;
  return id;
}

class Measure {
 public:
  Measure(const ir::Graph& graph, const loopnest::Sizes& sizes, double on_chip, bool backward)
      : graph_(graph),
        sizes_(sizes),
        on_chip_(on_chip),
        count_(backward ? graph.operators().size() : graph.forward_count()) {
    for (std::size_t i = 0; i < count_; ++i)
      for (const ir::Access& access : graph.operators()[i].accesses)
        (is_read(access) ? last_read_ : made_)[access.tensor] = i;
    for (const TensorId id : graph.outputs()) outside_.insert(id);
    for (const ir::Tensor& tensor : graph.tensors()) {
      const auto id = static_cast<TensorId>(&tensor - graph.tensors().data());
      const bool of_parameter = tensor.of != ir::k_no_tensor && graph.tensor(tensor.of).role == ir::Role::parameter;
      if (tensor.role == ir::Role::gradient && of_parameter) outside_.insert(id);
    }
    for (const TensorId id : graph.inputs())
      if (backward && graph.gradient(id) != ir::k_no_tensor) outside_.insert(graph.gradient(id));
  }

  LayerFloor run() {
    for (std::size_t i = 0; i < count_; ++i) add_operator(i);
    group();
    bound_layer();
    return std::move(result_);
  }

 private:
  static bool is_read(const ir::Access& access) { return access.mode == ir::Mode::read; }
  const ir::Operator& op(std::size_t i) const { return graph_.operators()[i]; }
  ir::Shard shard(std::size_t i) const { return {.op = &op(i), .graph = &graph_, .box = op(i).domain.box(sizes_)}; }

  static OperatorClass class_of(const ir::Operator& op, const ir::Graph& graph) {
    const ir::Operator& forward = op.forward >= 0 ? graph.op(op.forward) : op;
    switch (forward.kind) {
      case ir::Kind::contraction:
        return op.kind == ir::Kind::contraction ? OperatorClass::contraction : OperatorClass::elementwise;
      case ir::Kind::reduce:
      case ir::Kind::scan:
        return OperatorClass::normalization;
      case ir::Kind::gather:
      case ir::Kind::scatter:
        return OperatorClass::lookup;
      case ir::Kind::pointwise:
      case ir::Kind::opaque:
        return OperatorClass::elementwise;
    }
    return OperatorClass::elementwise;
  }

  // An earlier access of the operator touches the same elements.
  bool seen_before(std::size_t i, std::size_t a) const {
    const auto same = [](const loopnest::Affine& x, const loopnest::Affine& y) {
      return x.terms == y.terms && x.offset == y.offset;
    };
    const ir::Access& access = op(i).accesses[a];
    for (std::size_t b = 0; b < a; ++b) {
      const ir::Access& other = op(i).accesses[b];
      if (other.tensor == access.tensor && std::equal(other.projection.begin(), other.projection.end(),
                                                      access.projection.begin(), access.projection.end(), same))
        return true;
    }
    return false;
  }

  void use(Uses& uses, std::size_t i) const {
    const ir::Shard whole = shard(i);
    Uses here;
    for (std::size_t a = 0; a < op(i).accesses.size(); ++a) {
      const ir::Access& access = op(i).accesses[a];
      const ir::Tensor& tensor = graph_.tensor(access.tensor);
      Use& each = here[access.tensor];
      // Accesses of one tensor that differ name different parts of it, as queries, keys and values of one projection.
      const bool again = seen_before(i, a);
      const double bytes = static_cast<double>(op(i).domain.footprint(access.projection, whole.box)) *
                           numerics::bytes_per_element(tensor.format);
      const double all = static_cast<double>(tensor.elements(sizes_)) * numerics::bytes_per_element(tensor.format);
      each.bytes = std::min(all, each.bytes + (again ? 0.0 : bytes));
      const bool adds = access.mode == ir::Mode::accumulate && ir::bytes(whole, access) > 1.5 * bytes;
      if (is_read(access) || adds) each.read_first = true;
      if (!is_read(access)) each.written = true;
    }
    for (const auto& [id, each] : here) {
      const auto [slot, fresh] = uses.try_emplace(id, each);
      if (fresh) continue;
      slot->second.bytes = std::max(slot->second.bytes, each.bytes);
      slot->second.written = slot->second.written || each.written;
    }
  }

  // What a group reads from before it, and writes that is used after it.
  double border_of(const Uses& uses, std::size_t last) const {
    double bytes = 0.0;
    for (const auto& [id, each] : uses) {
      if (each.read_first) bytes += each.bytes;
      const auto reader = last_read_.find(id);
      const bool wanted =
          outside_.contains(id) || aliased_later(id, last) || (reader != last_read_.end() && reader->second > last);
      if (each.written && wanted) bytes += each.bytes;
    }
    return bytes;
  }
  // Another name of the same storage is read later.
  bool aliased_later(TensorId id, std::size_t last) const {
    for (const auto& [other, reader] : last_read_)
      if (other != id && reader > last && storage(graph_, other) == storage(graph_, id) && made_before(other, last))
        return true;
    return false;
  }
  bool made_before(TensorId id, std::size_t last) const {
    const auto made = made_.find(id);
    return made == made_.end() || made->second <= last;
  }

  void add_operator(std::size_t i) {
    OperatorFloor floor;
    floor.name = op(i).name;
    floor.kind = class_of(op(i), graph_);
    floor.phase = op(i).phase;
    const ir::Shard whole = shard(i);
    floor.flops = ir::flops(whole);
    Uses uses;
    use(uses, i);
    for (const auto& [id, each] : uses)
      floor.alone_bytes += each.bytes * ((each.read_first ? 1 : 0) + (each.written ? 1 : 0));
    floor.lower_bytes = floor.alone_bytes;
    floor.method = "what it reads and writes, once";
    if (const auto bound = pebble_bytes(i, {}); bound && bound->first > floor.lower_bytes) {
      floor.lower_bytes = bound->first;
      floor.method = bound->second;
    }
    const auto at = static_cast<std::size_t>(floor.kind);
    result_.flops[at] += floor.flops;
    result_.bytes[at] += floor.lower_bytes;
    result_.separate += floor.lower_bytes;
    result_.operators.push_back(std::move(floor));
  }

  double narrowest_bytes(std::size_t i) const {
    double bytes = numerics::bytes_per_element(numerics::Format::fp64);
    for (const ir::Access& access : op(i).accesses)
      if (!access.addend && graph_.tensor(access.tensor).role != ir::Role::index)
        bytes = std::min(bytes, numerics::bytes_per_element(graph_.tensor(access.tensor).format));
    return bytes;
  }

  // Tensors in `free` are moved at no cost.
  std::optional<std::pair<double, std::string>> pebble_bytes(std::size_t i, const std::set<TensorId>& free) const {
    const double narrowest = narrowest_bytes(i);
    const auto words = static_cast<pebble::Words>(std::floor(on_chip_ / narrowest));
    constexpr pebble::Game k_game{pebble::Rules::red_blue_white, pebble::Sliding::allowed};
    if (words < 1 || op(i).kind != ir::Kind::contraction) return {};
    const bool attention = is_attention(shard(i));
    if (!attention && op(i).is_plain_contraction()) {
      const pebble::LowerBound bound = best_for(projection_bounds(contraction(i, free), words), k_game);
      return std::pair(static_cast<double>(bound.words) * narrowest, bound.method);
    }
    if (!attention || !free.empty() || op(i).phase != ir::Phase::forward) return {};
    const AttentionShape shape = attention_shape(shard(i));
    if (shape.s_q != shape.s_kv || op(i).domain.guards().size() > 1) return {};
    const pebble::AttentionSizes sizes{.sequence = shape.s_q,
                                       .head_dim = shape.head_dim,
                                       .heads = shape.heads,
                                       .kv_heads = 1,
                                       .batch = shape.b,
                                       .causal = shape.causal};
    const pebble::LowerBound bound = best_for(lower_bounds(attention_operation(sizes), words), k_game);
    return std::pair(static_cast<double>(bound.words) * narrowest, bound.method);
  }

  pebble::Contraction contraction(std::size_t i, const std::set<TensorId>& free) const {
    pebble::Contraction part;
    part.name = op(i).name;
    part.domain = op(i).domain;
    part.sizes = sizes_;
    for (const ir::Access& access : op(i).accesses) {
      if (access.addend) continue;
      const bool costs_nothing = free.contains(access.tensor);
      pebble::Role role = costs_nothing ? pebble::Role::read_free : pebble::Role::read;
      if (!is_read(access)) role = costs_nothing ? pebble::Role::result_free : pebble::Role::produce;
      part.accesses.push_back({.array = graph_.tensor(access.tensor).name, .index = access.projection, .role = role});
    }
    return part;
  }

  // Names of the axes that index every tensor of the operator: its rows.
  std::set<std::string> rows(std::size_t i) const {
    std::set<std::string> names;
    const auto& dims = op(i).domain.dims();
    for (std::size_t d = 0; d < dims.size(); ++d) {
      bool everywhere = true;
      for (const ir::Access& access : op(i).accesses)
        if (graph_.tensor(access.tensor).role != ir::Role::parameter)
          everywhere = everywhere && uses(access.projection, static_cast<loopnest::DimId>(d));
      if (everywhere) names.insert(dims[d].name);
    }
    return names;
  }

  double row_count(std::size_t i, const std::set<std::string>& names) const {
    double count = 1.0;
    const loopnest::Box box = op(i).domain.box(sizes_);
    for (std::size_t d = 0; d < box.size(); ++d)
      if (names.contains(op(i).domain.dims()[d].name)) count *= static_cast<double>(box[d].extent());
    return count;
  }

  bool can_stream(std::size_t i) const {
    const OperatorClass kind = result_.operators[i].kind;
    return kind == OperatorClass::normalization || kind == OperatorClass::elementwise;
  }

  bool reads_from(std::size_t i, const Uses& uses) const {
    for (const ir::Access& access : op(i).accesses)
      if (is_read(access))
        if (const auto found = uses.find(access.tensor); found != uses.end() && found->second.written) return true;
    return false;
  }

  // The backward pass of a layer follows that of the layers after it, so nothing is fused across.
  bool may_join(std::size_t i, const Uses& uses) const {
    if (result_.groups.empty()) return false;
    const std::size_t last = result_.groups.back().operators.back();
    return can_stream(i) && can_stream(last) && op(i).phase == op(last).phase && reads_from(i, uses);
  }

  double row_bytes(const Uses& uses, std::size_t i, const std::set<std::string>& names) const {
    const double count = row_count(i, names);
    double bytes = 0.0;
    for (const auto& [id, each] : uses)
      bytes += each.bytes / (graph_.tensor(id).role == ir::Role::parameter ? 1.0 : count);
    return bytes;
  }

  // Each operator joins the group before it when it reads from it and a row of everything still fits.
  void group() {
    Uses uses;
    std::set<std::string> common;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::set<std::string> own = rows(i);
      if (may_join(i, uses)) {
        std::set<std::string> both;
        std::set_intersection(own.begin(), own.end(), common.begin(), common.end(), std::inserter(both, both.end()));
        Uses joined = uses;
        use(joined, i);
        const double row = row_bytes(joined, i, both);
        if (!both.empty() && row <= on_chip_) {
          uses = std::move(joined);
          common = std::move(both);
          FusedGroup& last = result_.groups.back();
          last.operators.push_back(i);
          last.row_bytes = row;
          last.bytes = border_of(uses, i);
          result_.operators[i].group = result_.groups.size() - 1;
          continue;
        }
      }
      uses.clear();
      use(uses, i);
      common = own;
      result_.groups.push_back({.operators = {i}, .bytes = result_.operators[i].lower_bytes, .row_bytes = 0.0});
      result_.operators[i].group = result_.groups.size() - 1;
    }
    for (const FusedGroup& each : result_.groups) result_.fused += each.bytes;
  }

  void bound_layer() {
    Uses uses;
    for (std::size_t i = 0; i < count_; ++i) use(uses, i);
    result_.border = border_of(uses, count_);
    double parts = 0.0;
    std::set<TensorId> charged;
    for (std::size_t i = 0; i < count_; ++i) {
      std::set<TensorId> free;
      for (const ir::Access& access : op(i).accesses) {
        const bool inner = is_read(access) ? made_.contains(access.tensor) || charged.contains(access.tensor)
                                           : !outside_.contains(access.tensor);
        if (inner) free.insert(access.tensor);
      }
      const auto bound = pebble_bytes(i, free);
      if (!bound) continue;
      parts += std::max(0.0, bound->first);
      for (const ir::Access& access : op(i).accesses)
        if (is_read(access)) charged.insert(access.tensor);
    }
    result_.lower_bytes = std::max(result_.border, parts);
    result_.method =
        parts > result_.border ? "sum over contractions, inner tensors free" : "inputs, parameters and outputs, once";
  }

  const ir::Graph& graph_;
  const loopnest::Sizes& sizes_;
  double on_chip_;
  std::size_t count_;
  std::map<TensorId, std::size_t> last_read_, made_;
  std::set<TensorId> outside_;  // what must be in memory at the end
  LayerFloor result_;
};

}  // namespace

std::string_view name(OperatorClass kind) { return k_class_names[static_cast<std::size_t>(kind)]; }

LayerFloor layer_floor(const ir::Graph& graph, const loopnest::Sizes& sizes, double on_chip_bytes, bool backward) {
  return Measure(graph, sizes, on_chip_bytes, backward).run();
}

}  // namespace cairn::cost
