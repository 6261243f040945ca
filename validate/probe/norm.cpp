// Normalisations and softmax over rows.
#include "measure.h"

namespace cairn::probe {

namespace {

constexpr int k_sampled_rows = 4;
constexpr int k_sampled_columns = 8;

Selected row_of(std::int64_t row, std::int64_t columns) { return {.start = row * columns, .count = columns}; }

struct NormArrays {
  std::int64_t rows, columns;
  bool layer;
  Operands x, dy, y, dx, weight, bias, mean, rstd, weight_gradient, bias_gradient;
  Buffer parts;

  NormArrays(std::int64_t r, std::int64_t c, bool with_mean, bool backward, int sets)
      : rows(r),
        columns(c),
        layer(with_mean),
        x(r * c * size_of(Type::bf16), sets),
        dy(backward ? x.stride() : 0, sets),
        y(x.stride(), sets),
        dx(backward ? x.stride() : 0, sets),
        weight(c * size_of(Type::bf16), sets),
        bias(weight.stride(), sets),
        mean(r * size_of(Type::fp32), sets),
        rstd(mean.stride(), sets),
        weight_gradient(c * size_of(Type::fp32), sets),
        bias_gradient(weight_gradient.stride(), sets),
        parts(backward ? 2 * c * norm_blocks() * size_of(Type::fp32) : 0) {}

  NormBuffers buffers(int set) const {
    const auto real = [&](const Operands& from) { return reinterpret_cast<float*>(from[set]); };
    return {x[set],
            weight[set],
            bias[set],
            dy[set],
            y[set],
            dx[set],
            real(mean),
            real(rstd),
            real(weight_gradient),
            real(bias_gradient),
            reinterpret_cast<float*>(parts.at(0))};
  }
  void fill(int set, bool backward, cudaStream_t stream) const {
    const auto seed = 4 * static_cast<std::uint64_t>(set * rows * columns);
    const auto step = static_cast<std::uint64_t>(rows * columns);
    fill_normal(x[set], Type::bf16, rows * columns, seed, 1, 0.5F, stream);
    fill_normal(weight[set], Type::bf16, columns, seed + step, 0.1F, 1, stream);
    fill_normal(bias[set], Type::bf16, columns, seed + 2 * step, 0.1F, 0, stream);
    if (!backward) return;
    fill_normal(dy[set], Type::bf16, rows * columns, seed + 3 * step, 1, 0, stream);
    launch_norm(buffers(set), rows, columns, layer, stream);  // the statistics
  }
  Reals bf16(const Operands& from, int set, const Selected& selected) const {
    return fetch(from[set], Type::bf16, selected);
  }
  Reals fp32(const Operands& from, int set, const Selected& selected) const {
    return fetch(from[set], Type::fp32, selected);
  }

  void compare_forward(Comparison& comparison, int set) const {
    const Reals w = bf16(weight, set, row_of(0, columns)), b = bf16(bias, set, row_of(0, columns));
    for (const std::int64_t row : sample_indices(rows, k_sampled_rows)) {
      const NormRow expected = norm_row(bf16(x, set, row_of(row, columns)), w, b, layer);
      comparison.add(bf16(y, set, row_of(row, columns)), expected.output);
      constexpr double k_close = 1e-4;  // fp32 sums
      comparison.add(fp32(rstd, set, row_of(row, 1))[0], {expected.rstd, k_close * expected.rstd});
      if (layer) comparison.add(fp32(mean, set, row_of(row, 1))[0], {expected.mean, k_close});
    }
  }
  void compare_backward(Comparison& comparison, int set) const {
    const Reals w = bf16(weight, set, row_of(0, columns));
    for (const std::int64_t row : sample_indices(rows, k_sampled_rows))
      comparison.add(
          bf16(dx, set, row_of(row, columns)),
          norm_input_gradient(bf16(x, set, row_of(row, columns)), bf16(dy, set, row_of(row, columns)), w, layer));
    const Reals means = layer ? fp32(mean, set, row_of(0, rows)) : Reals{}, rstds = fp32(rstd, set, row_of(0, rows));
    for (const std::int64_t column : sample_indices(columns, k_sampled_columns)) {
      const Selected down{.start = column, .count = rows, .stride = columns};
      const Reals gradients = bf16(dy, set, down);
      comparison.add(fp32(weight_gradient, set, row_of(column, 1))[0],
                     norm_weight_gradient(bf16(x, set, down), gradients, means, rstds));
      if (layer) comparison.add(fp32(bias_gradient, set, row_of(column, 1))[0], norm_bias_gradient(gradients));
    }
  }
  void poison(bool backward, cudaStream_t stream) const {
    if (backward) {
      for (const Operands* out : {&dx, &weight_gradient, &bias_gradient}) out->all().poison(stream);
    } else {
      for (const Operands* out : {&y, &mean, &rstd}) out->all().poison(stream);
    }
  }
};

Run run_normalisation(Context& context, const Case& row, bool backward) {
  const bool layer = row.kind.starts_with("layernorm");
  const std::int64_t footprint =
      bytes(row) + (backward ? row.shape["rows"] * row.shape["columns"] * size_of(row.type) : 0);
  const int sets = context.sets(row, footprint);
  const NormArrays arrays(row.shape["rows"], row.shape["columns"], layer, backward, sets);
  for (int set = 0; set < sets; ++set) arrays.fill(set, backward, context.stream);
  const auto launch = [&](int set) {
    if (backward) {
      launch_norm_backward(arrays.buffers(set), arrays.rows, arrays.columns, layer, context.stream);
    } else {
      launch_norm(arrays.buffers(set), arrays.rows, arrays.columns, layer, context.stream);
    }
  };
  const auto compare = [&] {
    Comparison comparison;
    for (const int set : {0, sets - 1})
      backward ? arrays.compare_backward(comparison, set) : arrays.compare_forward(comparison, set);
    return comparison;
  };
  Run run = measure(context, {sets, [&] { arrays.poison(backward, context.stream); }, launch, compare});
  run.cache = context.cache(bytes(row), sets);
  return run;
}

Run run_softmax(Context& context, const Case& row, bool backward) {
  const std::int64_t rows = row.shape["rows"], columns = row.shape["columns"], n = rows * columns;
  const std::int64_t size = n * size_of(row.type);
  const int sets = context.sets(row, bytes(row));
  const Operands in(size, sets), dy(backward ? size : 0, sets), out(size, sets);
  for (int set = 0; set < sets; ++set) {
    const auto seed = 2 * static_cast<std::uint64_t>(set * n);
    fill_normal(out[set], row.type, n, seed, 1, 0, context.stream);
    if (backward) {  // its input is a softmax
      launch_softmax(out[set], in[set], rows, columns, context.stream);
      fill_normal(dy[set], row.type, n, seed + static_cast<std::uint64_t>(n), 1, 0, context.stream);
    } else {
      fill_normal(in[set], row.type, n, seed, 1, 0, context.stream);
    }
  }
  const auto launch = [&](int set) {
    if (backward) {
      launch_softmax_backward(in[set], dy[set], out[set], rows, columns, context.stream);
    } else {
      launch_softmax(in[set], out[set], rows, columns, context.stream);
    }
  };
  const auto compare = [&] {
    Comparison comparison;
    for (const int set : {0, sets - 1})
      for (const std::int64_t r : sample_indices(rows, k_sampled_rows)) {
        const Reals input = fetch(in[set], row.type, row_of(r, columns));
        comparison.add(
            fetch(out[set], row.type, row_of(r, columns)),
            backward ? softmax_gradient(input, fetch(dy[set], row.type, row_of(r, columns))) : softmax_row(input));
      }
    return comparison;
  };
  Run run = measure(context, {sets, [&] { out.all().poison(context.stream); }, launch, compare});
  run.cache = context.cache(bytes(row), sets);
  return run;
}

}  // namespace

Run run_norm(Context& context, const Case& row) {
  const bool backward = row.kind.ends_with("_backward");
  return row.kind.starts_with("softmax") ? run_softmax(context, row, backward)
                                         : run_normalisation(context, row, backward);
}

}  // namespace cairn::probe
