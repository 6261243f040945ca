// Activations, sums, conversions and the optimizer step.
#include "measure.h"

namespace cairn::probe {

namespace {

constexpr int k_samples = 32;
constexpr float k_cast_scale = 8;
constexpr std::uint64_t k_seed = 1;

double element(const void* from, Type type, std::int64_t i) { return fetch(from, type, {.start = i, .count = 1})[0]; }

// Inputs of n elements each and one output, of bf16 unless said otherwise.
struct Arrays {
  std::vector<Operands> in;
  Operands out;

  Arrays(int inputs, std::int64_t n, std::int64_t out_bytes, int sets, cudaStream_t stream) : out(out_bytes, sets) {
    for (int i = 0; i < inputs; ++i) {
      in.emplace_back(n * size_of(Type::bf16), sets);
      for (int set = 0; set < sets; ++set)
        fill_normal(in.back()[set], Type::bf16, n, k_seed + static_cast<std::uint64_t>((i * sets + set) * n), 1, 0,
                    stream);
    }
  }
  double input(int which, int set, std::int64_t i) const { return element(in[which][set], Type::bf16, i); }
  double output(int set, std::int64_t i) const { return element(out[set], Type::bf16, i); }
};

using Compare = std::function<void(Comparison&, const Arrays&, int set, std::int64_t i)>;
using Launch = std::function<void(const Arrays&, int set)>;

struct Plan {
  int inputs;
  std::int64_t in_elements, out_bytes, sampled;  // indices below `sampled` are compared
  Launch launch;
  Compare compare;
};

Run run_plan(Context& context, const Case& row, const Plan& plan) {
  const int sets = context.sets(row, bytes(row));
  const Arrays arrays(plan.inputs, plan.in_elements, plan.out_bytes, sets, context.stream);
  Run run = measure(context,
                    {sets, [&] { arrays.out.all().poison(context.stream); }, [&](int set) { plan.launch(arrays, set); },
                     [&] {
                       Comparison comparison;
                       for (const int set : {0, sets - 1})
                         for (const std::int64_t i : sample_indices(plan.sampled, k_samples))
                           plan.compare(comparison, arrays, set, i);
                       return comparison;
                     }});
  run.cache = context.cache(bytes(row), sets);
  return run;
}

Plan elementwise(const Case& row, cudaStream_t stream) {
  const std::int64_t n = row.shape["n"], size = n * size_of(Type::bf16);
  if (row.kind == "add")
    return {2,
            n,
            size,
            n,
            [=](const Arrays& a, int s) { launch_add(a.in[0][s], a.in[1][s], a.out[s], n, stream); },
            [](Comparison& c, const Arrays& a, int s, std::int64_t i) {
              c.add(a.output(s, i), add(a.input(0, s, i), a.input(1, s, i)));
            }};
  if (row.kind == "gelu")
    return {
        1,
        n,
        size,
        n,
        [=](const Arrays& a, int s) { launch_gelu(a.in[0][s], a.out[s], n, stream); },
        [](Comparison& c, const Arrays& a, int s, std::int64_t i) { c.add(a.output(s, i), gelu(a.input(0, s, i))); }};
  return {2,
          n,
          size,
          n,
          [=](const Arrays& a, int s) { launch_gelu_backward(a.in[0][s], a.in[1][s], a.out[s], n, stream); },
          [](Comparison& c, const Arrays& a, int s, std::int64_t i) {
            c.add(a.output(s, i), gelu_gradient(a.input(0, s, i), a.input(1, s, i)));
          }};
}

// Input 0: rows of gate and up; input 1 (backward): the gradient, as long, of which half is used.
Plan gated(const Case& row, cudaStream_t stream) {
  const std::int64_t rows = row.shape["rows"], columns = row.shape["columns"], n = rows * columns;
  const auto gate_at = [=](std::int64_t i) { return i / columns * 2 * columns + i % columns; };
  if (row.kind == "swiglu")
    return {1,
            2 * n,
            n * size_of(Type::bf16),
            n,
            [=](const Arrays& a, int s) { launch_swiglu(a.in[0][s], a.out[s], rows, columns, stream); },
            [=](Comparison& c, const Arrays& a, int s, std::int64_t i) {
              c.add(a.output(s, i), swiglu(a.input(0, s, gate_at(i)), a.input(0, s, gate_at(i) + columns)));
            }};
  return {
      2,
      2 * n,
      2 * n * size_of(Type::bf16),
      n,
      [=](const Arrays& a, int s) { launch_swiglu_backward(a.in[0][s], a.in[1][s], a.out[s], rows, columns, stream); },
      [=](Comparison& c, const Arrays& a, int s, std::int64_t i) {
        const std::int64_t gate = gate_at(i), up = gate + columns;
        const SwigluGradient expected = swiglu_gradient(a.input(0, s, gate), a.input(0, s, up), a.input(1, s, i));
        c.add(a.output(s, gate), expected.gate);
        c.add(a.output(s, up), expected.up);
      }};
}

Run run_cast(Context& context, const Case& row) {
  const std::int64_t n = row.shape["n"];
  const int sets = context.sets(row, bytes(row));
  const Operands in(n * size_of(Type::bf16), sets), out(n, sets), largest(sizeof(float), 1);
  for (int set = 0; set < sets; ++set)
    fill_normal(in[set], Type::bf16, n, k_seed + static_cast<std::uint64_t>(set * n), 1, 0, context.stream);
  check(cudaMemsetAsync(largest[0], 0, sizeof(float), context.stream), "cudaMemset");
  auto* top = reinterpret_cast<float*>(largest[0]);
  const auto compare = [&] {
    Comparison comparison;
    double seen = 0;
    for (const int set : {0, sets - 1})
      for (const std::int64_t i : sample_indices(n, k_samples)) {
        const double x = element(in[set], Type::bf16, i);
        seen = std::max(seen, std::abs(x));
        comparison.add(element(out[set], Type::fp8_e4m3, i), cast_to_fp8(x, k_cast_scale));
      }
    // The numbers are sums of four uniform ones: none is beyond sqrt(12) = 3.46 deviations; the sampled ones are below
    // the largest.
    const double actual = element(top, Type::fp32, 0), limit = 3.5;
    comparison.add(actual, {(seen + limit) / 2, (limit - seen) / 2});
    return comparison;
  };
  Run run = measure(context,
                    {sets, [&] { out.all().poison(context.stream); },
                     [&](int set) { launch_cast(in[set], out[set], n, k_cast_scale, top, context.stream); }, compare});
  run.cache = context.cache(bytes(row), sets);
  return run;
}

struct AdamArrays {
  Operands weight, first, second, gradient, stored;
  AdamArrays(std::int64_t n, int sets)
      : weight(n * size_of(Type::fp32), sets),
        first(weight.stride(), sets),
        second(weight.stride(), sets),
        gradient(weight.stride(), sets),
        stored(n * size_of(Type::bf16), sets) {}

  void fill(int set, std::int64_t n, cudaStream_t stream) const {
    const auto seed = 4 * static_cast<std::uint64_t>(set * n);
    const auto step = static_cast<std::uint64_t>(n);
    fill_normal(weight[set], Type::fp32, n, seed, 0.02F, 0, stream);
    fill_normal(first[set], Type::fp32, n, seed + step, 0.01F, 0, stream);
    fill_normal(second[set], Type::fp32, n, seed + 2 * step, 1e-4F, 1e-3F,
                stream);  // positive: at least 6 deviations up
    fill_normal(gradient[set], Type::fp32, n, seed + 3 * step, 0.1F, 0, stream);
  }
  AdamBuffers buffers(int set) const {
    const auto real = [&](const Operands& from) { return reinterpret_cast<float*>(from[set]); };
    return {real(weight), real(first), real(second), real(gradient), stored[set]};
  }
  AdamState state(int set, std::int64_t i) const {
    return {element(weight[set], Type::fp32, i), element(first[set], Type::fp32, i),
            element(second[set], Type::fp32, i)};
  }
};

Run run_adam(Context& context, const Case& row) {
  const std::int64_t n = row.shape["n"];
  const int sets = context.sets(row, bytes(row));
  const AdamArrays arrays(n, sets);
  for (int set = 0; set < sets; ++set) arrays.fill(set, n, context.stream);
  // The state moves with every step; so after a look at what the replays left, one more step from a known state is
  // compared.
  const auto compare = [&] {
    Comparison comparison;
    const std::vector<std::int64_t> sampled = sample_indices(n, k_samples);
    for (const int set : {0, sets - 1}) {
      for (const std::int64_t i : sampled) {
        const double left = element(arrays.stored[set], Type::bf16, i), weight = arrays.state(set, i).weight;
        comparison.add(left, {weight, 2 * unit_roundoff(Type::bf16) * std::abs(weight)});
      }
      arrays.fill(set, n, context.stream);
      check(cudaMemsetAsync(arrays.stored[set], k_poison_byte, static_cast<std::size_t>(n * size_of(Type::bf16)),
                            context.stream),
            "cudaMemset");
      context.stream.wait();
      std::vector<AdamExpected> expected;
      expected.reserve(sampled.size());
      for (const std::int64_t i : sampled)
        expected.push_back(adam(arrays.state(set, i), element(arrays.gradient[set], Type::fp32, i)));
      launch_adam(arrays.buffers(set), n, context.stream);
      context.stream.wait();
      for (std::size_t s = 0; s < sampled.size(); ++s) {
        const AdamState state = arrays.state(set, sampled[s]);
        comparison.add({state.weight, state.first, state.second, element(arrays.stored[set], Type::bf16, sampled[s])},
                       {expected[s].weight, expected[s].first, expected[s].second, expected[s].stored});
      }
    }
    return comparison;
  };
  Run run = measure(context, {sets, [&] { arrays.stored.all().poison(context.stream); },
                              [&](int set) { launch_adam(arrays.buffers(set), n, context.stream); }, compare});
  run.cache = context.cache(bytes(row), sets);
  return run;
}

}  // namespace

Run run_pointwise(Context& context, const Case& row) {
  if (row.kind == "cast") return run_cast(context, row);
  if (row.kind == "adam") return run_adam(context, row);
  const bool is_gated = row.kind.starts_with("swiglu");
  return run_plan(context, row, is_gated ? gated(row, context.stream) : elementwise(row, context.stream));
}

}  // namespace cairn::probe
