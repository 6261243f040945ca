#include "gradient_queue.h"

#include <utility>

namespace cairn::plan {

void GradientQueue::begin(const GradientSync& sync) {
  sync_ = &sync;
  unsent_elements_ = sync.carried_elements;
  in_flight_ = sync.in_flight;
}

void GradientQueue::add(ir::TensorId parameter) {
  const bool tied = !pass_.graph().tensor(parameter).tied.empty();
  if (sync_->collective == Collective::none || (sync_->without_tied && tied)) return;
  const ParameterGroup group = pass_.layer.mesh_of(parameter);
  const double elements = pass_.layer.elements_of(parameter);
  unsent_elements_[group] += elements;
  // The gradient of a tied parameter accumulates over the whole pass, so the pass holds its memory, not this block.
  if (tied || !sync_->holds(group)) return;
  if (defers_)
    deferred_bytes_ += elements * sync_->held_bytes;
  else
    writer_.hold_after(Category::gradients, elements * sync_->held_bytes);
}

void GradientQueue::resume() {
  defers_ = false;
  writer_.hold(Category::gradients, deferred_bytes_);
}

void GradientQueue::send_full() {
  if (defers_ || sync_->collective == Collective::none) return;
  const double bucket = sync_->bucket_bytes / sync_->bytes_per_element;
  for (const ParameterGroup group : k_all_parameter_groups)
    if (unsent_elements_[group] >= bucket) send(group);
}

void GradientQueue::send_all() {
  if (sync_->collective == Collective::none) return;
  for (const ParameterGroup group : k_all_parameter_groups) send(group);
}

void GradientQueue::send(ParameterGroup group) {
  const GradientSync& sync = *sync_;
  const Group& copies = sync.copies[group];
  const Group& replicas = sync.replicas[group];
  if (sync.hold[group] || unsent_elements_[group] <= 0.0) return;
  if (copies.size == 1 && replicas.size == 1 && !sync.onward) return;
  const double elements = std::exchange(unsent_elements_[group], 0.0);
  const double before = std::exchange(in_flight_[group], elements);
  Dependency reduced = progress_.computed;
  if (sync.kernels != nullptr && copies.size > 1) {
    writer_.hold(Category::gradients, elements * sync.copy_bytes);
    writer_.compute_over(elements, *sync.kernels);
    // Whatever is sent next comes after these kernels, as after all computation that was issued before it.
    progress_.computed = reduced = writer_.computed();
  }
  writer_.hold(Category::gradients, -before * sync.in_flight_bytes(group));
  const double shard = elements / static_cast<double>(copies.size);
  const auto reduce = [&](Collective collective, const Group& ranks, double moved) {
    reduced = writer_.transfer(stream_of(ranks.axis), collective, ranks, moved * sync.bytes_per_element, {reduced});
  };
  if (copies.size > 1) reduce(sync.collective, copies, elements);
  if (replicas.size > 1) reduce(Collective::all_reduce, replicas, shard);
  if (sync.onward) reduced = send_onward(*sync.onward, shard, before / static_cast<double>(copies.size), reduced);
  if (sync.waits) writer_.wait(Stream::compute, {reduced});
}

// Sends a reduced shard of `elements` to the host, which updates it if Onward says so; `before`: elements of the shard
// before. Returns the end of the copy.
Dependency GradientQueue::send_onward(const Onward& onward, double elements, double before, Dependency reduced) {
  const auto copy = [&](Lane lane, double bytes, const Dependencies& after) {
    return writer_.go(leg(Copy{.lane = lane, .bytes = bytes}), after);
  };
  if (onward.returned_bytes > 0.0) {
    const Dependency there = copy(Lane::to_host, elements * onward.returned_bytes, {reduced});
    reduced = copy(Lane::to_device, elements * onward.returned_bytes, {there});
  }
  const Dependency come = copy(Lane::to_host, elements * onward.gradient_bytes, {reduced});
  if (onward.update == nullptr) return come;
  Dependencies ready{come};
  // The state of this shard is read while the one before is updated; that one is then written back.
  if (onward.state_bytes > 0.0) ready.push_back(copy(Lane::from_storage, elements * onward.state_bytes, {}));
  if (before * onward.written_bytes() > 0.0) copy(Lane::to_storage, before * onward.written_bytes(), {last_update_});
  last_update_ =
      writer_.add(Step{.kind = StepKind::host, .stream = Stream::processor},
                  OnProcessor{.graph = onward.update, .elements = static_cast<std::int64_t>(elements)}, ready);
  if (onward.parameter_bytes > 0.0) copy(Lane::to_device, elements * onward.parameter_bytes, {last_update_});
  return come;
}

}  // namespace cairn::plan
