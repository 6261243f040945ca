// Affine forms over the dimensions of one domain, and extents that may depend on a symbol of the model.
//
//   form(i) = offset + sum_j stride_j * i[dim_j]
//
// A tensor index is one form per tensor dimension: y[b, co, x] of a convolution reads in[b, ci, 2*x + r], the third
// form being {terms: (x, stride 2), (r, stride 1), offset 0}. A guard is a form that must not be negative: q - k >= 0.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include <boost/container/static_vector.hpp>

namespace cairn::loopnest {

// Nine are those of a three-dimensional convolution.
inline constexpr std::size_t k_max_dims = 9;

// Position of a dimension inside its domain.
using DimId = std::uint8_t;

// Set of dimensions of a domain: bit d stands for dimension d.
using DimSet = std::uint16_t;
static_assert(k_max_dims <= 8 * sizeof(DimSet));
inline constexpr DimSet k_all_dims = 0xffff;
constexpr DimSet bit(DimId dim) { return static_cast<DimSet>(1u << dim); }

struct Term {
  DimId dim = 0;
  std::int32_t stride = 1;
  friend bool operator==(const Term&, const Term&) = default;
};

struct Affine {
  boost::container::static_vector<Term, 3> terms;
  std::int64_t offset = 0;

  static Affine of(DimId dim, std::int32_t stride = 1, std::int64_t offset = 0) {
    return {{Term{dim, stride}}, offset};
  }
  bool uses(DimId dim) const {
    for (const Term& term : terms)
      if (term.dim == dim && term.stride != 0) return true;
    return false;
  }
};

// The index of a tensor element, one form per tensor dimension, outermost first.
using Projection = boost::container::static_vector<Affine, k_max_dims>;
// Each dimension by itself.
inline Projection projection_of(std::initializer_list<DimId> dims) {
  Projection projection;
  for (const DimId dim : dims) projection.push_back(Affine::of(dim));
  return projection;
}

inline bool uses(const Projection& projection, DimId dim) {
  for (const Affine& form : projection)
    if (form.uses(dim)) return true;
  return false;
}

// What a model leaves open until it is run: sizes chosen by the training setup, not by the architecture.
enum class Symbol : std::uint8_t { none, batch, sequence, tokens, source, peer };

// Values of the symbols: sequences per micro-batch on one data-parallel rank, tokens per sequence; where tokens are
// routed by their contents, the tokens that one rank routes and how many ranks exchange them (sources) and share the
// work on each of them (peers).
struct Sizes {
  std::int64_t batch = 1;
  std::int64_t sequence = 1;
  std::int64_t tokens = 0;  // 0: all of batch and sequence
  std::int64_t source = 1;
  std::int64_t peer = 1;
  std::int64_t operator[](Symbol symbol) const {
    switch (symbol) {
      case Symbol::none:
        return 0;
      case Symbol::batch:
        return batch;
      case Symbol::sequence:
        return sequence;
      case Symbol::tokens:
        return tokens > 0 ? tokens : batch * sequence;
      case Symbol::source:
        return source;
      case Symbol::peer:
        return peer;
    }
    return 0;
  }
  friend bool operator==(const Sizes&, const Sizes&) = default;
};

// Load of an extent that depends on data and differs between ranks (rows of an expert): the mean over ranks, and that
// of the fullest rank, both over an even spread.
struct Load {
  double mean = 1.0;
  double max = 1.0;
  friend bool operator==(const Load&, const Load&) = default;
};

// extent = constant + ceil(load * factor * symbol / divisor); the fullest rank's, which the others wait for
struct Extent {
  std::int64_t constant = 0;
  std::int64_t factor = 0;
  Symbol symbol = Symbol::none;
  std::int64_t divisor = 1;
  Load load{};

  static Extent of(std::int64_t constant) { return {.constant = constant}; }
  static Extent of(Symbol symbol, std::int64_t factor = 1) { return {.factor = factor, .symbol = symbol}; }
  static Extent share(Symbol symbol, std::int64_t factor, std::int64_t divisor, Load load = {}) {
    return {.factor = factor, .symbol = symbol, .divisor = divisor, .load = load};
  }
  std::int64_t at(const Sizes& sizes) const {
    const std::int64_t scaled = factor * sizes[symbol];
    if (load.max == 1.0) return constant + (scaled + divisor - 1) / divisor;
    // What rounding adds to a whole number is not another slot.
    constexpr double k_rounding = 1e-12;
    const double spread = load.max * static_cast<double>(scaled) / static_cast<double>(divisor);
    return constant + static_cast<std::int64_t>(std::ceil(spread * (1.0 - k_rounding)));
  }
  // The share of the extent that an even spread fills; 1 where nothing is spread or rounded.
  double useful(const Sizes& sizes) const {
    if (divisor == 1 && load == Load{}) return 1.0;
    const double even = static_cast<double>(factor * sizes[symbol]) / static_cast<double>(divisor);
    return (static_cast<double>(constant) + std::min(1.0, load.mean) * even) / static_cast<double>(at(sizes));
  }
  friend bool operator==(const Extent&, const Extent&) = default;
};

}  // namespace cairn::loopnest
