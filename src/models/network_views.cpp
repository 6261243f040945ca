// Views, which move nothing, and the ends of a network: losses and the finished graph.
#include <utility>

#include "cairn/core/assert.h"
#include "network_operator.h"

namespace cairn::models {
namespace {

using loopnest::Affine;
using loopnest::Projection;

// Cross-entropy: maximum, subtract, exponential, sum. Squared error: subtract, square, add.
constexpr double k_cross_entropy = 4, k_squared_error = 3;

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

void NetworkBuilder::cross_entropy(const std::string& name, ir::TensorId logits) {
  const NamedSizes from = dims_of(logits);
  const std::size_t last = from.size() - 1;
  NetworkOperator op(*this, name, ir::Kind::reduce, "cross-entropy", k_cross_entropy);
  const Projection all = op.dims(from), row = without_dim(all, last);
  const NamedSizes rows = without_dim(from, last);
  const ir::TensorId targets = indices(name + ".targets", rows);
  const ir::TensorId loss = outputs_.emplace_back(statistic(name, rows));
  op.read(logits, all).read(targets, row).write(loss, row).append();
}

void NetworkBuilder::squared_error(const std::string& name, ir::TensorId x) {
  const NamedSizes from = dims_of(x);
  const std::size_t last = from.size() - 1;
  NetworkOperator op(*this, name, ir::Kind::reduce, "squared-error", k_squared_error);
  const Projection all = op.dims(from);
  const ir::TensorId targets = input(name + ".targets", from);
  const ir::TensorId loss = outputs_.emplace_back(statistic(name, without_dim(from, last)));
  op.read(x, all).read(targets, all).write(loss, without_dim(all, last)).append();
}

ir::Graph NetworkBuilder::finish() {
  graph_.set_inputs(std::move(inputs_));
  graph_.set_outputs(std::move(outputs_));
  return std::move(graph_);
}

}  // namespace cairn::models
