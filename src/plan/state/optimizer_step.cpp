#include "optimizer_step.h"

#include <algorithm>

namespace cairn::plan {

namespace {

bool present(const StepEndOptions& options, ParameterGroup group) {
  return group == ParameterGroup::dense || options.elements[group] > 0.0;
}

// The operators of a graph one after the other, over so many elements.
void append_passes(StepWriter& writer, const ir::Graph& graph, double elements) {
  const loopnest::Interval all{0, static_cast<std::int64_t>(elements)};
  if (all.end == 0) return;
  for (const ir::Operator& op : graph.operators())
    writer.add(Step{.kind = StepKind::compute, .stream = Stream::compute, .term = Term::optimizer, .launches = 1},
               ir::Shard{.op = &op, .graph = &graph, .box = {all}}, {});
}

// A bucket of copies of so many gradients, all in one (BucketKernels).
double bucket_bytes(const StepEndOptions& options, double elements) {
  double bytes = 0.0;
  for (const ir::Tensor& tensor : options.bucket_kernels->before.tensors())
    if (tensor.role == ir::Role::gradient) bytes += numerics::bytes_per_element(tensor.format);
  return bytes * std::min(options.bucket_elements, elements);
}

// Gradients of one group reduced over the ranks that hold copies, and sent on.
void reduce_group(StepWriter& writer, const StepEndOptions& options, ParameterGroup group) {
  const Group& copies = options.sync.copies[group];
  const Group& replicas = options.sync.replicas[group];
  const bool reduced = copies.size > 1 || replicas.size > 1;
  if (!present(options, group)) return;
  if (options.already_reduced) {
    if (reduced) writer.wait(Stream::compute, {entry_of(stream_of(copies.axis))});
    return;
  }
  const double elements = options.elements[group];
  const double shard = elements / static_cast<double>(copies.size);
  const bool copied = reduced && options.behaviour.copies_to_buckets;
  if (copied) {
    writer.hold(Category::gradients, bucket_bytes(options, elements));
    append_passes(writer, options.bucket_kernels->before, elements);
  }
  Dependency last = writer.computed();
  if (copies.size > 1)
    last = writer.transfer(stream_of(copies.axis), options.sync.collective, copies,
                           elements * options.sync.bytes_per_element, {last});
  if (replicas.size > 1)
    last = writer.transfer(stream_of(replicas.axis), Collective::all_reduce, replicas,
                           shard * options.sync.bytes_per_element, {last});
  if (options.sync.onward)
    last =
        writer.travel({leg(Copy{.lane = Lane::to_host, .bytes = shard * options.sync.onward->gradient_bytes})}, last);
  if (reduced || options.sync.onward) writer.wait(Stream::compute, {last});
  if (!copied) return;
  append_passes(writer, options.bucket_kernels->after,
                options.sync.collective == Collective::reduce_scatter ? shard : elements);
  writer.hold_after(Category::gradients, -bucket_bytes(options, elements));
}

void reduce_groups(StepWriter& writer, const StepEndOptions& options) {
  for (const ParameterGroup group : k_all_parameter_groups) reduce_group(writer, options, group);
}

// The last operator that uses a tensor made and used up by the graph; -1 for one that stays.
std::int64_t last_use(const ir::Graph& graph, ir::TensorId tensor) {
  if (graph.tensor(tensor).role != ir::Role::gradient) return -1;
  std::int64_t last = -1;
  for (std::size_t index = 0; index < graph.operators().size(); ++index)
    for (const ir::Access& access : graph.operators()[index].accesses)
      if (access.tensor == tensor) last = static_cast<std::int64_t>(index);
  return last;
}

// The operators one after the other over all elements that this rank updates; what they make for one another is there
// from its maker to its last user.
void append_update(StepWriter& writer, const StepEndOptions& options) {
  const ir::Graph& graph = *options.update;
  const auto elements = static_cast<double>(options.updated_elements);
  std::vector<ir::TensorId> there;
  for (std::size_t index = 0; index < graph.operators().size(); ++index) {
    const ir::Operator& op = graph.operators()[index];
    for (const ir::Access& access : op.accesses) {
      if (last_use(graph, access.tensor) < 0 || std::find(there.begin(), there.end(), access.tensor) != there.end())
        continue;
      there.push_back(access.tensor);
      writer.hold(Category::gradients, elements * numerics::bytes_per_element(graph.tensor(access.tensor).format));
    }
    writer.add(Step{.kind = StepKind::compute, .stream = Stream::compute, .term = Term::optimizer, .launches = 1},
               ir::Shard{.op = &op, .graph = &graph, .box = {loopnest::Interval{0, options.updated_elements}}}, {});
    for (const ir::TensorId tensor : there)
      if (last_use(graph, tensor) == static_cast<std::int64_t>(index))
        writer.hold_after(Category::gradients, -elements * numerics::bytes_per_element(graph.tensor(tensor).format));
  }
}

void await_message(StepWriter& writer) {
  writer.wait(Stream::compute, {entry_of(Stream::arrival), entry_of(Stream::next)});
}

}  // namespace

Block await_replica() {
  StepWriter writer("await");
  await_message(writer);
  return writer.finish();
}

void await_replica(StepWriter& writer, const StepEndOptions& options) {
  if (options.tied.size > 1 || options.replicated) await_message(writer);
  if (options.replicated) reduce_groups(writer, options);
}

Block finalize(const StepEndOptions& options) {
  StepWriter writer("settle");
  if (options.bucket_bytes_held > 0.0) writer.hold(Category::gradients, options.bucket_bytes_held);
  if (!options.replicated) reduce_groups(writer, options);
  if (options.bucket_bytes_held > 0.0) writer.hold(Category::gradients, -options.bucket_bytes_held);
  if (options.tensor.size > 1) writer.wait(Stream::compute, {entry_of(Stream::tensor)});
  if (options.partial_bytes > 0.0) {
    const std::int32_t summed = writer.transfer(Stream::tensor, Collective::all_reduce, options.tensor,
                                                options.partial_bytes, {writer.computed()});
    writer.wait(Stream::compute, {summed});
  }
  if (options.tied.size > 1)
    writer.transfer(Stream::next, Collective::all_reduce, options.tied, options.tied_bytes, {writer.computed()});
  else if (options.replicated)
    writer.add(Step{.kind = StepKind::transfer, .stream = Stream::next, .axis = Axis::pipeline}, {},
               {writer.computed()});
  return writer.finish();
}

Block update(const StepEndOptions& options) {
  StepWriter writer("update");
  await_replica(writer, options);
  if (options.whole != nullptr) append_passes(writer, *options.whole, static_cast<double>(options.whole_elements));
  if (options.freed_bytes > 0.0) writer.hold(Category::gradients, -options.freed_bytes);
  // The optimizer reads the gradients' norm (and, in half precision, whether they are finite) back before it goes on.
  const std::int32_t host =
      writer.add(Step{.kind = StepKind::host, .stream = Stream::host}, HostWork::per_step, {writer.computed()});
  if (options.updated_elements > 0) append_update(writer, options);  // a device may hold stages without layers alone
  if (!options.leaving.empty()) {
    const Dependency left = writer.travel(options.leaving, writer.computed());
    writer.wait(Stream::compute, {left});
  }
  append_parameter_gather(writer, options);
  writer.wait(Stream::compute, {host});
  if (options.freed_bytes > 0.0) writer.hold_after(Category::gradients, options.freed_bytes);
  return writer.finish();
}

void append_parameter_gather(StepWriter& writer, const StepEndOptions& options) {
  for (const ParameterGroup group : k_all_parameter_groups) {
    const Group& copies = options.sync.copies[group];
    if (!options.gather || copies.size == 1 || !present(options, group)) continue;
    const std::int32_t gathered =
        writer.transfer(stream_of(copies.axis), Collective::all_gather, copies,
                        options.elements[group] * options.gather_bytes_per_element, {writer.computed()});
    writer.wait(Stream::compute, {gathered});
  }
  if (options.narrow != nullptr) append_passes(writer, *options.narrow, static_cast<double>(options.narrow_elements));
  if (options.maxima_bytes > 0.0)
    for (const Group& group : {options.tensor, options.sync.copies[ParameterGroup::dense]}) {
      if (group.size == 1) continue;
      const std::int32_t agreed = writer.transfer(stream_of(group.axis), Collective::all_reduce, group,
                                                  options.maxima_bytes, {writer.computed()});
      writer.wait(Stream::compute, {agreed});
    }
}

}  // namespace cairn::plan
