// What a block moves beside the transfers its operators need: fetches, gradients on their way out, what it gives up.
#include "block_builder.h"

namespace cairn::plan {

std::int32_t BlockBuilder::add_work(const Leg& leg, const boost::container::small_vector<Dependency, 4>& after) {
  block_.works.push_back(leg.work);
  Step step = step_of(leg);
  step.work = static_cast<std::int32_t>(block_.works.size()) - 1;
  return add_step(step, after);
}

std::int32_t BlockBuilder::travel(const std::vector<Leg>& journey, Dependency after) {
  for (const Leg& each : journey) after = add_work(each, {after});
  return after;
}

void BlockBuilder::wait(Stream stream, const boost::container::small_vector<Dependency, 4>& dependencies) {
  add_step(Step{.kind = StepKind::wait, .stream = stream}, dependencies);
}

void BlockBuilder::open(const UnitTraffic& traffic) {
  if (traffic.awaits) blocking_.push_back(entry_of(Stream::fetched));
  if (traffic.distance == 2) wait(Stream::fetched, {entry_of(Stream::fetched_next)});
  if (!traffic.fetch.empty()) {
    for (std::size_t category = 0; category < k_categories; ++category)
      if (traffic.fetch.bytes[category] > 0.0)
        memory(false, static_cast<Category>(category), traffic.fetch.bytes[category]);
    block_.off_device -= traffic.fetch.bytes[static_cast<std::size_t>(Category::activations)];
    boost::container::small_vector<Dependency, 4> come;
    for (const std::vector<Leg>& journey : traffic.fetch.journeys)
      come.push_back(travel(journey, entry_of(Stream::compute)));
    if (traffic.distance == 0)
      blocking_.insert(blocking_.end(), come.begin(), come.end());
    else
      wait(traffic.distance == 1 ? Stream::fetched : Stream::fetched_next, come);
  }
  for (const Stream stream : traffic.closing) wait(stream, {entry_of(Stream::compute)});
}

void BlockBuilder::close(const UnitTraffic& traffic) {
  if (traffic.left_bytes > 0.0) {
    wait(Stream::compute, {entry_of(Stream::to_host)});
    memory(true, Category::activations, -traffic.left_bytes);
  }
  for (std::size_t category = 0; category < k_categories; ++category)
    if (traffic.given_up[category] > 0.0) memory(true, static_cast<Category>(category), -traffic.given_up[category]);
  if (traffic.leaving.empty()) return;
  travel(traffic.leaving, last_compute_);
  block_.off_device += std::get<Copy>(traffic.leaving.front().work).bytes;
}

void BlockBuilder::send_gradients(const GradientSync& sync, ParameterGroup group) {
  const Group& copies = sync.copies[group];
  const Group& replicas = sync.replicas[group];
  if (sync.hold[group] || unsent_elements_[group] <= 0.0) return;
  if (copies.size == 1 && replicas.size == 1 && !sync.onward) return;
  const double elements = unsent_elements_[group];
  unsent_elements_[group] = 0.0;
  const double before = in_flight_[group];
  in_flight_[group] = elements;
  if (sync.holds(group) && before > 0.0) memory(false, Category::gradients, -before * sync.held_bytes);
  Dependency reduced = last_compute_;
  const double shard = elements / static_cast<double>(copies.size);
  if (copies.size > 1) reduced = transfer(sync.collective, copies, elements * sync.bytes_per_element, {reduced});
  if (replicas.size > 1)
    reduced = transfer(Collective::all_reduce, replicas, shard * sync.bytes_per_element, {reduced});
  if (sync.onward) reduced = send_onward(*sync.onward, shard, before / static_cast<double>(copies.size), reduced);
  if (sync.waits) wait(Stream::compute, {reduced});
}

Dependency BlockBuilder::send_onward(const Onward& onward, double elements, double before, Dependency reduced) {
  const std::int32_t come =
      add_work(leg(Copy{.lane = Lane::to_host, .bytes = elements * onward.gradient_bytes}), {reduced});
  if (onward.update == nullptr) return come;
  boost::container::small_vector<Dependency, 4> ready{come};
  // One shard's state is read while the one before is updated, which is written after that.
  if (onward.state_bytes > 0.0)
    ready.push_back(add_work(leg(Copy{.lane = Lane::from_storage, .bytes = elements * onward.state_bytes}), {}));
  if (before * onward.written_bytes() > 0.0)
    add_work(leg(Copy{.lane = Lane::to_storage, .bytes = before * onward.written_bytes()}), {last_update_});
  block_.works.emplace_back(OnProcessor{.graph = onward.update, .elements = static_cast<std::int64_t>(elements)});
  last_update_ = add_step(Step{.kind = StepKind::host,
                               .stream = Stream::processor,
                               .work = static_cast<std::int32_t>(block_.works.size()) - 1},
                          ready);
  if (onward.parameter_bytes > 0.0)
    add_work(leg(Copy{.lane = Lane::to_device, .bytes = elements * onward.parameter_bytes}), {last_update_});
  return come;
}

}  // namespace cairn::plan
