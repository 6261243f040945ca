#include "cairn/predict/max_plus.h"

#include "cairn/core/random.h"
#include "catch.h"

using namespace cairn;
using predict::Frontiers;
using predict::Matrix;

namespace {

constexpr std::size_t k_compute = static_cast<std::size_t>(plan::Stream::compute);
constexpr std::size_t k_data = static_cast<std::size_t>(plan::Stream::data);

// Of every row some entries, the rest "never"; the diagonal always, as for streams.
Matrix random_matrix(core::Random& random) {
  Matrix matrix;
  for (std::size_t i = 0; i < plan::k_streams; ++i) {
    matrix.row[i] = predict::Form::never();
    for (std::size_t j = 0; j < plan::k_streams; ++j)
      if (i == j || random.below(3) == 0) matrix.row[i].c[j] = static_cast<core::Picoseconds>(random.below(1000));
  }
  return matrix;
}
Frontiers random_frontiers(core::Random& random) {
  Frontiers x;
  for (core::Picoseconds& time : x) time = static_cast<core::Picoseconds>(random.below(1000));
  return x;
}
bool same(const Matrix& a, const Matrix& b) {
  for (std::size_t i = 0; i < plan::k_streams; ++i)
    for (std::size_t j = 0; j < plan::k_streams; ++j) {
      const bool never = a.row[i].c[j] < core::k_never / 2 && b.row[i].c[j] < core::k_never / 2;
      if (!never && a.row[i].c[j] != b.row[i].c[j]) return false;
    }
  return true;
}

}  // namespace

TEST_CASE("Compute for 3, then send for 5 beside the next layer: two layers end at 13") {
  Matrix layer = Matrix::identity();
  layer.row[k_compute].c[k_compute] = 3;
  layer.row[k_data].c[k_compute] = 8;
  layer.row[k_data].c[k_data] = 5;
  const Matrix two = predict::compose(layer, layer);
  REQUIRE(two.row[k_compute].c[k_compute] == 6);
  REQUIRE(two.row[k_data].c[k_compute] == 13);
  REQUIRE(two.row[k_data].c[k_data] == 10);
  REQUIRE(two(Frontiers{})[k_data] == 13);
  // 126 layers: the sends queue, 3 + 126 x 5.
  REQUIRE(predict::power(layer, 126)(Frontiers{})[k_data] == 3 + 126 * 5);
  REQUIRE(predict::power(layer, 126)(Frontiers{})[k_compute] == 126 * 3);
  // A communicator busy until 1000 on entry ends 126 sends later.
  Frontiers busy{};
  busy[k_data] = 1000;
  REQUIRE(predict::power(layer, 126)(busy)[k_data] == 1000 + 126 * 5);
}

TEST_CASE("A matrix maps frontiers; products are composition, powers repeated composition") {
  core::Random random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const Matrix a = random_matrix(random);
    const Matrix b = random_matrix(random);
    const Matrix c = random_matrix(random);
    const Frontiers x = random_frontiers(random);
    REQUIRE(predict::compose(a, b)(x) == b(a(x)));
    REQUIRE(same(predict::compose(predict::compose(a, b), c), predict::compose(a, predict::compose(b, c))));
    REQUIRE(same(predict::compose(a, Matrix::identity()), a));
    REQUIRE(same(predict::compose(Matrix::identity(), a), a));
    REQUIRE(same(predict::power(a, 0), Matrix::identity()));
    Matrix repeated = Matrix::identity();
    Frontiers y = x;
    for (int n = 1; n <= 126; ++n) {
      repeated = predict::compose(repeated, a);
      y = a(y);
      if (n == 1 || n == 2 || n == 7 || n == 64 || n == 126) {
        REQUIRE(same(predict::power(a, n), repeated));
        REQUIRE(predict::power(a, n)(x) == y);
      }
    }
  }
}

TEST_CASE("Never stays never, however long the product") {
  Matrix slow = Matrix::identity();
  slow.row[k_compute].c[k_compute] = core::Picoseconds{1} << 40;
  const Matrix many = predict::power(slow, 1 << 20);
  for (std::size_t i = 0; i < plan::k_streams; ++i)
    for (std::size_t j = 0; j < plan::k_streams; ++j)
      if (i != j) REQUIRE(many.row[i].c[j] <= core::k_never / 2);
  REQUIRE(many.row[k_compute].c[k_compute] == core::Picoseconds{1} << 60);
}
