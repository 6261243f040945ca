#include "message_blocks.h"

namespace cairn::plan {

std::size_t BeginOptions::hash() const {
  core::Hash hash;
  hash.add(receives).add(forward).add(host_waits).add(host_synchronises);
  add(hash, border.bytes);
  add(hash, tensor);
  return hash.value();
}

std::size_t SendOptions::hash() const {
  core::Hash hash;
  hash.add(static_cast<std::uint8_t>(stream)).add(beside_computation);
  add(hash, border.bytes);
  add(hash, pipeline);
  add(hash, tensor);
  return hash.value();
}

Block begin(const BeginOptions& options) {
  StepWriter writer("begin");
  if (options.receives && options.host_waits) writer.wait(Stream::host, {entry_of(Stream::arrival)});
  if (options.host_synchronises) writer.wait(Stream::host, {entry_of(Stream::compute)});
  if (options.forward) writer.add(Step{.kind = StepKind::host, .stream = Stream::host}, HostWork::per_micro_batch, {});
  if (!options.receives) return writer.finish();
  if (options.border.sliced) {
    const std::int32_t gathered = writer.transfer(Stream::tensor, Collective::all_gather, options.tensor,
                                                  options.border.bytes, {entry_of(Stream::arrival)});
    writer.wait(Stream::compute, {gathered});
  } else {
    writer.wait(Stream::compute, {entry_of(Stream::arrival)});
  }
  return writer.finish();
}

Block send(const SendOptions& options) {
  StepWriter writer("send");
  const double bytes =
      options.border.sliced ? options.border.bytes / static_cast<double>(options.tensor.size) : options.border.bytes;
  const std::int32_t sent =
      options.tensor.size > 1
          ? writer.transfer(options.stream, Collective::send, options.pipeline, bytes,
                            {writer.computed(), entry_of(Stream::tensor)})
          : writer.transfer(options.stream, Collective::send, options.pipeline, bytes, {writer.computed()});
  if (!options.beside_computation) writer.wait(Stream::compute, {sent});
  return writer.finish();
}

}  // namespace cairn::plan
