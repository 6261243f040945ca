#include "projection_shape.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cairn/core/diagnostics.h"

namespace cairn::pebble {

namespace {

bool is_result(Role role) { return role == Role::update || role == Role::produce || role == Role::result_free; }

[[noreturn]] void refuse(const Contraction& contraction, std::string message, std::string hint) {
  throw core::ConfigurationError("contraction." + contraction.name, std::move(message), std::move(hint));
}

// One access split into the loops that are its coordinates and those that slide a window over it.
struct Split {
  std::uint32_t coordinates = 0;
  std::uint32_t window = 0;
  double reuse = 1.0;
  bool clear = true;  // false when the forms share loops in a way the bound does not use
};

Split split(const Contraction& contraction, const loopnest::Projection& index, std::uint32_t result_loops,
            std::uint32_t selective) {
  Split found;
  const auto box = contraction.domain.box(contraction.sizes);
  const auto take = [&](std::uint32_t& set, loopnest::DimId dim) {
    const std::uint32_t one = 1U << dim;
    if (((found.coordinates | found.window | selective) & one) != 0) found.clear = false;
    set |= one;
  };
  for (const loopnest::Affine& form : index) {
    std::vector<loopnest::Term> terms(form.terms.begin(), form.terms.end());
    std::erase_if(terms, [](const loopnest::Term& term) { return term.stride == 0; });
    if (terms.empty()) continue;
    // The coordinate is the loop that the result also uses; the others slide.
    const auto main = std::find_if(terms.begin(), terms.end(),
                                   [&](const loopnest::Term& term) { return (result_loops >> term.dim & 1U) != 0; });
    const loopnest::Term coordinate = main == terms.end() ? terms.front() : *main;
    take(found.coordinates, coordinate.dim);
    for (const loopnest::Term& term : terms) {
      if (term.dim == coordinate.dim) continue;
      take(found.window, term.dim);
      const std::int64_t extent = box[term.dim].extent();
      const std::int64_t stride = std::abs(coordinate.stride), dilation = std::abs(term.stride);
      // With several sliding loops in one form their joint reuse is not used.
      const std::int64_t classes = terms.size() == 2 ? stride / std::gcd(stride, dilation) : 1;
      found.reuse *= static_cast<double>((extent + classes - 1) / classes);
    }
  }
  return found;
}

std::uint32_t loops_in(const loopnest::Affine& form) {
  std::uint32_t loops = 0;
  for (const loopnest::Term& term : form.terms) loops |= term.stride != 0 ? 1U << term.dim : 0U;
  return loops;
}

}  // namespace

std::vector<std::uint32_t> ProjectionShape::users() const {
  std::vector<std::uint32_t> masks(extents.size() + 1, 0);
  for (std::size_t j = 0; j < operands.size(); ++j) {
    for (std::size_t i = 0; i < extents.size(); ++i) masks[i] |= (operands[j].loops >> i & 1U) << j;
    masks.back() |= (image && operands[j].spans_window ? 1U : 0U) << j;
  }
  return masks;
}

ProjectionShape shape_of(const Contraction& contraction) {
  ProjectionShape shape;
  const auto& domain = contraction.domain;
  const auto box = domain.box(contraction.sizes);
  std::uint32_t selective = 0;
  for (std::size_t i = 0; i < domain.dims().size(); ++i) {
    shape.extents.push_back(static_cast<double>(box[i].extent()));
    if (domain.dims()[i].selected > 0) selective |= 1U << i;
  }
  shape.guarded = selective;
  for (const loopnest::Guard& guard : domain.guards()) shape.guarded |= loops_in(guard);
  shape.points = domain.points(box);

  const auto result = std::find_if(contraction.accesses.begin(), contraction.accesses.end(),
                                   [](const Access& access) { return is_result(access.role); });
  if (result == contraction.accesses.end())
    refuse(contraction, "no access is the result", "give one access the role update, produce or result_free");
  std::uint32_t result_loops = 0;
  for (const loopnest::Affine& form : result->index) result_loops |= loops_in(form);

  if (contraction.accesses.size() > k_max_accesses) refuse(contraction, "more than 8 accesses", "split the operator");
  std::uint32_t window = 0;
  for (std::size_t at = 0; at < contraction.accesses.size(); ++at) {
    const Access& access = contraction.accesses[at];
    const bool here = &access == &*result;
    if (!here && is_result(access.role))
      refuse(contraction, "two accesses are results", "one part of the computation has one result");
    if (!here && access.array == result->array)
      refuse(contraction, "array " + access.array + " is both read and result",
             "name the values read and the sums apart");
    const Split parts = split(contraction, access.index, result_loops, selective);
    const bool second_image = parts.window != 0 && shape.image.has_value();
    if (!parts.clear || second_image || (here && parts.window != 0)) {
      if (here) refuse(contraction, "the index of the result couples loops", "give the result one loop per index");
      continue;  // constrains nothing: a weaker bound, still valid
    }
    if (parts.window != 0) {
      shape.image = shape.operands.size();
      window = parts.window;
      shape.window_reuse = parts.reuse;
    }
    if (here) shape.result = shape.operands.size();
    const auto uses = std::count_if(contraction.accesses.begin(), contraction.accesses.end(),
                                    [&](const Access& other) { return other.array == access.array; });
    shape.operands.push_back({.access = at,
                              .loops = parts.coordinates,
                              .spans_window = false,
                              .charge = 1.0 / static_cast<double>(uses),
                              .elements = static_cast<double>(footprint(contraction, access))});
  }
  for (Operand& operand : shape.operands) {
    operand.spans_window = window != 0 && (operand.loops & window) == window;
    operand.loops &= ~window;
  }
  for (std::size_t i = 0; i < shape.extents.size(); ++i) {
    if ((window >> i & 1U) != 0)
      shape.window_positions *= shape.extents[i];
    else if (shape.extents[i] > 1.0)
      shape.loops |= 1U << i;
  }
  for (Operand& operand : shape.operands) operand.loops &= shape.loops;  // a loop of one step neither limits nor helps
  return shape;
}

long double loop_factor(const ProjectionShape& shape, const std::vector<double>& s) {
  long double factor = 1.0L;
  for (std::size_t i = 0; i < shape.extents.size(); ++i) {
    if ((shape.loops >> i & 1U) == 0) continue;
    double covered = 0.0;
    for (std::size_t j = 0; j < s.size(); ++j) covered += (shape.operands[j].loops >> i & 1U) != 0 ? s[j] : 0.0;
    if (covered < 1.0) factor *= power(shape.extents[i], 1.0 - covered);
  }
  if (!shape.image) return factor;
  double filters = 0.0;
  for (std::size_t j = 0; j < s.size(); ++j) filters += shape.operands[j].spans_window ? s[j] : 0.0;
  const double base = s[*shape.image] + filters >= 1.0 ? shape.window_reuse : shape.window_positions;
  return filters < 1.0 ? factor * power(base, 1.0 - filters) : factor;
}

long double power(long double base, double exponent) {
  if (exponent == 0.0) return 1.0L;
  if (exponent == 1.0) return base;
  if (exponent == 0.5) return std::sqrt(base);
  return std::pow(base, static_cast<long double>(exponent));
}

long double largest_product(Shares shares, double budget) {
  long double product = 1.0L;
  shares.erase(std::remove_if(shares.begin(), shares.end(), [](const Share& share) { return share.exponent <= 0.0; }),
               shares.end());
  // Fill in proportion to the exponents; whoever reaches its limit stays there and leaves the rest to the others.
  while (!shares.empty()) {
    double exponents = 0.0;
    for (const Share& share : shares) exponents += share.exponent;
    const auto amount = [&](const Share& share) { return share.exponent / exponents * budget / share.charge; };
    const auto full =
        std::find_if(shares.begin(), shares.end(), [&](const Share& share) { return amount(share) >= share.limit; });
    if (full == shares.end()) {
      for (const Share& share : shares) product *= power(std::max(0.0, amount(share)), share.exponent);
      return product;
    }
    product *= power(full->limit, full->exponent);
    budget -= full->limit * full->charge;
    shares.erase(full);
  }
  return product;
}

}  // namespace cairn::pebble
