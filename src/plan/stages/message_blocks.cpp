#include "message_blocks.h"

namespace cairn::plan {

std::size_t BeginOptions::hash() const {
  core::Hash hash;
  hash.add(receives).add(forward).add(messages.hash());
  add(hash, border.bytes);
  return hash.value();
}

std::size_t SendOptions::hash() const {
  core::Hash hash;
  hash.add(forward).add(static_cast<std::uint8_t>(hop)).add(messages.hash());
  add(hash, border.bytes);
  return hash.value();
}

Block begin(const BeginOptions& options) {
  StepWriter writer("begin");
  if (options.receives && options.messages.host_waits_for_arrival)
    writer.wait(Stream::host, {entry_of(Stream::arrival)});
  // The host waits for the computation issued so far.
  if (options.messages.behaviour->host_waits_for_computation) writer.wait(Stream::host, {entry_of(Stream::compute)});
  if (options.forward) writer.add(Step{.kind = StepKind::host, .stream = Stream::host}, HostWork::per_micro_batch, {});
  if (!options.receives) return writer.finish();
  if (options.border.sliced) {
    const std::int32_t gathered = writer.transfer(Stream::tensor, Collective::all_gather, options.messages.tensor,
                                                  options.border.bytes, {entry_of(Stream::arrival)});
    writer.wait(Stream::compute, {gathered});
  } else {
    writer.wait(Stream::compute, {entry_of(Stream::arrival)});
  }
  return writer.finish();
}

Block send(const SendOptions& options) {
  StepWriter writer("send");
  const Group& tensor = options.messages.tensor;
  const double bytes =
      options.border.sliced ? options.border.bytes / static_cast<double>(tensor.size) : options.border.bytes;
  Dependencies after = {writer.computed()};
  if (tensor.size > 1) after.push_back(entry_of(Stream::tensor));
  const std::int32_t sent = writer.transfer(options.forward ? Stream::next : Stream::previous, Collective::send,
                                            options.messages.between(options.hop), bytes, after);
  if (!options.messages.settings.overlap_sends) writer.wait(Stream::compute, {sent});
  return writer.finish();
}

}  // namespace cairn::plan
