#include "distributed.h"

#include <functional>

namespace cairn::splits {
namespace {

using Kind = Placement::Kind;

// Calls `visit` with every index of the box.
void for_each_index(const std::vector<std::int64_t>& extents,
                    const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  for (const std::int64_t extent : extents)
    if (extent == 0) return;
  std::vector<std::int64_t> index(extents.size(), 0);
  while (true) {
    visit(index);
    std::size_t dim = extents.size();
    while (dim > 0 && ++index[dim - 1] == extents[dim - 1]) index[--dim] = 0;
    if (dim == 0) return;
  }
}

std::size_t position(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& index) {
  std::int64_t result = 0;
  for (std::size_t dim = 0; dim < extents.size(); ++dim) result = result * extents[dim] + index[dim];
  return static_cast<std::size_t>(result);
}

std::int64_t& element(Dense& tensor, const loopnest::Projection& projection, const std::vector<std::int64_t>& point) {
  std::vector<std::int64_t> index;
  for (const loopnest::Affine& form : projection) {
    index.push_back(form.offset);
    for (const loopnest::Term& term : form.terms) index.back() += term.stride * point[term.dim];
  }
  return tensor.values[position(tensor.extents, index)];
}

Dense block(const Dense& tensor, std::size_t dim, std::int64_t parts, std::int64_t part) {
  std::vector<std::int64_t> extents = tensor.extents;
  extents[dim] /= parts;
  Dense result = zeros(extents);
  for_each_index(extents, [&](std::vector<std::int64_t> index) {
    const std::size_t to = position(extents, index);
    index[dim] += part * extents[dim];
    result.values[to] = tensor.values[position(tensor.extents, index)];
  });
  return result;
}

void add(Dense& to, const Dense& from, std::int64_t factor) {
  for (std::size_t i = 0; i < to.values.size(); ++i) to.values[i] += factor * from.values[i];
}

void deal_axis(const Dense& tensor, const NdPlacement& placement, const Mesh& mesh, std::size_t axis,
               core::Random& random, std::vector<Dense>& held) {
  if (axis == mesh.size()) {
    held.push_back(tensor);
    return;
  }
  const std::int64_t devices = mesh[axis].devices;
  const std::size_t first = held.size();
  Dense rest = tensor;
  for (std::int64_t device = 0; device < devices; ++device) {
    if (placement[axis].kind == Kind::shard) {
      deal_axis(block(tensor, placement[axis].dim, devices, device), placement, mesh, axis + 1, random, held);
    } else if (placement[axis].kind == Kind::partial) {
      const Dense summand = device + 1 == devices ? rest : random_tensor(tensor.extents, random);
      add(rest, summand, -1);
      deal_axis(summand, placement, mesh, axis + 1, random, held);
    } else if (device == 0) {
      deal_axis(tensor, placement, mesh, axis + 1, random, held);
    } else {
      const std::size_t each = (held.size() - first) / static_cast<std::size_t>(device);
      for (std::size_t i = 0; i < each; ++i) held.push_back(held[first + i]);
    }
  }
}

std::optional<Dense> joined(const std::vector<Dense>& parts, std::size_t dim) {
  if (dim >= parts.front().extents.size()) return std::nullopt;
  std::vector<std::int64_t> extents = parts.front().extents;
  const std::int64_t step = extents[dim];
  extents[dim] *= static_cast<std::int64_t>(parts.size());
  Dense result = zeros(extents);
  for_each_index(extents, [&](std::vector<std::int64_t> index) {
    const std::size_t to = position(extents, index);
    const Dense& part = parts[static_cast<std::size_t>(index[dim] / step)];
    index[dim] %= step;
    result.values[to] = part.values[position(part.extents, index)];
  });
  return result;
}

bool is_factor_of(const ir::Operator& op, std::size_t access) { return op.accesses[access].is_factor(); }

}  // namespace

Dense zeros(std::vector<std::int64_t> extents) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) elements *= extent;
  return {.extents = std::move(extents), .values = std::vector<std::int64_t>(static_cast<std::size_t>(elements), 0)};
}

Dense random_tensor(std::vector<std::int64_t> extents, core::Random& random) {
  Dense result = zeros(std::move(extents));
  for (std::int64_t& value : result.values) value = static_cast<std::int64_t>(random.below(19)) - 9;
  return result;
}

std::vector<Dense> deal(const Dense& tensor, const NdPlacement& placement, const Mesh& mesh, core::Random& random) {
  std::vector<Dense> held;
  deal_axis(tensor, placement, mesh, 0, random, held);
  return held;
}

std::optional<Dense> put_together(const std::vector<Dense>& held, const NdPlacement& placement, const Mesh& mesh) {
  std::vector<Dense> current = held;
  for (std::size_t axis = mesh.size(); axis-- > 0;) {
    const auto devices = static_cast<std::size_t>(mesh[axis].devices);
    std::vector<Dense> outer;
    for (std::size_t first = 0; first < current.size(); first += devices) {
      const std::vector<Dense> parts(current.begin() + static_cast<std::ptrdiff_t>(first),
                                     current.begin() + static_cast<std::ptrdiff_t>(first + devices));
      std::optional<Dense> whole = parts.front();
      if (placement[axis].kind == Kind::shard) whole = joined(parts, placement[axis].dim);
      for (std::size_t i = 1; i < devices; ++i) {
        if (placement[axis].kind == Kind::partial) add(*whole, parts[i], 1);
        if (placement[axis].kind == Kind::replicate && parts[i] != parts.front()) return std::nullopt;
      }
      if (!whole) return std::nullopt;
      outer.push_back(*whole);
    }
    current = std::move(outer);
  }
  return current.front();
}

std::vector<std::int64_t> local_extents(const ir::Operator& op, const Signature& signature, const Mesh& mesh) {
  std::vector<std::int64_t> result;
  for (std::size_t dim = 0; dim < op.domain.dims().size(); ++dim)
    result.push_back(op.domain.dims()[dim].extent.constant /
                     parts_of(signature, static_cast<loopnest::DimId>(dim), mesh));
  return result;
}

Dense forward(const ir::Operator& op, const std::vector<Dense>& operands, const std::vector<std::int64_t>& box) {
  const std::size_t result = op.accesses.size() - 1;
  Dense sum = zeros(operands[result].extents), added = sum;
  std::vector<Dense> reads = operands;
  for_each_index(box, [&](const std::vector<std::int64_t>& point) {
    std::int64_t product = 1, addends = 0, factors = 0;
    for (std::size_t i = 0; i < result; ++i) {
      const std::int64_t value = element(reads[i], op.accesses[i].projection, point);
      if (is_factor_of(op, i)) {
        product *= value;
        ++factors;
      } else {
        addends += value;
      }
    }
    const auto& at = op.accesses[result].projection;
    if (op.accesses[result].mode == ir::Mode::write)
      element(sum, at, point) = factors > 0 ? product : 0;
    else
      element(sum, at, point) += product;
    element(added, at, point) = addends;
  });
  add(sum, added, 1);
  return sum;
}

Dense backward(const ir::Operator& op, const std::vector<Dense>& operands, const std::vector<std::int64_t>& box,
               std::size_t operand) {
  const std::size_t result = op.accesses.size() - 1;
  Dense gradient = zeros(operands[operand].extents);
  std::vector<Dense> reads = operands;
  std::vector<char> seen(operands[result].values.size(), 0);
  for_each_index(box, [&](const std::vector<std::int64_t>& point) {
    std::int64_t& upstream = element(reads[result], op.accesses[result].projection, point);
    std::int64_t product = upstream;
    for (std::size_t i = 0; i < result && is_factor_of(op, operand); ++i)
      if (i != operand && is_factor_of(op, i)) product *= element(reads[i], op.accesses[i].projection, point);
    // What is added enters an element once, however many products do.
    char& again = seen[static_cast<std::size_t>(&upstream - reads[result].values.data())];
    if (!is_factor_of(op, operand) && std::exchange(again, 1) != 0) return;
    element(gradient, op.accesses[operand].projection, point) += product;
  });
  return gradient;
}

}  // namespace cairn::splits
