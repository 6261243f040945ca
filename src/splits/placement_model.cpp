#include "placement_model.h"

#include <algorithm>
#include <set>

#include "cairn/core/assert.h"

namespace cairn::splits {
namespace {

bool is_among(const std::vector<ir::OperatorId>& ids, ir::OperatorId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool is_in(ir::OperatorId id, const OperatorRange& range) {
  return id >= 0 && static_cast<std::size_t>(id) >= range.first && static_cast<std::size_t>(id) <= range.last;
}
bool is_before(ir::OperatorId id, const OperatorRange& range) {
  return id >= 0 && static_cast<std::size_t>(id) < range.first;
}
bool is_after(ir::OperatorId id, const OperatorRange& range) {
  return id >= 0 && static_cast<std::size_t>(id) > range.last;
}

void add_different(std::vector<NdPlacement>& placements, const NdPlacement& placement) {
  if (std::find(placements.begin(), placements.end(), placement) == placements.end()) placements.push_back(placement);
}

// Its position; it is added where it is not there.
template <class Value>
std::size_t position_in(std::vector<Value>& values, const Value& value) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found != values.end()) return static_cast<std::size_t>(found - values.begin());
  values.push_back(value);
  return values.size() - 1;
}

// What a step takes once, as a part of each micro-batch.
core::Picoseconds shared_out(core::Picoseconds once, std::int64_t micro_batches) {
  return (once + micro_batches - 1) / micro_batches;
}
core::Picoseconds of_micro_batch(const PartTimes& times, std::int64_t micro_batches) {
  const core::Picoseconds once = times[Part::parameter_gradients];
  return times.total() - once + shared_out(once, micro_batches);
}

PartTimes times_of(const PlacedWorks& works) {
  PartTimes times;
  for (const std::vector<PlacedWork>* pass : {&works.forward, &works.backward})
    for (const PlacedWork& work : *pass) times[work.part] += work.time;
  return times;
}

}  // namespace

std::vector<double> PairCosts::of_pairs(const std::vector<double>& values) const {
  std::vector<double> result;
  result.reserve(row.size() * column.size());
  for (const std::size_t i : row)
    for (const std::size_t j : column) result.push_back(values[i * table->columns + j]);
  return result;
}

PlacementModel::PlacementModel(const ir::Graph& graph, const std::vector<PlacedOperator>& operators,
                               const PlacementSetup& setup)
    : graph_(graph),
      operators_(operators),
      setup_(setup),
      readers_(graph.tensors().size()),
      savers_(graph.tensors().size()),
      is_saved_(graph.tensors().size(), 0),
      derived_(graph.forward_count()),
      inner_(graph.forward_count()) {
  std::map<std::pair<std::vector<std::int64_t>, double>, std::size_t> shapes;
  for (const ir::Tensor& tensor : graph.tensors()) {
    std::vector<std::int64_t> extents;
    for (const ir::TensorDim& dim : tensor.dims) extents.push_back(dim.extent.at(setup.sizes));
    const double bytes = static_cast<double>(tensor.elements(setup.sizes)) * numerics::bytes_per_element(tensor.format);
    const auto [shape, fresh] = shapes.try_emplace({extents, bytes}, boxings_.size());
    if (fresh) boxings_.emplace_back(std::move(extents), core::Bytes::from_base(bytes), setup.mesh, setup.pricer);
    boxing_of_.push_back(shape->second);
  }
  for (std::size_t id = 0; id < graph.forward_count(); ++id)
    for (const ir::Access& access : graph.op(static_cast<ir::OperatorId>(id)).accesses) {
      auto& readers = readers_[static_cast<std::size_t>(access.tensor)];
      const auto reader = static_cast<ir::OperatorId>(id);
      if (access.mode == ir::Mode::read && !is_among(readers, reader)) readers.push_back(reader);
    }
  for (const ir::TensorId id : graph.saved()) is_saved_[static_cast<std::size_t>(id)] = 1;
  for (std::size_t id = graph.forward_count(); id < graph.operators().size(); ++id)
    add_derived(static_cast<ir::OperatorId>(id));
}

// Derivatives belong to their operator, sums of gradients to the one that made the tensor.
void PlacementModel::add_derived(ir::OperatorId id) {
  ir::OperatorId owner = op(id).forward;
  for (const ir::Access& access : op(id).accesses)
    if (owner < 0 && access.mode != ir::Mode::read && graph_.tensor(access.tensor).of != ir::k_no_tensor)
      owner = graph_.producer(graph_.tensor(access.tensor).of);
  if (owner < 0) return;
  derived_[static_cast<std::size_t>(owner)].push_back(id);
  for (const ir::Access& access : op(id).accesses) {
    if (access.mode != ir::Mode::read || graph_.tensor(access.tensor).role != ir::Role::activation) continue;
    for (ir::TensorId each = access.tensor; each != ir::k_no_tensor; each = graph_.tensor(each).alias_of)
      if (auto& savers = savers_[static_cast<std::size_t>(each)]; !is_among(savers, owner)) savers.push_back(owner);
  }
}

std::vector<TensorLink> PlacementModel::links(const OperatorRange& range) const {
  std::vector<TensorLink> result;
  for (std::size_t at = range.first; at <= range.last; ++at) {
    const auto id = static_cast<ir::OperatorId>(at);
    std::set<ir::TensorId> done;
    for (const ir::Access& access : op(id).accesses) {
      if (access.mode != ir::Mode::read || !done.insert(access.tensor).second) continue;
      const ir::OperatorId producer = graph_.producer(access.tensor);
      TensorLink link{.tensor = access.tensor, .from = first_reader(access.tensor, range), .to = id};
      if (is_in(producer, range))
        link.from = producer;
      else
        link.origin = is_parameter(access.tensor) ? Origin::kept : producer >= 0 ? Origin::received : Origin::given;
      if (link.from != id) result.push_back(link);
    }
  }
  return result;
}

ir::OperatorId PlacementModel::first_reader(ir::TensorId tensor, const OperatorRange& range) const {
  for (const ir::OperatorId each : readers_[static_cast<std::size_t>(tensor)])
    if (is_in(each, range)) return each;
  return -1;
}

bool PlacementModel::saves(ir::OperatorId id, ir::TensorId tensor) const {
  return is_among(savers_[static_cast<std::size_t>(tensor)], id);
}

bool PlacementModel::makes_gradient(ir::OperatorId id, ir::TensorId tensor) const {
  const auto& accesses = op(id).accesses;
  return std::any_of(accesses.begin(), accesses.end(), [&](const ir::Access& access) {
    return access.tensor == tensor && access.mode == ir::Mode::read && access.gradient != ir::InputGradient::none;
  });
}

TensorDuty PlacementModel::duty(ir::OperatorId id, const ir::Access& access, const OperatorRange& range) const {
  const ir::Tensor& tensor = graph_.tensor(access.tensor);
  const std::vector<ir::OperatorId>& readers = readers_[static_cast<std::size_t>(access.tensor)];
  const std::vector<ir::OperatorId>& savers = savers_[static_cast<std::size_t>(access.tensor)];
  const auto inside = [&](ir::OperatorId each) { return is_in(each, range); };
  const auto gradient_from = [&](bool (*where)(ir::OperatorId, const OperatorRange&)) {
    return std::any_of(readers.begin(), readers.end(),
                       [&](ir::OperatorId each) { return where(each, range) && makes_gradient(each, access.tensor); });
  };
  const bool is_saved = is_saved_[static_cast<std::size_t>(access.tensor)] != 0;
  TensorDuty duty{.first = true, .saved = is_saved && std::any_of(savers.begin(), savers.end(), inside)};
  if (access.mode == ir::Mode::read) {
    const ir::OperatorId producer = graph_.producer(access.tensor);
    if (is_in(producer, range) || first_reader(access.tensor, range) != id) return {};
    duty.earlier = is_parameter(access.tensor) ? is_before(readers.front(), range) : producer >= 0;
    duty.gradient = gradient_from(is_in);
    return duty;
  }
  const std::vector<ir::TensorId>& outputs = graph_.outputs();
  const bool ends = readers.empty() || std::find(outputs.begin(), outputs.end(), access.tensor) != outputs.end();
  duty.leaves = !tensor.statistic && (ends || is_after(readers.back(), range));
  duty.gradient = duty.leaves && (ends || gradient_from(is_after));
  return duty;
}

std::vector<TensorDuty> PlacementModel::duties(ir::OperatorId id, const OperatorRange& range) const {
  std::vector<TensorDuty> result;
  std::set<ir::TensorId> done;
  for (const ir::Access& access : op(id).accesses)
    result.push_back(done.insert(access.tensor).second ? duty(id, access, range) : TensorDuty{});
  return result;
}

double PlacementModel::part_bytes(ir::TensorId id, const NdPlacement& placement) const {
  const ir::Tensor& tensor = graph_.tensor(id);
  double bytes = static_cast<double>(tensor.elements(setup_.sizes)) * numerics::bytes_per_element(tensor.format);
  for (std::size_t axis = 0; axis < placement.size(); ++axis)
    if (placement[axis].kind == Placement::Kind::shard) bytes /= static_cast<double>(setup_.mesh[axis].devices);
  return bytes;
}

PlacementModel::Reading PlacementModel::reading(ir::OperatorId id, const Signature& signature,
                                                ir::TensorId tensor) const {
  Reading result;
  for (std::size_t i = 0; i < op(id).accesses.size(); ++i) {
    const ir::Access& access = op(id).accesses[i];
    if (access.tensor != tensor || access.mode != ir::Mode::read) continue;
    add_different(result.values, signature.operands[i].value);
    if (access.gradient != ir::InputGradient::none) add_different(result.gradients, signature.operands[i].gradient);
  }
  return result;
}

OperandPlacement PlacementModel::start(const TensorLink& link, const Signature& from) {
  const Reading read = reading(link.from, from, link.tensor);
  switch (link.origin) {
    case Origin::made:
      for (std::size_t i = 0; i < op(link.from).accesses.size(); ++i)
        if (op(link.from).accesses[i].tensor == link.tensor && op(link.from).accesses[i].mode != ir::Mode::read)
          return from.operands[i];
      break;
    case Origin::kept: {
      const NdPlacement place = kept_placement(read.values.front());
      return {.value = place, .gradient = place};
    }
    case Origin::received: {
      const NdPlacement place = entry(link.tensor, read);
      return {.value = place, .gradient = place};
    }
    case Origin::given:
      return {.value = read.values.front(), .gradient = {}};
  }
  CAIRN_ASSERT(false && "a link leaves an operator that has its tensor");
  return {};
}

program::Transfer PlacementModel::message(double bytes) const {
  return {.collective = program::Collective::send,
          .group = {.axis = program::Axis::pipeline, .size = 2, .stride = devices(setup_.mesh)},
          .bytes = bytes};
}

core::Picoseconds PlacementModel::message_time(double bytes) {
  if (bytes == 0.0) return 0;
  const auto [found, fresh] = message_times_.try_emplace(bytes);
  if (fresh) found->second = setup_.pricer.transfer(message(bytes)).duration;
  return found->second;
}

NdPlacement PlacementModel::entry(ir::TensorId tensor, const Reading& reading) {
  std::vector<Entry>& known = entries_[tensor];
  for (const Entry& each : known)
    if (each.reading == reading) return each.place;
  TensorBoxing& of = boxing(tensor);
  std::optional<core::Picoseconds> least;
  NdPlacement best;
  for (const NdPlacement& place : of.wholes()) {
    core::Picoseconds time = message_time(part_bytes(tensor, place)) * (reading.gradients.empty() ? 1 : 2);
    for (const NdPlacement& value : reading.values) time += of.time(place, value);
    for (const NdPlacement& gradient : reading.gradients) time += of.time(gradient, place);
    if (least && time >= *least) continue;
    least = time;
    best = place;
  }
  known.push_back({.reading = reading, .place = best});
  return best;
}

StoredBytes PlacementModel::stored(ir::OperatorId id, const Signature& signature,
                                   const std::vector<TensorDuty>& duties) {
  StoredBytes bytes;
  for (std::size_t i = 0; i < duties.size(); ++i) {
    const ir::Access& access = op(id).accesses[i];
    const NdPlacement& value = signature.operands[i].value;
    if (!duties[i].first) continue;
    if (is_parameter(access.tensor)) {
      const double element = numerics::bytes_per_element(graph_.tensor(access.tensor).format);
      bytes.parameters += part_bytes(access.tensor, kept_placement(value)) * (2.0 + setup_.state_bytes / element);
    } else if (duties[i].saved && duties[i].earlier) {
      const Reading read = reading(id, signature, access.tensor);
      const NdPlacement place = entry(access.tensor, read);
      bytes.saved += part_bytes(access.tensor, place);
      if (saves(id, access.tensor)) bytes.saved += stored_apart(access.tensor, place, read);
    } else if (duties[i].saved) {
      bytes.saved += part_bytes(access.tensor, value);
    }
  }
  return bytes;
}

double PlacementModel::stored_apart(ir::TensorId tensor, const NdPlacement& place, const Reading& read) {
  double bytes = 0.0;
  for (const NdPlacement& value : read.values)
    if (boxing(tensor).moves(place, value)) bytes += part_bytes(tensor, value);
  return bytes;
}

StoredBytes PlacementModel::stored(const TensorLink& link, const OperandPlacement& start, const Reading& read) {
  StoredBytes bytes;
  if (link.origin == Origin::kept)  // with its gradient
    bytes.parameters = 2.0 * stored_apart(link.tensor, start.value, read);
  else if (saves(link.to, link.tensor))
    bytes.saved = stored_apart(link.tensor, start.value, read);
  return bytes;
}

const PlacementModel::OptionCosts& PlacementModel::options_of(ir::OperatorId id, const OperatorRange& range) {
  const auto [slot, fresh] = options_.try_emplace({id, duties(id, range)});
  if (!fresh) return slot->second;
  const std::vector<Signature>& signatures = signatures_of(id);
  std::vector<PartTimes>& inner = inner_[static_cast<std::size_t>(id)];
  for (std::size_t option = inner.size(); option < signatures.size(); ++option) {
    PlacedWorks works;
    add_statistics(works, op(id), signatures[option]);
    add_kernels(works, id, signatures[option]);
    inner.push_back(times_of(works));
  }
  for (std::size_t option = 0; option < signatures.size(); ++option) {
    PartTimes& times = slot->second.times.emplace_back(inner[option]);
    const Borders borders = this->borders(id, signatures[option], slot->first.second);
    for (const PlacedWorks* each : {&borders.in, &borders.out}) times += times_of(*each);
    slot->second.bytes.push_back(stored(id, signatures[option], slot->first.second));
  }
  return slot->second;
}

const PairCosts& PlacementModel::pairs_of(const TensorLink& link) {
  const auto [slot, fresh] = pairs_.try_emplace(link);
  PairCosts& pairs = slot->second;
  if (!fresh) return pairs;
  PairKey key{.origin = link.origin, .saves = saves(link.to, link.tensor), .starts = {}, .readings = {}};
  for (const Signature& each : signatures_of(link.from))
    pairs.row.push_back(position_in(key.starts, start(link, each)));
  for (const Signature& each : signatures_of(link.to))
    pairs.column.push_back(position_in(key.readings, reading(link.to, each, link.tensor)));
  pairs.table = &table(link, std::move(key));
  return pairs;
}

// That of a link of an equal layer, where there is one.
const PairTable& PlacementModel::table(const TensorLink& link, PairKey key) {
  auto& known = tables_[boxing_of_[static_cast<std::size_t>(link.tensor)]];
  for (const auto& [each, table] : known)
    if (each == key) return *table;
  auto table = std::make_unique<PairTable>();
  table->columns = key.readings.size();
  TensorBoxing& of = boxing(link.tensor);
  for (const OperandPlacement& from : key.starts)
    for (const Reading& read : key.readings) {
      core::Picoseconds time = 0;
      for (const NdPlacement& value : read.values)
        if (link.origin != Origin::given) time += of.time(from.value, value);
      for (const NdPlacement& gradient : read.gradients)
        if (link.origin != Origin::given) time += of.time(gradient, from.gradient);
      table->times.push_back(time);
      table->bytes.push_back(stored(link, from, read));
    }
  return *known.emplace_back(std::move(key), std::move(table)).second;
}

choice::CostNetwork PlacementModel::costs(const OperatorRange& range, std::int64_t micro_batches) {
  choice::CostNetwork result;
  for (std::size_t id = range.first; id <= range.last; ++id) {
    std::vector<double> costs;
    for (const PartTimes& times : options_of(static_cast<ir::OperatorId>(id), range).times)
      costs.push_back(static_cast<double>(of_micro_batch(times, micro_batches)));
    result.add_vertex(std::move(costs));
  }
  for (const TensorLink& link : links(range)) {
    if (link.origin == Origin::given) continue;
    const PairCosts& pairs = pairs_of(link);
    std::vector<double> times;
    for (const core::Picoseconds each : pairs.table->times)
      times.push_back(static_cast<double>(link.origin == Origin::kept ? shared_out(each, micro_batches) : each));
    result.add_edge(vertex(link.from, range), vertex(link.to, range), pairs.of_pairs(times));
  }
  return result;
}

choice::CostNetwork PlacementModel::memory(const OperatorRange& range, std::int64_t held) {
  const auto micro_batches = static_cast<double>(held);
  choice::CostNetwork result;
  for (std::size_t id = range.first; id <= range.last; ++id) {
    std::vector<double> bytes;
    for (const StoredBytes& each : options_of(static_cast<ir::OperatorId>(id), range).bytes)
      bytes.push_back(each.held(micro_batches));
    result.add_vertex(std::move(bytes));
  }
  for (const TensorLink& link : links(range)) {
    const PairCosts& pairs = pairs_of(link);
    std::vector<double> bytes;
    for (const StoredBytes& each : pairs.table->bytes) bytes.push_back(each.held(micro_batches));
    if (std::any_of(bytes.begin(), bytes.end(), [](double each) { return each > 0.0; }))
      result.add_edge(vertex(link.from, range), vertex(link.to, range), pairs.of_pairs(bytes));
  }
  return result;
}

StageCosts PlacementModel::of(const OperatorRange& range, std::int64_t micro_batches,
                              std::span<const choice::Option> options) {
  CAIRN_ASSERT(options.size() == range.size());
  const auto signature = [&](ir::OperatorId id) -> const Signature& {
    return signatures_of(id)[static_cast<std::size_t>(options[static_cast<std::size_t>(vertex(id, range))])];
  };
  StageCosts result;
  for (std::size_t at = range.first; at <= range.last; ++at) {
    const auto id = static_cast<ir::OperatorId>(at);
    result.time += of_micro_batch(times_of(works(id, signature(id), range)), micro_batches);
    result.bytes += stored(id, signature(id), duties(id, range));
  }
  for (const TensorLink& link : links(range)) {
    const Signature &from = signature(link.from), &to = signature(link.to);
    result.time += of_micro_batch(times_of(works(link, from, to)), micro_batches);
    result.bytes += stored(link, start(link, from), reading(link.to, to, link.tensor));
  }
  return result;
}

double PlacementModel::pairs(const OperatorRange& range) const {
  const auto options = [&](ir::OperatorId id) { return static_cast<double>(signatures_of(id).size()); };
  double result = 0.0;
  for (const TensorLink& link : links(range)) {
    const bool stores = link.origin == Origin::kept || saves(link.to, link.tensor);
    result +=
        options(link.from) * options(link.to) * ((link.origin != Origin::given ? 1.0 : 0.0) + (stores ? 1.0 : 0.0));
  }
  return result;
}

}  // namespace cairn::splits
