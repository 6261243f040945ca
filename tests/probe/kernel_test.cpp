// The kernels over elements and rows on the emulator, against the slow references.
#include <array>
#include <cstring>
#include <random>

#include "catch.h"
#include "element_kernels.h"
#include "reference.h"
#include "row_kernels.h"

namespace cairn::probe {

namespace {

constexpr int k_threads = 64;

// Elements of bf16 in whole vectors.
std::vector<Vector> normal_vectors(std::size_t elements, unsigned seed, float offset = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<Vector> out(elements / 8);
  for (Vector& vector : out)
    for (std::uint32_t& word : vector.word) {
      const float low = offset + normal(random), high = offset + normal(random);
      word = pack_bf16(low, high);
    }
  return out;
}

std::vector<Vector> poison(std::size_t elements) {
  constexpr std::uint32_t k_word = 0xFFFFFFFF;
  return std::vector<Vector>(elements / 8, Vector{{k_word, k_word, k_word, k_word}});
}

Reals reals(const std::vector<Vector>& vectors, std::size_t first, std::size_t count) {
  Reals out;
  for (std::size_t i = first; i < first + count; ++i)
    out.push_back(decode(Type::bf16, reinterpret_cast<const Bf16*>(vectors.data()) + i));
  return out;
}

template <class Operation>
void run(const Operation& op, std::int64_t n) {
  emulate({2, 1, 1}, k_threads, 0, [&] { for_each(op, n); });
}

void check_passed(const Comparison& comparison) {
  CAPTURE(comparison.worst());
  CHECK(comparison.passed());
}

}  // namespace

TEST_CASE("numbers of the fill: mean 0, variance 1, none beyond sqrt(12)", "[probe]") {
  double sum = 0, squares = 0, largest = 0;
  constexpr int k_count = 100000;
  for (int i = 0; i < k_count; ++i) {
    const double x = normal_number(static_cast<std::uint64_t>(i));
    sum += x;
    squares += x * x;
    largest = std::max(largest, std::fabs(x));
  }
  CHECK(std::fabs(sum / k_count) < 4 / std::sqrt(k_count));
  CHECK(squares / k_count == Approx(1).epsilon(0.02));
  CHECK(largest < 3.4642);
}

TEST_CASE("reads and counts miss nothing", "[probe]") {
  std::vector<std::uint32_t> words(4 * 300);
  const FillSequence fill{words.data()};
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    fill(static_cast<std::int64_t>(i));
    expected += static_cast<std::uint32_t>(i) * k_sequence_factor;
  }
  std::vector<Vector> vectors(300);
  std::memcpy(vectors.data(), words.data(), words.size() * 4);
  std::uint32_t total = 0;
  emulate({2, 1, 1}, k_threads, 0, [&] { read_and_sum(vectors.data(), 300, &total); });
  CHECK(total == expected);
  std::uint32_t launches = 0;
  emulate({1, 1, 1}, 32, 0, [&] { empty(&launches); });
  CHECK(launches == 1);
}

TEST_CASE("gathers in runs", "[probe]") {
  std::vector<std::uint16_t> in(100), out(6);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint16_t>(i);
  run(Gather<std::uint16_t>{out.data(), in.data(), 5, 20, 2}, 6);
  CHECK(out == std::vector<std::uint16_t>{5, 6, 25, 26, 45, 46});
}

TEST_CASE("activations and their gradients", "[probe]") {
  constexpr std::int64_t k_rows = 3, k_columns = 24, k_n = k_rows * k_columns;
  const std::vector<Vector> x = normal_vectors(2 * k_n, 1), dy = normal_vectors(2 * k_n, 2);
  const Reals a = reals(x, 0, 2 * k_n), g = reals(dy, 0, 2 * k_n);
  std::vector<Vector> out = poison(2 * k_n);
  Comparison comparison;
  const auto compare = [&](std::int64_t n, const auto& expected) {
    const Reals actual = reals(out, 0, static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) comparison.add(actual[i], expected(i));
    out = poison(2 * k_n);
  };
  run(Add{x.data(), dy.data(), out.data()}, 2 * k_n / 8);
  compare(2 * k_n, [&](std::int64_t i) { return add(a[i], g[i]); });
  run(Gelu{x.data(), out.data()}, 2 * k_n / 8);
  compare(2 * k_n, [&](std::int64_t i) { return gelu(a[i]); });
  run(GeluBackward{x.data(), dy.data(), out.data()}, 2 * k_n / 8);
  compare(2 * k_n, [&](std::int64_t i) { return gelu_gradient(a[i], g[i]); });
  const auto gate_at = [&](std::int64_t i) { return i / k_columns * 2 * k_columns + i % k_columns; };
  run(Swiglu{x.data(), out.data(), k_columns / 8}, k_n / 8);
  compare(k_n, [&](std::int64_t i) { return swiglu(a[gate_at(i)], a[gate_at(i) + k_columns]); });
  run(SwigluBackward{x.data(), dy.data(), out.data(), k_columns / 8}, k_n / 8);
  compare(2 * k_n, [&](std::int64_t i) {
    const std::int64_t row = i / (2 * k_columns), column = i % k_columns;
    const bool of_gate = i % (2 * k_columns) < k_columns;
    const std::int64_t gate = row * 2 * k_columns + column;
    const SwigluGradient expected = swiglu_gradient(a[gate], a[gate + k_columns], g[row * k_columns + column]);
    return of_gate ? expected.gate : expected.up;
  });
  check_passed(comparison);
}

TEST_CASE("gradients of the references are slopes of their functions", "[probe]") {
  const auto slope = [](const auto& f, double x) { return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6; };
  for (const double x : {-2.0, -0.3, 0.0, 1.7}) {
    CHECK(gelu_gradient(x, 2.0).value == Approx(2 * slope([](double t) { return gelu(t).value; }, x)).margin(1e-8));
    CHECK(swiglu_gradient(x, 1.5, 2.0).gate.value ==
          Approx(2 * slope([](double t) { return swiglu(t, 1.5).value; }, x)).margin(1e-8));
    CHECK(swiglu_gradient(x, 1.5, 2.0).up.value ==
          Approx(2 * slope([&](double t) { return swiglu(x, t).value; }, 1.5)).margin(1e-8));
  }
}

TEST_CASE("cast and optimizer step", "[probe]") {
  constexpr std::int64_t k_n = 128;
  const std::vector<Vector> x = normal_vectors(k_n, 3);
  std::vector<std::uint8_t> fp8(k_n, 0xFF);
  float largest = 0;
  emulate({2, 1, 1}, k_threads, 0,
          [&] { cast_to_fp8_kernel(x.data(), reinterpret_cast<std::uint32_t*>(fp8.data()), k_n / 8, 8.0F, &largest); });
  Comparison comparison;
  double top = 0;
  for (std::size_t i = 0; i < k_n; ++i) {
    const double value = reals(x, i, 1)[0];
    top = std::max(top, std::fabs(value));
    comparison.add(decode(Type::fp8_e4m3, &fp8[i]), cast_to_fp8(value, 8));
  }
  CHECK(largest == top);

  alignas(16) std::array<float, 8> w{1, 2, 3, 4, 5, 6, 7, 8}, m{}, v{}, g{1, -1, 2, -2, 0.5F, 0, 3, -3};
  alignas(16) std::array<Bf16, 8> stored{};
  stored.fill(0xFFFF);
  const std::array<float, 8> before = w;
  run(Adam{w.data(), m.data(), v.data(), g.data(), stored.data(), static_cast<float>(k_adam_beta1),
           static_cast<float>(k_adam_beta2), static_cast<float>(k_adam_rate), static_cast<float>(k_adam_epsilon)},
      2);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const AdamExpected expected = adam({before[i], 0, 0}, g[i]);
    comparison.add({w[i], m[i], v[i], decode(Type::bf16, &stored[i])},
                   {expected.weight, expected.first, expected.second, expected.stored});
  }
  CHECK(adam({1, 0, 0}, 2).first.value == Approx(0.2));  // (1 - 0.9) 2
  check_passed(comparison);
}

namespace {

// Rows that do not fill the last round of the block, V vectors a thread.
template <int V, bool LAYER>
void check_norm(std::int64_t rows, int width) {
  const auto columns = static_cast<std::size_t>(8 * width), n = static_cast<std::size_t>(rows) * columns;
  constexpr int k_blocks = 2;
  const std::vector<Vector> x = normal_vectors(n, 4, 0.5F), dy = normal_vectors(n, 5),
                            w = normal_vectors(columns, 6, 1), b = normal_vectors(columns, 7);
  std::vector<Vector> y = poison(n), dx = poison(n);
  const float nan = std::nanf("");
  std::vector<float> mean(static_cast<std::size_t>(rows), nan), rstd = mean, weight_part(k_blocks * columns, nan),
                                                                bias_part = weight_part, dw(columns, nan), db = dw;
  const NormArguments a{x.data(),
                        w.data(),
                        b.data(),
                        dy.data(),
                        y.data(),
                        dx.data(),
                        mean.data(),
                        rstd.data(),
                        weight_part.data(),
                        bias_part.data(),
                        rows,
                        width,
                        static_cast<float>(k_norm_epsilon)};
  const int threads = ((width + V - 1) / V + 31) / 32 * 32;
  emulate({static_cast<int>(rows), 1, 1}, threads, 64, [&] { norm_forward<V, LAYER>(a); });
  emulate({k_blocks, 1, 1}, threads, 64, [&] { norm_backward<V, LAYER>(a); });
  run(SumParts{weight_part.data(), dw.data(), static_cast<std::int64_t>(columns), k_blocks},
      static_cast<std::int64_t>(columns));
  if (LAYER)
    run(SumParts{bias_part.data(), db.data(), static_cast<std::int64_t>(columns), k_blocks},
        static_cast<std::int64_t>(columns));

  Comparison comparison;
  Reals means, rstds;
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
    const Reals row = reals(x, r * columns, columns);
    const NormRow expected = norm_row(row, reals(w, 0, columns), reals(b, 0, columns), LAYER);
    comparison.add(reals(y, r * columns, columns), expected.output);
    comparison.add(rstd[r], {expected.rstd, 1e-5});
    if (LAYER) comparison.add(mean[r], {expected.mean, 1e-5});
    if (LAYER) means.push_back(expected.mean);
    rstds.push_back(expected.rstd);
    comparison.add(reals(dx, r * columns, columns),
                   norm_input_gradient(row, reals(dy, r * columns, columns), reals(w, 0, columns), LAYER));
  }
  for (std::size_t c = 0; c < columns; ++c) {
    Reals down, gradient;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
      down.push_back(reals(x, r * columns + c, 1)[0]);
      gradient.push_back(reals(dy, r * columns + c, 1)[0]);
    }
    comparison.add(dw[c], norm_weight_gradient(down, gradient, means, rstds));
    if (LAYER) comparison.add(db[c], norm_bias_gradient(gradient));
  }
  check_passed(comparison);
}

}  // namespace

TEST_CASE("norms, forward and backward", "[probe]") {
  check_norm<2, true>(3, 70);
  check_norm<2, false>(5, 33);
  check_norm<4, true>(2, 100);
}

TEST_CASE("softmax, forward and backward", "[probe]") {
  constexpr std::size_t k_rows = 3, k_width = 70, k_columns = 8 * k_width, k_n = k_rows * k_columns;
  const std::vector<Vector> x = normal_vectors(k_n, 8), dy = normal_vectors(k_n, 9);
  std::vector<Vector> y = poison(k_n), dx = poison(k_n);
  emulate({k_rows, 1, 1}, 64, 64, [&] { softmax_forward<2>({x.data(), nullptr, nullptr, y.data(), k_width}); });
  emulate({k_rows, 1, 1}, 64, 64, [&] { softmax_backward<2>({nullptr, y.data(), dy.data(), dx.data(), k_width}); });
  Comparison comparison;
  for (std::size_t r = 0; r < k_rows; ++r) {
    comparison.add(reals(y, r * k_columns, k_columns), softmax_row(reals(x, r * k_columns, k_columns)));
    comparison.add(reals(dx, r * k_columns, k_columns),
                   softmax_gradient(reals(y, r * k_columns, k_columns), reals(dy, r * k_columns, k_columns)));
  }
  check_passed(comparison);
}

TEST_CASE("gradients of the norm reference are slopes", "[probe]") {
  const Reals x = {0.5, -1, 2, 0.25}, w = {1, 2, -1, 0.5}, b(4, 0.0), dy = {1, -2, 0.5, 3};
  for (const bool layer : {true, false})
    for (std::size_t c = 0; c < x.size(); ++c) {
      const auto loss = [&](double shift) {
        Reals moved = x;
        moved[c] += shift;
        const NormRow row = norm_row(moved, w, b, layer);
        double sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i) sum += dy[i] * row.output[i].value;
        return sum;
      };
      CHECK(norm_input_gradient(x, dy, w, layer)[c].value == Approx((loss(1e-6) - loss(-1e-6)) / 2e-6).margin(1e-6));
    }
}

TEST_CASE("the emulator tells threads that wait for ever", "[probe]") {
  CHECK_THROWS_AS(emulate({1, 1, 1}, 32, 0,
                          [] {
                            if (thread_index() != 0) barrier();
                          }),
                  std::logic_error);
}

TEST_CASE("an asynchronous copy lands only when it is waited for", "[probe]") {
  const std::vector<Vector> source(1, Vector{{1, 2, 3, 4}});
  std::uint32_t early = 0, late = 0;
  emulate({1, 1, 1}, 32, 16, [&] {
    if (thread_index() == 0) copy_async(shared_memory(), source.data());
    commit_copies();
    barrier();
    if (thread_index() == 0) std::memcpy(&early, shared_memory(), 4);
    wait_copies<0>();
    barrier();
    std::memcpy(&late, shared_memory(), 4);
  });
  CHECK(early == 0xFFFFFFFF);
  CHECK(late == 1);
}

}  // namespace cairn::probe
