// Softmax attention, forward and backward, by the kernels of attention_kernels.h.
#include <tuple>

#include "measure.h"

namespace cairn::probe {

namespace {

AttentionShape shape_of(const Case& row) {
  const auto extent = [&](const char* name) { return static_cast<int>(row.shape[name]); };
  return {extent("b"), extent("s"), extent("hq"), extent("hkv"), extent("d"), extent("causal") != 0};
}

class Arrays {
 public:
  Arrays(const AttentionShape& shape, bool backward, int sets)
      : shape_(shape),
        query_elements_(rows() * shape.query_heads * shape.size),
        key_elements_(rows() * shape.key_heads * shape.size),
        q_(query_elements_ * 2, sets),
        k_(key_elements_ * 2, sets),
        v_(key_elements_ * 2, sets),
        o_(query_elements_ * 2, sets),
        log_sum_(rows() * shape.query_heads * 4, sets),
        d_o_(backward ? query_elements_ * 2 : 0, sets),
        dq_(backward ? query_elements_ * 2 : 0, sets),
        dk_(backward ? key_elements_ * 2 : 0, sets),
        dv_(backward ? key_elements_ * 2 : 0, sets),
        delta_(backward ? log_sum_.stride() : 0),
        dq_sum_(backward ? query_elements_ * 4 : 0) {}

  void fill(int set, bool backward, cudaStream_t stream) const {
    auto seed = static_cast<std::uint64_t>(set) * 4 * static_cast<std::uint64_t>(query_elements_);
    for (const auto& [to, elements] : {std::tuple(&q_, query_elements_), {&k_, key_elements_}, {&v_, key_elements_}}) {
      fill_normal((*to)[set], Type::bf16, elements, seed, 1, 0, stream);
      seed += static_cast<std::uint64_t>(elements);
    }
    if (!backward) return;
    fill_normal(d_o_[set], Type::bf16, query_elements_, seed, 1, 0, stream);
    launch_attention(buffers(set), shape_, stream);
  }
  AttentionBuffers buffers(int set) const {
    const auto real = [](char* at) { return reinterpret_cast<float*>(at); };
    return {q_[set],
            k_[set],
            v_[set],
            o_[set],
            d_o_[set],
            o_[set],
            dq_[set],
            dk_[set],
            dv_[set],
            real(log_sum_[set]),
            real(delta_.at(0)),
            real(dq_sum_.at(0))};
  }
  void poison(bool backward, cudaStream_t stream) const {
    if (backward) {
      for (const Operands* out : {&dq_, &dk_, &dv_}) out->all().poison(stream);
      return;
    }
    for (const Operands* out : {&o_, &log_sum_}) out->all().poison(stream);
  }

  void compare_forward(Comparison& comparison, int set) const {
    for (const auto& [batch, head] : {std::pair(0, 0), {shape_.batch - 1, shape_.query_heads - 1}}) {
      const AttentionHead keys = head_of(set, batch, key_head(head));
      for (const std::int64_t row : sample_indices(shape_.length, k_rows)) {
        const AttentionRow expected = attention_row(keys, row, query_row(q_, set, batch, head, row));
        comparison.add(query_row(o_, set, batch, head, row), expected.output);
        comparison.add(log_sums(set, batch, head)[row], expected.log_sum);
      }
    }
  }
  void compare_backward(Comparison& comparison, int set) const {
    const int batch = shape_.batch - 1, of_key = shape_.key_heads - 1, sharing = shape_.query_heads / shape_.key_heads;
    const AttentionHead keys = head_of(set, batch, of_key);
    const std::vector<std::int64_t> columns = sample_indices(shape_.length, k_columns);
    std::vector<KeyValueGradient> sums(columns.size());
    for (int head = of_key * sharing; head < (of_key + 1) * sharing; ++head) {
      const std::vector<BackwardRow> rows = backward_rows(set, batch, head);
      for (std::size_t c = 0; c < columns.size(); ++c) accumulate(sums[c], key_value_gradient(keys, columns[c], rows));
      for (const std::int64_t row : sample_indices(shape_.length, k_rows))
        comparison.add(query_row(dq_, set, batch, head, row), query_gradient(keys, row, rows[row]));
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const Selected at = key_rows(batch, of_key, columns[c], 1);
      comparison.add(fetch(dk_[set], Type::bf16, at), sums[c].key);
      comparison.add(fetch(dv_[set], Type::bf16, at), sums[c].value);
    }
  }

 private:
  static constexpr int k_rows = 4, k_columns = 3;

  std::int64_t rows() const { return static_cast<std::int64_t>(shape_.batch) * shape_.length; }
  int key_head(int head) const { return head / (shape_.query_heads / shape_.key_heads); }

  Selected head_rows(int heads, int batch, int head, std::int64_t first, std::int64_t count) const {
    const std::int64_t stride = static_cast<std::int64_t>(heads) * shape_.size;
    const std::int64_t start =
        (static_cast<std::int64_t>(batch) * shape_.length + first) * stride + std::int64_t{head} * shape_.size;
    return {.start = start, .count = count * shape_.size, .stride = stride, .run = shape_.size};
  }
  Selected key_rows(int batch, int head, std::int64_t first, std::int64_t count) const {
    return head_rows(shape_.key_heads, batch, head, first, count);
  }
  Reals query_row(const Operands& from, int set, int batch, int head, std::int64_t row) const {
    return fetch(from[set], Type::bf16, head_rows(shape_.query_heads, batch, head, row, 1));
  }
  AttentionHead head_of(int set, int batch, int head) const {
    const Selected all = key_rows(batch, head, 0, shape_.length);
    return {shape_.length, shape_.size, shape_.causal, fetch(k_[set], Type::bf16, all),
            fetch(v_[set], Type::bf16, all)};
  }
  Reals log_sums(int set, int batch, int head) const {
    const std::int64_t start = (static_cast<std::int64_t>(batch) * shape_.query_heads + head) * shape_.length;
    return fetch(log_sum_[set], Type::fp32, {.start = start, .count = shape_.length});
  }
  std::vector<BackwardRow> backward_rows(int set, int batch, int head) const {
    const Selected all = head_rows(shape_.query_heads, batch, head, 0, shape_.length);
    const Reals q = fetch(q_[set], Type::bf16, all), o = fetch(o_[set], Type::bf16, all);
    const Reals d_o = fetch(d_o_[set], Type::bf16, all), sums = log_sums(set, batch, head);
    std::vector<BackwardRow> out;
    for (std::int64_t row = 0; row < shape_.length; ++row) {
      const auto part = [&](const Reals& of) {
        return Reals(of.begin() + row * shape_.size, of.begin() + (row + 1) * shape_.size);
      };
      out.push_back({part(q), part(o), part(d_o), sums[row]});
    }
    return out;
  }

  AttentionShape shape_;
  std::int64_t query_elements_, key_elements_;
  Operands q_, k_, v_, o_, log_sum_, d_o_, dq_, dk_, dv_;
  Buffer delta_, dq_sum_;
};

}  // namespace

Run run_attention(Context& context, const Case& row) {
  constexpr int k_capability = 80;  // products of bf16 and asynchronous copies
  if (context.compute_capability < k_capability) throw NotMeasurable("the kernel needs compute capability 8.0");
  const bool backward = row.kind == "attention_backward";
  const AttentionShape shape = shape_of(row);
  prepare_attention(shape, false);
  if (backward) prepare_attention(shape, true);
  const int sets = context.sets(row, bytes(row));
  const Arrays arrays(shape, backward, sets);
  for (int set = 0; set < sets; ++set) arrays.fill(set, backward, context.stream);
  const auto launch = [&](int set) {
    if (backward) {
      launch_attention_backward(arrays.buffers(set), shape, context.stream);
    } else {
      launch_attention(arrays.buffers(set), shape, context.stream);
    }
  };
  const auto compare = [&] {
    Comparison comparison;
    const int set = sets - 1;
    backward ? arrays.compare_backward(comparison, set) : arrays.compare_forward(comparison, set);
    return comparison;
  };
  Run run = measure(context, {sets, [&] { arrays.poison(backward, context.stream); }, launch, compare});
  run.cache = context.cache(bytes(row), sets);
  return run;
}

}  // namespace cairn::probe
