// Small files in every form that can be read, written by hand.
#pragma once

#include <string>

namespace cairn::measure::test {

// 1 MiB in 35.66 us = 29.40 GB/s; 8 MiB in 68.10 us = 123.18 GB/s.
inline std::string nccl_text() {
  return "# nccl-tests version 2.17.1 nccl-headers=22705 nccl-library=22705\n"
         "# Collective test starting: all_reduce_perf\n"
         "# nThread 1 nGpus 2 minBytes 1048576 maxBytes 8388608 step: 8(factor) warmup iters: 1 iters: 20 agg iters: 1 "
         "validation: 1 graph: 0 unalign: 0\n"
         "#\n"
         "# Using devices\n"
         "#  Rank  0 Group  0 Pid   6899 on     host-a device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
         "#  Rank  1 Group  0 Pid   6899 on     host-a device  1 [0000:05:00] NVIDIA H100 80GB HBM3\n"
         "#\n"
         "#                                                              out-of-place                       in-place\n"
         "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   "
         "busbw  #wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
         "(GB/s)\n"
         "     1048576        262144     float     sum      -1    35.66   29.40   29.40       0    35.30   29.70   "
         "29.70 "
         "      0\n"
         "     8388608       2097152     float     sum      -1    68.10  123.18  123.18       0    67.99  123.38  "
         "123.38 "
         "      0\n"
         "# Out of bounds values : 0 OK\n"
         "# Avg bus bandwidth    : 76.415\n"
         "#\n"
         "# Collective test concluded: all_reduce_perf\n";
}

inline std::string nccl_json() {
  return R"({"version": 2, "start_time": "2025-09-01 10:00:00", "args": ["./build/all_gather_perf", "-g", "8"],
 "env": ["A=b"], "nccl_version": 22705,
 "config": {"nthreads": 1, "ngpus": 8, "minimum_bytes": 1048576, "iterations": 20, "validation": 1,
  "devices": [{"rank": 0, "group": 0, "pid": 1, "hostname": "host-a", "device": 0, "device_hex": "0000:04:00",
               "device_info": "NVIDIA H100 80GB HBM3"}]},
 "results": [
  {"size": 1048576, "count": 262144, "type": "float", "redop": "none", "root": "    -1",
   "out_of_place": {"time": 35.66, "alg_bw": 29.40, "bus_bw": 25.7, "nwrong": 0.0},
   "in_place": {"time": 35.30, "alg_bw": 29.70, "bus_bw": 26.0, "nwrong": 0.0}, "actual_iterations": 20},
  {"size": 2097152, "count": 524288, "type": "float", "redop": "none", "root": "    -1", "out_of_place": null,
   "in_place": {"time": 40.0, "alg_bw": 52.43, "bus_bw": 45.9, "nwrong": 0.0}}],
 "out_of_bounds": {"count": 0, "okay": "true"}})";
}

inline std::string kernel_table() {
  return "source,gpu,kernel,dtype,shape,ms,tflops,gbps\n"
         "lab,A100-SXM4-80GB,gemm lib,bfloat16,M512 N768 K10240,0.042351,190.15,637.5\n"  // 8.053 GFLOP
         "lab,A100-SXM4-80GB,context attention fwd causal,bfloat16,B64 S1024 Hq24 Hkv4 D128,4.142080,99.54,\n";
}

inline std::string collective_table() {
  return "source,ref,gpu,num_gpus,nodes,net,collective,bytes,time_us,algbw_gbs,busbw_gbs\n"
         "lab,README:1,H100-SXM-80GB,8,1,NVLink4,all_reduce,134217728,586.4,228.88,400.53\n"
         "lab,README:2,H100-SXM-80GB,8,1,NVLink4,AllReduce,,,,414.2\n";
}

inline std::string probe_json() {
  return R"({"schema": "cairn.measurement/1", "tool": {"name": "cairn-probe", "version": "0.1.0"},
 "date": "2026-11-21", "complete": true, "options": {"quick": false, "cache": "cold", "only": []},
 "device": {"name": "NVIDIA H100 80GB HBM3", "vendor": "NVIDIA", "visible": 1, "clock_hz": 1980000000.0,
            "pcie_width": null},
 "software": {"driver": "570.1", "cuda_driver": "12.8", "cublas": "12.8.3", "nccl": null},
 "rows": [
  {"kind": "gemm", "type": "bf16", "shape": {"m": 4096, "n": 4096, "k": 4096}, "bytes": 100663296, "ranks": 1,
   "time_s": {"median": 0.000198, "p10": 0.000196, "p90": 0.000203, "n": 30}, "implementation": "cublasLt",
   "flops": 137438953472, "layout": "TN", "cache": "cold", "check": {"samples": 64, "worst": 0.1}, "state": null},
  {"kind": "launch", "type": "none", "shape": {"kernels": 100}, "bytes": 0, "ranks": 1,
   "time_s": {"median": 0.00021, "p10": 0.0002, "p90": 0.00022, "n": 30}, "implementation": "empty"}],
 "skipped": []})";
}

}  // namespace cairn::measure::test
