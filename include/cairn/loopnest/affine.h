// Affine forms over the dimensions of one domain, and extents that may depend on a symbol of the model.
//
//   form(i) = offset + sum_j stride_j * i[dim_j]
//
// A tensor index is one form per tensor dimension: y[b, co, x] of a convolution reads in[b, ci, 2*x + r], the third
// form being {terms: (x, stride 2), (r, stride 1), offset 0}. A guard is a form that must not be negative: q - k >= 0.
#pragma once

#include <array>
#include <cstdint>

#include <boost/container/static_vector.hpp>

namespace cairn::loopnest {

inline constexpr std::size_t k_max_dims = 8;

// Position of a dimension inside its domain.
using DimId = std::uint8_t;

// Set of dimensions of a domain: bit d stands for dimension d.
using DimSet = std::uint8_t;
static_assert(k_max_dims <= 8 * sizeof(DimSet));
inline constexpr DimSet k_all_dims = 0xff;

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

inline bool uses(const Projection& projection, DimId dim) {
  for (const Affine& form : projection)
    if (form.uses(dim)) return true;
  return false;
}

// What a model leaves open until it is run: sizes chosen by the training setup, not by the architecture.
enum class Symbol : std::uint8_t { none, batch, sequence };
inline constexpr std::size_t k_symbols = 3;

// Values of the symbols: sequences per micro-batch on one data-parallel rank, tokens per sequence.
struct Sizes {
  std::int64_t batch = 1;
  std::int64_t sequence = 1;
  std::int64_t operator[](Symbol symbol) const {
    return symbol == Symbol::batch ? batch : symbol == Symbol::sequence ? sequence : 0;
  }
  friend bool operator==(const Sizes&, const Sizes&) = default;
};

// extent = constant + factor * symbol
struct Extent {
  std::int64_t constant = 0;
  std::int64_t factor = 0;
  Symbol symbol = Symbol::none;

  static Extent of(std::int64_t constant) { return {constant, 0, Symbol::none}; }
  static Extent of(Symbol symbol, std::int64_t factor = 1) { return {0, factor, symbol}; }
  std::int64_t at(const Sizes& sizes) const { return constant + factor * sizes[symbol]; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

}  // namespace cairn::loopnest
