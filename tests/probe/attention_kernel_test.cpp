#include "attention_kernels.h"

#include <random>

#include "catch.h"
#include "reference.h"

namespace cairn::probe {

namespace {

struct Problem {
  int batch, length, query_heads, key_heads, size;
  bool causal;
  std::vector<Bf16> q, k, v, d_o, o, dq, dk, dv;
  std::vector<float> log_sum, delta, dq_sum;

  std::size_t query_elements() const { return static_cast<std::size_t>(batch) * length * query_heads * size; }
  std::size_t key_elements() const { return static_cast<std::size_t>(batch) * length * key_heads * size; }

  AttentionArguments arguments() {
    return {q.data(),       k.data(),     v.data(),      o.data(),
            d_o.data(),     o.data(),     dk.data(),     dv.data(),
            log_sum.data(), delta.data(), dq_sum.data(), length,
            query_heads,    key_heads,    causal,        1 / std::sqrt(static_cast<float>(size))};
  }

  // One head's rows as numbers.
  Reals rows(const std::vector<Bf16>& from, int heads, int b, int head, int first, int count) const {
    Reals out;
    for (int r = first; r < first + count; ++r)
      for (int c = 0; c < size; ++c) {
        const std::size_t at = ((static_cast<std::size_t>(b) * length + r) * heads + head) * size + c;
        out.push_back(decode(Type::bf16, &from[at]));
      }
    return out;
  }
  AttentionHead head(int b, int query_head) const {
    const int key_head = query_head / (query_heads / key_heads);
    return {length, size, causal, rows(k, key_heads, b, key_head, 0, length),
            rows(v, key_heads, b, key_head, 0, length)};
  }
  BackwardRow backward_row(int b, int query_head, int row) const {
    return {rows(q, query_heads, b, query_head, row, 1), rows(o, query_heads, b, query_head, row, 1),
            rows(d_o, query_heads, b, query_head, row, 1),
            log_sum[(static_cast<std::size_t>(b) * query_heads + query_head) * length + row]};
  }
};

Problem make_problem(int batch, int length, int query_heads, int key_heads, int size, bool causal) {
  Problem p{batch, length, query_heads, key_heads, size, causal, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto fill = [&](std::vector<Bf16>& to, std::size_t n) {
    to.resize(n);
    for (Bf16& element : to) element = static_cast<Bf16>(pack_bf16(normal(random), 0));
  };
  fill(p.q, p.query_elements());
  fill(p.k, p.key_elements());
  fill(p.v, p.key_elements());
  fill(p.d_o, p.query_elements());
  constexpr Bf16 k_poison = 0xFFFF;
  for (std::vector<Bf16>* out : {&p.o, &p.dq}) out->assign(p.query_elements(), k_poison);
  for (std::vector<Bf16>* out : {&p.dk, &p.dv}) out->assign(p.key_elements(), k_poison);
  const float nan = std::nanf("");
  p.log_sum.assign(p.query_elements() / size, nan);
  p.delta = p.log_sum;
  p.dq_sum.assign(p.query_elements(), nan);
  return p;
}

template <int D>
void run_forward(Problem& p) {
  using Shape = ForwardShape<D>;
  emulate({p.length / Shape::k_queries, p.query_heads, p.batch}, Shape::k_threads, Shape::k_shared,
          [&] { attention_forward<D>(p.arguments()); });
}

template <int D>
void run_backward(Problem& p) {
  using Shape = BackwardShape<D>;
  const std::int64_t rows = static_cast<std::int64_t>(p.batch) * p.length * p.query_heads;
  emulate({static_cast<int>(rows / 4), 1, 1}, 128, 0, [&] { attention_backward_prepare<D>(p.arguments(), rows); });
  emulate({p.length / Shape::k_keys, p.key_heads, p.batch}, Shape::k_threads, Shape::k_shared,
          [&] { attention_backward<D>(p.arguments()); });
  const FinishQueryGradient finish{p.dq_sum.data(), reinterpret_cast<std::uint32_t*>(p.dq.data()), p.arguments().scale};
  for (std::int64_t i = 0; i < rows * D / 2; ++i) finish(i);
}

// Rows at the borders of tiles and of warps.
const std::vector<int> k_rows = {0, 1, 31, 63, 64, 127, 128, 200, 255};

Comparison compare_forward(const Problem& p) {
  Comparison comparison;
  for (int b = 0; b < p.batch; ++b)
    for (int h = 0; h < p.query_heads; ++h) {
      const AttentionHead head = p.head(b, h);
      for (const int row : k_rows) {
        const AttentionRow expected = attention_row(head, row, p.rows(p.q, p.query_heads, b, h, row, 1));
        comparison.add(p.rows(p.o, p.query_heads, b, h, row, 1), expected.output);
        comparison.add(p.log_sum[(static_cast<std::size_t>(b) * p.query_heads + h) * p.length + row], expected.log_sum);
      }
    }
  return comparison;
}

Comparison compare_backward(const Problem& p) {
  Comparison comparison;
  const int sharing = p.query_heads / p.key_heads;
  for (int b = 0; b < p.batch; ++b)
    for (int kv = 0; kv < p.key_heads; ++kv) {
      std::vector<std::vector<BackwardRow>> rows(static_cast<std::size_t>(sharing));
      for (int g = 0; g < sharing; ++g) {
        const int h = kv * sharing + g;
        for (int row = 0; row < p.length; ++row) rows[g].push_back(p.backward_row(b, h, row));
        for (const int row : k_rows)
          comparison.add(p.rows(p.dq, p.query_heads, b, h, row, 1), query_gradient(p.head(b, h), row, rows[g][row]));
      }
      for (const int column : k_rows) {
        KeyValueGradient sum;
        for (int g = 0; g < sharing; ++g)
          accumulate(sum, key_value_gradient(p.head(b, kv * sharing + g), column, rows[g]));
        comparison.add(p.rows(p.dk, p.key_heads, b, kv, column, 1), sum.key);
        comparison.add(p.rows(p.dv, p.key_heads, b, kv, column, 1), sum.value);
      }
    }
  return comparison;
}

template <int D, bool CAUSAL>
void check_attention(int batch, int query_heads, int key_heads) {
  constexpr int k_length = 256;  // two blocks, several tiles
  Problem p = make_problem(batch, k_length, query_heads, key_heads, D, CAUSAL);
  run_forward<D>(p);
  const Comparison forward = compare_forward(p);
  CAPTURE(forward.worst());
  CHECK(forward.passed());
  run_backward<D>(p);
  const Comparison backward = compare_backward(p);
  CAPTURE(backward.worst());
  CHECK(backward.passed());
}

}  // namespace

TEST_CASE("attention kernels against the slow reference: causal, shared key heads", "[probe]") {
  check_attention<64, true>(2, 2, 1);
}
TEST_CASE("attention kernels against the slow reference: full", "[probe]") { check_attention<64, false>(1, 1, 1); }
TEST_CASE("attention kernels against the slow reference: heads of 128", "[probe]") {
  check_attention<128, true>(1, 1, 1);
  check_attention<128, false>(1, 2, 2);
}

TEST_CASE("the reference tells a kernel that did not run, or that did something else", "[probe]") {
  Problem p = make_problem(1, 256, 1, 1, 64, true);
  CHECK_FALSE(compare_forward(p).passed());  // still poison
  run_forward<64>(p);
  REQUIRE(compare_forward(p).passed());
  p.causal = false;  // as if the mask had been forgotten
  CHECK_FALSE(compare_forward(p).passed());
}

}  // namespace cairn::probe
