#include "image.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "integers.h"
#include "progressions.h"

namespace cairn::loopnest {

namespace {

DimSet dims_of(const Combinations& forms) {
  DimSet dims = 0;
  for (const Combination& form : forms) dims |= form.dims();
  return dims;
}

Progressions progressions(const Combination& form, const Polytope& polytope) {
  Progressions result;
  for (const Term& term : form.terms)
    result.push_back({std::abs(std::int64_t{term.stride}), polytope.range[term.dim].extent()});
  return result;
}

// Counts the tuples of the forms one by one: fixes their dimensions in turn and asks whether the rest leaves a point.
class Enumeration {
 public:
  Enumeration(const Polytope& polytope, const Combinations& forms) : forms_(forms) {
    std::int64_t tuples = 1;
    for_each_dim(dims_of(forms), [&](DimId dim) { tuples = checked_mul(tuples, polytope.range[dim].extent()); });
    CAIRN_ASSERT(tuples <= k_enumeration_limit);
    visit(polytope, dims_of(forms));
  }

  std::int64_t distinct() {
    std::sort(keys_.begin(), keys_.end());
    return std::unique(keys_.begin(), keys_.end()) - keys_.begin();
  }

 private:
  using Key = boost::container::static_vector<std::int64_t, k_max_dims>;

  void visit(const Polytope& polytope, DimSet open) {
    if (open == 0) {
      if (count(polytope) > 0) keys_.push_back(key());
      return;
    }
    const auto dim = static_cast<DimId>(std::countr_zero(open));
    Polytope tight = polytope;
    if (!tighten(tight)) return;
    for (value_[dim] = tight.range[dim].begin; value_[dim] < tight.range[dim].end; ++value_[dim]) {
      Polytope slice = tight;
      slice.fix(dim, value_[dim]);
      visit(slice, static_cast<DimSet>(open & (open - 1)));
    }
  }

  Key key() const {
    Key result;
    for (const Combination& form : forms_) {
      std::int64_t value = 0;
      for (const Term& term : form.terms) value = checked_add(value, checked_mul(term.stride, value_[term.dim]));
      result.push_back(value);
    }
    return result;
  }

  const Combinations& forms_;
  std::array<std::int64_t, k_max_dims> value_{};
  std::vector<Key> keys_;
};

// True when every cut depends on the two dimensions of the form through its value alone.
bool cut_along_value(const Polytope& polytope, const Combination& form) {
  const Term& a = form.terms[0];
  const Term& b = form.terms[1];
  return std::all_of(polytope.halfspaces.begin(), polytope.halfspaces.end(), [&](const Halfspace& cut) {
    return Wide{cut.stride[a.dim]} * b.stride == Wide{cut.stride[b.dim]} * a.stride;
  });
}

// The part of the range at positions [from, to), counted in the direction in which the term grows.
Interval part(const Interval& range, const Term& term, std::int64_t from, std::int64_t to) {
  if (term.stride > 0) return {range.begin + from, range.begin + to};
  return {range.end - to, range.end - from};
}

// A form a*x + b*r that takes values more than once, cut along its value only: every value keeps its pair of least r.
// Those are the pairs r < a and the pairs r >= a, x >= X - b (a, b divided by their gcd), two boxes on which the form
// is one-to-one.
std::int64_t count_image_by_least_pairs(const Polytope& polytope, const Combinations& forms, std::size_t chosen) {
  Combinations unique = forms;
  unique[chosen].one_to_one = true;
  const Term& x = forms[chosen].terms[0];
  const Term& r = forms[chosen].terms[1];
  const Interval range_x = polytope.range[x.dim];
  const Interval range_r = polytope.range[r.dim];
  const std::int64_t gcd = std::gcd(std::int64_t{x.stride}, std::int64_t{r.stride});
  const std::int64_t a = std::abs(x.stride / gcd);
  const std::int64_t b = std::abs(r.stride / gcd);

  Polytope small = polytope;
  small.range[r.dim] = part(range_r, r, 0, std::min(a, range_r.extent()));
  Polytope rest = polytope;
  rest.range[r.dim] = part(range_r, r, std::min(a, range_r.extent()), range_r.extent());
  rest.range[x.dim] = part(range_x, x, std::max<std::int64_t>(0, range_x.extent() - b), range_x.extent());
  return checked_add(count_image(small, unique), count_image(rest, unique));
}

// The polytope with the dimensions outside the forms eliminated; true when none had to stay.
bool project(Polytope& polytope, const Combinations& forms) {
  bool exact = true;
  for_each_dim(without(polytope.dims, dims_of(forms)), [&](DimId dim) { exact = eliminate(polytope, dim) && exact; });
  return exact;
}

}  // namespace

Combination::Combination(const Affine& form) {
  for (const Term& term : form.terms) {
    auto same = std::find_if(terms.begin(), terms.end(), [&](const Term& other) { return other.dim == term.dim; });
    if (same == terms.end()) same = terms.insert(terms.end(), Term{term.dim, 0});
    same->stride = static_cast<std::int32_t>(checked_add(same->stride, term.stride));
  }
  const auto unused = [](const Term& term) { return term.stride == 0; };
  terms.erase(std::remove_if(terms.begin(), terms.end(), unused), terms.end());
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.dim < b.dim; });
}

DimSet Combination::dims() const {
  DimSet dims = 0;
  for (const Term& term : terms) dims = static_cast<DimSet>(dims | 1u << term.dim);
  return dims;
}

std::int64_t count_image(Polytope polytope, Combinations forms) {
  if (!tighten(polytope)) return 0;
  const bool projected = project(polytope, forms);
  if (!tighten(polytope)) return 0;

  std::int64_t free = 1;  // tuples of the forms that no cut touches
  for (auto form = forms.begin(); form != forms.end();) {
    if (form->dims() & polytope.cut_dims()) {
      ++form;
      continue;
    }
    if (!form->one_to_one) {
      free = checked_mul(free, distinct_sums(progressions(*form, polytope)));
    } else {
      for (const Term& term : form->terms) free = checked_mul(free, polytope.range[term.dim].extent());
    }
    polytope.dims = without(polytope.dims, form->dims());
    form = forms.erase(form);
  }
  if (!projected) {
    if (forms.empty()) return count(polytope) > 0 ? free : 0;
    return checked_mul(free, Enumeration(polytope, forms).distinct());
  }
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (forms[i].one_to_one || one_to_one(progressions(forms[i], polytope))) continue;
    if (forms[i].terms.size() == 2 && cut_along_value(polytope, forms[i]))
      return checked_mul(free, count_image_by_least_pairs(polytope, forms, i));
    return checked_mul(free, Enumeration(polytope, forms).distinct());
  }
  return checked_mul(free, count(polytope));
}

}  // namespace cairn::loopnest
