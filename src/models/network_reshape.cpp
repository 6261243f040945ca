// Views of as many elements in another shape: each merges or splits neighbouring dimensions.
#include <algorithm>
#include <limits>

#include "cairn/core/assert.h"
#include "network_operator.h"

namespace cairn::models {
namespace {

using loopnest::Affine;
using loopnest::Projection;

// Terms of a merged index.
const std::size_t k_most_merged = Affine{}.terms.capacity();

// Dimensions [from, from_end) and [to, to_end) of the two shapes that have as many elements.
struct EqualGroup {
  std::size_t from = 0, from_end = 0, to = 0, to_end = 0;
  std::int64_t elements = 1;
  std::size_t merged() const { return from_end - from; }
  std::size_t made() const { return to_end - to; }
  bool is_one_view() const { return std::min(merged(), made()) == 1 && std::max(merged(), made()) <= k_most_merged; }
};

// Dimensions of size 1 that stand beside no other of size 1 are in no group: their index is 0.
std::vector<EqualGroup> equal_groups(const NamedSizes& from, const std::vector<std::int64_t>& to) {
  std::vector<EqualGroup> groups;
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    const bool one_left = i < from.size() && from[i].size == 1, one_made = j < to.size() && to[j] == 1;
    if (one_left != one_made) {
      ++(one_left ? i : j);
      continue;
    }
    if (i == from.size() || j == to.size()) {  // ones alone are left
      i = from.size();
      j = to.size();
      continue;
    }
    EqualGroup group{.from = i, .from_end = i + 1, .to = j, .to_end = j + 1, .elements = from[i].size};
    std::int64_t made = to[j];
    while (group.elements != made) {
      CAIRN_ASSERT(group.elements < made ? group.from_end < from.size() : group.to_end < to.size());
      if (group.elements < made)
        group.elements *= from[group.from_end++].size;
      else
        made *= to[group.to_end++];
    }
    i = group.from_end;
    j = group.to_end;
    groups.push_back(group);
  }
  return groups;
}

// The merged index of dimensions, the last one fastest.
Affine merged_index(const Projection& dims, const std::vector<std::int64_t>& sizes) {
  Affine index;
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0; stride *= sizes[i])
    index.terms.insert(index.terms.begin(), {.dim = dims[i].terms[0].dim, .stride = static_cast<std::int32_t>(stride)});
  return index;
}

// A shape on the way where a group is no single view: its elements merged, or less far merged or split. Groups that are
// one view wait on the side of fewer dimensions, so that there are never more than in the larger of the two shapes.
std::vector<std::int64_t> half_way(const NamedSizes& from, const std::vector<std::int64_t>& to,
                                   const std::vector<EqualGroup>& groups) {
  std::vector<std::int64_t> result;
  const auto less_split = [&](const auto& size_at, std::size_t begin, std::size_t end) {
    const std::size_t kept = end - begin > k_most_merged ? end - k_most_merged : begin;
    for (std::size_t i = begin; i < kept; ++i) result.push_back(size_at(i));
    std::int64_t rest = 1;
    for (std::size_t i = kept; i < end; ++i) rest *= size_at(i);
    result.push_back(rest);
  };
  const auto from_size = [&](std::size_t i) { return from[i].size; };
  const auto to_size = [&](std::size_t i) { return to[i]; };
  for (const EqualGroup& group : groups) {
    if (group.is_one_view() && group.merged() <= group.made())
      for (std::size_t i = group.from; i < group.from_end; ++i) result.push_back(from_size(i));
    else if (group.is_one_view())
      for (std::size_t i = group.to; i < group.to_end; ++i) result.push_back(to_size(i));
    else if (group.merged() > 1)
      less_split(from_size, group.from, group.from_end);
    else
      less_split(to_size, group.to, group.to_end);
  }
  return result;
}

}  // namespace

bool NetworkBuilder::can_reshape(const NamedSizes& from, const std::vector<std::int64_t>& to) {
  const std::vector<EqualGroup> groups = equal_groups(from, to);
  return std::all_of(groups.begin(), groups.end(), [](const EqualGroup& group) {
    return std::max(group.merged(), group.made()) == 1 || group.elements <= std::numeric_limits<std::int32_t>::max();
  });
}

ir::TensorId NetworkBuilder::reshape(const std::string& name, ir::TensorId x, const std::vector<std::int64_t>& to) {
  const NamedSizes from = dims_of(x);
  const std::vector<EqualGroup> groups = equal_groups(from, to);
  if (!std::all_of(groups.begin(), groups.end(), [](const EqualGroup& group) { return group.is_one_view(); }))
    return reshape(name, reshape(distinct(name + ".part"), x, half_way(from, to, groups)), to);

  NetworkOperator op(*this, name, ir::Kind::opaque, "reshape", 0);
  Projection read(from.size(), NetworkOperator::constant(0)), written(to.size(), NetworkOperator::constant(0));
  NamedSizes made(to.size());
  for (std::size_t j = 0; j < to.size(); ++j) made[j] = {"u", to[j]};
  for (const EqualGroup& group : groups) {
    const bool splits = group.made() > 1;
    Projection dims;
    std::vector<std::int64_t> sizes;
    for (std::size_t j = group.to; j < group.to_end; ++j)
      made[j].name = j == group.to ? from[group.from].name : from[group.from].name + "i";
    for (std::size_t i = splits ? group.to : group.from; i < (splits ? group.to_end : group.from_end); ++i) {
      const NamedSize& dim = splits ? made[i] : from[i];
      dims.push_back(Affine::of(op.dim(dim.name, dim.size)));
      sizes.push_back(dim.size);
    }
    const Affine merged = merged_index(dims, sizes);
    for (std::size_t i = group.from; i < group.from_end; ++i) read[i] = splits ? merged : dims[i - group.from];
    for (std::size_t j = group.to; j < group.to_end; ++j) written[j] = splits ? dims[j - group.to] : merged;
  }
  const ir::TensorId y = tensor(name, made, graph_.tensor(x).role);
  op.read(x, read).write(y, written).append();
  return y;
}

ir::TensorId NetworkBuilder::same(const std::string& name, ir::TensorId x, ir::Role role) {
  NetworkOperator op(*this, name, ir::Kind::opaque, "reshape", 0);
  const Projection all = op.dims(dims_of(x));
  const ir::TensorId y = tensor(name, dims_of(x), role);
  op.read(x, all).write(y, all).append();
  return y;
}

ir::TensorId NetworkBuilder::transpose(const std::string& name, ir::TensorId x, const std::vector<std::size_t>& order) {
  const NamedSizes from = dims_of(x);
  NetworkOperator op(*this, name, ir::Kind::opaque, "transpose", 0);
  const Projection all = op.dims(from);
  NamedSizes to;
  Projection written;
  for (const std::size_t dim : order) {
    to.push_back(from[dim]);
    written.push_back(all[dim]);
  }
  const ir::TensorId y = tensor(name, to, graph_.tensor(x).role);
  op.read(x, all).write(y, written).append();
  return y;
}

}  // namespace cairn::models
