// Views, which move nothing, and the ends of a network: losses and the finished graph.
#include <algorithm>
#include <utility>

#include "cairn/core/assert.h"
#include "network_operator.h"

namespace cairn::models {
namespace {

using loopnest::Affine;
using loopnest::Projection;

// Cross-entropy: maximum, subtract, exponential, sum. Squared error: subtract, square, add. Backward: the probability 2,
// less the target 1, the gradient 1; subtract, double, the gradient.
constexpr double k_cross_entropy = 4, k_squared_error = 3, k_cross_entropy_backward = 4, k_squared_error_backward = 3;

}  // namespace

// Merges the dimensions of x from `first` on into one.
ir::TensorId NetworkBuilder::merge(const std::string& name, ir::TensorId x, std::size_t first) {
  const NamedSizes from = dims_of(x);
  NetworkOperator op(*this, name, ir::Kind::opaque, "reshape", 0);
  const Projection all = op.dims(from);
  Projection merged(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
  Affine& index = merged.emplace_back();
  std::int64_t stride = 1;
  for (std::size_t i = from.size(); i-- > first; stride *= from[i].size)
    index.terms.insert(index.terms.begin(), {.dim = all[i].terms[0].dim, .stride = static_cast<std::int32_t>(stride)});
  NamedSizes to(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(first));
  to.push_back({from[first].name, stride});
  const ir::TensorId y = tensor(name, to);
  op.read(x, all).write(y, merged).append();
  return y;
}

ir::TensorId NetworkBuilder::flatten(const std::string& name, ir::TensorId x) {
  const std::size_t rank = dims_of(x).size();
  const std::size_t most = Affine{}.terms.capacity();
  if (rank - 1 > most) x = merge(name + ".positions", x, 2);
  return merge(name, x, 1);
}

ir::TensorId NetworkBuilder::concat(const std::string& name, const std::vector<ir::TensorId>& inputs, std::size_t dim) {
  NamedSizes to = dims_of(inputs.front());
  NetworkOperator op(*this, name, ir::Kind::opaque, "concat", 0);
  const Projection at = with_dim(op.dims(without_dim(to, dim)), dim, NetworkOperator::constant(0));
  to[dim].size = 0;
  for (const ir::TensorId input : inputs) {
    to[dim].size += dims_of(input)[dim].size;
    op.read(input, at);
  }
  const ir::TensorId y = tensor(name, to);
  op.write(y, at).append();
  return y;
}

ir::TensorId NetworkBuilder::stack(const std::string& name, const std::vector<ir::TensorId>& inputs) {
  const NamedSizes from = dims_of(inputs.front());
  NetworkOperator op(*this, name, ir::Kind::opaque, "stack", 0);
  const Projection all = op.dims(from);
  for (const ir::TensorId input : inputs) op.read(input, all);
  const ir::TensorId y = tensor(name, with_dim(from, 0, {"s", static_cast<std::int64_t>(inputs.size())}));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    op.write(y, with_dim(all, 0, NetworkOperator::constant(static_cast<std::int64_t>(i))));
  op.append();
  return y;
}

std::vector<ir::TensorId> NetworkBuilder::unstack(const std::string& name, ir::TensorId x, std::size_t dim,
                                                  std::int64_t count) {
  const NamedSizes from = dims_of(x), to = without_dim(from, dim);
  if (count == 0) count = from[dim].size;
  CAIRN_ASSERT(count <= from[dim].size);
  NetworkOperator op(*this, name, ir::Kind::opaque, "unstack", 0);
  const Projection all = op.dims(to);
  std::vector<ir::TensorId> outputs;
  for (std::int64_t i = 0; i < count; ++i) op.read(x, with_dim(all, dim, NetworkOperator::constant(i)));
  for (std::int64_t i = 0; i < count; ++i) {
    outputs.push_back(tensor(name + "." + std::to_string(i), to));
    op.write(outputs.back(), all);
  }
  op.append();
  return outputs;
}

ir::TensorId NetworkBuilder::take(const std::string& name, ir::TensorId x, std::size_t dim, std::int64_t index) {
  const NamedSizes to = without_dim(dims_of(x), dim);
  NetworkOperator op(*this, name, ir::Kind::opaque, "unstack", 0);
  const Projection all = op.dims(to);
  const ir::TensorId y = tensor(name, to);
  op.read(x, with_dim(all, dim, NetworkOperator::constant(index))).write(y, all).append();
  return y;
}

std::vector<ir::TensorId> NetworkBuilder::split(const std::string& name, ir::TensorId x, std::size_t dim,
                                                const std::vector<std::int64_t>& sizes) {
  const NamedSizes from = dims_of(x);
  NetworkOperator op(*this, name, ir::Kind::opaque, "split", 0);
  const Projection at = with_dim(op.dims(without_dim(from, dim)), dim, NetworkOperator::constant(0));
  op.read(x, at);
  std::vector<ir::TensorId> outputs(sizes.size(), ir::k_no_tensor);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) continue;
    NamedSizes to = from;
    to[dim].size = sizes[i];
    outputs[i] = tensor(name + "." + std::to_string(i), to);
    op.write(outputs[i], at);
  }
  op.append();
  return outputs;
}

void NetworkBuilder::cross_entropy(const std::string& name, ir::TensorId logits) {
  const NamedSizes from = dims_of(logits);
  cross_entropy(name, logits, indices(name + ".targets", without_dim(from, from.size() - 1)));
}

void NetworkBuilder::cross_entropy(const std::string& name, ir::TensorId logits, ir::TensorId targets) {
  const NamedSizes from = dims_of(logits);
  const std::size_t last = from.size() - 1;
  NetworkOperator op(*this, name, ir::Kind::reduce, "cross-entropy", k_cross_entropy);
  const Projection all = op.dims(from), row = without_dim(all, last);
  const NamedSizes rows = without_dim(from, last);
  const ir::TensorId loss = outputs_.emplace_back(statistic(name, rows));
  op.read(logits, all).read(targets, row).write(loss, row);
  op.backward(k_cross_entropy_backward, {logits, targets, loss}).append();
}

void NetworkBuilder::squared_error(const std::string& name, ir::TensorId x) {
  const NamedSizes from = dims_of(x);
  const std::size_t last = from.size() - 1;
  NetworkOperator op(*this, name, ir::Kind::reduce, "squared-error", k_squared_error);
  const Projection all = op.dims(from);
  const ir::TensorId targets = input(name + ".targets", from);
  const ir::TensorId loss = outputs_.emplace_back(statistic(name, without_dim(from, last)));
  op.read(x, all).read(targets, all).write(loss, without_dim(all, last));
  op.backward(k_squared_error_backward, {x, targets}).append();
}

ir::Graph NetworkBuilder::finish() {
  graph_.set_inputs(std::move(inputs_));
  graph_.set_outputs(std::move(outputs_));
  return std::move(graph_);
}

ir::Graph NetworkBuilder::finish_needed() {
  const std::vector<ir::Operator>& operators = graph_.operators();
  std::vector<char> needed(graph_.tensors().size(), 0), kept(operators.size(), 0);
  const auto is_needed = [&](const ir::Access& access) { return needed[static_cast<std::size_t>(access.tensor)] != 0; };
  for (const ir::TensorId output : outputs_) needed[static_cast<std::size_t>(output)] = 1;
  for (std::size_t i = operators.size(); i-- > 0;) {
    const auto& accesses = operators[i].accesses;
    kept[i] = std::any_of(accesses.begin(), accesses.end(),
                          [&](const ir::Access& access) { return access.mode != ir::Mode::read && is_needed(access); });
    for (const ir::Access& access : accesses)
      if (kept[i] != 0 && (access.mode == ir::Mode::read || graph_.tensor(access.tensor).statistic))
        needed[static_cast<std::size_t>(access.tensor)] = 1;
  }

  const auto all = [](const std::vector<char>& flags) { return std::count(flags.begin(), flags.end(), 0) == 0; };
  if (all(kept) && all(needed)) return finish();

  ir::Graph rest;
  std::vector<ir::TensorId> moved(needed.size(), ir::k_no_tensor);
  for (std::size_t id = 0; id < needed.size(); ++id)
    if (needed[id] != 0) moved[id] = rest.add_tensor(graph_.tensors()[id]);
  const auto move = [&](auto& list) {
    std::erase_if(list, [&](ir::TensorId id) { return needed[static_cast<std::size_t>(id)] == 0; });
    for (ir::TensorId& id : list) id = moved[static_cast<std::size_t>(id)];
  };
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (kept[i] == 0) continue;
    ir::Operator op = operators[i];
    // A part of a split that nothing reads.
    op.accesses.erase(
        std::remove_if(op.accesses.begin(), op.accesses.end(), [&](const auto& each) { return !is_needed(each); }),
        op.accesses.end());
    for (ir::Access& access : op.accesses) access.tensor = moved[static_cast<std::size_t>(access.tensor)];
    for (ir::TensorId& id : op.backward_reads) id = moved[static_cast<std::size_t>(id)];
    rest.add_operator(std::move(op));
  }
  move(inputs_);
  move(outputs_);
  graph_ = std::move(rest);
  return finish();
}

}  // namespace cairn::models
