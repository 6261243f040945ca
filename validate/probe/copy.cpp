// Copies, reads and writes of device memory.
#include "measure.h"

namespace cairn::probe {

namespace {

constexpr int k_samples = 16;
constexpr std::int64_t k_word = sizeof(std::uint32_t);

Comparison compare_words(const Operands& actual, const Operands* expected, std::int64_t n, int sets) {
  Comparison comparison;
  for (const int set : {0, sets - 1})
    for (const std::int64_t i : sample_indices(n, k_samples)) {
      const Selected one{.start = i, .count = 1};
      if (expected != nullptr) {
        comparison.add(fetch(actual[set], Type::byte, one)[0], {fetch((*expected)[set], Type::byte, one)[0], 0});
      } else {
        const std::uint32_t word = written_word();
        comparison.add(fetch(actual[set], Type::byte, one)[0],
                       {static_cast<double>(word >> (8 * (i % k_word)) & 0xFFU), 0});
      }
    }
  return comparison;
}

// Sum of the words that fill_sequence wrote, modulo 2^32: factor n (n - 1) / 2.
std::uint32_t sequence_sum(std::int64_t words) {
  const auto pairs = static_cast<std::uint64_t>(words) * static_cast<std::uint64_t>(words - 1) / 2;
  return static_cast<std::uint32_t>(pairs * sequence_factor());
}

Run run_read(Context& context, const Case& row, std::int64_t n) {
  const int sets = context.sets(row, n);
  const Operands in(n, sets), total(k_word, sets);
  for (int set = 0; set < sets; ++set) fill_sequence(in[set], n / k_word, context.stream);
  const auto sum = [&](int set) { return reinterpret_cast<std::uint32_t*>(total[set]); };
  Subject subject{sets,
                  [&] { total.all().poison(context.stream); },
                  [&](int set) { read_bytes(in[set], n, sum(set), context.stream); },
                  {}};
  // The sums grow with every execution; so one more, from 0, is compared.
  subject.compare = [&] {
    Comparison comparison;
    for (const int set : {0, sets - 1}) {
      check(cudaMemsetAsync(total[set], 0, k_word, context.stream), "cudaMemset");
      subject.launch(set);
      context.stream.wait();
      std::uint32_t actual = 0;
      check(cudaMemcpy(&actual, total[set], sizeof actual, cudaMemcpyDeviceToHost), "cudaMemcpy");
      comparison.add(actual, {static_cast<double>(sequence_sum(n / k_word)), 0});
    }
    return comparison;
  };
  Run run = measure(context, subject);
  run.cache = context.cache(n, sets);
  return run;
}

Run run_write(Context& context, const Case& row, std::int64_t n) {
  const int sets = context.sets(row, n);
  const Operands out(n, sets);
  Run run = measure(context, {sets, [&] { out.all().poison(context.stream); },
                              [&](int set) { write_bytes(out[set], n, context.stream); },
                              [&] { return compare_words(out, nullptr, n, sets); }});
  run.cache = context.cache(n, sets);
  return run;
}

}  // namespace

Run run_copy(Context& context, const Case& row) {
  const std::int64_t n = row.shape["n"];
  if (row.kind == "read") return run_read(context, row, n);
  if (row.kind == "write") return run_write(context, row, n);
  const std::int64_t footprint = bytes(row);
  const int sets = context.sets(row, footprint);
  const Operands in(n, sets), out(n, sets);
  for (int set = 0; set < sets; ++set) fill_sequence(in[set], n / k_word, context.stream);
  const bool by_kernel = row.implementation == "kernel";
  const auto launch = [&](int set) {
    if (by_kernel) {
      copy_bytes(out[set], in[set], n, context.stream);
    } else {
      check(cudaMemcpyAsync(out[set], in[set], static_cast<std::size_t>(n), cudaMemcpyDeviceToDevice, context.stream),
            "cudaMemcpy");
    }
  };
  Run run = measure(context, {sets, [&] { out.all().poison(context.stream); }, launch,
                              [&] { return compare_words(out, &in, n, sets); }});
  run.cache = context.cache(footprint, sets);
  return run;
}

}  // namespace cairn::probe
