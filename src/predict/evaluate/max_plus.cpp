#include "cairn/predict/evaluate/max_plus.h"

#include <bit>

namespace cairn::predict {

Matrix::Matrix(StreamSet streams) : streams_(streams) {
  for (StreamSet left = streams; left != 0; left &= left - 1) {
    const auto stream = static_cast<std::uint8_t>(std::countr_zero(left));
    positions_[stream] = static_cast<std::uint8_t>(size_);
    streams_of_[size_++] = stream;
  }
  weights_.assign(size_ * size_, core::k_never);
  for (std::size_t i = 0; i < size_; ++i) entry(i, i) = 0;
}

Matrix Matrix::over(StreamSet streams) const {
  Matrix result(streams | streams_);
  for (std::size_t i = 0; i < size(); ++i)
    for (std::size_t j = 0; j < size(); ++j)
      result.entry(result.position(stream(i)), result.position(stream(j))) = entry(i, j);
  return result;
}

Frontiers Matrix::operator()(const Frontiers& x) const {
  Frontiers result = x;
  for (std::size_t i = 0; i < size(); ++i) {
    core::Picoseconds time = core::k_never;
    for (std::size_t j = 0; j < size(); ++j) time = std::max(time, plus(entry(i, j), x[stream(j)]));
    result[stream(i)] = time;
  }
  return result;
}

Matrix compose(const Matrix& first, const Matrix& second) {
  const StreamSet streams = first.streams() | second.streams();
  if (first.streams() != streams) return compose(first.over(streams), second);
  if (second.streams() != streams) return compose(first, second.over(streams));
  Matrix result(streams);
  const std::size_t size = result.size();
  for (std::size_t i = 0; i < size; ++i) {
    core::Picoseconds* const row = &result.entry(i, 0);
    std::fill(row, row + size, core::k_never);
    for (std::size_t k = 0; k < size; ++k) {
      const core::Picoseconds by = second.entry(i, k);
      if (by == core::k_never) continue;
      for (std::size_t j = 0; j < size; ++j) row[j] = std::max(row[j], first.entry(k, j) + by);
    }
  }
  return result;
}

Matrix power(const Matrix& matrix, std::int64_t exponent) {
  Matrix result(matrix.streams());
  Matrix square = matrix;
  for (bool first = true; exponent > 0; exponent >>= 1) {
    if (exponent & 1) {
      result = first ? square : compose(result, square);
      first = false;
    }
    if (exponent > 1) square = compose(square, square);
  }
  return result;
}

}  // namespace cairn::predict
