#include "cairn/splits/linear_grids.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "cairn/core/random.h"
#include "catch.h"

namespace cairn::splits {
namespace {

// A matrix of whole numbers, by rows.
struct Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<std::int64_t> values;

  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c, 0) {}
  std::int64_t& at(std::size_t r, std::size_t c) { return values[r * columns + c]; }
  std::int64_t at(std::size_t r, std::size_t c) const { return values[r * columns + c]; }
  friend bool operator==(const Matrix&, const Matrix&) = default;
};

Matrix drawn(std::size_t rows, std::size_t columns, core::Random& random) {
  Matrix result(rows, columns);
  for (std::int64_t& each : result.values) each = static_cast<std::int64_t>(random.below(19)) - 9;
  return result;
}

Matrix transposed(const Matrix& of) {
  Matrix result(of.columns, of.rows);
  for (std::size_t r = 0; r < of.rows; ++r)
    for (std::size_t c = 0; c < of.columns; ++c) result.at(c, r) = of.at(r, c);
  return result;
}

void add_product(Matrix& sum, const Matrix& a, const Matrix& b) {
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.columns; ++k)
      for (std::size_t j = 0; j < b.columns; ++j) sum.at(i, j) += a.at(i, k) * b.at(k, j);
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.columns);
  add_product(result, a, b);
  return result;
}

Matrix block(const Matrix& of, std::size_t row, std::size_t rows, std::size_t column, std::size_t columns) {
  Matrix result(of.rows / rows, of.columns / columns);
  for (std::size_t r = 0; r < result.rows; ++r)
    for (std::size_t c = 0; c < result.columns; ++c)
      result.at(r, c) = of.at(row * result.rows + r, column * result.columns + c);
  return result;
}

void put_block(Matrix& into, const Matrix& part, std::size_t row, std::size_t column) {
  for (std::size_t r = 0; r < part.rows; ++r)
    for (std::size_t c = 0; c < part.columns; ++c)
      into.at(row * part.rows + r, column * part.columns + c) = part.at(r, c);
}

// Counts what one device receives: elements, and in how many messages.
struct Received {
  double elements = 0.0;
  std::int64_t messages = 0;
};

// SUMMA on q x q blocks: at each of q steps a column of blocks of A goes along the rows of the grid, a row of blocks of
// B along its columns. `counted`: of the device in the first row and column.
Matrix summa(const Matrix& a, const Matrix& b, std::size_t q, Received& counted) {
  Matrix c(a.rows, b.columns);
  for (std::size_t i = 0; i < q; ++i)
    for (std::size_t j = 0; j < q; ++j) {
      Matrix mine(a.rows / q, b.columns / q);
      for (std::size_t step = 0; step < q; ++step) {
        const Matrix of_a = block(a, i, q, step, q), of_b = block(b, step, q, j, q);
        if (i == 0 && j == 0 && step != 0) {
          counted.elements += static_cast<double>(of_a.values.size()) / static_cast<double>(a.values.size());
          counted.elements += static_cast<double>(of_b.values.size()) / static_cast<double>(b.values.size());
          counted.messages += 2;
        }
        add_product(mine, of_a, of_b);
      }
      put_block(c, mine, i, j);
    }
  return c;
}

// C = A B^T where blocks of B go along the columns of the grid and sums of C along its rows.
Matrix summa_reduced(const Matrix& a, const Matrix& b, std::size_t q, Received& counted) {
  Matrix c(a.rows, b.rows);
  for (std::size_t step = 0; step < q; ++step)  // the column of blocks of C that is made
    for (std::size_t i = 0; i < q; ++i) {
      Matrix sum(a.rows / q, b.rows / q);
      for (std::size_t j = 0; j < q; ++j) add_product(sum, block(a, i, q, j, q), transposed(block(b, step, q, j, q)));
      put_block(c, sum, i, step);
    }
  // Of B the q - 1 blocks of others in its column; of C the summands of q - 1 others for its own block.
  const auto others = static_cast<double>(q - 1) / static_cast<double>(q * q);
  counted.elements += 2.0 * others;
  counted.messages += 2 * static_cast<std::int64_t>(q - 1);
  return c;
}

// Y = X W on q x q x q: X is gathered along the second axis, W along the first, Y scattered along the third.
Matrix cubed(const Matrix& x, const Matrix& w, std::size_t q, Received& counted) {
  Matrix y(x.rows, w.columns);
  for (std::size_t i = 0; i < q; ++i)
    for (std::size_t j = 0; j < q; ++j) {
      Matrix sum(x.rows / q, w.columns / q);
      for (std::size_t l = 0; l < q; ++l) add_product(sum, block(x, i, q, l, q), block(w, l, q, j, q));
      put_block(y, sum, i, j);
    }
  // A block of a q-th in both directions, cut into q parts of which a device has one.
  const auto others = static_cast<double>(q - 1) / static_cast<double>(q * q * q);
  counted.elements += 3.0 * others;
  counted.messages += 3 * static_cast<std::int64_t>(q - 1);
  return y;
}

}  // namespace

TEST_CASE("Shares of a linear layer on a grid are those of Colossal-AI's table") {
  for (std::int64_t q = 1; q <= 9; ++q) {
    const auto side = static_cast<double>(q);
    const GridShares one = shares({.kind = GridKind::one, .side = q});
    CHECK(one.compute == Approx(1.0 / side));
    CHECK(one.weight == Approx(1.0 / side));
    CHECK(one.activations == 1.0);
    CHECK(published_bandwidth({.kind = GridKind::one, .side = q}) == Approx(2.0 * (side - 1.0) / side).epsilon(1e-14));
    CHECK(one.messages == 2 * (q - 1));
    const GridShares two = shares({.kind = GridKind::two, .side = q});
    CHECK(two.compute == Approx(1.0 / (side * side)));
    CHECK(two.weight == Approx(1.0 / (side * side)));
    CHECK(two.activations == Approx(1.0 / (side * side)));
    CHECK(published_bandwidth({.kind = GridKind::two, .side = q}) == Approx(6.0 * (side - 1.0) / side).epsilon(1e-14));
    CHECK(two.messages == 6 * (q - 1));
    for (std::int64_t d = 1; d <= 5; ++d) {
      const auto depth = static_cast<double>(d);
      const LinearGrid grid{.kind = GridKind::two_and_half, .side = q, .depth = d};
      const GridShares half = shares(grid);
      CHECK(half.compute == Approx(1.0 / (depth * side * side)));
      CHECK(half.weight == Approx(1.0 / (side * side)));
      CHECK(half.activations == Approx(1.0 / (depth * side * side)));
      CHECK(published_bandwidth(grid) == Approx(3.0 * (side - 1.0) * (depth + 1.0) / (depth * side)).epsilon(1e-14));
      CHECK(half.messages == 6 * (q - 1));
    }
    const GridShares three = shares({.kind = GridKind::three, .side = q});
    CHECK(three.compute == Approx(1.0 / (side * side * side)));
    CHECK(three.weight == Approx(1.0 / (side * side * side)));
    CHECK(three.activations == Approx(1.0 / (side * side * side)));
    CHECK(published_bandwidth({.kind = GridKind::three, .side = q}) ==
          Approx(6.0 * (side - 1.0) / (side * side * side)).epsilon(1e-14));
    CHECK(three.messages == 6 * (q - 1));
  }
}

TEST_CASE("SUMMA and its transposed forms give the dense products, and receive what the shares say") {
  core::Random random(11);
  for (const std::size_t q : {1, 2, 3, 4}) {
    const std::size_t n = 12;
    const Matrix x = drawn(n, 2 * n, random), w = drawn(2 * n, n, random), dy = drawn(n, n, random);
    Received of_two;
    CHECK(summa(x, w, q, of_two) == product(x, w));
    CHECK(summa_reduced(dy, w, q, of_two) == product(dy, transposed(w)));
    // dW = X^T dY, as the transposed of dY^T X.
    CHECK(transposed(summa_reduced(transposed(dy), transposed(x), q, of_two)) == product(transposed(x), dy));
    const GridShares two = shares({.kind = GridKind::two, .side = static_cast<std::int64_t>(q)});
    CHECK(of_two.elements == Approx(two.received));
    CHECK(of_two.messages == two.messages);
    // The backward pass has what X and W became: gradients are gathered once and scattered twice.
    Received of_three;
    CHECK(cubed(x, w, q, of_three) == product(x, w));
    const GridShares three = shares({.kind = GridKind::three, .side = static_cast<std::int64_t>(q)});
    CHECK(2.0 * of_three.elements == Approx(three.received));
    CHECK(2 * of_three.messages == three.messages);
  }
}

TEST_CASE("Few devices receive least in one dimension, many in two and least in three") {
  const auto received = [](std::int64_t devices) {
    std::map<GridKind, double> result;
    for (const LinearGrid& grid : grids_of(devices)) {
      CHECK(grid.devices() == devices);
      const auto [found, fresh] = result.emplace(grid.kind, shares(grid).received);
      if (!fresh) found->second = std::min(found->second, shares(grid).received);
    }
    return result;
  };
  CHECK(received(4).at(GridKind::one) == Approx(received(4).at(GridKind::two)));
  CHECK(received(16).at(GridKind::two) < received(16).at(GridKind::one));
  for (const std::int64_t devices : {64, 729, 4096}) {
    const std::map<GridKind, double> of = received(devices);
    CHECK(of.at(GridKind::two) < of.at(GridKind::one));
    CHECK(of.at(GridKind::three) < of.at(GridKind::two));
  }
  // Messages in a row: one dimension has fewer below nine devices.
  CHECK(shares({.kind = GridKind::one, .side = 4}).messages == shares({.kind = GridKind::two, .side = 2}).messages);
  CHECK(shares({.kind = GridKind::one, .side = 9}).messages > shares({.kind = GridKind::two, .side = 3}).messages);
}

}  // namespace cairn::splits
