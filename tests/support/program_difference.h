// Where two Programs differ, everything that they refer to included.
//
// Programs of two lowerings hold different pointers to equal things, so pointers are followed: blocks, passes,
// schedules and graphs are compared by what they hold. A struct is taken apart by a structured binding, which must name
// all of its fields: one that is added and not compared does not compile.
#pragma once

#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "cairn/program/program.h"

namespace cairn::testing {
namespace program_parts {

using program::Axis;
using program::Block;
using program::BlockRun;
using program::Copy;
using program::Group;
using program::HeldTensors;
using program::MemoryEvent;
using program::MemoryProfile;
using program::Mesh;
using program::OnProcessor;
using program::Pass;
using program::PassOrder;
using program::Program;
using program::Stage;
using program::Step;
using program::Transfer;
inline constexpr std::size_t k_axes = program::k_axes;

// The fields of a struct, by name.
inline auto fields(const Step& part) {
  const auto& [kind, stream, term, axis, launches, dependencies, first_dependency, work] = part;
  return std::tuple(std::pair("kind", &kind), std::pair("stream", &stream), std::pair("term", &term),
                    std::pair("axis", &axis), std::pair("launches", &launches),
                    std::pair("dependencies", &dependencies), std::pair("first_dependency", &first_dependency),
                    std::pair("work", &work));
}
inline auto fields(const Transfer& part) {
  const auto& [collective, group, bytes, place, parts, across, per_peer, reach] = part;
  return std::tuple(std::pair("collective", &collective), std::pair("group", &group), std::pair("bytes", &bytes),
                    std::pair("part", &place), std::pair("parts", &parts), std::pair("across", &across),
                    std::pair("per_peer", &per_peer), std::pair("reach", &reach));
}
inline auto fields(const Copy& part) {
  const auto& [lane, bytes] = part;
  return std::tuple(std::pair("lane", &lane), std::pair("bytes", &bytes));
}
inline auto fields(const OnProcessor& part) {
  const auto& [graph, elements] = part;
  return std::tuple(std::pair("graph", &graph), std::pair("elements", &elements));
}
// `op` is told by the place it has in its graph.
inline auto fields(const ir::Shard& part) {
  const auto& [op, graph, box, place, parts] = part;
  return std::tuple(std::pair("operator", op - graph->operators().data()), std::pair("graph", &graph),
                    std::pair("box", &box), std::pair("part", &place), std::pair("parts", &parts));
}
inline auto fields(const MemoryEvent& part) {
  const auto& [step, after, category, bytes] = part;
  return std::tuple(std::pair("step", &step), std::pair("after", &after), std::pair("category", &category),
                    std::pair("bytes", &bytes));
}
inline auto fields(const MemoryProfile& part) {
  const auto& [delta, peak] = part;
  return std::tuple(std::pair("delta", &delta), std::pair("peak", &peak));
}
inline auto fields(const Block& part) {
  const auto& [name, steps, dependencies, works, memory, profile, off_device, recorded] = part;
  return std::tuple(std::pair("name", &name), std::pair("steps", &steps), std::pair("dependencies", &dependencies),
                    std::pair("works", &works), std::pair("memory", &memory), std::pair("profile", &profile),
                    std::pair("off_device", &off_device), std::pair("recorded", &recorded));
}
inline auto fields(const BlockRun& part) {
  const auto& [block, count] = part;
  return std::tuple(std::pair("block", &block), std::pair("count", &count));
}
// `id` counts the passes of a lowering: see Comparison::same_pass.
inline auto fields(const Pass& part) {
  const auto& [runs, send, id, profile, off_device, recorded] = part;
  static_cast<void>(id);
  return std::tuple(std::pair("runs", &runs), std::pair("send", &send), std::pair("profile", &profile),
                    std::pair("off_device", &off_device), std::pair("recorded", &recorded));
}
inline auto fields(const HeldTensors& part) {
  const auto& [category, bytes, count, late] = part;
  return std::tuple(std::pair("category", &category), std::pair("bytes", &bytes), std::pair("count", &count),
                    std::pair("late", &late));
}
inline auto fields(const Stage& part) {
  const auto& [passes, resident, held, host_bytes, storage_bytes, activations_on_drives, body_layers] = part;
  return std::tuple(std::pair("passes", &passes), std::pair("resident", &resident), std::pair("held", &held),
                    std::pair("host_bytes", &host_bytes), std::pair("storage_bytes", &storage_bytes),
                    std::pair("activations_on_drives", &activations_on_drives), std::pair("body_layers", &body_layers));
}
inline auto fields(const PassOrder::Entry& part) {
  const auto& [operation, slot, kind] = part;
  return std::tuple(std::pair("operation", &operation), std::pair("slot", &slot), std::pair("kind", &kind));
}
inline auto fields(const PassOrder::Step& part) {
  const auto& [producer, device, slot, sends_to, awaited] = part;
  return std::tuple(std::pair("producer", &producer), std::pair("device", &device), std::pair("slot", &slot),
                    std::pair("sends_to", &sends_to), std::pair("awaited", &awaited));
}
inline auto fields(const PassOrder::Stretch& part) {
  const auto& [slot, then, times] = part;
  return std::tuple(std::pair("slot", &slot), std::pair("then", &then), std::pair("times", &times));
}
inline auto fields(const PassOrder& part) {
  const auto& [layout, awaited_streams, entries, entry_begin, sweep, tails, repetitions, has_tail, last_slot, stretches,
               row_begin] = part;
  return std::tuple(std::pair("layout", &layout), std::pair("awaited_streams", &awaited_streams),
                    std::pair("entries", &entries), std::pair("entry_begin", &entry_begin), std::pair("sweep", &sweep),
                    std::pair("tails", &tails), std::pair("repetitions", &repetitions),
                    std::pair("has_tail", &has_tail), std::pair("last_slot", &last_slot),
                    std::pair("stretches", &stretches), std::pair("row_begin", &row_begin));
}
inline auto fields(const pipeline::Schedule& part) {
  const auto& [kind, stages, micro_batches, chunks, chain_length, placement, row_begin, operations, side_rows, waits,
               pieces] = part;
  return std::tuple(std::pair("kind", &kind), std::pair("stages", &stages), std::pair("micro_batches", &micro_batches),
                    std::pair("chunks", &chunks), std::pair("chain_length", &chain_length),
                    std::pair("placement", &placement), std::pair("row_begin", &row_begin),
                    std::pair("operations", &operations), std::pair("side_rows", &side_rows),
                    std::pair("waits", &waits), std::pair("pieces", &pieces));
}
inline auto fields(const pipeline::SweepStep& part) {
  const auto& [device, operation, producer] = part;
  return std::tuple(std::pair("device", &device), std::pair("operation", &operation), std::pair("producer", &producer));
}
inline auto fields(const pipeline::Repetition& part) {
  const auto& [first, last, period, reach, needed_from] = part;
  return std::tuple(std::pair("first", &first), std::pair("last", &last), std::pair("period", &period),
                    std::pair("reach", &reach), std::pair("needed_from", &needed_from));
}
inline auto fields(const pipeline::SweepOrder& part) {
  const auto& [stages, virtual_stages, steps, repetitions, waits, row_device, chunks, stage_of] = part;
  return std::tuple(std::pair("stages", &stages), std::pair("virtual_stages", &virtual_stages),
                    std::pair("steps", &steps), std::pair("repetitions", &repetitions), std::pair("waits", &waits),
                    std::pair("row_device", &row_device), std::pair("chunks", &chunks),
                    std::pair("stage_of", &stage_of));
}
inline auto fields(const Program& part) {
  const auto& [mesh, expert_mesh, schedule, order, pass_order, kinds, kind_of_stage, has_model_copies] = part;
  return std::tuple(std::pair("mesh", &mesh), std::pair("expert_mesh", &expert_mesh), std::pair("schedule", &schedule),
                    std::pair("order", &order), std::pair("pass_order", &pass_order), std::pair("kinds", &kinds),
                    std::pair("kind_of_stage", &kind_of_stage), std::pair("has_model_copies", &has_model_copies));
}
// Of the optimizer's graphs, which each lowering makes for itself. Those of the model are the same for both.
inline auto fields(const ir::Tensor& part) {
  return std::tuple(std::pair("name", &part.name), std::pair("format", &part.format), std::pair("role", &part.role));
}
inline auto fields(const ir::Access& part) {
  return std::tuple(std::pair("tensor", &part.tensor), std::pair("mode", &part.mode));
}
inline auto fields(const ir::Operator& part) {
  return std::tuple(std::pair("name", &part.name), std::pair("kind", &part.kind),
                    std::pair("flops_per_point", &part.flops_per_point), std::pair("accesses", &part.accesses));
}
inline auto fields(const ir::Graph& part) {
  return std::tuple(std::pair("tensors", &part.tensors()), std::pair("operators", &part.operators()));
}

template <class T>
concept Struct = requires(const T& part) {
  fields(part);
};
template <class T>
concept List = requires(const T& list) {
  std::size(list);
  std::begin(list);
}
&&!std::is_same_v<T, std::string>;

class Comparison {
 public:
  // The way to the first difference; empty where there is none.
  std::string of(const Program& a, const Program& b) { return same(a, b) ? std::string() : "program" + way_; }

 private:
  template <class T>
  bool same(const T& a, const T& b) {
    if constexpr (Struct<T>)
      return same_fields(fields(a), fields(b));
    else if constexpr (List<T>)
      return same_list(a, b);
    else
      return a == b;
  }
  bool same(const Mesh& a, const Mesh& b) {
    for (std::size_t axis = 0; axis < k_axes; ++axis)
      if (a.group(static_cast<Axis>(axis)) != b.group(static_cast<Axis>(axis)))
        return differs("[axis " + std::to_string(axis) + "]");
    return true;
  }
  template <class T>
  bool same(T* const& a, T* const& b) {
    if (a == b) return true;
    if (a == nullptr || b == nullptr) return differs(a == nullptr ? " is missing" : " is there");
    if constexpr (std::is_same_v<std::remove_const_t<T>, Pass>)
      if (!same_pass(*a, *b)) return false;
    if (equal_.contains({a, b})) return true;
    if (!same(*a, *b)) return false;
    equal_.insert({a, b});
    return true;
  }
  template <class T>
  bool same(const std::shared_ptr<T>& a, const std::shared_ptr<T>& b) {
    T* const first = a.get();
    T* const second = b.get();
    return same(first, second);
  }
  template <class... T>
  bool same(const std::variant<T...>& a, const std::variant<T...>& b) {
    if (a.index() != b.index()) return differs(" is of another kind");
    return std::visit([&](const auto& each) { return same(each, std::get<std::decay_t<decltype(each)>>(b)); }, a);
  }

  // Numbers of passes are dense in their lowering and differ from one to the next; evaluators remember passes by them.
  bool same_pass(const Pass& a, const Pass& b) {
    if (first_.emplace(a.id, &a).first->second != &a || second_.emplace(b.id, &b).first->second != &b)
      return differs(".id stands for two passes");
    return true;
  }

  template <class T>
  bool same_list(const T& a, const T& b) {
    if (std::size(a) != std::size(b))
      return differs(" has " + std::to_string(std::size(a)) + " and " + std::to_string(std::size(b)) + " elements");
    auto other = std::begin(b);
    std::size_t index = 0;
    for (const auto& each : a) {
      if (!same(each, *other++)) return differs("[" + std::to_string(index) + "]");
      ++index;
    }
    return true;
  }
  template <class... Field>
  bool same_fields(const std::tuple<Field...>& a, const std::tuple<Field...>& b) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (same_field(std::get<I>(a), std::get<I>(b)) && ...);
    }
    (std::index_sequence_for<Field...>{});
  }
  template <class T>
  bool same_field(const std::pair<const char*, const T*>& a, const std::pair<const char*, const T*>& b) {
    return same(*a.second, *b.second) || differs(std::string(".") + a.first);
  }
  bool same_field(const std::pair<const char*, std::ptrdiff_t>& a, const std::pair<const char*, std::ptrdiff_t>& b) {
    return a.second == b.second || differs(std::string(".") + a.first);
  }

  bool differs(const std::string& step) {
    way_.insert(0, step);
    return false;
  }

  std::string way_;
  std::set<std::pair<const void*, const void*>> equal_;
  std::map<std::int32_t, const Pass*> first_;
  std::map<std::int32_t, const Pass*> second_;
};

}  // namespace program_parts

// The way to the first difference of two Programs of one model and treatment, as in
// "program.kinds[0].passes[1][0][0].runs[2].block.steps[4].launches"; empty where there is none.
inline std::string difference(const program::Program& a, const program::Program& b) {
  return program_parts::Comparison().of(a, b);
}

}  // namespace cairn::testing
