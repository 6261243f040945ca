// Time of exact attention that never writes its scores to memory. Two forms, for two kinds of measurement. The kernel
// form prices training steps (ShardPricer); the operator form is what `cairn calibrate` fits to timings of serving
// operators, and prices no step.
//
// Of MachineRates: P tensor_flops, H memory_bandwidth, SM sm_count, clock clock_hz. Of AttentionShape: B is b, Hq
// heads, Hkv kv_heads, D head_dim. The other letters are named beside the fields of AttentionParameters and
// FlashParameters; eB is FlashParameters::memory_efficiency.
//
// 1. Operator form: a fitted serving operator, forward only, D = head size, Hq / Hkv = query / key-value heads:
//      c_mma = 4 D SM/(eP P)             seconds per score on one multiprocessor: two products
//      c_exp = 1/(16 clock eE)           exponentials
//      c     = (c_mma^3 + c_exp^3)^(1/3)
//      T1    = pairs c/SM                scores, counted in blocks: diagonal blocks of 128 are done in full
//            + lat 128 s_kv c            tail: the longest query tile finishes last
//            + rows rq/SM                prologue, normalisation, layout; rows = B Hq s_q
//            + (cq 4 D B s_q Hq + ck 4 D B s_kv Hkv)/H
//            + [harness, s_kv > 1024] cx s_kv Hq
//      T     = T1 + droop(T1) + t0
//    The cx pass is independent of the batch and unexplained; it belongs to the benchmark and never enters a training
//    price.
//    Source: fit of 2026-11 to 4800 public timings. Valid: causal, D in 64..256, 1024 <= S.
//
// 2. Kernel form: published forward and backward throughput of stand-alone training kernels:
//      F     = g 4 D (pairs + rows S0/2)      g = 1 forward, 2.5 backward (five products instead of two)
//      T     = max(F/(e P) w / sustained, traffic/(eB H)) + gap
//      where kernels share a clock f (clock.h): max(F/(e P) w max(1, c/f), traffic/(eB H)) + gap
//      w     = (ceil(x)/x)^u (1 + l/x)/(1 + l/x0),   x = B Hq ceil(s_q/128)/SM waves of query tiles
//    For a causal square this is the familiar rate e P/(1 + S0/S) on half the scores: every query row costs as much as
//    S0/2 further keys (prologue, softmax statistics, the masked part of the diagonal block). x0 is the number of waves
//    in the published table (16k tokens, heads x D = 2048), so that the form returns the table. e and S0 are tabulated
//    by head size.
//    Source: FlashAttention repository benchmark figures (A100 and H100, 2023-2024). Valid: 512 <= S <= 16k.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/cost/fit_record.h"
#include "cairn/cost/kernel_time.h"
#include "cairn/cost/number.h"

namespace cairn::cost {

struct AttentionShape {
  std::int64_t b = 1;      // sequences
  std::int64_t s_q = 0;    // query positions
  std::int64_t s_kv = 0;   // key positions
  std::int64_t heads = 0;  // query heads
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  bool causal = true;  // query i sees the keys up to i + s_kv - s_q
  double bytes_per_element = 2.0;
  double work = 1.0;         // FLOPs over those of values as wide as queries and keys
  double score_pairs = 0.0;  // unmasked (query, key) pairs of all sequences and heads; 0: from the lines above
  bool harness = false;      // operator form only: as the benchmark ran it

  double rows() const { return static_cast<double>(b) * static_cast<double>(heads) * static_cast<double>(s_q); }
  // Unmasked pairs of all sequences and heads: score_pairs where given, else s_q s_kv, or for a causal mask with s_q <=
  // s_kv s_q (s_kv - (s_q - 1)/2), each times b heads.
  double pairs() const;
};

struct AttentionParameters {
  double tensor_efficiency = 0.0;  // eP
  double exp_efficiency = 0.0;     // eE
  double launch_floor_s = 0.0;     // t0
  double tail = 0.0;               // lat
  double row_s = 0.0;              // rq
  double query_traffic = 0.0;      // cq
  double kv_traffic = 0.0;         // ck
  double pass_s = 0.0;             // cx
  double droop = 0.0;              // d
  double sustained = 1.0;
};

inline constexpr auto k_attention_numbers = std::to_array<Number<AttentionParameters>>(
    {{.key = "tensor_efficiency",
      .member = &AttentionParameters::tensor_efficiency,
      .rule = {.doc = "eP", .required = true, .maximum = 1.0, .positive = true},
      .free = {.when = FreeWhen::always, .start = 0.65, .low = 0.2, .high = 1.0, .prior = 0.3}},
     {.key = "exp_efficiency",
      .member = &AttentionParameters::exp_efficiency,
      .rule = {.doc = "eE", .required = true, .positive = true},
      .free = {.when = FreeWhen::always, .start = 0.8, .low = 0.2, .high = 2.0, .prior = 0.3}},
     {.key = "launch_floor",
      .member = &AttentionParameters::launch_floor_s,
      .dimension = Dimension::seconds,
      .rule = {.doc = "t0", .required = true},
      .free = {.when = FreeWhen::always, .start = 15 * k_us, .low = k_us, .high = 60 * k_us, .prior = 1.0}},
     {.key = "tail",
      .member = &AttentionParameters::tail,
      .rule = {.doc = "lat", .required = true},
      .free = {.when = FreeWhen::many_rows, .start = 0.55, .low = 0.05, .high = 3.0, .prior = 1.0}},
     {.key = "row",
      .member = &AttentionParameters::row_s,
      .dimension = Dimension::seconds,
      .rule = {.doc = "rq: per query row", .required = true},
      .free = {.when = FreeWhen::always, .start = 40 * k_ns, .low = k_ns, .high = 300 * k_ns, .prior = 1.0}},
     {.key = "query_traffic",
      .member = &AttentionParameters::query_traffic,
      .rule = {.doc = "cq", .required = true},
      .free = {.when = FreeWhen::many_rows, .start = 1.0, .low = 0.01, .high = 10.0, .prior = 1.0}},
     {.key = "kv_traffic",
      .member = &AttentionParameters::kv_traffic,
      .rule = {.doc = "ck", .required = true},
      .free = {.when = FreeWhen::many_rows, .start = 1.0, .low = 0.01, .high = 10.0, .prior = 1.0}},
     {.key = "pass",
      .member = &AttentionParameters::pass_s,
      .dimension = Dimension::seconds,
      .rule = {.doc = "cx: batch-independent pass of the benchmark", .required = true},
      .free = {.when = FreeWhen::many_rows, .start = 0.4 * k_ns, .low = 0.01 * k_ns, .high = 5 * k_ns, .prior = 1.0}},
     {.key = "droop",
      .member = &AttentionParameters::droop,
      .rule = {.doc = "d", .required = true},
      .free = {.when = FreeWhen::many_rows, .start = 0.15, .low = 0.01, .high = 1.0, .prior = 1.0}}});

KernelTime attention_time(const AttentionShape& shape, const AttentionParameters& parameters,
                          const MachineRates& rates);

enum class AttentionPass : std::uint8_t { forward, backward };

// One line of a kernel's table.
struct FlashPoint {
  std::int64_t head_dim = 0;
  double efficiency = 0.0;  // e: asymptotic rate over the tensor peak
  double row_keys = 0.0;    // S0 [keys]
};

inline constexpr auto k_flash_point_numbers =
    std::to_array<Number<FlashPoint>>({{.key = "efficiency",
                                        .member = &FlashPoint::efficiency,
                                        .rule = {.required = true, .maximum = 1.0, .positive = true}},
                                       {.key = "row_keys",
                                        .member = &FlashPoint::row_keys,
                                        .rule = {.doc = "S0: extra keys per query row, twice", .required = true}}});

struct FlashParameters {
  std::string kernel{};               // name of one in models/attention_kernels.def that keeps its scores on chip
  std::vector<FlashPoint> forward{};  // ascending head_dim, at least one; linear between, constant outside
  std::vector<FlashPoint> backward{};
  double wave_exponent = 0.0;     // u: 1 = the last wave costs a whole one
  double tail = 0.0;              // l
  double table_tokens = 16384.0;  // tokens and heads x head_dim of the published table: fix x0
  double table_width = 2048.0;
  double memory_efficiency = 0.85;  // of the operand traffic
  double gap_s = 0.0;
  double clock_hz = 0.0;  // c: of short runs; 0: that of the machine
  double sustained = 1.0;
};

inline constexpr auto k_flash_numbers = std::to_array<Number<FlashParameters>>(
    {{.key = "wave_exponent",
      .member = &FlashParameters::wave_exponent,
      .rule = {.doc = "u", .required = true, .maximum = 1.0}},
     {.key = "tail", .member = &FlashParameters::tail, .rule = {.doc = "l", .required = true}}});

// The head sizes that the table of this pass covers; outside them the nearest line is used and the price is
// extrapolated.
MeasuredRange head_dims(const FlashParameters& parameters, AttentionPass pass);

KernelTime flash_attention_time(const AttentionShape& shape, AttentionPass pass, const FlashParameters& parameters,
                                const MachineRates& rates);

}  // namespace cairn::cost
