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

Matrix compose(const Matrix& first, const Matrix& second) {
  Matrix result;
  for (std::size_t i = 0; i < plan::k_streams; ++i) {
    Form row = Form::never();
    for (std::size_t k = 0; k < plan::k_streams; ++k) {
      if (second.row[i].c[k] == core::k_never) continue;
      row = latest(row, later(first.row[k], second.row[i].c[k]));
    }
    result.row[i] = row;
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
