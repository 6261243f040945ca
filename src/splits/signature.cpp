#include "cairn/splits/signature.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "cairn/core/assert.h"

namespace cairn::splits {
namespace {

using loopnest::DimId;
using SplitKind = AxisPart::Kind;

// What one axis makes of an operator: a part, and the placement of each operand.
struct AxisCandidate {
  AxisPart part;
  std::vector<Placement> values;
};

class Derivation {
 public:
  Derivation(const ir::Graph& graph, const ir::Operator& op, const loopnest::Sizes& sizes)
      : graph_(graph), op_(op), sizes_(sizes) {}

  std::vector<AxisCandidate> candidates() const {
    std::vector<AxisCandidate> result{{.part = {}, .values = std::vector<Placement>(op_.accesses.size())}};
    for (std::size_t dim = 0; dim < op_.domain.dims().size(); ++dim)
      if (const auto found = split(static_cast<DimId>(dim))) result.push_back(*found);
    for (std::size_t access = 0; access < op_.accesses.size(); ++access)
      if (carries_summands(access)) result.push_back(passing_summands(access));
    return result;
  }

 private:
  const ir::Tensor& tensor(const ir::Access& access) const { return graph_.tensor(access.tensor); }
  std::int64_t extent(DimId dim) const { return op_.domain.dims()[dim].extent.at(sizes_); }
  bool is_index(const ir::Access& access) const { return tensor(access).role == ir::Role::index; }
  static bool is_added(const ir::Access& access) {
    return access.mode == ir::Mode::read && (access.addend || access.gradient == ir::InputGradient::passed);
  }

  std::optional<AxisCandidate> split(DimId dim) const {
    const bool selected = op_.domain.dims()[dim].selected > 0;
    if (extent(dim) == 1 || (selected && op_.kind != ir::Kind::gather)) return std::nullopt;
    const std::string_view name = op_.domain.dims()[dim].name;
    if (op_.kind == ir::Kind::scan && name != "b" && name != "batch") return std::nullopt;
    AxisCandidate result{.part = {.kind = SplitKind::split, .dim = dim}, .values = {}};
    bool sums = false;
    for (const ir::Access& access : op_.accesses) {
      if (!in_blocks(access, dim)) return std::nullopt;
      result.values.push_back(program::placement(access, dim));
      Placement& value = result.values.back();
      if (access.mode == ir::Mode::read || value.kind == Placement::Kind::shard) continue;
      if (access.mode == ir::Mode::accumulate) {
        if (access.monoid != ir::Monoid::sum) return std::nullopt;
        sums = true;
      } else if (op_.kind == ir::Kind::reduce && tensor(access).statistic) {
        value = {};
      } else if (!selected) {
        return std::nullopt;
      }
    }
    for (std::size_t i = 0; sums && i < op_.accesses.size(); ++i)
      if (is_added(op_.accesses[i]) && result.values[i].kind == Placement::Kind::replicate)
        result.values[i].kind = Placement::Kind::partial;
    return one_placement_per_result(result.values) ? std::optional(result) : std::nullopt;
  }

  // Each form that uses the dimension cuts the tensor's dimension into equal blocks.
  bool in_blocks(const ir::Access& access, DimId dim) const {
    for (std::size_t index = 0; index < access.projection.size(); ++index) {
      const loopnest::Affine& form = access.projection[index];
      if (!form.uses(dim)) continue;
      std::int64_t stride = 0, rest = 0;
      for (const loopnest::Term& term : form.terms) {
        if (term.stride < 0 || (term.dim == dim && stride > 0)) return false;
        if (term.dim == dim)
          stride = term.stride;
        else
          rest += term.stride * (extent(term.dim) - 1);
      }
      const std::int64_t whole = tensor(access).dims[index].extent.at(sizes_);
      if (form.offset != 0 || rest >= stride || stride * extent(dim) != whole) return false;
    }
    return true;
  }

  // An operator may write a tensor by several accesses (a view).
  bool one_placement_per_result(const std::vector<Placement>& values) const {
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (op_.accesses[i].mode != ir::Mode::read && op_.accesses[j].mode != ir::Mode::read &&
            op_.accesses[i].tensor == op_.accesses[j].tensor && values[i] != values[j])
          return false;
    return true;
  }

  // Linear in all its operands together: additions, copies, views, means, rows looked up.
  bool is_linear() const {
    if (op_.kind == ir::Kind::opaque || op_.kind == ir::Kind::gather) return true;
    if (op_.kind == ir::Kind::reduce) return op_.variant == "mean" || op_.variant == "average-pool";
    if (op_.kind != ir::Kind::pointwise) return false;
    const auto adds = [&](const ir::Access& access) {
      return access.mode != ir::Mode::read || is_index(access) || is_added(access);
    };
    const auto reads = std::count_if(op_.accesses.begin(), op_.accesses.end(),
                                     [](const ir::Access& access) { return access.mode == ir::Mode::read; });
    return (op_.flops_per_point == 0.0 && reads == 1) || std::all_of(op_.accesses.begin(), op_.accesses.end(), adds);
  }

  // Whether summands may come in through this access, the first of those through which they come in together.
  bool carries_summands(std::size_t access) const {
    const ir::Access& carrier = op_.accesses[access];
    if (carrier.mode != ir::Mode::read || tensor(carrier).role != ir::Role::activation) return false;
    if (op_.is_plain_contraction()) return carrier.is_factor();
    if (!is_linear()) return false;
    for (std::size_t i = 0; i < access; ++i)
      if (op_.accesses[i].mode == ir::Mode::read && !is_index(op_.accesses[i])) return false;
    return true;
  }

  AxisCandidate passing_summands(std::size_t carrier) const {
    AxisCandidate result{.part = {.kind = SplitKind::partial, .carrier = static_cast<std::uint8_t>(carrier)},
                         .values = {}};
    for (std::size_t i = 0; i < op_.accesses.size(); ++i) {
      const ir::Access& access = op_.accesses[i];
      const bool joins = !is_index(access) && (!op_.is_plain_contraction() || is_added(access));
      const bool summands = access.mode != ir::Mode::read || i == carrier || joins;
      result.values.push_back({.kind = summands ? Placement::Kind::partial : Placement::Kind::replicate});
    }
    return result;
  }

  const ir::Graph& graph_;
  const ir::Operator& op_;
  const loopnest::Sizes& sizes_;
};

Placement gradient_of(const Placement& value, const AxisPart& part, bool is_read) {
  if (value.kind == Placement::Kind::shard) return value;
  const bool sums = is_read && value.kind == Placement::Kind::replicate && part.kind != SplitKind::replicate;
  return {.kind = sums ? Placement::Kind::partial : Placement::Kind::replicate};
}

bool divides_evenly(const ir::Operator& op, const Signature& signature, const Mesh& mesh,
                    const loopnest::Sizes& sizes) {
  for (std::size_t dim = 0; dim < op.domain.dims().size(); ++dim)
    if (op.domain.dims()[dim].extent.at(sizes) % parts_of(signature, static_cast<DimId>(dim), mesh) != 0) return false;
  return true;
}

void add_axis(Signature& signature, const ir::Operator& op, const AxisCandidate& candidate) {
  signature.parts.push_back(candidate.part);
  signature.operands.resize(op.accesses.size());
  for (std::size_t i = 0; i < op.accesses.size(); ++i) {
    const bool is_read = op.accesses[i].mode == ir::Mode::read;
    signature.operands[i].value.push_back(candidate.values[i]);
    signature.operands[i].gradient.push_back(gradient_of(candidate.values[i], candidate.part, is_read));
  }
}

}  // namespace

std::int64_t parts_of(const Signature& signature, DimId dim, const Mesh& mesh) {
  std::int64_t parts = 1;
  for (std::size_t axis = 0; axis < signature.parts.size(); ++axis)
    if (signature.parts[axis].kind == SplitKind::split && signature.parts[axis].dim == dim) parts *= mesh[axis].devices;
  return parts;
}

std::vector<Signature> signatures(const ir::Graph& graph, const ir::Operator& op, const Mesh& mesh,
                                  const loopnest::Sizes& sizes) {
  CAIRN_ASSERT(mesh.size() <= k_max_mesh_axes);
  const std::vector<AxisCandidate> candidates = Derivation(graph, op, sizes).candidates();
  std::vector<Signature> result(1);
  result.front().operands.resize(op.accesses.size());
  for (const MeshAxis& axis : mesh) {
    std::vector<Signature> longer;
    for (const Signature& shorter : result)
      for (const AxisCandidate& candidate : candidates) {
        Signature next = shorter;
        add_axis(next, op, candidate);
        if (divides_evenly(op, next, mesh, sizes)) longer.push_back(std::move(next));
        if (axis.devices == 1) break;
      }
    result = std::move(longer);
  }
  return result;
}

std::string text(const ir::Graph& graph, const ir::Operator& op, const Signature& signature) {
  std::string result;
  for (const AxisPart& part : signature.parts) {
    if (!result.empty()) result += ' ';
    if (part.kind == SplitKind::split)
      result += "S(" + op.domain.dims()[part.dim].name + ')';
    else if (part.kind == SplitKind::partial && op.is_plain_contraction())
      result += "P(" + graph.tensor(op.accesses[part.carrier].tensor).name + ')';
    else
      result += part.kind == SplitKind::partial ? 'P' : 'B';
  }
  return result;
}

}  // namespace cairn::splits
