#include "cairn/predict/evaluate/max_plus.h"

#include "cairn/core/random.h"
#include "catch.h"

using namespace cairn;
using predict::Frontiers;
using predict::Matrix;

namespace {

constexpr std::size_t k_compute = static_cast<std::size_t>(program::Stream::compute);
constexpr std::size_t k_data = static_cast<std::size_t>(program::Stream::data);

// Over some streams; of every row some entries, the rest "never"; the diagonal always, as for streams.
Matrix random_matrix(core::Random& random) {
  Matrix matrix(static_cast<predict::StreamSet>(random.below(std::uint64_t{1} << program::k_streams)));
  for (std::size_t i = 0; i < matrix.size(); ++i)
    for (std::size_t j = 0; j < matrix.size(); ++j)
      if (i == j || random.below(3) == 0) matrix.entry(i, j) = static_cast<core::Picoseconds>(random.below(1000));
  return matrix;
}
// What its definition says, with the identity written out.
Frontiers by_definition(const Matrix& matrix, const Frontiers& x) {
  Frontiers result;
  for (std::size_t i = 0; i < program::k_streams; ++i) {
    result[i] = core::k_never;
    for (std::size_t j = 0; j < program::k_streams; ++j) result[i] = std::max(result[i], matrix.weight(i, j) + x[j]);
  }
  return result;
}
Frontiers random_frontiers(core::Random& random) {
  Frontiers x;
  for (core::Picoseconds& time : x) time = static_cast<core::Picoseconds>(random.below(1000));
  return x;
}
bool same(const Matrix& a, const Matrix& b) {
  for (std::size_t i = 0; i < program::k_streams; ++i)
    for (std::size_t j = 0; j < program::k_streams; ++j) {
      const bool never = a.weight(i, j) < core::k_never / 2 && b.weight(i, j) < core::k_never / 2;
      if (!never && a.weight(i, j) != b.weight(i, j)) return false;
    }
  return true;
}

}  // namespace

TEST_CASE("Compute for 3, then send for 5 beside the next layer: two layers end at 13") {
  Matrix layer(predict::set_of(k_compute) | predict::set_of(k_data));
  const std::size_t compute = layer.position(k_compute);
  const std::size_t data = layer.position(k_data);
  layer.entry(compute, compute) = 3;
  layer.entry(data, compute) = 8;
  layer.entry(data, data) = 5;
  const Matrix two = predict::compose(layer, layer);
  REQUIRE(two.weight(k_compute, k_compute) == 6);
  REQUIRE(two.weight(k_data, k_compute) == 13);
  REQUIRE(two.weight(k_data, k_data) == 10);
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
    REQUIRE(a(x) == by_definition(a, x));
    REQUIRE(predict::compose(a, b)(x) == b(a(x)));
    REQUIRE(same(predict::compose(predict::compose(a, b), c), predict::compose(a, predict::compose(b, c))));
    REQUIRE(same(predict::compose(a, Matrix()), a));
    REQUIRE(same(predict::compose(Matrix(), a), a));
    REQUIRE(same(predict::power(a, 0), Matrix()));
    Matrix repeated;
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
  Matrix slow(predict::set_of(k_compute) | predict::set_of(k_data));
  slow.entry(0, 0) = core::Picoseconds{1} << 40;
  const Matrix many = predict::power(slow, 1 << 20);
  for (std::size_t i = 0; i < program::k_streams; ++i)
    for (std::size_t j = 0; j < program::k_streams; ++j)
      if (i != j) REQUIRE(many.weight(i, j) <= core::k_never / 2);
  REQUIRE(many.weight(k_compute, k_compute) == core::Picoseconds{1} << 60);
}
