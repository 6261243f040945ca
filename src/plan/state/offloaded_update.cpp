#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"

#include "optimizer_step.h"
#include "step_writer.h"

namespace cairn::plan {

namespace {

constexpr double k_most_subgroups = 1 << 14;  // each is a few steps of the program

class UpdateWriter {
 public:
  explicit UpdateWriter(const OffloadedUpdate& options) : options_(options), writer_("update") {}

  Block write() {
    // The update starts when all gradients that the backward passes sent have reached the host.
    const Dependency arrived = entry_of(Stream::to_host);
    await_replica(writer_, options_.end);
    const std::int32_t host = writer_.add(Step{.kind = StepKind::host, .stream = Stream::host}, HostWork::per_step,
                                          {writer_.computed(), arrived});
    if (!options_.done_in_backward) {
      writer_.wait(Stream::processor, {host});
      subgroups();
    }
    writer_.wait(Stream::compute, {host});
    for (const Stream stream : {Stream::processor, Stream::to_device, Stream::to_host, Stream::storage}) finish(stream);
    append_parameter_gather(writer_, options_.end);
    return writer_.finish();
  }

 private:
  void subgroups() {
    const auto all = static_cast<double>(options_.end.updated_elements);
    const double size = options_.end.settings.subgroup_elements;
    const std::int64_t device_every = options_.end.settings.device_every;
    if (all / size > k_most_subgroups)
      throw core::ConfigurationError("strategy.zero.offload.subgroup",
                                     fmt::format("{:.0f} parameters of one rank in subgroups of {:.0f}", all, size),
                                     fmt::format("use at least {:.0f}", all / k_most_subgroups));
    const auto count = static_cast<std::int64_t>(all / size) +
                       (all > size * static_cast<double>(static_cast<std::int64_t>(all / size)) ? 1 : 0);
    const auto elements = [&](std::int64_t index) { return std::min(size, all - static_cast<double>(index) * size); };
    const bool drives = options_.offload.optimizer == Home::storage;
    Dependency read = drives ? read_state(elements(0)) : entry_of(Stream::storage);
    double unwritten = 0.0;
    for (std::int64_t index = 0; index < count; ++index) {
      if (device_every > 0 && index % device_every == 0) {
        on_device(elements(index));
        continue;
      }
      const Dependency own = read;
      if (drives && index + 1 < count) read = read_state(elements(index + 1));
      if (unwritten > 0.0) copy(Lane::to_storage, unwritten, before_);
      before_ = by_host(elements(index), drives ? own : entry_of(Stream::to_host));
      unwritten = elements(index) * written_bytes();
      if (options_.offload.parameters == Home::device)
        copy(Lane::to_device, elements(index) * options_.parameter_bytes, before_);
    }
    if (unwritten > 0.0) copy(Lane::to_storage, unwritten, before_);
    if (options_.kept_bytes > 0.0) copy(Lane::to_device, options_.kept_bytes, before_);
  }

  double written_bytes() const {
    return (options_.offload.optimizer == Home::storage ? options_.state_bytes : 0.0) +
           (options_.offload.parameters == Home::storage ? options_.parameter_bytes : 0.0);
  }
  Dependency copy(Lane lane, double bytes, Dependency after) {
    return writer_.travel({leg(Copy{.lane = lane, .bytes = bytes})}, after);
  }
  Dependency read_state(double elements) {
    return copy(Lane::from_storage, elements * options_.state_bytes, entry_of(Stream::storage));
  }
  Dependency by_host(double elements, Dependency ready) {
    return writer_.add(Step{.kind = StepKind::host, .stream = Stream::processor},
                       OnProcessor{.graph = options_.host_update, .elements = static_cast<std::int64_t>(elements)},
                       {ready});
  }
  void on_device(double elements) {
    // Only optimizer state is copied in: the gradient is still on the device, and the new parameters are needed there.
    const double state = elements * options_.state_bytes;
    writer_.hold(Category::optimizer, state);
    const Dependency come = copy(Lane::to_device, state, entry_of(Stream::to_device));
    Dependency last = come;
    for (const ir::Operator& op : options_.end.update->operators())
      last = writer_.add(
          Step{.kind = StepKind::compute, .stream = Stream::compute, .term = Term::optimizer, .launches = 1},
          ir::Shard{.op = &op,
                    .graph = options_.end.update,
                    .box = {loopnest::Interval{0, static_cast<std::int64_t>(elements)}}},
          {last});
    const bool parameters_off = options_.offload.parameters != Home::device;
    copy(Lane::to_host, state + (parameters_off ? elements * options_.parameter_bytes : 0.0), last);
    writer_.hold(Category::optimizer, -state);
  }
  // Makes computation wait for all work issued to the stream so far.
  void finish(Stream stream) {
    const std::int32_t done = writer_.add(Step{.kind = StepKind::wait, .stream = stream}, {}, {});
    writer_.wait(Stream::compute, {done});
  }

  const OffloadedUpdate& options_;
  StepWriter writer_;
  Dependency before_ = entry_of(Stream::processor);
};

}  // namespace

Block offloaded_update(const OffloadedUpdate& options) { return UpdateWriter(options).write(); }

}  // namespace cairn::plan
