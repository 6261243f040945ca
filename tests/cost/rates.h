// Machines and rounded table parameters of the published fits, written by hand for the worked values.
#pragma once

#include "cairn/cost/attention.h"
#include "cairn/cost/gemm.h"

namespace cairn::cost::test {

inline MachineRates a100() {
  return {.tensor_flops = 312e12,
          .vector_flops = 19.5e12,
          .memory_bandwidth = 2.04e12,
          .l2_bytes = 40e6,
          .sm_count = 108,
          .clock_hz = 1.41e9};
}
inline MachineRates h100() {
  return {.tensor_flops = 989e12,
          .vector_flops = 67e12,
          .memory_bandwidth = 3.35e12,
          .l2_bytes = 50e6,
          .sm_count = 132,
          .clock_hz = 1.83e9};
}
inline MachineRates h100_fp8() {
  return {.tensor_flops = 1979e12,
          .vector_flops = 67e12,
          .memory_bandwidth = 3.35e12,
          .l2_bytes = 50e6,
          .sm_count = 132,
          .clock_hz = 1.83e9};
}
inline MachineRates b200() {
  return {.tensor_flops = 2250e12,
          .vector_flops = 80e12,
          .memory_bandwidth = 8.0e12,
          .l2_bytes = 126e6,
          .sm_count = 148,
          .clock_hz = 1.85e9};
}

inline GemmParameters a100_bf16() {
  return {.tensor_efficiency = 0.914,
          .memory_efficiency = 0.89,
          .launch_floor_s = 1.32e-6,
          .gap_s = 1.32e-6,
          .tile_overhead_s = 1.91e-6,
          .step_floor_s = 0.332e-6,
          .epilogue = 0.86,
          .split_cost_s = 2.3e-6,
          .overlap_exponent = 2.2,
          .droop = 0.04,
          .wave_quantisation = 1.0};
}
inline GemmParameters h100_bf16() {
  return {.tensor_efficiency = 0.833,
          .memory_efficiency = 0.84,
          .launch_floor_s = 2.60e-6,
          .gap_s = 2.60e-6,
          .step_floor_s = 0.111e-6,
          .epilogue = 0.51,
          .split_cost_s = 2.8e-6,
          .overlap_exponent = 3.5,
          .droop = 0.17,
          .wave_quantisation = 0.1};
}
inline GemmParameters b200_bf16() {
  return {.tensor_efficiency = 0.716,
          .memory_efficiency = 0.82,
          .launch_floor_s = 2.13e-6,
          .gap_s = 2.13e-6,
          .step_floor_s = 0.061e-6,
          .epilogue = 0.30,
          .split_cost_s = 3.5e-6,
          .overlap_exponent = 2.1,
          .droop = 0.23,
          .wave_quantisation = 0.1};
}
inline GemmParameters h100_fp8_tensor() {
  return {.tensor_efficiency = 0.811,
          .memory_efficiency = 0.81,
          .launch_floor_s = 12.30e-6,
          .gap_s = 2.60e-6,
          .step_floor_s = 0.038e-6,
          .epilogue = 0.60,
          .split_cost_s = 1.1e-6,
          .overlap_exponent = 4.1,
          .droop = 0.21,
          .quantise_passes = 2.72,
          .wave_quantisation = 0.1};
}

inline AttentionParameters a100_attention() {
  return {.tensor_efficiency = 0.529,
          .exp_efficiency = 0.80,
          .launch_floor_s = 12.2e-6,
          .tail = 0.52,
          .row_s = 48.5e-9,
          .query_traffic = 1.12,
          .kv_traffic = 1.37,
          .pass_s = 0.48e-9,
          .droop = 0.07};
}
inline AttentionParameters h100_attention() {
  return {.tensor_efficiency = 0.643,
          .exp_efficiency = 0.69,
          .launch_floor_s = 16.4e-6,
          .tail = 0.59,
          .row_s = 47.2e-9,
          .query_traffic = 0.57,
          .kv_traffic = 0.95,
          .pass_s = 0.35e-9,
          .droop = 0.17};
}
inline AttentionParameters b200_attention() {
  return {.tensor_efficiency = 0.691,
          .exp_efficiency = 0.86,
          .launch_floor_s = 17.4e-6,
          .tail = 0.65,
          .row_s = 23.5e-9,
          .query_traffic = 3.36,
          .kv_traffic = 1.66,
          .pass_s = 0.35e-9,
          .droop = 0.19};
}

}  // namespace cairn::cost::test
