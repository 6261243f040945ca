#include "step_blocks.h"

#include <initializer_list>

namespace cairn::plan {
namespace {

class Writer {
 public:
  explicit Writer(const char* name) { block_.name = name; }

  std::int32_t add(Step step, Work work, std::initializer_list<Dependency> dependencies) {
    if (!std::holds_alternative<std::monostate>(work)) {
      step.work = static_cast<std::int32_t>(block_.works.size());
      block_.works.push_back(std::move(work));
    }
    step.first_dependency = static_cast<std::uint32_t>(block_.dependencies.size());
    step.dependencies = static_cast<std::uint16_t>(dependencies.size());
    block_.dependencies.insert(block_.dependencies.end(), dependencies);
    block_.steps.push_back(step);
    const auto index = static_cast<std::int32_t>(block_.steps.size()) - 1;
    if (step.stream == Stream::compute) latest_ = index;
    return index;
  }
  // The latest step of the compute stream, or its frontier on entry.
  Dependency computed() const { return latest_; }
  std::int32_t transfer(Stream stream, Collective collective, const Group& group, double bytes,
                        std::initializer_list<Dependency> dependencies) {
    return add(Step{.kind = StepKind::transfer, .stream = stream, .axis = group.axis, .launches = 1},
               Transfer{.collective = collective, .group = group, .bytes = bytes}, dependencies);
  }
  void wait(Stream stream, std::initializer_list<Dependency> dependencies) {
    add(Step{.kind = StepKind::wait, .stream = stream}, {}, dependencies);
  }
  Block finish() { return std::move(block_); }

 private:
  Block block_;
  Dependency latest_ = entry_of(Stream::compute);
};

bool moves(const StepEndOptions& options, ParameterGroup group) {
  return options.sync.copies[group].size > 1 && (group == ParameterGroup::dense || options.elements[group] > 0.0);
}

}  // namespace

Block begin(const BeginOptions& options) {
  Writer writer("begin");
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
  Writer writer("send");
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

Block settle(const StepEndOptions& options) {
  Writer writer("settle");
  for (const ParameterGroup group : k_all_parameter_groups) {
    const Group& copies = options.sync.copies[group];
    if (!moves(options, group)) continue;
    if (options.already_reduced) {
      writer.wait(Stream::compute, {entry_of(stream_of(copies.axis))});
    } else {
      const std::int32_t reduced =
          writer.transfer(stream_of(copies.axis), options.sync.collective, copies,
                          options.elements[group] * options.sync.bytes_per_element, {writer.computed()});
      writer.wait(Stream::compute, {reduced});
    }
  }
  if (options.tensor.size > 1) writer.wait(Stream::compute, {entry_of(Stream::tensor)});
  if (options.partial_bytes > 0.0) {
    const std::int32_t summed = writer.transfer(Stream::tensor, Collective::all_reduce, options.tensor,
                                                options.partial_bytes, {writer.computed()});
    writer.wait(Stream::compute, {summed});
  }
  if (options.tied.size > 1)
    writer.transfer(Stream::next, Collective::all_reduce, options.tied, options.tied_bytes, {writer.computed()});
  return writer.finish();
}

Block update(const StepEndOptions& options) {
  Writer writer("update");
  if (options.tied.size > 1) writer.wait(Stream::compute, {entry_of(Stream::arrival), entry_of(Stream::next)});
  // The optimizer reads the gradients' norm (and, in half precision, whether they are finite) back before it goes on.
  const std::int32_t host =
      writer.add(Step{.kind = StepKind::host, .stream = Stream::host}, HostWork::per_step, {writer.computed()});
  for (const ir::Operator& op : options.update->operators())
    writer.add(Step{.kind = StepKind::compute, .stream = Stream::compute, .term = Term::optimizer, .launches = 1},
               ir::Shard{.op = &op, .graph = options.update, .box = {loopnest::Interval{0, options.updated_elements}}},
               {});
  for (const ParameterGroup group : k_all_parameter_groups) {
    const Group& copies = options.sync.copies[group];
    if (!options.gather || !moves(options, group)) continue;
    const std::int32_t gathered =
        writer.transfer(stream_of(copies.axis), Collective::all_gather, copies,
                        options.elements[group] * options.gather_bytes_per_element, {writer.computed()});
    writer.wait(Stream::compute, {gathered});
  }
  if (options.narrow != nullptr && options.narrow_elements > 0)
    for (const ir::Operator& op : options.narrow->operators())
      writer.add(Step{.kind = StepKind::compute, .stream = Stream::compute, .term = Term::optimizer, .launches = 1},
                 ir::Shard{.op = &op, .graph = options.narrow, .box = {loopnest::Interval{0, options.narrow_elements}}},
                 {});
  if (options.maxima_bytes > 0.0)
    for (const Group& group : {options.tensor, options.sync.copies[ParameterGroup::dense]}) {
      if (group.size == 1) continue;
      const std::int32_t agreed = writer.transfer(stream_of(group.axis), Collective::all_reduce, group,
                                                  options.maxima_bytes, {writer.computed()});
      writer.wait(Stream::compute, {agreed});
    }
  writer.wait(Stream::compute, {host});
  return writer.finish();
}

}  // namespace cairn::plan
