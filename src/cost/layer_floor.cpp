#include "cairn/cost/layer_floor.h"

#include <algorithm>
#include <map>
#include <set>

#include "cairn/cost/layout.h"

namespace cairn::cost {
namespace {

using ir::TensorId;

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
    lay_out();
    bound_layer();
    return std::move(result_);
  }

 private:
  static bool is_read(const ir::Access& access) { return access.mode == ir::Mode::read; }
  const ir::Operator& op(std::size_t i) const { return graph_.operators()[i]; }
  ir::Shard shard(std::size_t i) const { return {.op = &op(i), .graph = &graph_, .box = op(i).domain.box(sizes_)}; }

  void use(Uses& uses, std::size_t i) const {
    for (const auto& [id, each] : uses_of(shard(i))) {
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
    const ir::Shard whole = shard(i);
    const ShardBytes least = least_bytes(whole, on_chip_, Effort::full);
    OperatorFloor floor{.name = op(i).name,
                        .kind = class_of(op(i), graph_),
                        .phase = op(i).phase,
                        .flops = ir::flops(whole),
                        .alone_bytes = least.alone,
                        .lower_bytes = least.lower,
                        .method = least.method};
    const auto at = static_cast<std::size_t>(floor.kind);
    result_.flops[at] += floor.flops;
    result_.bytes[at] += floor.lower_bytes;
    result_.separate += floor.lower_bytes;
    result_.operators.push_back(std::move(floor));
  }

  void group() {
    std::vector<char> kept(graph_.tensors().size(), 0);
    for (const TensorId id : outside_) kept[static_cast<std::size_t>(id)] = 1;
    const auto groups = [&](Fusion fusion) { return fuse(graph_, sizes_, on_chip_, count_, kept, fusion); };
    result_.unfused = moved_bytes(groups(Fusion::none));
    result_.fused_rows = moved_bytes(groups(Fusion::without_contractions));
    result_.groups = groups(Fusion::any);
    result_.fused = moved_bytes(result_.groups);
    for (std::size_t g = 0; g < result_.groups.size(); ++g)
      for (const std::size_t i : result_.groups[g].operators) result_.operators[i].group = g;
  }

  void lay_out() {
    const Layouts written = written_layouts(graph_, sizes_, count_), chosen = chosen_layouts(graph_, sizes_, count_);
    result_.written_copies = written.copied_bytes;
    result_.chosen_copies = chosen.copied_bytes;
    for (std::size_t t = 0; t < chosen.orders.size(); ++t) {
      if (chosen.orders[t] == written.orders[t]) continue;
      const ir::Tensor& tensor = graph_.tensors()[t];
      std::string dims;
      for (const std::uint8_t position : chosen.orders[t])
        dims += (dims.empty() ? "" : " ") + tensor.dims[position].name;
      result_.reordered.emplace_back(tensor.name, std::move(dims));
    }
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
      const auto bound = pebble_bytes(shard(i), on_chip_, [&](TensorId id) { return free.contains(id); });
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

LayerFloor layer_floor(const ir::Graph& graph, const loopnest::Sizes& sizes, double on_chip_bytes, bool backward) {
  return Measure(graph, sizes, on_chip_bytes, backward).run();
}

}  // namespace cairn::cost
