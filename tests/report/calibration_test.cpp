// What `cairn calibrate` says of a fit: every figure with a unit and plain words, in the text; keys in the JSON
// document.
#include "cairn/report/calibration.h"

#include <regex>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "cairn/calibrate/robust_fit.h"
#include "cairn/cost/attention.h"
#include "cairn/cost/gemm.h"
#include "cairn/measure/measurement.h"
#include "catch.h"
#include "report/conforms.h"
#include "report/small_run.h"

using namespace cairn;
using measure::Measurement;

namespace {

measure::TimeSample time_of(double seconds) {
  return {.median_s = seconds, .p10_s = seconds, .p90_s = seconds, .n = 1};
}

void add(measure::MeasurementFile& file, Measurement row, double seconds) {
  row.time = time_of(seconds);
  row.source = "made up";
  row.line = 1;
  file.rows.push_back(std::move(row));
}

// Rows of every family: products of both types as a framework calls them and attention, priced by cost with what is
// shipped; the rest by laws of two numbers.
measure::MeasurementFile everything_on(const std::string& accelerator) {
  measure::MeasurementFile file{.file = "made-up.csv"};
  const cost::Calibration shipped = cost::load_calibration(report_tests::loader(), accelerator);
  const auto row = [&](Measurement each) {
    each.device = accelerator;
    return each;
  };
  const cost::GemmSet& products = *shipped.find_gemm("bf16");
  const cost::GemmPricer pricer(products.parameters, shipped.rates(products));
  for (const std::int64_t m : {128, 1024, 8192, 32768})
    for (const std::int64_t n : {64, 1024, 4096, 16384})
      for (const std::int64_t k : {64, 1024, 4096, 16384})
        for (const char* type : {"bf16", "fp8"})
          add(file,
              row({.kind = "gemm",
                   .type = type,
                   .shape = {{"m", m}, {"n", n}, {"k", k}},
                   .method = measure::Method::serving_operator}),
              pricer.time({.m = m, .n = n, .k = k, .harness = true}).total_s);
  for (const std::int64_t b : {1, 8})
    for (const std::int64_t s : {1024, 2048, 4096, 8192})
      for (const std::int64_t heads : {8, 16, 32, 64})
        for (const std::int64_t d : {64, 128})
          add(file,
              row({.kind = "attention",
                   .type = "bf16",
                   .shape = {{"b", b}, {"s", s}, {"hq", heads}, {"hkv", 8}, {"d", d}, {"causal", 1}},
                   .method = measure::Method::serving_operator}),
              cost::attention_time(
                  {.b = b, .s_q = s, .s_kv = s, .heads = heads, .kv_heads = 8, .head_dim = d, .harness = true},
                  shipped.attention_operator->parameters, shipped.rates(products))
                  .total_s);
  for (const char* kind : {"copy", "rmsnorm", "adam"})
    for (double bytes = 1e5; bytes < 2e9; bytes *= 10.0)
      add(file, row({.kind = kind, .type = "bf16", .bytes = bytes}), 2.2e-6 + bytes / 1e12);
  for (const std::int64_t kernels : {1, 10, 100, 1000})
    add(file, row({.kind = "launch", .shape = {{"kernels", kernels}}}), 5e-6 + 1.9e-6 * static_cast<double>(kernels));
  for (double bytes = 1024.0; bytes < 2e9; bytes *= 4.0)
    add(file, row({.kind = "all_gather", .bytes = bytes, .ranks = 4}), 12e-6 + 0.75 * bytes / 200e9);
  return file;
}

}  // namespace

TEST_CASE("A calibration says every figure with its unit, its plain name and what it is", "[report][calibrate]") {
  if (!calibrate::can_fit()) return;
  std::set<std::string> kinds, keys;
  for (const char* accelerator : {"h100-sxm5-80gb", "a100-sxm4-80gb"}) {
    const measure::MeasurementFile file = everything_on(accelerator);
    const calibrate::Result result = calibrate::calibrate(report_tests::loader(), {&file, 1}, {});
    const std::string text = report::text(result);
    CAPTURE(text);
    std::size_t parameters = 0;
    for (const calibrate::FamilyResult& family : result.families) {
      if (family.skipped) continue;
      kinds.insert(family.kind);
      parameters += family.parameters.size();
      for (const auto& [key, value] : family.parameters) {
        keys.insert(key);
        if (key.find('_') != std::string::npos) CHECK(text.find(key) == std::string::npos);
      }
    }
    // "  name   number unit   words"; a number is of at most six characters: none is written with an exponent.
    const std::regex line(
        R"(\n  [a-zA-Z-][a-zA-Z -]+ {2,}[0-9.]{1,6}( %| times|| [npum]?s| [GTM]B/s| [nup]s/sqrt\(B\)) {2,}[a-z][^\n]{10,})");
    CHECK(std::distance(std::sregex_iterator(text.begin(), text.end(), line), {}) ==
          static_cast<std::ptrdiff_t>(parameters));
    for (const char* word : {"error in sample", "error left out", "predicted / measured - 1", "nine rows in ten"})
      CHECK(text.find(word) != std::string::npos);
  }
  CHECK(kinds == std::set<std::string>{"all-gather", "attention", "gemm", "launch", "memory-bound"});
  CHECK(keys.size() == 27);  // all that any family can have: a new one needs its words
}

TEST_CASE("Messages are told by their protocols in words; the document keeps the keys", "[report][calibrate]") {
  calibrate::Result result{.accelerator = "h100-sxm5-80gb"};
  calibrate::FamilyResult family{.kind = "all-reduce", .type = "8 ranks"};
  family.parameters = {{"low_latency", 1.812e-05}, {"simple_bandwidth", 7.576e+11}, {"simple_ramp", 1.397e-09}};
  family.at_bound = {"middle_latency / low_latency - 1"};
  family.record.rows = 29;
  family.record.ranges = {{"bytes", {8.0, 8589934592.0}}};
  result.families = {family};
  const std::string text = report::text(result);
  CAPTURE(text);
  for (const char* line :
       {"  latency of short messages     18.12 us          of an empty message in the protocol for short ones (NCCL's "
        "LL)\n",
        "  bandwidth of long messages    758 GB/s          that one rank sends",
        "  slow start of long messages   1.397 ns/sqrt(B)  more, times the square root of the bytes",
        "bytes 8 B to 8 GiB",
        "at a bound, so not determined by these rows: latency of medium messages / latency of short messages - 1\n"})
    CHECK(text.find(line) != std::string::npos);
  const nlohmann::json document = nlohmann::json::parse(report::json(result));
  CHECK(document["families"][0]["parameters"]["low_latency"] == 1.812e-05);
  CHECK(document["families"][0]["at_bound"][0] == "middle_latency / low_latency - 1");
}
