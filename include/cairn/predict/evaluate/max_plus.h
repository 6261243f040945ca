// Max-plus algebra over the frontiers of a stage's streams: "addition" is max, "multiplication" is +.
//
// A block maps the frontiers x (when each stream becomes free) to new ones by a matrix: x'_i = max_j ( M_ij + x_j ).
// Blocks in a row multiply; n equal ones are a power. Exact in integers, whatever overlaps across their borders.
//   Example, streams (compute, data): a layer that computes for 3 and then sends gradients for 5 beside the next layer:
//   M = [[3, -], [8, 5]]; two layers: M*M = [[6, -], [13, 10]]: the second send waits for the first, 3 + 5 + 5 = 13.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "cairn/core/time.h"
#include "cairn/program/program.h"

namespace cairn::predict {

using Frontiers = std::array<core::Picoseconds, program::k_streams>;

// Addition that keeps "never" (minus infinity, k_never) at k_never or above, so that repeated sums cannot overflow.
constexpr core::Picoseconds plus(core::Picoseconds a, core::Picoseconds b) { return std::max(a + b, core::k_never); }

using StreamSet = std::uint32_t;  // bit s: stream s
constexpr StreamSet set_of(std::size_t stream) { return StreamSet{1} << stream; }
constexpr bool has(StreamSet set, std::size_t stream) { return ((set >> stream) & 1U) != 0; }

// A time as a function of the frontiers x_j of up to N streams at entry: max_j ( c_j + x_j ).
template <std::size_t N>
struct Form {
  std::array<core::Picoseconds, N> c;

  static Form never() {
    Form form;
    form.c.fill(core::k_never);
    return form;
  }
  static Form unit(std::size_t position) {
    Form form = never();
    form.c[position] = 0;
    return form;
  }
};
template <std::size_t N>
Form<N> latest(const Form<N>& a, const Form<N>& b) {
  Form<N> result;
  for (std::size_t i = 0; i < N; ++i) result.c[i] = std::max(a.c[i], b.c[i]);
  return result;
}
template <std::size_t N>
Form<N> later(const Form<N>& a, core::Picoseconds by) {
  Form<N> result;
  for (std::size_t i = 0; i < N; ++i) result.c[i] = plus(a.c[i], by);
  return result;
}
inline core::Picoseconds latest(core::Picoseconds a, core::Picoseconds b) { return std::max(a, b); }
inline core::Picoseconds later(core::Picoseconds a, core::Picoseconds by) { return a + by; }

// A max-plus matrix. It stores rows and columns of the streams that take part; on all others it is the identity.
class Matrix {
 public:
  // The identity.
  explicit Matrix(StreamSet streams = 0);

  StreamSet streams() const { return streams_; }
  std::size_t size() const { return size_; }
  std::size_t stream(std::size_t position) const { return streams_of_[position]; }
  // By position among the streams that take part; `from` and `to` below size().
  core::Picoseconds& entry(std::size_t to, std::size_t from) { return weights_[to * size_ + from]; }
  core::Picoseconds entry(std::size_t to, std::size_t from) const { return weights_[to * size_ + from]; }
  // By stream.
  core::Picoseconds weight(std::size_t to, std::size_t from) const {
    if (!has(streams_, to) || !has(streams_, from)) return to == from ? 0 : core::k_never;
    return entry(position(to), position(from));
  }
  std::size_t position(std::size_t stream) const { return positions_[stream]; }
  // The same with more streams taking part.
  Matrix over(StreamSet streams) const;
  Frontiers operator()(const Frontiers& x) const;

 private:
  StreamSet streams_;
  std::size_t size_ = 0;
  std::array<std::uint8_t, program::k_streams> streams_of_{};  // by position
  std::array<std::uint8_t, program::k_streams> positions_{};   // by stream
  std::vector<core::Picoseconds> weights_;                     // row after row
};
// The matrix of `first`, then `second`.
Matrix compose(const Matrix& first, const Matrix& second);
Matrix power(const Matrix& matrix, std::int64_t exponent);

}  // namespace cairn::predict
