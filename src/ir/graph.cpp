#include "cairn/ir/graph.h"

#include <algorithm>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>

#include "cairn/core/assert.h"

namespace cairn::ir {

bool Operator::is_plain_contraction() const {
  if (kind != Kind::contraction) return false;
  return std::none_of(accesses.begin(), accesses.end(), [](const Access& access) {
    return access.mode == Mode::accumulate && access.monoid != Monoid::sum;
  });
}

TensorId Graph::add_tensor(Tensor tensor) {
  if (tensors_.empty()) {
    constexpr std::size_t k_typical_layer_tensors = 48;
    tensors_.reserve(k_typical_layer_tensors);
    producers_.reserve(k_typical_layer_tensors);
    gradients_.reserve(k_typical_layer_tensors);
  }
  tensors_.push_back(std::move(tensor));
  producers_.push_back(-1);
  gradients_.push_back(k_no_tensor);
  return static_cast<TensorId>(tensors_.size()) - 1;
}

OperatorId Graph::add_operator(Operator op) {
  const auto id = static_cast<OperatorId>(operators_.size());
  if (operators_.empty()) {
    constexpr std::size_t k_typical_layer_operators = 32;
    operators_.reserve(k_typical_layer_operators);
  }
  for (const Access& access : op.accesses) {
    CAIRN_ASSERT(access.tensor >= 0 && static_cast<std::size_t>(access.tensor) < tensors_.size());
    CAIRN_ASSERT(access.projection.size() == tensor(access.tensor).dims.size());
    if (access.mode != Mode::read && producer(access.tensor) < 0)
      producers_[static_cast<std::size_t>(access.tensor)] = id;
  }
  if (op.phase == Phase::forward) {
    CAIRN_ASSERT(!differentiated_);
    forward_count_ = operators_.size() + 1;
  }
  operators_.push_back(std::move(op));
  return id;
}

void Graph::replace_operators(std::vector<Operator> operators) {
  operators_ = std::move(operators);
  std::fill(producers_.begin(), producers_.end(), -1);
  forward_count_ = 0;
  for (std::size_t id = 0; id < operators_.size(); ++id) {
    const Operator& op = operators_[id];
    if (op.phase == Phase::forward) {
      CAIRN_ASSERT(forward_count_ == id && "forward operators come first");
      ++forward_count_;
    }
    for (const Access& access : op.accesses) {
      CAIRN_ASSERT(access.projection.size() == tensor(access.tensor).dims.size());
      if (access.mode != Mode::read && producer(access.tensor) < 0)
        producers_[static_cast<std::size_t>(access.tensor)] = static_cast<OperatorId>(id);
    }
  }
}

std::vector<TensorId> Graph::saved(const std::vector<char>& recomputed) const {
  const auto runs_again = [&](OperatorId id) {
    return id >= 0 && static_cast<std::size_t>(id) < recomputed.size() && recomputed[static_cast<std::size_t>(id)] != 0;
  };
  std::vector<char> keep(tensors_.size(), 0);
  const auto need = [&](const Operator& op) {
    for (const Access& access : op.accesses) {
      const Tensor& read = tensor(access.tensor);
      if (access.mode != Mode::read || read.role != Role::activation || runs_again(producer(access.tensor))) continue;
      if (producer(access.tensor) >= static_cast<OperatorId>(forward_count_)) continue;  // made by backward itself
      TensorId storage = access.tensor;
      while (tensor(storage).alias_of != k_no_tensor) storage = tensor(storage).alias_of;
      keep[static_cast<std::size_t>(storage)] = 1;
    }
  };
  for (std::size_t id = forward_count_; id < operators_.size(); ++id) need(operators_[id]);
  for (std::size_t id = 0; id < forward_count_; ++id)
    if (runs_again(static_cast<OperatorId>(id))) need(operators_[id]);

  std::vector<TensorId> result;
  for (std::size_t id = 0; id < keep.size(); ++id)
    if (keep[id]) result.push_back(static_cast<TensorId>(id));
  return result;
}

std::int64_t Graph::parameter_elements() const {
  std::int64_t total = 0;
  for (const Tensor& tensor : tensors_)
    if (tensor.role == Role::parameter) total += tensor.elements(loopnest::Sizes{});
  return total;
}

std::vector<OperatorId> topological_order(const Graph& graph) {
  using Dependencies = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
  Dependencies dependencies(graph.operators().size());
  for (std::size_t consumer = 0; consumer < graph.operators().size(); ++consumer)
    for (const Access& access : graph.operators()[consumer].accesses) {
      const OperatorId producer = graph.producer(access.tensor);
      if (access.mode == Mode::read && producer >= 0)
        boost::add_edge(static_cast<std::size_t>(producer), consumer, dependencies);
    }
  std::vector<OperatorId> order;
  order.reserve(graph.operators().size());
  try {
    boost::topological_sort(dependencies, std::back_inserter(order));
  } catch (const boost::not_a_dag&) {
    throw core::InternalError("operators of a layer depend on each other in a cycle");
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace cairn::ir
