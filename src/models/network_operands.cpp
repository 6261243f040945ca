// Products and pointwise operators of two operands of any shape, with dimensions repeated as numpy does.
#include <algorithm>
#include <string>

#include "cairn/core/assert.h"
#include "network_operator.h"

namespace cairn::models {
namespace {

using loopnest::Projection;

// A product: a multiplication and an addition.
constexpr double k_multiply_add = 2;

// The dimension of an operand that stands at `position` of a shape of `rank`; none: a leading one that it lacks.
const NamedSize* aligned_dim(const NamedSizes& sizes, std::size_t rank, std::size_t position) {
  const std::size_t lacking = rank - sizes.size();
  return position < lacking ? nullptr : &sizes[position - lacking];
}

// The dimensions of the result, `count` of a shape of `rank`: the first operand's unless the second repeats it.
NamedSizes broadcast_dims(const NamedSizes& a, const NamedSizes& b, std::size_t rank, std::size_t count) {
  NamedSizes result;
  for (std::size_t i = 0; i < count; ++i) {
    const NamedSize *first = aligned_dim(a, rank, i), *second = aligned_dim(b, rank, i);
    const bool takes_second = first == nullptr || (first->size == 1 && second != nullptr);
    result.push_back(takes_second ? *second : *first);
  }
  return result;
}

// The index of an operand's tensor where the operator's last dimensions, of sizes `extents`, are at `at`.
Projection operand_index(const Operand& operand, const NamedSizes& sizes, const Projection& at,
                         const NamedSizes& extents, std::size_t tensor_rank) {
  Projection index(tensor_rank, NetworkOperator::constant(0));
  const std::size_t leading = at.size() - operand.axes.size();
  for (std::size_t i = 0; i < operand.axes.size(); ++i)
    if (operand.axes[i] != Operand::k_one && sizes[i].size == extents[leading + i].size)
      index[static_cast<std::size_t>(operand.axes[i])] = at[leading + i];
  return index;
}

bool has_dim_sizes(const NamedSizes& sizes, const NamedSizes& of) {
  return std::equal(sizes.begin(), sizes.end(), of.begin(), of.end(),
                    [](const NamedSize& a, const NamedSize& b) { return a.size == b.size; });
}

}  // namespace

NamedSizes NetworkBuilder::sizes_of(const Operand& operand) const {
  const NamedSizes dims = dims_of(operand.tensor);
  NamedSizes result;
  for (const int axis : operand.axes)
    result.push_back(axis == Operand::k_one ? NamedSize{"u", 1} : dims[static_cast<std::size_t>(axis)]);
  return result;
}

ir::TensorId NetworkBuilder::product(const std::string& name, const Operand& a, const Operand& b,
                                     const Operand& addend) {
  const NamedSizes of_a = sizes_of(a), of_b = sizes_of(b);
  const std::size_t rank = std::max(of_a.size(), of_b.size());
  CAIRN_ASSERT(std::min(of_a.size(), of_b.size()) >= 2);
  const NamedSizes leading = broadcast_dims(of_a, of_b, rank, rank - 2);
  const NamedSize row = of_a[of_a.size() - 2];
  const std::int64_t made = of_b.back().size, summed = of_a.back().size;
  CAIRN_ASSERT(of_b[of_b.size() - 2].size == summed);

  NetworkOperator op(*this, name, ir::Kind::contraction, "", k_multiply_add);
  const Projection all = op.dims(leading);
  const Projection m = op.dims({row}), n = op.dims({{"n", made}}), k = op.dims({{"k", summed}});
  const auto index_of = [&](const Operand& operand, const Projection& last, const NamedSizes& last_sizes) {
    return operand_index(operand, sizes_of(operand), appended(all, last), appended(leading, last_sizes),
                         dims_of(operand.tensor).size());
  };
  const Projection index_a = index_of(a, appended(m, k), {row, {"k", summed}});
  const Projection index_b = index_of(b, appended(k, n), {{"k", summed}, {"n", made}});
  if (graph_.tensor(a.tensor).role == ir::Role::parameter)
    op.read(b.tensor, index_b).read(a.tensor, index_a);
  else
    op.read(a.tensor, index_a).read(b.tensor, index_b);
  const NamedSizes sizes = appended(leading, {row, {"n", made}});
  if (addend.tensor != ir::k_no_tensor) op.addend(addend.tensor, index_of(addend, appended(m, n), {row, {"n", made}}));
  const ir::TensorId y = tensor(name, sizes);
  op.merge(y, appended(all, appended(m, n))).append();
  return y;
}

ir::TensorId NetworkBuilder::combine(const std::string& name, const std::string& function, const Operand& a,
                                     const Operand& b) {
  const bool adds = function == "add", subtracts = function == "sub", divides = function == "div";
  CAIRN_ASSERT(adds || subtracts || divides || function == "mul");
  const NamedSizes of_a = sizes_of(a), of_b = sizes_of(b);
  const std::size_t rank = std::max(of_a.size(), of_b.size());
  const NamedSizes sizes = broadcast_dims(of_a, of_b, rank, rank);
  NetworkOperator op(*this, name, ir::Kind::pointwise, function, 1);
  const Projection all = op.dims(sizes);
  bool computes = false;
  const auto read = [&](const Operand& operand, bool negative) {
    const NamedSizes own = sizes_of(operand);
    const Projection at = operand_index(operand, own, all, sizes, dims_of(operand.tensor).size());
    const bool parameter = graph_.tensor(operand.tensor).role == ir::Role::parameter;
    // The gradient of an addend is a sum of its neighbour's: where that is repeated, of the result's.
    const bool beside_whole = has_dim_sizes(sizes_of(&operand == &a ? b : a), sizes);
    if (parameter && (adds || subtracts) && beside_whole) {
      op.addend(operand.tensor, at);
    } else if ((adds || (subtracts && !negative)) && has_dim_sizes(own, sizes)) {
      op.pass(operand.tensor, at);
    } else {
      op.read(operand.tensor, at);
      computes = computes || !parameter;
    }
  };
  const bool parameter_first = graph_.tensor(a.tensor).role == ir::Role::parameter;
  if (!parameter_first) read(a, false);
  read(b, true);
  if (parameter_first) read(a, false);
  const ir::TensorId y = tensor(name, sizes);
  op.write(y, all);
  // The gradients of both factors; of a quotient x / y = z: 1 / y times the gradient, and that times -z.
  if (divides)
    op.backward(3, {b.tensor, y});
  else if (!adds && !subtracts)
    op.backward(2, {a.tensor, b.tensor});
  else if (computes)
    op.backward(1, {});
  op.append();
  return y;
}

ir::TensorId NetworkBuilder::offset(const std::string& name, ir::TensorId x) {
  NetworkOperator op(*this, name, ir::Kind::pointwise, "add", 1);
  const Projection all = op.dims(dims_of(x));
  const ir::TensorId y = tensor(name, dims_of(x));
  op.pass(x, all).write(y, all).append();
  return y;
}

}  // namespace cairn::models
