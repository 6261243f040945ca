#include "cairn/measure/read.h"

#include <algorithm>
#include <cmath>

#include "catch.h"
#include "measure/samples.h"
#include "support/complaints.h"

namespace cairn::measure {
namespace {

using cairn::test::contains;

std::string complaints(const std::string& text, const std::string& file = "x.txt") {
  return cairn::test::complaints([&] { parse_measurements(text, file); });
}

// `text` with the first `what` replaced.
std::string with(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

TEST_CASE("nccl-tests as printed", "[measure]") {
  const MeasurementFile file = parse_measurements(test::nccl_text(), "run.log");
  CHECK(file.format == Format::nccl_tests_text);
  REQUIRE(file.rows.size() == 2);
  const Measurement& row = file.rows[1];
  CHECK(row.kind == "all_reduce");
  CHECK(row.type == "fp32");
  CHECK(row.bytes == 8388608.0);
  CHECK(row.ranks == 2);
  CHECK(row.nodes == 1);
  CHECK(row.time.median_s == Approx(68.10e-6));  // out of place
  CHECK(row.device == "NVIDIA H100 80GB HBM3");
  CHECK(row.line == 13);

  // Two runs after each other; the second has four ranks on two hosts, and an older header without redop and root.
  const std::string second =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n"
      "#   Rank  0 Pid  1 on a device 0 [0x07] Tesla V100\n#   Rank  1 Pid  1 on a device 1 [0x07] Tesla V100\n"
      "#   Rank  2 Pid  1 on b device 0 [0x07] Tesla V100\n#   Rank  3 Pid  1 on b device 1 [0x07] Tesla V100\n"
      "#       size  count  type  time  algbw  busbw  error\n"
      "#        (B)  (elements)  (us)  (GB/s)  (GB/s)\n"
      "  4096 1024 half 20.00 0.20 0.15 0e+00\n# Avg bus bandwidth : 0.15\n";
  const MeasurementFile both = parse_measurements(test::nccl_text() + second, "alltoall_perf.txt");
  REQUIRE(both.rows.size() == 3);
  CHECK(both.rows[2].kind == "all_to_all");  // by the file's name
  CHECK(both.rows[2].ranks == 4);
  CHECK(both.rows[2].nodes == 2);
  CHECK(both.rows[2].type == "fp16");
}

TEST_CASE("nccl-tests as JSON", "[measure]") {
  const MeasurementFile file = parse_measurements(test::nccl_json(), "run.json");
  CHECK(file.format == Format::nccl_tests_json);
  REQUIRE(file.rows.size() == 2);
  CHECK(file.rows[0].kind == "all_gather");
  CHECK(file.rows[0].ranks == 8);  // one process of eight
  CHECK(file.rows[0].time.median_s == Approx(35.66e-6));
  CHECK(file.rows[0].line == 7);
  CHECK(file.rows[1].time.median_s == Approx(40.0e-6));  // in place, where nothing else was measured
  CHECK(file.device == "NVIDIA H100 80GB HBM3");
}

TEST_CASE("tables of kernels and collectives", "[measure]") {
  const MeasurementFile kernels = parse_measurements(test::kernel_table(), "gemm.csv");
  REQUIRE(kernels.rows.size() == 2);
  CHECK(kernels.rows[0].kind == "gemm");
  CHECK(kernels.rows[0].type == "bf16");
  CHECK(kernels.rows[0].method == Method::serving_operator);
  CHECK(kernels.rows[0].extent("k") == 10240);
  CHECK(kernels.rows[0].time.median_s == Approx(42.351e-6));
  CHECK(kernels.rows[1].kind == "attention");
  CHECK(kernels.rows[1].extent("hkv") == 4);
  CHECK(kernels.rows[1].extent("causal") == 1);

  // A published rate: forward and backward of 16k tokens in sequences of 2k, 32 heads of 64: 8 x 32 x 2048^2 x 64 x 2
  // FLOP x 3.5 at 156 TFLOP/s, causal = 3.084 ms.
  const MeasurementFile rates = parse_measurements(
      "source,ref,gpu,kernel,dtype,shape,ms,tflops,gbps\n"
      "lab,figure,A100-SXM4-80GB,FlashAttention-2 fwd+bwd,fp16/bf16,"
      "\"seqlen 2k headdim 64 causal yes, total tokens 16k, hidden 2048\",,156,\n"
      "lab,figure,A100-SXM4-80GB,sparse prefill,bf16,of some kind,1.0,,\n",
      "other.csv");
  REQUIRE(rates.rows.size() == 1);
  CHECK(rates.rows[0].kind == "attention_forward_backward");
  CHECK(rates.rows[0].implementation == "flash2");
  CHECK(rates.rows[0].method == Method::kernel);
  CHECK(rates.rows[0].time.median_s == Approx(3.0837e-3).epsilon(1e-4));
  REQUIRE(rates.skipped.size() == 1);
  CHECK(rates.skipped[0].line == 3);

  const MeasurementFile collectives = parse_measurements(test::collective_table(), "nccl.csv");
  REQUIRE(collectives.rows.size() == 1);
  CHECK(collectives.rows[0].bytes == 134217728.0);
  CHECK(collectives.skipped.size() == 1);  // a bandwidth without a size
}

TEST_CASE("the probe's document", "[measure]") {
  const MeasurementFile file = parse_measurements(test::probe_json(), "probe.json");
  CHECK(file.format == Format::probe);
  CHECK(file.device == "NVIDIA H100 80GB HBM3");
  REQUIRE(file.rows.size() == 2);
  CHECK(file.rows[0].cache == CacheState::cold);
  CHECK(file.rows[0].time.p90_s == Approx(203e-6));
  CHECK(file.rows[0].time.n == 30);
  CHECK(file.rows[1].extent("kernels") == 100);
  CHECK(file.warnings.empty());
  const MeasurementFile part =
      parse_measurements(with(test::probe_json(), "\"complete\": true", "\"complete\": false"), "p");
  CHECK(part.warnings.size() == 1);
  CHECK(contains(probe_document_schema(), "time_s"));
}

TEST_CASE("files cut off", "[measure]") {
  const std::string text = test::nccl_text();
  CHECK(contains(complaints(text.substr(0, text.find("# Out of bounds"))), "ends without its summary"));
  CHECK(contains(complaints(text.substr(0, text.find("123.18"))), "x.txt:13:1: error: 6 figures where 13 columns"));
  CHECK(contains(complaints(test::nccl_json().substr(0, 500)), "x.txt:"));
  CHECK(contains(complaints(test::probe_json().substr(0, 700)), "x.txt:"));
  CHECK(contains(complaints(test::kernel_table().substr(0, 110)), "x.txt:2:1: error:"));
  CHECK(contains(complaints(""), "an empty file"));
}

TEST_CASE("mixed units", "[measure]") {
  // The time of the first row in milliseconds.
  CHECK(
      contains(complaints(with(test::nccl_text(), "35.66", "0.03566")), "x.txt:12:1: error: 1048576 B in 0.03566 us"));
  CHECK(contains(complaints(with(test::nccl_text(), "(us)", "(ms)")), "a column in '(ms)'"));
  CHECK(contains(complaints(with(test::nccl_json(), "35.66", "0.03566")), "mixed units"));
  CHECK(
      contains(complaints(with(test::kernel_table(), "0.042351", "42.351")), "x.txt:2:1: error: M512 N768 K10240 in"));
  CHECK(contains(complaints(with(test::collective_table(), "586.4", "0.5864")), "mixed units"));
  // 198 us written as 198 s is out of order with its percentiles.
  CHECK(contains(complaints(with(test::probe_json(), "0.000198", "198")), "percentiles of the time are out of order"));
  CHECK(contains(complaints(with(with(with(test::probe_json(), "0.000198", "1980000"), "0.000196", "1960000"),
                                 "0.000203", "2030000")),
                 "times lie between 10 ns and 1 h"));
}

TEST_CASE("columns and keys that are not known, or missing", "[measure]") {
  CHECK(contains(complaints(with(test::kernel_table(), ",ms,", ",msec,")),
                 "x.txt:1:1: error: unknown column 'msec' (did you mean 'ms'?)"));
  CHECK(contains(complaints(with(test::kernel_table(), ",ms,", ",msec,")), "column 'ms' is missing"));
  CHECK(contains(complaints("a,b\n1,2\n"), "no table that is known here"));
  CHECK(contains(complaints("{\"rows\": []}"), "no key 'schema'"));
  CHECK(contains(complaints(with(test::probe_json(), "\"median\"", "\"mean\"")), "median"));
  CHECK(contains(complaints(with(test::probe_json(), "measurement/1", "measurement/2")), "cairn.measurement/1"));
}

TEST_CASE("runs that say too little", "[measure]") {
  std::string nameless = with(test::nccl_text(), "# Collective test starting: all_reduce_perf\n", "");
  CHECK(contains(complaints(nameless), "which collective was run is not said"));
  CHECK(complaints(nameless, "all_reduce_perf.txt").empty());
  CHECK(contains(complaints(with(test::nccl_text(), "values : 0 OK", "values : 3 FAILED")), "wrong results"));
  CHECK(
      contains(complaints(with(test::nccl_text(), "05:00] NVIDIA H100", "05:00] NVIDIA A100")), "one kind of device"));
  CHECK(contains(complaints(with(test::nccl_json(), "all_gather_perf", "alltoallv_perf")),
                 "'./build/alltoallv_perf' is none that is known here"));
  CHECK(contains(complaints(with(test::nccl_json(), "./build/all_gather_perf", "wrapper")),
                 "as in --collective all_gather"));
  CHECK(contains(
      complaints(with(test::nccl_json(), "all_gather_perf", "all_reduce_perf")),
      "x.txt:7:1: error: the test's output says all_reduce, whose busbw over 8 ranks is 1.75 times its algbw"));
  CHECK(contains(complaints(with(test::nccl_json(), "\"nwrong\": 0.0", "\"nwrong\": 3.0")),
                 "x.txt:7:1: error: the test found 3 wrong values"));
  CHECK(complaints(with(test::nccl_json(), "\"nwrong\": 0.0", "\"nwrong\": null")).empty());
  CHECK(contains(complaints("source,gpu,kernel,dtype,shape,ms\nlab,A,conv,bf16,some,1.0\n"), "no measurement"));
}

}  // namespace
}  // namespace cairn::measure
