#include "cairn/loopnest/domain.h"

#include <algorithm>

#include "image.h"
#include "integers.h"
#include "polytope.h"

namespace cairn::loopnest {

namespace {

using Dims = boost::container::static_vector<Dim, k_max_dims>;

DimSet selective_dims(const Dims& dims) {
  DimSet selective = 0;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (dims[d].selected > 0) selective |= bit(static_cast<DimId>(d));
  return selective;
}

// The guarded domain without its selective dimensions, which no guard uses.
Polytope plain_part(const Domain& domain, const Box& box) {
  CAIRN_ASSERT(box.size() == domain.dims().size());
  Polytope polytope;
  for (std::size_t d = 0; d < box.size(); ++d) polytope.range[d] = box[d];
  polytope.dims = without(static_cast<DimSet>((1u << box.size()) - 1), selective_dims(domain.dims()));
  for (const Guard& guard : domain.guards()) {
    Halfspace cut;
    cut.offset = guard.offset;
    for (const Term& term : guard.terms) cut.add_term(term.dim, term.stride);
    polytope.halfspaces.push_back(cut);
  }
  return polytope;
}

// Values of a dimension visited for each combination of those that choose them.
std::int64_t visited(const Dim& dim, const Interval& range) {
  const std::int64_t extent = std::max<std::int64_t>(0, range.extent());
  return dim.selected > 0 ? std::min(dim.selected, extent) : extent;
}

// The forms of a projection, those equal up to their offsets once, split at the selective dimensions.
struct Index {
  Combinations plain;
  DimSet selective = 0;
};

Index index_of(const Projection& projection, const Dims& dims) {
  const DimSet all_selective = selective_dims(dims);
  Index index;
  DimSet plain = 0;
  for (const Affine& affine : projection) {
    const Combination form(affine);
    if (form.terms.empty()) continue;
    CAIRN_ASSERT(form.dims() < 1u << dims.size());
    if (form.dims() & all_selective) {
      CAIRN_ASSERT(form.terms.size() == 1);
      index.selective |= form.dims();
    } else if (std::find(index.plain.begin(), index.plain.end(), form) == index.plain.end()) {
      CAIRN_ASSERT((form.dims() & plain) == 0);
      plain |= form.dims();
      index.plain.push_back(form);
    }
  }
  return index;
}

// `selective` and the selective dimensions among its choosers, theirs, and so on; `choosers` gets the plain ones.
DimSet with_choosers(const Dims& dims, DimSet selective, DimSet& choosers) {
  const DimSet all_selective = selective_dims(dims);
  DimSet reached = selective;
  for (DimSet before = 0; before != reached;) {
    before = reached;
    for_each_dim(before, [&](DimId dim) {
      reached |= static_cast<DimSet>(dims[dim].chosen_by & all_selective);
      choosers |= dims[dim].chosen_by;
    });
  }
  choosers = without(choosers, all_selective);
  return reached;
}

// The forms refined until they tell the choosing dimensions apart: (c, rho) of the header.
Combinations refine(const Combinations& forms, DimSet choosers, const Polytope& polytope) {
  Combinations refined;
  DimSet single = choosers & polytope.dims;
  for (const Combination& form : forms) {
    if (form.dims() & choosers)
      single |= form.dims();
    else
      refined.push_back(form);
  }
  for_each_dim(single, [&](DimId dim) { refined.push_back(Combination(Affine::of(dim))); });
  return refined;
}

// Most projections: every form is one dimension, or none.
bool reads_dims_alone(const Projection& projection) {
  return std::all_of(projection.begin(), projection.end(), [](const Affine& form) {
    return form.terms.empty() || (form.terms.size() == 1 && form.terms.front().stride != 0);
  });
}

// The footprint of such a projection over a box that no guard cuts.
std::int64_t dims_alone(const Projection& projection, const Box& box) {
  if (std::any_of(box.begin(), box.end(), [](const Interval& range) { return range.extent() <= 0; })) return 0;
  DimSet dims = 0;
  for (const Affine& form : projection)
    for (const Term& term : form.terms) dims |= bit(term.dim);
  std::int64_t count = 1;
  for_each_dim(dims, [&](DimId dim) { count = checked_mul(count, box[dim].extent()); });
  return count;
}

}  // namespace

DimId Domain::add(std::string name, Extent extent, std::int64_t selected) {
  CAIRN_ASSERT(dims_.size() < k_max_dims && selected >= 0);
  Dim dim;
  dim.name = std::move(name);
  dim.extent = extent;
  dim.selected = selected;
  dims_.push_back(std::move(dim));
  return static_cast<DimId>(dims_.size() - 1);
}

void Domain::choose(DimId selective, std::initializer_list<DimId> by) {
  CAIRN_ASSERT(selective < dims_.size() && dims_[selective].selected > 0);
  dims_[selective].chosen_by = 0;
  for (const DimId dim : by) {
    CAIRN_ASSERT(dim < k_max_dims && dim != selective);
    dims_[selective].chosen_by |= bit(dim);
  }
}

void Domain::add_guard(Guard guard) {
  CAIRN_ASSERT(guards_.size() < k_max_guards);
  for ([[maybe_unused]] const Term& term : guard.terms)
    CAIRN_ASSERT(term.dim < dims_.size() && dims_[term.dim].selected == 0);
  guards_.push_back(std::move(guard));
}

Domain Domain::guarded_by(std::span<const Guard> guards) const {
  Domain result = *this;
  result.guards_.clear();
  for (const Guard& guard : guards) result.add_guard(guard);
  return result;
}

int Domain::find(std::string_view name) const {
  for (std::size_t d = 0; d < dims_.size(); ++d)
    if (dims_[d].name == name) return static_cast<int>(d);
  return -1;
}

Box Domain::box(const Sizes& sizes) const {
  Box box;
  for (const Dim& dim : dims_) box.push_back({0, dim.extent.at(sizes)});
  return box;
}

std::int64_t Domain::points(const Box& box) const {
  std::int64_t points = count(plain_part(*this, box));
  for_each_dim(selective_dims(dims_), [&](DimId dim) { points = checked_mul(points, visited(dims_[dim], box[dim])); });
  return points;
}

std::int64_t Domain::points_unguarded(const Box& box) const {
  CAIRN_ASSERT(box.size() == dims_.size());
  std::int64_t points = 1;
  for (std::size_t d = 0; d < box.size(); ++d) points = checked_mul(points, visited(dims_[d], box[d]));
  return points;
}

std::int64_t Domain::footprint(const Projection& projection, const Box& box) const {
  if (guards_.empty() && selective_dims(dims_) == 0 && reads_dims_alone(projection)) return dims_alone(projection, box);
  const Polytope polytope = plain_part(*this, box);
  const Index index = index_of(projection, dims_);
  bool empty = false;
  for_each_dim(selective_dims(dims_), [&](DimId dim) { empty = empty || box[dim].extent() <= 0; });
  if (empty) return 0;

  Wide least = count_image(polytope, index.plain);
  for_each_dim(index.selective, [&](DimId dim) { least *= box[dim].extent(); });
  // Each subset of the selective dimensions bounded by its visits, the others by their extents.
  for (DimSet subset = index.selective; subset != 0; subset = static_cast<DimSet>((subset - 1) & index.selective)) {
    DimSet choosers = 0;
    const DimSet chosen = with_choosers(dims_, subset, choosers);
    Wide bound = count_image(polytope, refine(index.plain, choosers, polytope));
    for_each_dim(chosen, [&](DimId dim) { bound *= visited(dims_[dim], box[dim]); });
    for_each_dim(without(index.selective, chosen), [&](DimId dim) { bound *= box[dim].extent(); });
    least = std::min(least, bound);
  }
  return narrow(least);
}

}  // namespace cairn::loopnest
