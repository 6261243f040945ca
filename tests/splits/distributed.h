// Small integer tensors over the devices of a mesh: dealt out by their placements, put together again by them, and
// contractions executed on what each device holds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/splits/signature.h"

namespace cairn::splits {

struct Dense {
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> values;
  friend bool operator==(const Dense&, const Dense&) = default;
};

Dense zeros(std::vector<std::int64_t> extents);
Dense random_tensor(std::vector<std::int64_t> extents, core::Random& random);

// What each device holds, outermost axis slowest. Summands are random and add up.
std::vector<Dense> deal(const Dense& tensor, const NdPlacement& placement, const Mesh& mesh, core::Random& random);
// The tensor that the devices hold; none where what they hold does not fit together.
std::optional<Dense> put_together(const std::vector<Dense>& held, const NdPlacement& placement, const Mesh& mesh);

// The box of a device, all dimensions from zero.
std::vector<std::int64_t> local_extents(const ir::Operator& op, const Signature& signature, const Mesh& mesh);

// The operator's result: the product of its factors summed up over the box, and what is added, once per element. A view
// copies. `operands`: one per access, the result's of the right shape.
Dense forward(const ir::Operator& op, const std::vector<Dense>& operands, const std::vector<std::int64_t>& box);
// The gradient of one read operand, from that of the result (in the result's place).
Dense backward(const ir::Operator& op, const std::vector<Dense>& operands, const std::vector<std::int64_t>& box,
               std::size_t operand);

}  // namespace cairn::splits
