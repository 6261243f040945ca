#include "cairn/predict/max_plus.h"

namespace cairn::predict {

Matrix Matrix::identity() {
  Matrix matrix;
  for (std::size_t i = 0; i < plan::k_streams; ++i) matrix.row[i] = Form::unit(i);
  return matrix;
}

Frontiers Matrix::operator()(const Frontiers& x) const {
  Frontiers result;
  for (std::size_t i = 0; i < plan::k_streams; ++i) {
    core::Picoseconds time = core::k_never;
    for (std::size_t j = 0; j < plan::k_streams; ++j) time = std::max(time, plus(row[i].c[j], x[j]));
    result[i] = time;
  }
  return result;
}

// Most streams take no part in a block: their rows are those of the identity, their columns empty elsewhere.
Matrix compose(const Matrix& first, const Matrix& second) {
  std::array<std::array<std::uint8_t, plan::k_streams>, plan::k_streams> columns;  // of each row of `first`
  std::array<std::uint8_t, plan::k_streams> counts;
  for (std::size_t k = 0; k < plan::k_streams; ++k) {
    std::uint8_t count = 0;
    for (std::size_t j = 0; j < plan::k_streams; ++j) {
      columns[k][count] = static_cast<std::uint8_t>(j);
      count = static_cast<std::uint8_t>(count + (first.row[k].c[j] != core::k_never));
    }
    counts[k] = count;
  }
  Matrix result;
  for (std::size_t i = 0; i < plan::k_streams; ++i) {
    Form& row = result.row[i];
    row = Form::never();
    for (std::size_t k = 0; k < plan::k_streams; ++k) {
      const core::Picoseconds by = second.row[i].c[k];
      if (by == core::k_never) continue;
      for (std::size_t c = 0; c < counts[k]; ++c) {
        const std::size_t j = columns[k][c];
        row.c[j] = std::max(row.c[j], plus(first.row[k].c[j], by));
      }
    }
  }
  return result;
}

Matrix power(const Matrix& matrix, std::int64_t exponent) {
  Matrix result = Matrix::identity();
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
