#include "unit_passes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "step_writer.h"

namespace cairn::plan {

namespace {

struct Unit {
  LoweredLayer* layer = nullptr;
  bool owns_ties = true;
};

std::vector<Unit> units_of(std::span<const Stretch> stretches) {
  std::vector<Unit> units;
  for (const Stretch& stretch : stretches) {
    const bool tied = !stretch.layer->lowering.state().tied.empty();
    for (std::int64_t index = 0; index < stretch.count; ++index)
      units.push_back({.layer = stretch.layer, .owns_ties = !tied || (stretch.owns_ties && index == 0)});
  }
  return units;
}

void add(CategoryBytes& bytes, Category category, double more) { bytes[static_cast<std::size_t>(category)] += more; }

using Part = LoweredLayer::Part;

// Whether a pass brings parameters that stay for so long, and whether they go behind it; `special`: a chunk's first
// forward or last backward pass. A pass of weight gradients alone needs none.
bool brings(Gathered stay, Part part, bool special) {
  switch (stay) {
    case Gathered::for_a_pass:
      return part != Part::weight_gradient;
    case Gathered::for_a_micro_batch:
      return part == Part::forward;
    case Gathered::for_the_step:
      return part == Part::forward && special;
  }
  return false;
}
bool lets_go(Gathered stay, Part part, bool special) {
  switch (stay) {
    case Gathered::for_a_pass:
      return part != Part::weight_gradient;
    case Gathered::for_a_micro_batch:
      return part == Part::backward || part == Part::input_gradient;
    case Gathered::for_the_step:
      return special && (part == Part::backward || part == Part::weight_gradient);
  }
  return false;
}

// What one pass fetches and frees, unit by unit. A pass of weight gradients alone fetches nothing: offloaded
// activations are back by then.
class Fetches {
 public:
  Fetches(const UnitSettings& settings, const std::vector<Unit>& units, Part part, bool special)
      : settings_(settings), units_(units), part_(part), special_(special) {}

  Fetch of(std::size_t index) const {
    const LayerState& state = units_[index].layer->lowering.state();
    Fetch fetch;
    if (fetches(gathered(index))) parameters(fetch, state.moved_elements(true), resident(index));
    const Home home = settings_.offload.activations;
    const bool returns = part_ == Part::backward || part_ == Part::input_gradient;
    if (returns && home != Home::device && offloads(units_[index])) {
      std::vector<Leg> journey;
      if (home == Home::storage) journey.push_back(leg(Copy{.lane = Lane::from_storage, .bytes = state.saved_bytes}));
      journey.push_back(leg(Copy{.lane = Lane::to_device, .bytes = state.saved_bytes}));
      fetch.journeys.push_back(std::move(journey));
      add(fetch.bytes, Category::activations, state.saved_bytes);
    }
    return fetch;
  }
  // What unit `index` computes on its parameters once they have come, and the pass on those that several layers share.
  std::vector<ir::Shard> kernels(std::size_t index) const {
    if (!fetches(gathered(index))) return {};
    return settings_.gather_kernels(units_[index].layer->lowering.state().moved_elements(true));
  }
  std::vector<ir::Shard> shared_kernels() const {
    if (!fetches(settings_.root_gathered)) return {};
    return settings_.gather_kernels(shared_elements());
  }
  // Parameters that several layers share are fetched for the whole pass.
  Fetch shared() const {
    Fetch fetch;
    if (fetches(settings_.root_gathered)) parameters(fetch, shared_elements(), false);
    return fetch;
  }
  CategoryBytes given_up(std::size_t index) const {
    Fetch fetched;
    if (gives_up(gathered(index)))
      parameters(fetched, units_[index].layer->lowering.state().moved_elements(true), resident(index));
    return fetched.bytes;
  }
  CategoryBytes shared_given_up() const {
    Fetch fetched;
    if (gives_up(settings_.root_gathered)) parameters(fetched, shared_elements(), false);
    return fetched.bytes;
  }
  PerGroup<double> shared_elements() const {
    PerGroup<double> result;
    std::vector<std::string> known;
    for (const Unit& unit : units_)
      for (const Tied& tied : unit.layer->lowering.state().tied) {
        if (std::find(known.begin(), known.end(), tied.tag) != known.end()) continue;
        known.push_back(tied.tag);
        result[tied.group] += tied.elements;
      }
    return result;
  }
  // Only body layers offload activations: entry and exit layers would need theirs back at once.
  static bool offloads(const Unit& unit) {
    return unit.layer->lowering.layer().position == ir::Position::body &&
           unit.layer->lowering.state().saved_bytes > 0.0;
  }

 private:
  Gathered gathered(std::size_t index) const {
    const bool body = units_[index].layer->lowering.layer().position == ir::Position::body;
    return body ? settings_.body_gathered : settings_.root_gathered;
  }
  bool fetches(Gathered stay) const { return settings_.parameters_move() && brings(stay, part_, special_); }
  bool gives_up(Gathered stay) const { return settings_.parameters_move() && lets_go(stay, part_, special_); }
  bool resident(std::size_t index) const { return static_cast<std::int64_t>(index) < settings_.offload.resident_units; }

  void parameters(Fetch& fetch, const PerGroup<double>& elements, bool resident) const {
    const Home home = resident ? Home::device : settings_.offload.parameters;
    const double stored = numerics::bytes_per_element(settings_.treatment->parameters);
    for (const ParameterGroup group : k_all_parameter_groups) {
      const Group& ranks = settings_.keeps_shards() ? settings_.shards[group] : k_alone;
      const double shard = elements[group] / static_cast<double>(ranks.size) * stored;
      std::vector<Leg> journey;
      if (home == Home::storage) journey.push_back(leg(Copy{.lane = Lane::from_storage, .bytes = shard}));
      if (home != Home::device) journey.push_back(leg(Copy{.lane = Lane::to_device, .bytes = shard}));
      if (ranks.size > 1)
        journey.push_back(
            leg(Transfer{.collective = Collective::all_gather,
                         .group = ranks,
                         .bytes = elements[group] * numerics::bytes_per_element(settings_.treatment->gather)}));
      if (elements[group] <= 0.0 || journey.empty()) continue;
      fetch.journeys.push_back(std::move(journey));
      const double held = ranks.size > 1 ? numerics::bytes_per_element(settings_.treatment->gather) : stored;
      add(fetch.bytes, Category::parameters, elements[group] * held);
    }
  }

  static constexpr Group k_alone{};
  const UnitSettings& settings_;
  const std::vector<Unit>& units_;
  Part part_;
  bool special_;
};

// The traffic of every unit of a pass, and of its beginning and end, from what each unit fetches.
class Itinerary {
 public:
  Itinerary(const UnitSettings& settings, const std::vector<Unit>& units, Part part, bool special)
      : settings_(settings), units_(units), part_(part), fetches_(settings, units, part, special) {
    shared_ = fetches_.shared();
    for (std::size_t index = 0; index < units.size(); ++index) wanted_.push_back(fetches_.of(index));
    for (const Fetch& fetch : wanted_)
      for (const std::vector<Leg>& journey : fetch.journeys)
        if (std::find(streams_.begin(), streams_.end(), journey.front().stream) == streams_.end())
          streams_.push_back(journey.front().stream);
  }

  UnitTraffic of(std::size_t index) const {
    UnitTraffic traffic;
    traffic.given_up = fetches_.given_up(index);
    traffic.kernels = fetches_.kernels(index);
    const auto distance = static_cast<std::size_t>(settings_.prefetch);
    if (distance == 0) {
      traffic.fetch = wanted_[index];
    } else if (!streams_.empty() || !shared_.empty()) {
      traffic.awaits = !wanted_[index].empty() || (index == 0 && !shared_.empty());
      traffic.distance = settings_.prefetch;
      if (index + distance < wanted_.size())
        traffic.fetch = wanted_[index + distance];
      else
        traffic.closing = streams_;
    }
    if (part_ == Part::forward && settings_.offload.activations != Home::device) leaves(traffic, index);
    return traffic;
  }

  // Issues the fetches of the first units and of parameters that several units share; computation waits for the latter
  // and for the kernels they take.
  void begin(StepWriter& writer) const {
    // The activations that the forward pass offloaded last may be fetched first, so their copy out must have ended.
    const bool returns = part_ == Part::backward || part_ == Part::input_gradient;
    if (returns && settings_.offload.activations != Home::device)
      writer.wait(Stream::to_device, {entry_of(Stream::to_host)});
    const auto come_of = [&](const Fetch& fetch, Stream noted) {
      Dependencies come;
      writer.hold(fetch.bytes, 1.0);
      writer.leave(-fetch.bytes[static_cast<std::size_t>(Category::activations)]);
      for (const std::vector<Leg>& journey : fetch.journeys) {
        const Dependency free = settings_.prefetch == 0 ? entry_of(Stream::compute) : entry_of(journey.front().stream);
        come.push_back(writer.travel(journey, free));
        writer.wait(noted, {come.back()});
      }
      return come;
    };
    const auto ahead = static_cast<std::size_t>(settings_.prefetch);
    writer.compute(fetches_.shared_kernels(), come_of(shared_, ahead == 0 ? Stream::compute : Stream::fetched));
    if (ahead > 0 && !wanted_.empty()) come_of(wanted_[0], Stream::fetched);
    if (ahead > 1 && wanted_.size() > 1) come_of(wanted_[1], Stream::fetched_next);
  }
  void end(StepWriter& writer) const {
    writer.hold(fetches_.shared_given_up(), -1.0);
    if (part_ == Part::forward && !units_.empty()) writer.hold(Category::activations, -left_by(units_.size()));
  }
  PerGroup<double> shared_elements() const { return fetches_.shared_elements(); }

 private:
  // Bytes of activations that the unit before `index` is copying to the host.
  double left_by(std::size_t index) const {
    const bool left =
        index > 0 && settings_.offload.activations != Home::device && Fetches::offloads(units_[index - 1]);
    return left ? units_[index - 1].layer->lowering.state().saved_bytes : 0.0;
  }
  void leaves(UnitTraffic& traffic, std::size_t index) const {
    traffic.left_bytes = left_by(index);
    if (!Fetches::offloads(units_[index])) return;
    const double bytes = units_[index].layer->lowering.state().saved_bytes;
    traffic.leaving.push_back(leg(Copy{.lane = Lane::to_host, .bytes = bytes}));
    if (settings_.offload.activations == Home::storage)
      traffic.leaving.push_back(leg(Copy{.lane = Lane::to_storage, .bytes = bytes}));
  }

  const UnitSettings& settings_;
  const std::vector<Unit>& units_;
  Part part_;
  Fetches fetches_;
  Fetch shared_;
  std::vector<Fetch> wanted_;
  std::vector<Stream> streams_;  // the streams on which fetches begin
};

// The gradient transfers that still run when the last unit of a backward pass has computed.
struct UnderWay {
  GradientSync sync;
  PerGroup<double> in_flight;
  bool waits = false;
};

void settle_under_way(StepWriter& writer, const UnitSettings& settings, const UnderWay& under_way) {
  for (const ParameterGroup group : k_all_parameter_groups) {
    const double elements = under_way.in_flight[group];
    const Group& ranks = under_way.sync.copies[group];
    if (under_way.sync.onward && under_way.sync.onward->update != nullptr && elements > 0.0) {
      const double written = elements / static_cast<double>(ranks.size) * under_way.sync.onward->written_bytes();
      if (written > 0.0)
        writer.travel({leg(Copy{.lane = Lane::to_storage, .bytes = written})}, entry_of(Stream::processor));
    }
    if (under_way.waits && (ranks.size > 1 || settings.replicas[group].size > 1))
      writer.wait(Stream::compute, {entry_of(stream_of(ranks.axis))});
    writer.hold(Category::gradients, -elements * under_way.sync.in_flight_bytes(group));
  }
  if (under_way.waits && under_way.sync.onward) writer.wait(Stream::compute, {entry_of(Stream::to_host)});
}

// Lets a later unit send this unit's gradients (GradientSync::hold) as long as together they do not fill a bucket.
void fill_buckets(GradientSync& sync, const PerGroup<double>& elements) {
  for (const ParameterGroup group : k_all_parameter_groups) {
    const double together = (sync.carried_elements[group] + elements[group]) * sync.bytes_per_element;
    sync.hold[group] = together < sync.bucket_bytes;
  }
}

}  // namespace

std::uint64_t UnitPasses::Content::hash(const Block& block) {
  core::Hash hash;
  for (const Step& step : block.steps) hash.add(static_cast<std::uint8_t>(step.stream)).add(step.work);
  for (const Dependency dependency : block.dependencies) hash.add(dependency);
  for (const MemoryEvent& event : block.memory) add(hash, event.bytes);
  return hash.value();
}

bool UnitPasses::Content::same(const Block& a, const Block& b) {
  return a.steps == b.steps && a.dependencies == b.dependencies && a.works == b.works && a.memory == b.memory &&
         a.off_device == b.off_device && a.name == b.name;
}

void UnitPasses::append_stored(Pass& pass, Block block) {
  if (block.steps.empty() && block.memory.empty()) return;
  append(pass, blocks_.stored(std::move(block)).first, 1);
}

void UnitPasses::append_forward(Pass& pass, std::span<const Stretch> stretches, const UnitSettings& settings,
                                bool special) {
  const std::vector<Unit> units = units_of(stretches);
  const Itinerary itinerary(settings, units, Part::forward, special);
  GradientSync gather;
  if (special && settings.overlap_parameter_gather) {
    gather.collective = Collective::all_gather;
    gather.copies = settings.shards;
    gather.bytes_per_element = numerics::bytes_per_element(settings.treatment->gather);
  }
  StepWriter begin("fetch");
  itinerary.begin(begin);
  append_stored(pass, begin.finish());
  for (std::size_t index = 0; index < units.size(); ++index) {
    gather.without_tied = !units[index].owns_ties;
    append(pass, &units[index].layer->moving(Part::forward, gather, itinerary.of(index)).block, 1);
  }
  StepWriter end("let go");
  itinerary.end(end);
  append_stored(pass, end.finish());
}

void UnitPasses::append_backward(Pass& pass, std::span<const Stretch> stretches, const UnitSettings& settings,
                                 Half half, bool special) {
  std::vector<Unit> units = units_of(stretches);
  std::reverse(units.begin(), units.end());
  const Part part = half == Half::both             ? Part::backward
                    : half == Half::input_gradient ? Part::input_gradient
                                                   : Part::weight_gradient;
  const Itinerary itinerary(settings, units, part, special);
  const bool reduces =
      half != Half::input_gradient && (settings.reduces_every_pass() || (special && settings.reduces_in_passes()));
  GradientSync sync;
  if (reduces) sync = settings.sync(special);
  StepWriter begin("fetch");
  itinerary.begin(begin);
  PerGroup<double> shared;
  if (std::any_of(units.begin(), units.end(),
                  [](const Unit& unit) { return unit.owns_ties && !unit.layer->lowering.state().tied.empty(); }))
    shared = itinerary.shared_elements();
  for (const ParameterGroup group : k_all_parameter_groups)
    if (reduces && sync.holds(group)) begin.hold(Category::gradients, shared[group] * sync.held_bytes);
  append_stored(pass, begin.finish());
  // Sharded parameters have their gradients reduced unit by unit.
  const bool by_bucket = !settings.keeps_shards();
  for (std::size_t index = 0; index < units.size(); ++index) {
    LoweredLayer& layer = *units[index].layer;
    sync.without_tied = !units[index].owns_ties;
    const PerGroup<double> elements = layer.lowering.state().moved_elements(sync.without_tied);
    sync.hold = {};
    if (reduces && by_bucket && index + 1 < units.size()) fill_buckets(sync, elements);
    const LoweredLayer::Moving& moving = layer.moving(part, sync, itinerary.of(index));
    append(pass, &moving.block, 1);
    sync.in_flight = moving.in_flight;
    for (const ParameterGroup group : k_all_parameter_groups)
      sync.carried_elements[group] = sync.hold[group] ? sync.carried_elements[group] + elements[group] : 0.0;
  }
  StepWriter end("let go");
  itinerary.end(end);
  const bool waits = settings.reduces_every_pass() && settings.single_stage;
  if (reduces) settle_under_way(end, settings, {.sync = sync, .in_flight = sync.in_flight, .waits = waits});
  append_stored(pass, end.finish());
}

double UnitPasses::kept_bytes(std::span<const Stretch> stretches, const UnitSettings& settings) {
  std::vector<double> bytes;
  for (const Unit& unit : units_of(stretches)) {
    const PerGroup<double> elements = unit.layer->lowering.state().moved_elements(true);
    double kept = 0.0;
    for (const ParameterGroup group : k_all_parameter_groups)
      kept +=
          std::ceil(elements[group] / static_cast<double>(settings.keeps_shards() ? settings.shards[group].size : 1)) *
          numerics::bytes_per_element(settings.treatment->parameters);
    bytes.push_back(kept);
  }
  const auto units =
      static_cast<std::ptrdiff_t>(std::min(bytes.size(), static_cast<std::size_t>(settings.offload.resident_units)));
  return std::max(std::accumulate(bytes.begin(), bytes.begin() + units, 0.0),
                  std::accumulate(bytes.end() - units, bytes.end(), 0.0));
}

}  // namespace cairn::plan
