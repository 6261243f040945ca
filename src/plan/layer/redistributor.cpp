#include "redistributor.h"

#include <algorithm>

namespace cairn::plan {

Arrival Redistributor::obtain(ir::TensorId tensor, const Placements& wanted, const Pieces& pieces) {
  if (progress_.placements[at(tensor)] == wanted) return {.step = progress_.ready[at(tensor)], .parts = {}};
  for (const TensorCopy& copy : progress_.copies)
    if (copy.tensor == tensor && copy.placement == wanted) return {.step = copy.step, .parts = {}};
  if (pass_.layer.mesh_of(tensor) == ParameterGroup::expert) return {.step = move(tensor, wanted), .parts = {}};
  return bring(tensor, wanted, pieces);
}

void Redistributor::place(ir::TensorId tensor, const Placements& placements, Dependency ready) {
  progress_.placements[at(tensor)] = placements;
  progress_.ready[at(tensor)] = ready;
}

Arrival Redistributor::bring(ir::TensorId tensor, const Placements& wanted, const Pieces& pieces) {
  const LayerOptions& options = pass_.options();
  const double share = turns_.share(tensor);
  Arrival arrival{.step = progress_.ready[at(tensor)], .parts = {}};
  Placements now = progress_.placements[at(tensor)];
  bool replaces = false;
  bool moved = false;
  for (std::size_t rule = 0; rule < wanted.size(); ++rule) {
    const Placement from = now[rule];
    const Collective collective = redistribute(from, wanted[rule]);
    Placements whole = now;  // over this axis
    whole[rule] = Placement{};
    now[rule] = wanted[rule];
    if (collective == Collective::none) continue;
    const bool sums = from.kind == Placement::Kind::partial;
    const bool host_is_ahead = !options.issues_per_peer;
    const bool gathers = collective == Collective::all_gather && stays_gathered(tensor, rule, from);
    if (options.behaviour.records_reductions && host_is_ahead && sums && options.groups[rule].axis == Axis::tensor)
      memory_.record(tensor);
    if (gathers)
      memory_.grow(tensor, share * pass_.layer.bytes(tensor, now));
    else if (!replaces && !sums)
      writer_.hold(Category::workspace, share * pass_.layer.bytes(tensor, now));
    replaces = replaces || sums || gathers;
    // A collective starts after all computation issued before it, as collective libraries order themselves, and after
    // the tensor is complete.
    Dependencies after{progress_.computed};
    if (arrival.step != -1) after.push_back(arrival.step);
    arrival = redistribute_by(collective, rule, share * pass_.layer.bytes(tensor, whole), after, pieces);
    moved = true;
    const bool beside = options.settings.asynchronous_tensor || (pass_.backward && options.settings.overlap_tensor);
    const bool awaited_piecewise = pieces.count > 1 && pieces.products.empty();
    if (!beside && !awaited_piecewise) progress_.blocking.push_back(arrival.step);
  }
  if (!moved) return arrival;
  if (replaces)
    replace(tensor, now, arrival.step);
  else
    progress_.copies.push_back(
        {.tensor = tensor, .placement = wanted, .step = arrival.step, .bytes = share * pass_.layer.bytes(tensor, now)});
  return arrival;
}

bool Redistributor::stays_gathered(ir::TensorId tensor, std::size_t rule, const Placement& shard) const {
  const ir::Graph& graph = pass_.graph();
  const ir::OperatorId producer = graph.producer(tensor);
  return pass_.options().behaviour.keeps_gathered_inputs && pass_.options().groups[rule].axis == Axis::tensor &&
         graph.tensor(tensor).dims[shard.dim].name == "sequence" && pass_.storage(tensor) == tensor && producer >= 0 &&
         at(producer) < graph.forward_count();
}

void Redistributor::replace(ir::TensorId tensor, const Placements& made, Dependency ready) {
  if (turns_.last()) memory_.shrink(tensor, pass_.layer.bytes(tensor, made));
  place(tensor, made, ready);
}

// Over several axes: reductions come first and gathers last, so that the fewest bytes are moved.
Dependency Redistributor::move(ir::TensorId tensor, const Placements& wanted) {
  Placements& have = progress_.placements[at(tensor)];
  Dependency& ready = progress_.ready[at(tensor)];
  for (const Collective now :
       {Collective::reduce_scatter, Collective::all_reduce, Collective::all_to_all, Collective::all_gather})
    for (std::size_t rule = 0; rule < wanted.size(); ++rule) {
      if (redistribute(have[rule], wanted[rule]) != now) continue;
      Placements whole = have;
      whole[rule] = Placement{};
      Dependencies after{progress_.computed};
      if (ready >= 0) after.push_back(ready);
      have[rule] = wanted[rule];
      const double before = memory_.renew(tensor, pass_.layer.bytes(tensor, have));
      ready = transfer(now, rule, pass_.layer.bytes(tensor, whole), after, {}).step;
      memory_.let_go(tensor, before);
      if (!pass_.options().expert_overlap) progress_.blocking.push_back(ready);
    }
  have = wanted;
  return ready;
}

// TensorPieces::Kind::triggered: a Partial tensor is reduced while the product that computes it still runs. An
// all-reduce becomes a reduce-scatter of the parts as they come, and an all-gather at the end.
Arrival Redistributor::redistribute_by(Collective collective, std::size_t rule, double bytes, const Dependencies& after,
                                       const Pieces& pieces) {
  const bool on_the_way = triggered() && pieces.count > 1 && pass_.options().groups[rule].axis == Axis::tensor;
  if (!on_the_way || collective != Collective::all_reduce) return transfer(collective, rule, bytes, after, pieces);
  const Arrival reduced = transfer(Collective::reduce_scatter, rule, bytes, after, pieces);
  return transfer(Collective::all_gather, rule, bytes, {reduced.step}, {});
}

Arrival Redistributor::transfer(Collective collective, std::size_t rule, double bytes, const Dependencies& after,
                                const Pieces& pieces) {
  const LayerOptions& options = pass_.options();
  const Group& group = options.groups[rule];
  const bool tensor_axis = group.axis == Axis::tensor;
  const std::int32_t count = tensor_axis ? pieces.count : 1;
  const bool exchange = group.axis == Axis::expert && collective == Collective::all_to_all;
  const double sent = exchange ? options.sent * bytes : bytes;
  Arrival arrival;
  for (std::int32_t piece = 0; piece < count; ++piece) {
    const Transfer part{.collective = collective,
                        .group = group,
                        .bytes = sent / count,
                        .part = triggered() ? piece : 0,
                        .parts = triggered() ? count : 1,
                        .across = exchange ? options.across : 1.0,
                        .per_peer = tensor_axis && options.issues_per_peer};
    Dependencies waits = after;
    if (tensor_axis && !pieces.products.empty()) waits.front() = pieces.products[static_cast<std::size_t>(piece)];
    arrival.step = writer_.add(Step{.kind = StepKind::transfer,
                                    .stream = stream_of(group.axis),
                                    .axis = group.axis,
                                    .launches = static_cast<std::uint16_t>(triggered() && piece > 0 ? 0 : 1)},
                               part, waits);
    if (count > 1) arrival.parts.push_back(arrival.step);
  }
  if (tensor_axis) progress_.transferred = arrival.step;
  return arrival;
}

void Redistributor::free_copies(ir::TensorId tensor) {
  const ir::TensorId root = pass_.storage(tensor);
  for (TensorCopy& copy : progress_.copies) {
    if (pass_.storage(copy.tensor) != root) continue;
    writer_.hold_after(Category::workspace, -copy.bytes);
    copy.bytes = 0.0;
  }
}

void Redistributor::end_recomputation() {
  auto& copies = progress_.copies;
  const auto stays = [&](const TensorCopy& copy) { return pass_.kept.shared(copy.tensor); };
  const auto first = copies.begin() + static_cast<std::ptrdiff_t>(std::min(progress_.kept_copies, copies.size()));
  for (auto copy = first; copy != copies.end(); ++copy)
    if (!stays(*copy)) writer_.hold_after(Category::workspace, -copy->bytes);
  copies.erase(std::remove_if(first, copies.end(), [&](const TensorCopy& copy) { return !stays(copy); }), copies.end());
}

void Redistributor::cut() {
  for (const TensorCopy& copy : progress_.copies) writer_.hold_after(Category::workspace, -copy.bytes);
  progress_.copies.clear();
  progress_.kept_copies = 0;
  for (Dependency& ready : progress_.ready)
    if (ready >= 0) ready = entry_of(writer_.stream(ready));
}

}  // namespace cairn::plan
