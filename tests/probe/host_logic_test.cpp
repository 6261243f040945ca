#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "cairn/measure/read.h"
#include "case.h"
#include "catalogue.h"
#include "catch.h"
#include "document.h"
#include "number.h"
#include "options.h"
#include "reference.h"
#include "smi.h"
#include "statistics.h"
#include "timing.h"

namespace cairn::probe {

TEST_CASE("quantiles interpolate between order statistics", "[probe]") {
  // 1..11: position of the 10th percentile 0.1 * 10 = 1 -> 2; of 1, 2, 4, 8: median between 2 and 4, p90 at 2.7 -> 4 +
  // 0.7 * 4.
  const Summary eleven = summarise({11, 1, 10, 2, 9, 3, 8, 4, 7, 5, 6});
  CHECK(eleven.median == 6);
  CHECK(eleven.p10 == 2);
  CHECK(eleven.p90 == 10);
  CHECK(eleven.n == 11);
  CHECK(quantile({8, 1, 4, 2}, 0.5) == 3);
  CHECK(quantile({8, 1, 4, 2}, 0.9) == Approx(6.8));
  CHECK(quantile({5}, 0.9) == 5);
  CHECK_THROWS_AS(summarise({}), std::invalid_argument);
}

TEST_CASE("number types decode to their values", "[probe]") {
  const auto value = [](Type type, std::uint32_t bits) { return decode(type, &bits); };
  CHECK(value(Type::fp32, 0x3F800000) == 1);
  CHECK(value(Type::fp32, 0xC0490FDB) == -0x1.921fb6p+1);
  CHECK(value(Type::bf16, 0x3F81) == 1 + 0x1p-7);
  CHECK(value(Type::fp16, 0x7BFF) == 65504);     // largest
  CHECK(value(Type::fp16, 0x0001) == 0x1p-24);   // smallest subnormal
  CHECK(value(Type::fp8_e4m3, 0x7E) == 448);     // largest
  CHECK(value(Type::fp8_e4m3, 0x01) == 0x1p-9);  // smallest subnormal
  CHECK(value(Type::fp8_e4m3, 0xB8) == -1);      // exponent 7 = bias
  CHECK(std::isinf(value(Type::bf16, 0x7F80)));
  for (const Type type : {Type::fp32, Type::bf16, Type::fp16, Type::fp8_e4m3})
    CHECK(std::isnan(value(type, 0xFFFFFFFF)));
  CHECK(value(Type::byte, 0xFF) == 255);
  CHECK(unit_roundoff(Type::bf16) == 0x1p-8);
}

TEST_CASE("poison never passes for a result", "[probe]") {
  Comparison comparison;
  comparison.add(1.0, {1.0, 0});
  CHECK(comparison.passed());
  comparison.add(std::numeric_limits<double>::quiet_NaN(), {1.0, 100});
  CHECK_FALSE(comparison.passed());
  CHECK_FALSE(Comparison{}.passed());  // nothing compared is nothing proved
  Comparison poisoned_input;
  poisoned_input.add(1.0, {std::numeric_limits<double>::quiet_NaN(), 1});
  CHECK_FALSE(poisoned_input.passed());
  Comparison half;
  half.add(1.5, {1.0, 1.0});
  CHECK(half.worst() == 0.5);
}

TEST_CASE("a product's tolerance is far below its size", "[probe]") {
  // 4096 terms of size 1 and random sign: the sum has the size 64. Zero, or a neighbour's sum, must not pass.
  Reals a(4096), b(4096, 1.0);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = i % 3 == 0 ? 1 : -1;  // 1366 - 2730 = -1364
  const Expected bf16 = dot(a, b, 1, Type::bf16, Type::bf16), fp8 = dot(a, b, 0.125, Type::fp8_e4m3, Type::bf16);
  CHECK(bf16.value == -1364);
  CHECK(bf16.tolerance < 0.02 * 1364);
  CHECK(fp8.value == -1364 * 0.125);
  CHECK(fp8.tolerance < 0.05 * 1364 * 0.125);
  CHECK(bf16.tolerance > unit_roundoff(Type::bf16) * 1364);  // and what rounding does passes
}

TEST_CASE("samples hold the ends and stay inside", "[probe]") {
  CHECK(sample_indices(3, 5) == std::vector<std::int64_t>{0, 1, 2});
  const std::vector<std::int64_t> some = sample_indices(1000, 6);
  CHECK(some.size() == 6);
  CHECK(some.front() == 0);
  CHECK(some.back() == 999);
  CHECK(some[1] == 618);  // the golden ratio's share of 1000
  for (const std::int64_t i : some) CHECK((i >= 0 && i < 1000));
}

TEST_CASE("repeats fill a sample in whole rounds", "[probe]") {
  Timing timing;
  timing.sample_seconds = 1e-3;
  timing.most_repeats = 512;
  CHECK(repeats(timing, 1e-5, 1) == 100);
  CHECK(repeats(timing, 1e-5, 64) == 128);  // two rounds
  CHECK(repeats(timing, 1.0, 1) == 1);
  CHECK(repeats(timing, 1.0, 3) == 3);
  CHECK(repeats(timing, 1e-9, 1) == 512);
  CHECK(repeats(timing, 0, 1) == 512);
}

TEST_CASE("a row ends when it has samples and time enough", "[probe]") {
  Timing timing;  // 20 to 200 samples, 0.2 s to 3 s, 5 samples at least
  CHECK(wants_more(timing, 19, 1.0));
  CHECK(wants_more(timing, 20, 0.1));
  CHECK_FALSE(wants_more(timing, 20, 0.2));
  CHECK_FALSE(wants_more(timing, 200, 0.1));
  CHECK(wants_more(timing, 4, 10));
  CHECK_FALSE(wants_more(timing, 5, 3));
}

TEST_CASE("operand sets exceed the cache twice where memory allows", "[probe]") {
  const MemoryRoom room{.l2_bytes = 50'000'000, .free_bytes = 80'000'000'000};
  CHECK(operand_sets(10'000'000, room, true) == 10);
  CHECK(is_cold(10'000'000, 10, room));
  CHECK(operand_sets(10'000'000, room, false) == 1);
  CHECK_FALSE(is_cold(10'000'000, 1, room));
  CHECK(operand_sets(100'000'000, room, true) == 1);
  CHECK(operand_sets(1000, room, true) == 64);  // as many as there may be, and still warm
  CHECK_FALSE(is_cold(1000, 64, room));
  CHECK(operand_sets(81'000'000'000, room, true) == 0);
  CHECK(operand_sets(60'000'000, {.l2_bytes = 50'000'000, .free_bytes = 100'000'000}, true) == 1);
}

TEST_CASE("traffic and work of a row", "[probe]") {
  const Case gemm{.group = "gemm", .kind = "gemm", .type = Type::fp8_e4m3, .shape = {{"m", 2}, {"n", 3}, {"k", 5}}};
  CHECK(bytes(gemm) == 2 * 5 + 3 * 5 + 2 * 3 * 2);  // fp8 in, bf16 out
  CHECK(flops(gemm) == 60);
  const Case attention{.group = "attention",
                       .kind = "attention",
                       .type = Type::bf16,
                       .shape = {{"b", 1}, {"s", 4}, {"hq", 2}, {"hkv", 1}, {"d", 8}, {"causal", 1}}};
  CHECK(bytes(attention) == 2 * 4 * 2 * 8 * 2 + 2 * 4 * 1 * 8 * 2 + 4 * 2 * 4);
  CHECK(flops(attention) == 2 * (4 * 5 / 2) * 2 * 2 * 8);  // 10 pairs, 2 heads, 2 products of 2 * 8
  Case backward = attention;
  backward.kind = "attention_backward";
  CHECK(flops(backward) == flops(attention) / 2 * 5);
  const auto one = [](const char* group, const char* kind, Type type) {
    return bytes({.group = group, .kind = kind, .type = type, .shape = {{"n", 100}}});
  };
  CHECK(one("copy", "copy", Type::byte) == 200);
  CHECK(one("copy", "read", Type::byte) == 100);
  CHECK(one("pointwise", "adam", Type::fp32) == 100 * (16 + 12 + 2));  // reads 4 floats, writes 3 and a bf16
  CHECK(one("collective", "all_reduce", Type::fp32) == 400);
  const auto rows = [](const char* kind) {
    return bytes({.group = "norm", .kind = kind, .type = Type::bf16, .shape = {{"rows", 4}, {"columns", 16}}});
  };
  CHECK(rows("softmax") == 2 * 128);
  CHECK(rows("rmsnorm") == 2 * 128 + 32 + 16);
  CHECK(rows("layernorm_backward") == 3 * 128 + 32 + 2 * 64 + 32);
  CHECK(rows("swiglu_backward") == 5 * 128);
  CHECK_THROWS_AS(gemm.shape["q"], std::out_of_range);
}

TEST_CASE("the catalogue: order, uniqueness, groups, every row with its traffic", "[probe]") {
  const std::vector<Case> all = catalogue({.gpus = 6});
  std::set<std::string> seen;
  std::vector<std::string> order;
  for (const Case& row : all) {
    CHECK(seen.insert(describe(row)).second);
    if (order.empty() || order.back() != row.group) order.push_back(row.group);
    CHECK((row.group == "launch" ? bytes(row) == 0 : bytes(row) > 0));
    if (row.group == "collective") CHECK(row.shape["n"] % (8 * row.ranks) == 0);
  }
  CHECK(order == std::vector<std::string>(groups().begin(), groups().end()));
  CHECK(seen.contains("gemm bf16 m=16 n=64 k=64 cublaslt TN cold"));
  CHECK(seen.contains("gemm bf16 m=4096 n=6144 k=4096 cublaslt TN cold"));  // QKV of Llama 3.1 8B
  CHECK(seen.contains("gemm bf16 m=6144 n=4096 k=4096 cublaslt NT cold"));  // and its weight gradient
  CHECK(seen.contains("attention bf16 b=4 s=4096 hq=32 hkv=8 d=128 causal=1 own mma.sync cold"));
  CHECK(seen.contains("all_reduce fp32 n=268435488 ranks=6 nccl"));  // 2^28 rounded up to 48 elements
  const std::vector<Case> quick = catalogue({.only = {"gemm"}, .quick = true, .cache = "warm"});
  CHECK(quick.size() == 3 * 2 * 2 * 2);
  for (const Case& row : quick) CHECK((row.group == "gemm" && row.cache == "warm"));
  CHECK(catalogue({.only = {"collective"}}).empty());  // one GPU
}

TEST_CASE("options", "[probe]") {
  const Options options =
      parse_options({"--only", "gemm,copy", "--quick", "-o", "x.json", "--cache=warm", "--device", "3"});
  CHECK(options.only == std::vector<std::string>{"gemm", "copy"});
  CHECK(options.quick);
  CHECK(options.output == "x.json");
  CHECK(options.cache == "warm");
  CHECK(options.device == 3);
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{{"--only", "gem"},
                                                                                     {"--only", "gemm,"},
                                                                                     {"--only"},
                                                                                     {"--device", "-1"},
                                                                                     {"--device", "1x"},
                                                                                     {"--cache", "hot"},
                                                                                     {"--output="},
                                                                                     {"gemm"},
                                                                                     {"--loud"}})
    CHECK_THROWS_AS(parse_options(wrong), UsageError);
}

TEST_CASE("what nvidia-smi says", "[probe]") {
  const std::optional<Reading> reading = parse_reading("1980, 2619, 345.12, 45\n");
  REQUIRE(reading);
  CHECK(reading->clock_hz == 1980e6);
  CHECK(reading->memory_clock_hz == 2619e6);
  CHECK(reading->power_w == 345.12);
  CHECK(reading->temperature_c == 45);
  const std::optional<Reading> partial = parse_reading("1980, 2619, [N/A], 45");
  REQUIRE(partial);
  CHECK_FALSE(partial->power_w);
  CHECK_FALSE(parse_reading("No devices were found"));
  CHECK_FALSE(parse_reading("a, b, c, d"));
  const std::optional<Reading> median = median_reading({*reading, *partial, Reading{1000e6, {}, 100, {}}});
  REQUIRE(median);
  CHECK(median->clock_hz == 1980e6);
  CHECK(median->power_w == Approx((345.12 + 100) / 2));
  CHECK_FALSE(median_reading({}));
  const Inventory known = parse_inventory("580.159.04, 1980, 2619, 700.00, 5, 16, Enabled");
  CHECK(known.driver == "580.159.04");
  CHECK(known.power_limit_w == 700);
  CHECK(known.pcie_generation == 5);
  CHECK(known.ecc == true);
  CHECK_FALSE(parse_inventory("580.159.04, 1980, 2619, [N/A], 5, 16, [N/A]").power_limit_w);
  CHECK_FALSE(parse_inventory("NVIDIA-SMI has failed").driver);
}

TEST_CASE("the document is JSON and keeps its promises", "[probe]") {
  Document document{.version = "0.1.0", .date = "2026-11-21", .complete = true};
  document.options.only = {"gemm"};
  document.device.name = "GPU \"X\"\n\\";
  document.device.memory_bytes = 85'899'345'920;
  document.software = {"13.0", "13.0", "13.0.88", "13.1.0", std::nullopt};
  const Case row{.group = "gemm",
                 .kind = "gemm",
                 .type = Type::bf16,
                 .shape = {{"m", 16}, {"n", 32}, {"k", 64}},
                 .implementation = "cublaslt",
                 .layout = "TN",
                 .cache = "cold"};
  document.rows.push_back({row, {1.1e-6, 1e-6, 1.25e-6, 20}, 50, 0.3, Reading{1980e6, {}, 345.5, 45}});
  document.rows.push_back({row, {0.1, 0.1, std::numeric_limits<double>::infinity(), 5}, 50, 0, {}});
  document.skipped.push_back({row, "out of memory"});
  const std::string text = to_text(document);
  CHECK(text == to_text(document));
  const nlohmann::json json = nlohmann::json::parse(text);
  CHECK(json["schema"] == "cairn.measurement/1");
  CHECK(json["complete"] == true);
  CHECK(json["device"]["name"] == "GPU \"X\"\n\\");
  CHECK(json["device"]["memory_bytes"] == 85'899'345'920);
  CHECK(json["device"]["ecc"].is_null());
  CHECK(json["software"]["nccl"].is_null());
  const nlohmann::json& first = json["rows"][0];
  CHECK(first["kind"] == "gemm");
  CHECK(first["type"] == "bf16");
  CHECK(first["shape"] == nlohmann::json({{"m", 16}, {"n", 32}, {"k", 64}}));
  CHECK(first["ranks"] == 1);
  CHECK(first["bytes"] == 2 * (16 * 64 + 32 * 64 + 16 * 32));
  CHECK(first["flops"] == 2 * 16 * 32 * 64);
  CHECK(first["time_s"] == nlohmann::json({{"median", 1.1e-6}, {"p10", 1e-6}, {"p90", 1.25e-6}, {"n", 20}}));
  CHECK(first["state"]["power_w"] == 345.5);
  CHECK(first["state"]["memory_clock_hz"].is_null());
  CHECK_FALSE(first.contains("memory"));
  CHECK(json["rows"][1]["state"].is_null());
  CHECK(json["rows"][1]["time_s"]["p90"].is_null());  // JSON has no infinity
  CHECK(json["skipped"][0]["reason"] == "out of memory");
}

TEST_CASE("the reader of measurements takes the document", "[probe]") {
  Document document{.version = "0.1.0", .date = "2026-11-21", .complete = true};
  document.device.name = "NVIDIA H100 80GB HBM3";
  document.software = {"13.0", "13.0", "13.0.88", "13.1.0", "2.28.9"};
  const std::vector<Case> all = catalogue({.gpus = 2});
  for (const Case& row : all) document.rows.push_back({row, {2e-6, 1e-6, 3e-6, 20}, 1, 0, {}});
  document.skipped.push_back({all.front(), "out of memory"});
  const measure::MeasurementFile read = measure::parse_measurements(to_text(document), "probe.json");
  CHECK(read.device == document.device.name);
  CHECK(read.warnings.empty());
  REQUIRE(read.rows.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(read.rows[i].kind == all[i].kind);
    CHECK(read.rows[i].shape == all[i].shape.extents());
    CHECK(read.rows[i].bytes == static_cast<double>(bytes(all[i])));
    CHECK(read.rows[i].ranks == all[i].ranks);
    CHECK(read.rows[i].time.median_s == 2e-6);
  }
}

TEST_CASE("versions as the libraries count them", "[probe]") {
  CHECK(cuda_version(13000) == "13.0");
  CHECK(cuda_version(12080) == "12.8");
  CHECK(nccl_version(22809) == "2.28.9");
  CHECK(cublas_version(130100) == "13.1.0");
}

}  // namespace cairn::probe
