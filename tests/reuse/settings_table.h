// Every setting that a Program depends on, with other values for it. A field that is added to one of the structs and
// has no line here does not compile.
//
// Left out, since they are fixed for a Lowering or for the model that it is given: plan::ParameterTreatment, the
// sequence length, the domain; models::BuildOptions and models::Kernels.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/ir/model.h"
#include "cairn/plan/strategy.h"
#include "support/field_count.h"
#include "support/random_plans.h"

namespace cairn::testing {

struct Setting {
  std::string name;  // "offload.optimizer"
  // Gives the strategy another value of it, one that may be legal or not beside the others.
  std::function<void(plan::Strategy&, core::Random&, const ir::Model&)> change;
  std::function<bool(const plan::Strategy&, const plan::Strategy&)> same;
};

namespace settings_table {

struct Draw {
  core::Random& random;
  const ir::Model& model;
};

template <class>
struct MemberOf;
template <class Struct, class Member>
struct MemberOf<Member Struct::*> {
  using Value = Member;
};

// A field and another value for it; or, of a struct of settings, its fields.
template <auto Member>
struct Field {
  static constexpr auto k_member = Member;
  using Value = typename MemberOf<decltype(Member)>::Value;
  std::string name;
  std::function<Value(const Value&, Draw&)> other;
};
template <auto Member, class Fields>
struct Within {
  static constexpr auto k_member = Member;
  std::string name;
  Fields fields;
};

// The fields of a base of the struct.
template <class Base, class Fields>
struct Inherited {
  static constexpr char k_tag = 0;
  static constexpr const char* k_member = &k_tag;
  Fields fields;
};

template <class Struct, class... Entry>
std::tuple<Entry...> fields_of(Entry... entries) {
  static_assert(names_every_field<Struct, Entry::k_member...>(), "a field has no line in its table, or two");
  return {std::move(entries)...};
}

template <auto Member>
Field<Member> either(std::string name) {
  return {std::move(name), [](bool old, Draw&) { return !old; }};
}
template <auto Member>
Field<Member> one_of(std::string name, std::vector<typename Field<Member>::Value> values) {
  return {std::move(name), [values = std::move(values)](const auto& old, Draw& draw) {
            while (true) {
              const auto& value = values[draw.random.below(values.size())];
              if (value != old) return value;
            }
          }};
}
template <auto Member, class Other>
Field<Member> drawn(std::string name, Other other) {
  return {std::move(name), std::move(other)};
}
template <auto Member, class Fields>
Within<Member, Fields> within(std::string name, Fields fields) {
  return {std::move(name), std::move(fields)};
}
template <class Base, class Fields>
Inherited<Base, Fields> inherited(Fields fields) {
  return {std::move(fields)};
}
// The axes in any order.
template <auto Member>
Field<Member> shuffled(std::string name) {
  return {std::move(name), [](program::AxisOrder order, Draw& draw) {
            for (std::size_t last = order.size(); last > 1; --last)
              std::swap(order[last - 1], order[draw.random.below(last)]);
            return order;
          }};
}

inline auto durations() {
  using D = pipeline::Durations;
  return fields_of<D>(one_of<&D::forward>("forward", {1, 3, 7}),                  //
                      one_of<&D::input_gradient>("input_gradient", {1, 3, 7}),    //
                      one_of<&D::weight_gradient>("weight_gradient", {1, 3, 7}),  //
                      one_of<&D::delay>("delay", {0, 1, 5}));
}

inline auto schedule_options() {
  using S = pipeline::Settings;
  using pipeline::Continuation;
  using pipeline::Vocabulary;
  using pipeline::WeightGradients;
  return fields_of<S>(one_of<&S::stages>("stages", {1, 2}), one_of<&S::micro_batches>("micro_batches", {1, 2}),
                      one_of<&S::chunks>("chunks", {1, 2}), one_of<&S::waves>("waves", {1, 2, 3}),
                      one_of<&S::pipelines>("pipelines", {2, 4}), one_of<&S::group>("group", {0, 1, 2, 4}),
                      one_of<&S::memory_limit>("memory_limit", {std::nullopt, 1, 2, 3, 6}),
                      one_of<&S::weight_gradients>("weight_gradients", {WeightGradients::last, WeightGradients::fill}),
                      one_of<&S::continuation>("continuation", {Continuation::concatenate, Continuation::double_forward,
                                                                Continuation::halve_backward}),
                      either<&S::reorder>("reorder"),
                      one_of<&S::vocabulary>(
                          "vocabulary", {Vocabulary::whole, Vocabulary::one, Vocabulary::two, Vocabulary::interlaced}),
                      within<&S::durations>("durations", durations()));
}

inline auto offload() {
  using O = plan::Offload;
  const std::vector<plan::Home> homes{plan::Home::device, plan::Home::host, plan::Home::storage};
  return fields_of<O>(
      one_of<&O::optimizer>("optimizer", homes), one_of<&O::parameters>("parameters", homes),
      one_of<&O::activations>("activations", homes), one_of<&O::resident_units>("resident_units", {0, 1, 3}),
      either<&O::gradients_in_place>("gradients_in_place"), either<&O::update_in_backward>("update_in_backward"));
}

inline std::vector<plan::LayerRange> random_ranges(const std::vector<plan::LayerRange>& old, Draw& draw) {
  static_assert(names_every_field<plan::LayerRange, &plan::LayerRange::first, &plan::LayerRange::last>());
  const std::int64_t last = draw.model.body_layers() - 1;
  if (!old.empty() && coin(draw.random)) return {};
  std::vector<plan::LayerRange> ranges;
  for (std::int64_t count = between(draw.random, 1, 2); count > 0; --count) {
    const std::int64_t first = between(draw.random, 0, last);
    ranges.push_back({.first = first, .last = between(draw.random, first, last)});
  }
  return ranges;
}

inline auto recompute_layers() {
  using R = plan::RecomputeLayers;
  using plan::RecomputeMethod;
  return fields_of<R>(
      one_of<&R::method>("method", {RecomputeMethod::every, RecomputeMethod::block, RecomputeMethod::uniform}),
      one_of<&R::count>("count", {1, 2, 3}), drawn<&R::ranges>("ranges", random_ranges));
}

inline auto tensor_pieces() {
  using P = plan::TensorPieces;
  return fields_of<P>(one_of<&P::kind>("kind", {P::Kind::none, P::Kind::chunked, P::Kind::triggered, P::Kind::halves}),
                      one_of<&P::count>("count", {1, 2, 4}));
}

inline std::vector<std::string> schedule_kinds() {
  std::vector<std::string> names;
  for (const pipeline::Generator& kind : pipeline::generators()) names.emplace_back(kind.kind);
  return names;
}
inline std::vector<std::string> other_operators(const std::vector<std::string>&, Draw& draw) {
  return random_operators(draw.random, draw.model);
}
inline std::vector<std::int64_t> other_cut(const std::vector<std::int64_t>& old, Draw& draw) {
  return random_cut(draw.random, draw.model.body_layers(), std::ssize(old));
}

inline std::vector<plan::AttentionSharing> sharings() {
  std::vector<plan::AttentionSharing> all{{}};
  for (const char* name : {"zigzag", "ulysses", "usp", "double-ring", "attention2d"})
    for (const std::int64_t ranks : {2, 4})
      for (const sequence::Grid& grid : sequence::scheme(name).grids(ranks))
        for (const bool fp32 : {false, true})
          all.push_back({.scheme = &sequence::scheme(name), .grid = grid, .fp32_gradients = fp32});
  return all;
}

inline auto layer_settings() {
  using L = plan::LayerSettings;
  return fields_of<L>(either<&L::share_saved_inputs>("share_saved_inputs"),
                      either<&L::overlap_tensor>("overlap_tensor"),
                      either<&L::asynchronous_tensor>("asynchronous_tensor"),
                      within<&L::tensor_pieces>("tensor_pieces", tensor_pieces()));
}

inline auto structure() {
  using S = plan::Structure;
  using plan::Recompute;
  return fields_of<S>(
      inherited<plan::LayerSettings>(layer_settings()), one_of<&S::tensor>("tensor", {1, 2, 4}),
      one_of<&S::pipeline>("pipeline", {1, 2, 3, 4}), one_of<&S::data>("data", {1, 2, 3, 4}),
      one_of<&S::context>("context", {1, 2, 4}), one_of<&S::attention>("attention", sharings()),
      one_of<&S::expert>("expert", {1, 2, 4, 8}), one_of<&S::expert_tensor>("expert_tensor", {1, 2, 4}),
      either<&S::bilevel_experts>("bilevel_experts"), one_of<&S::expert_domain_limit>("expert_domain_limit", {0, 1, 2}),
      one_of<&S::experts>("experts", {0, 8, 16, 20}), one_of<&S::expert_copies>("expert_copies", {1, 2, 4}),
      either<&S::merged_copies>("merged_copies"), either<&S::overlap_experts>("overlap_experts"),
      shuffled<&S::order>("order"), shuffled<&S::expert_order>("expert_order"),
      one_of<&S::micro_batch>("micro_batch", {1, 2, 3}), one_of<&S::micro_batches>("micro_batches", {1, 2, 4, 6, 8}),
      either<&S::sequence_parallel>("sequence_parallel"), either<&S::vocab_parallel>("vocab_parallel"),
      drawn<&S::stage_layers>("stage_layers", other_cut),
      one_of<&S::recompute>("recompute", {Recompute::none, Recompute::attention, Recompute::full, Recompute::per_op,
                                          Recompute::operators}),
      drawn<&S::recompute_operators>("recompute_operators", other_operators),
      within<&S::recompute_layers>("recompute_layers", recompute_layers()),
      one_of<&S::schedule>("schedule", schedule_kinds()), one_of<&S::chunks>("chunks", {1, 2, 3}),
      within<&S::schedule_options>("schedule_options", schedule_options()));
}

inline auto message_settings() {
  using M = plan::MessageSettings;
  return fields_of<M>(either<&M::overlap_sends>("overlap_sends"));
}

inline auto step_end_settings() {
  using E = plan::StepEndSettings;
  return fields_of<E>(one_of<&E::subgroup_elements>("subgroup_elements", {100.0, 1000.0, 1e6}),
                      one_of<&E::device_every>("device_every", {0, 1, 2, 3}));
}

inline auto exchanges() {
  using E = plan::Exchanges;
  using plan::Sharded;
  return fields_of<E>(
      inherited<plan::MessageSettings>(message_settings()), inherited<plan::StepEndSettings>(step_end_settings()),
      one_of<&E::sharded>("sharded", {Sharded::nothing, Sharded::optimizer, Sharded::gradients, Sharded::parameters}),
      one_of<&E::shard>("shard", {0, 1, 2, 4}), one_of<&E::prefetch>("prefetch", {0, 1, 2}),
      either<&E::reshard_after_forward>("reshard_after_forward"),
      either<&E::reduce_every_micro_batch>("reduce_every_micro_batch"), within<&E::offload>("offload", offload()),
      either<&E::overlap_gradient_reduce>("overlap_gradient_reduce"),
      either<&E::overlap_parameter_gather>("overlap_parameter_gather"),
      one_of<&E::bucket_bytes>("bucket_bytes", {0.0, 1.0, 2048.0, 8192.0, 1e6}));
}

// A table as a list; `get`: from a strategy to the struct that the table is about.
template <class Get, class... Entry>
void append(std::vector<Setting>& list, const std::string& path, Get get, const std::tuple<Entry...>& table);

template <class Get, auto Member>
void append(std::vector<Setting>& list, const std::string& path, Get get, const Field<Member>& field) {
  list.push_back(
      {.name = path + field.name,
       .change =
           [get, other = field.other](plan::Strategy& s, core::Random& random, const ir::Model& model) {
             Draw draw{random, model};
             get(s).*Member = other(get(s).*Member, draw);
           },
       .same = [get](const plan::Strategy& a, const plan::Strategy& b) { return get(a).*Member == get(b).*Member; }});
}
template <class Get, auto Member, class Fields>
void append(std::vector<Setting>& list, const std::string& path, Get get, const Within<Member, Fields>& group) {
  append(
      list, path + group.name + ".", [get](auto& s) -> auto& { return get(s).*Member; }, group.fields);
}
template <class Get, class Base, class Fields>
void append(std::vector<Setting>& list, const std::string& path, Get get, const Inherited<Base, Fields>& base) {
  append(list, path, get, base.fields);
}
template <class Get, class... Entry>
void append(std::vector<Setting>& list, const std::string& path, Get get, const std::tuple<Entry...>& table) {
  std::apply([&](const Entry&... entry) { (append(list, path, get, entry), ...); }, table);
}

}  // namespace settings_table

// All of them, one entry for each number, word or list.
inline std::vector<Setting> all_settings() {
  std::vector<Setting> list;
  const auto itself = [](auto& s) -> auto& { return s; };
  settings_table::append(list, "", itself, settings_table::structure());
  settings_table::append(list, "", itself, settings_table::exchanges());
  return list;
}

}  // namespace cairn::testing
