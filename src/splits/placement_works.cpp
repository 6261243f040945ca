// What operators and links do under a placement: kernels, collectives and messages, each with its time.
#include <algorithm>

#include "placement_model.h"

namespace cairn::splits {
namespace {

using loopnest::DimId;

// All-reduces of one number per row.
struct StatisticSums {
  int forward = 0;
  int backward = 0;
};
StatisticSums statistic_sums(const ir::Operator& op) {
  if (op.variant == "softmax") return {.forward = 2, .backward = 1};
  if (op.variant == "cross-entropy") return {.forward = 3, .backward = 0};
  if (op.variant == "squared-error") return {.forward = 1, .backward = 0};
  return {.forward = 2, .backward = 2};
}

std::vector<PlacedWork>& of_phase(PlacedWorks& works, ir::Phase phase) {
  return phase == ir::Phase::forward ? works.forward : works.backward;
}

void append(PlacedWorks& to, const PlacedWorks& from) {
  to.forward.insert(to.forward.end(), from.forward.begin(), from.forward.end());
  to.backward.insert(to.backward.end(), from.backward.begin(), from.backward.end());
}

// The same part of a derivative, which has dimensions of its operator.
loopnest::Box part_of_derivative(const ir::Operator& derived, const ir::Operator& op, const loopnest::Box& part) {
  loopnest::Box box;
  for (const loopnest::Dim& dim : derived.domain.dims())
    box.push_back(part[static_cast<std::size_t>(op.domain.find(dim.name))]);
  return box;
}

}  // namespace

NdPlacement kept_placement(NdPlacement read) {
  for (Placement& each : read)
    if (each.kind == Placement::Kind::partial) each = {};
  return read;
}

void PlacementModel::add_boxing(PlacedWorks& works, ir::TensorId tensor, Part part, ir::Phase phase,
                                const NdPlacement& from, const NdPlacement& to) {
  for (const BoxingStep& step : boxing(tensor).steps(from, to))
    of_phase(works, phase)
        .push_back({.owner = graph_.tensor(tensor).name,
                    .part = part,
                    .phase = phase,
                    .work = step.transfer,
                    .time = step.time});
}

void PlacementModel::add_message(PlacedWorks& works, ir::TensorId tensor, Part part, ir::Phase phase,
                                 const NdPlacement& place) {
  const double bytes = part_bytes(tensor, place);
  if (bytes == 0.0) return;
  of_phase(works, phase)
      .push_back({.owner = graph_.tensor(tensor).name,
                  .part = part,
                  .phase = phase,
                  .work = message(bytes),
                  .time = message_time(bytes)});
}

// The part of the domain with the most points under the guards; without guards all are equal.
loopnest::Box PlacementModel::fullest_part(const ir::Operator& op, const Signature& signature) const {
  loopnest::Box box = op.domain.box(setup_.sizes);
  std::vector<std::int64_t> parts;
  std::int64_t boxes = 1;
  for (std::size_t dim = 0; dim < box.size(); ++dim) {
    parts.push_back(parts_of(signature, static_cast<DimId>(dim), setup_.mesh));
    box[dim].end /= parts.back();
    const auto guards = [&](const loopnest::Guard& guard) { return guard.uses(static_cast<DimId>(dim)); };
    if (std::none_of(op.domain.guards().begin(), op.domain.guards().end(), guards)) parts.back() = 1;
    boxes *= parts.back();
  }
  loopnest::Box fullest = box;
  for (std::int64_t each = 1, most = op.domain.points(box); each < boxes; ++each) {
    loopnest::Box part = box;
    std::int64_t rest = each;
    for (std::size_t dim = 0; dim < box.size(); rest /= parts[dim], ++dim) {
      const std::int64_t shift = rest % parts[dim] * box[dim].extent();
      part[dim] = {.begin = box[dim].begin + shift, .end = box[dim].end + shift};
    }
    if (const std::int64_t points = op.domain.points(part); points > most) {
      most = points;
      fullest = part;
    }
  }
  return fullest;
}

// A device's part of a sum of gradients, which are placed as the one that made the tensor wants them.
loopnest::Box PlacementModel::part_of_sum(const ir::Operator& sum, const ir::Operator& op,
                                          const Signature& signature) const {
  loopnest::Box box = sum.domain.box(setup_.sizes);
  const ir::TensorId summed = graph_.tensor(sum.accesses.back().tensor).of;
  for (std::size_t i = 0; i < op.accesses.size(); ++i) {
    if (op.accesses[i].tensor != summed || op.accesses[i].mode == ir::Mode::read) continue;
    const NdPlacement& placement = signature.operands[i].gradient;
    for (std::size_t axis = 0; axis < placement.size(); ++axis)
      if (placement[axis].kind == Placement::Kind::shard) box[placement[axis].dim].end /= setup_.mesh[axis].devices;
    break;
  }
  return box;
}

void PlacementModel::add_kernel(PlacedWorks& works, const ir::Operator& op, const ir::Operator& owner,
                                loopnest::Box box) {
  if (op.kind == ir::Kind::opaque) return;
  const ir::Shard shard{.op = &op, .graph = &graph_, .box = std::move(box)};
  of_phase(works, op.phase)
      .push_back({.owner = owner.name,
                  .part = Part::kernels,
                  .phase = op.phase,
                  .work = shard,
                  .time = setup_.pricer.shard(shard).duration});
}

void PlacementModel::add_kernels(PlacedWorks& works, ir::OperatorId id, const Signature& signature) {
  const ir::Operator& op = graph_.op(id);
  const loopnest::Box part = fullest_part(op, signature);
  add_kernel(works, op, op, part);
  for (const ir::OperatorId each : derived_[static_cast<std::size_t>(id)]) {
    const ir::Operator& derived = graph_.op(each);
    add_kernel(works, derived, op,
               derived.forward >= 0 ? part_of_derivative(derived, op, part) : part_of_sum(derived, op, signature));
  }
}

void PlacementModel::add_statistics(PlacedWorks& works, const ir::Operator& op, const Signature& signature) {
  for (std::size_t i = 0; i < op.accesses.size() && op.kind == ir::Kind::reduce; ++i) {
    const ir::Access& access = op.accesses[i];
    if (access.mode != ir::Mode::write || !graph_.tensor(access.tensor).statistic) continue;
    const NdPlacement& whole = signature.operands[i].value;
    NdPlacement parts = whole;
    for (std::size_t axis = 0; axis < parts.size(); ++axis)
      if (signature.parts[axis].kind == AxisPart::Kind::split && parts[axis].kind == Placement::Kind::replicate)
        parts[axis].kind = Placement::Kind::partial;
    const StatisticSums sums = statistic_sums(op);
    for (int sum = 0; sum < sums.forward + sums.backward; ++sum)
      add_boxing(works, access.tensor, Part::statistics, sum < sums.forward ? ir::Phase::forward : ir::Phase::backward,
                 parts, whole);
    return;
  }
}

void PlacementModel::add_parameter(PlacedWorks& works, ir::TensorId tensor, const Reading& read,
                                   const TensorDuty& duty) {
  const NdPlacement place = kept_placement(read.values.front());
  for (const NdPlacement& value : read.values)
    add_boxing(works, tensor, Part::parameter_gradients, ir::Phase::forward, place, value);
  for (const NdPlacement& gradient : read.gradients)
    add_boxing(works, tensor, Part::parameter_gradients, ir::Phase::backward, gradient, place);
  // To the stage before that keeps the parameter, too, and the sum back.
  for (int way = 0; way < 2 && duty.earlier && duty.gradient; ++way)
    add_message(works, tensor, Part::parameter_gradients, ir::Phase::backward, place);
}

void PlacementModel::add_received(PlacedWorks& works, ir::TensorId tensor, const Reading& read,
                                  const TensorDuty& duty) {
  const NdPlacement place = entry(tensor, read);
  add_message(works, tensor, Part::border, ir::Phase::forward, place);
  for (const NdPlacement& value : read.values)
    add_boxing(works, tensor, Part::border, ir::Phase::forward, place, value);
  for (const NdPlacement& gradient : read.gradients)
    add_boxing(works, tensor, Part::border, ir::Phase::backward, gradient, place);
  if (duty.gradient) add_message(works, tensor, Part::border, ir::Phase::backward, place);
}

void PlacementModel::add_leaving(PlacedWorks& works, ir::TensorId tensor, const OperandPlacement& made,
                                 const TensorDuty& duty) {
  const std::optional<NdPlacement> back = duty.gradient ? std::optional(made.gradient) : std::nullopt;
  const NdPlacement whole = boxing(tensor).whole_between(made.value, back);
  add_boxing(works, tensor, Part::border, ir::Phase::forward, made.value, whole);
  if (back) add_boxing(works, tensor, Part::border, ir::Phase::backward, whole, *back);
}

PlacementModel::Borders PlacementModel::borders(ir::OperatorId id, const Signature& signature,
                                                const std::vector<TensorDuty>& duties) {
  Borders result;
  for (std::size_t i = 0; i < duties.size(); ++i) {
    const ir::Access& access = op(id).accesses[i];
    if (duties[i].leaves) add_leaving(result.out, access.tensor, signature.operands[i], duties[i]);
    if (access.mode != ir::Mode::read || !duties[i].first) continue;
    if (is_parameter(access.tensor))
      add_parameter(result.in, access.tensor, reading(id, signature, access.tensor), duties[i]);
    else if (duties[i].earlier)
      add_received(result.in, access.tensor, reading(id, signature, access.tensor), duties[i]);
  }
  return result;
}

PlacedWorks PlacementModel::works(ir::OperatorId id, const Signature& signature, const OperatorRange& range) {
  const Borders borders = this->borders(id, signature, duties(id, range));
  PlacedWorks works{.forward = borders.in.forward, .backward = borders.out.backward};
  add_statistics(works, op(id), signature);
  add_kernels(works, id, signature);
  append(works, {.forward = borders.out.forward, .backward = borders.in.backward});
  return works;
}

PlacedWorks PlacementModel::works(const TensorLink& link, const Signature& from, const Signature& to) {
  PlacedWorks works;
  if (link.origin == Origin::given) return works;
  const Part part = link.origin == Origin::kept ? Part::parameter_gradients : Part::boxing;
  const OperandPlacement made = start(link, from);
  const Reading read = reading(link.to, to, link.tensor);
  for (const NdPlacement& value : read.values)
    add_boxing(works, link.tensor, part, ir::Phase::forward, made.value, value);
  for (const NdPlacement& gradient : read.gradients)
    add_boxing(works, link.tensor, part, ir::Phase::backward, gradient, made.gradient);
  return works;
}

}  // namespace cairn::splits
