// Rows made by cost's own formulas: a fit finds the parameters again, and what it writes can be loaded and priced.
#include "cairn/calibrate/calibrate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cairn/calibrate/robust_fit.h"
#include "cairn/measure/read.h"
#include "catch.h"
#include "support/complaints.h"
#include "support/shipped.h"
#include "support/source_dir.h"
#include "support/temporary_folder.h"

namespace cairn::calibrate {
namespace {

using cairn::test::complaints;
using cairn::test::contains;
using measure::Measurement;
using measure::MeasurementFile;

using cairn::testing::shipped;

measure::TimeSample time_of(double seconds) {
  return {.median_s = seconds, .p10_s = seconds, .p90_s = seconds, .n = 1};
}

Measurement product(std::int64_t m, std::int64_t n, std::int64_t k, double seconds) {
  return {.kind = "gemm",
          .type = "bf16",
          .shape = {{"m", m}, {"n", n}, {"k", k}},
          .time = time_of(seconds),
          .method = measure::Method::serving_operator,
          .device = "NVIDIA H100 80GB HBM3",
          .source = "made up",
          .line = 7};
}

// Products of every decade of the published samples, as the H100's shipped parameters price them, times `factor`.
MeasurementFile products(double factor, std::int64_t largest = 65536) {
  const cost::Calibration h100 = cost::load_calibration(shipped(), "h100-sxm5-80gb");
  const cost::GemmSet& set = *h100.find_gemm("bf16");
  const cost::GemmPricer pricer(set.parameters, h100.rates(set));
  MeasurementFile file{.file = "made-up.csv"};
  for (std::int64_t m = 128; m <= std::min<std::int64_t>(32768, largest); m *= 4) {
    for (std::int64_t n = 32; n <= largest; n *= 4) {
      for (std::int64_t k = 64; k <= largest; k *= 4) {
        const double seconds = pricer.time({.m = m, .n = n, .k = k, .harness = true}).total_s;
        file.rows.push_back(product(m, n, k, factor * seconds));
      }
    }
  }
  return file;
}

const FamilyResult& family(const Result& result, std::string_view kind) {
  const auto found = std::find_if(result.families.begin(), result.families.end(),
                                  [&](const FamilyResult& each) { return each.kind == kind; });
  REQUIRE(found != result.families.end());
  return *found;
}

double parameter(const FamilyResult& family, std::string_view name) {
  for (const auto& [each, value] : family.parameters)
    if (each == name) return value;
  return 0.0;
}

}  // namespace

TEST_CASE("devices go by many names", "[calibrate]") {
  const config::Loader loader = shipped();
  CHECK(accelerator_of(loader, "NVIDIA H100 80GB HBM3") == "h100-sxm5-80gb");
  CHECK(accelerator_of(loader, "H100-SXM-80GB") == "h100-sxm5-80gb");
  CHECK(accelerator_of(loader, "a100-sxm4-80gb") == "a100-sxm4-80gb");
  CHECK(accelerator_of(loader, "AMD Instinct MI300X") == "mi300x");
  CHECK(accelerator_of(loader, "NVIDIA GB300") == "gb300-279gb");
  CHECK(accelerator_of(loader, "A100 SXM") == "");  // 40 or 80 GB
  CHECK(accelerator_of(loader, "") == "");
}

TEST_CASE("products priced by cost give their parameters back", "[calibrate]") {
  if (!can_fit()) return;
  const MeasurementFile file = products(1.0);
  const Result result = calibrate(shipped(), {&file, 1}, {});
  CHECK(result.accelerator == "h100-sxm5-80gb");
  const FamilyResult& gemm = family(result, "gemm");
  CHECK(gemm.record.rows == static_cast<std::int64_t>(file.rows.size()));
  // The priors pull a little; nothing else is between the rows and the form.
  CHECK(gemm.record.in_sample.median < 0.005);
  CHECK(gemm.record.left_out->median < 0.01);
  const cost::GemmParameters shipped_parameters =
      cost::load_calibration(shipped(), "h100-sxm5-80gb").find_gemm("bf16")->parameters;
  CHECK(parameter(gemm, "tensor_efficiency") == Approx(shipped_parameters.tensor_efficiency).epsilon(0.02));
  CHECK(parameter(gemm, "launch_floor") == Approx(shipped_parameters.launch_floor_s).epsilon(0.02));
  CHECK(gemm.parameters.size() <= 12);
  CHECK(gemm.record.ranges.front().first == "m");
  CHECK(gemm.record.ranges.front().second.largest == 32768.0);
}

TEST_CASE("a written calibration is loaded and prices as fitted", "[calibrate]") {
  if (!can_fit()) return;
  const MeasurementFile file = products(1.2);
  const Result result = calibrate(shipped(), {&file, 1}, {});
  const cairn::test::TemporaryFolder folder;
  folder.write("calibration/mine.yaml", calibration_yaml(result));
  const config::Loader loader({folder.path(), std::filesystem::path(cairn::testing::source_dir()) / "configs"});
  const cost::Calibration read = cost::load_calibration(loader, "mine");
  const cost::GemmSet& set = *read.find_gemm("bf16");
  const cost::GemmSet& fitted = *result.calibration.find_gemm("bf16");
  CHECK(read.accelerator == "h100-sxm5-80gb");
  REQUIRE(set.fit.has_value());
  CHECK(set.fit->rows == fitted.fit->rows);
  CHECK(set.fit->left_out->p90 == fitted.fit->left_out->p90);
  CHECK(set.fit->residual_p90 == fitted.fit->residual_p90);
  for (const cost::GemmShape& shape : {cost::GemmShape{.m = 4096, .n = 4096, .k = 4096, .harness = true},
                                       cost::GemmShape{.m = 128, .n = 12288, .k = 512, .harness = true}}) {
    CHECK(cost::gemm_time(shape, set.parameters, read.rates(set)).total_s ==
          Approx(cost::gemm_time(shape, fitted.parameters, result.calibration.rates(fitted)).total_s).epsilon(1e-9));
  }
  // What was not measured is the base's.
  CHECK(read.flash_attention.size() == result.calibration.flash_attention.size());
  CHECK(read.find_gemm("fp8") != nullptr);
}

TEST_CASE("what was measured takes the place of other releases' libraries", "[calibrate]") {
  if (!can_fit()) return;
  const auto libraries_of = [](const Result& result) {
    const auto& all = result.calibration.libraries;
    const auto found =
        std::find_if(all.begin(), all.end(), [](const auto& each) { return each.first == "transformer-engine-2"; });
    REQUIRE(found != all.end());
    return found->second;
  };
  const MeasurementFile file = products(1.2);  // in bf16
  const cost::Libraries left = libraries_of(calibrate(shipped(), {&file, 1}, {}));
  REQUIRE(left.gemm.size() == 1);
  CHECK(left.gemm.front().type == "fp8");
  CHECK_FALSE(left.flash_attention.empty());
  CHECK_FALSE(left.kernels.empty());
  CHECK(left.kernels.front().provenance.evidence == cost::Evidence::fitted);

  MeasurementFile elsewhere = file;
  for (Measurement& row : elsewhere.rows) row.device = "h200-sxm-141gb";
  const cost::Libraries carried = libraries_of(calibrate(shipped(), {&elsewhere, 1}, {.base = "h100-sxm5-80gb"}));
  CHECK(carried.kernels.front().provenance.evidence == cost::Evidence::assumed);
  CHECK(carried.flash_attention.front().provenance.evidence == cost::Evidence::assumed);
  CHECK(carried.gemm.front().provenance.evidence == cost::Evidence::assumed);
}

TEST_CASE("few products fit few parameters, fewer none", "[calibrate]") {
  if (!can_fit()) return;
  MeasurementFile file = products(1.1);
  file.rows.resize(30);
  const FamilyResult few = family(calibrate(shipped(), {&file, 1}, {}), "gemm");
  CHECK(few.parameters.size() == 3);  // efficiencies and the launch floor
  file.rows.resize(5);
  const std::string refused = complaints([&] { calibrate(shipped(), {&file, 1}, {}); });
  CHECK(contains(refused, "made-up.csv:7:1: error: gemm bf16: 5 rows, a fit needs 12 (measure more shapes)"));
}

TEST_CASE("another accelerator's base is marked as assumed", "[calibrate]") {
  if (!can_fit()) return;
  const MeasurementFile file = products(1.0, 4096);
  const Result result = calibrate(shipped(), {&file, 1}, {.accelerator = "", .base = "b200-sxm-180gb"});
  CHECK(result.calibration.accelerator == "h100-sxm5-80gb");
  CHECK(result.calibration.machine.sm_count == 132.0);
  CHECK(result.calibration.find_gemm("bf16")->provenance.evidence == cost::Evidence::fitted);
  CHECK(result.calibration.find_gemm("fp8")->provenance.evidence == cost::Evidence::assumed);
  CHECK(contains(result.calibration.transfer_provenance.source, "b200"));
  CHECK(!result.calibration.transfers.domain.fits.empty());
}

TEST_CASE("which accelerator is meant must be clear", "[calibrate]") {
  if (!can_fit()) return;
  MeasurementFile file = products(1.0, 4096);
  file.rows.back().device = "NVIDIA H200";
  CHECK(contains(complaints([&] { calibrate(shipped(), {&file, 1}, {}); }), "several accelerators"));
  CHECK(contains(complaints([&] { calibrate(shipped(), {&file, 1}, {.accelerator = "h100-sxm"}); }), "--gpu"));
  CHECK(contains(complaints([&] {
                   calibrate(shipped(), {&file, 1}, {.accelerator = "a100-sxm4-80gb"});
                 }),
                 "no row was measured on a100-sxm4-80gb"));
  for (Measurement& row : file.rows) row.device = "Prototype";
  CHECK(contains(complaints([&] { calibrate(shipped(), {&file, 1}, {}); }), "none of the devices is known: Prototype"));
  // 3 of M, 4 of N and 4 of K up to 4096.
  CHECK(family(calibrate(shipped(), {&file, 1}, {.accelerator = "h100-sxm5-80gb"}), "gemm").record.rows == 48);
  CHECK(contains(complaints([&] {
                   calibrate(shipped(), {&file, 1}, {.accelerator = "h100-sxm5-80gb", .base = "none"});
                 }),
                 "there is no calibration 'none'"));
}

TEST_CASE("a device that is not in the list is added as the refusal says", "[calibrate]") {
  if (!can_fit()) return;
  MeasurementFile file = products(1.0, 4096);
  for (Measurement& row : file.rows) row.device = "NVIDIA Abacus X1 (96GB)";
  const std::string refused = complaints([&] { calibrate(shipped(), {&file, 1}, {}); });
  CHECK(contains(refused, "`NAME: [NVIDIA Abacus X1 (96GB)]` to configs/devices/names.yaml"));
  CHECK(contains(refused, "accelerators/abacus-x1-96gb.yaml"));
  CHECK(contains(
      complaints([&] {
        calibrate(shipped(), {&file, 1}, {.accelerator = "Abacus X1", .base = ""});
      }),
      "no accelerator is called 'Abacus X1' (`cairn config list accelerators` lists them. A new one: 1. copy the "
      "nearest file of configs/accelerators to accelerators/abacus-x1.yaml"));
  const cairn::test::TemporaryFolder folder;
  const std::filesystem::path configs = std::filesystem::path(cairn::testing::source_dir()) / "configs";
  std::filesystem::create_directory(folder.path() / "accelerators");
  std::filesystem::copy_file(configs / "accelerators" / "h100-sxm5-80gb.yaml",
                             folder.path() / "accelerators" / "abacus-x1-96gb.yaml");
  const Result result =
      calibrate(config::Loader({folder.path(), configs}), {&file, 1}, {.accelerator = "", .base = "h100-sxm5-80gb"});
  CHECK(result.accelerator == "abacus-x1-96gb");
  CHECK(family(result, "gemm").record.rows == static_cast<std::int64_t>(file.rows.size()));
  for (Measurement& row : file.rows) row.device.clear();
  CHECK(contains(complaints([&] { calibrate(shipped(), {&file, 1}, {}); }), "the files name no device"));
}

TEST_CASE("a rate above what a link can carry is refused with its lines", "[calibrate]") {
  if (!can_fit()) return;
  // An H100's link: 450 GB/s one way. 1 GiB over 8 ranks at a busbw of B takes c x 1 GiB / B, c = 7/4 of an all-reduce
  // and 7/8 of a gather; an all-reduce in the switch may come to twice the link.
  constexpr double k_gib = 1073741824.0, k_link = 450e9;
  const auto refusal = [&](const char* kind, double share, double of_link) {
    MeasurementFile file{.file = "messages.txt"};
    for (const int line : {14, 15, 16, 18}) {
      const double x = share * k_gib;
      file.rows.push_back({.kind = kind,
                           .bytes = k_gib,
                           .ranks = 8,
                           .time = time_of(x / (of_link * k_link)),
                           .device = "H100 80GB HBM3",
                           .line = line});
    }
    return complaints([&] { calibrate(shipped(), {&file, 1}, {}); });
  };
  // Four rows of one size are too few for a fit: that is what a possible rate is refused for.
  CHECK(contains(refusal("all_reduce", 1.75, 1.99), "a fit needs"));
  CHECK(contains(refusal("all_reduce", 1.75, 2.02),
                 "messages.txt:14:1: error: all_reduce of 8 ranks at a busbw of 909 GB/s, but a "
                 "link carries 450 GB/s, at most twice that where a switch adds up; lines 14 to 16, 18"));
  for (const char* kind : {"all_gather", "reduce_scatter", "all_to_all"}) {
    CHECK(contains(refusal(kind, 0.875, 0.99), "a fit needs"));
    CHECK(contains(refusal(kind, 0.875, 1.01),
                   "at a busbw of 454 GB/s, but a link carries 450 GB/s; lines 14 to 16, 18"));
  }
  for (const char* kind : {"broadcast", "send_recv"}) {
    CHECK(contains(refusal(kind, 1.0, 0.99), "a fit needs"));
    CHECK(contains(refusal(kind, 1.0, 1.01), "but a link carries 450 GB/s; lines"));
  }
}

TEST_CASE("what keeps rows from a fit comes with its own remedy", "[calibrate]") {
  if (!can_fit()) return;
  MeasurementFile file{.file = "messages.txt"};
  for (double bytes = 1024.0; bytes < 1e6; bytes *= 2.0)
    file.rows.push_back(
        {.kind = "all_gather", .bytes = bytes, .ranks = 8, .time = time_of(20e-6), .device = "MI300X", .line = 9});
  // Its calibration states no link: nothing was measured on it.
  CHECK(contains(complaints([&] {
                   calibrate(shipped(), {&file, 1}, {});
                 }),
                 "which bandwidths are relative to (state it in a copy of the base, and name the copy with --base)"));
  file.rows.resize(3);
  for (Measurement& row : file.rows) row.device = "H100 80GB HBM3";
  CHECK(contains(complaints([&] {
                   calibrate(shipped(), {&file, 1}, {});
                 }),
                 "a fit needs 8 message sizes (measure more shapes)"));
}

TEST_CASE("memory-bound kernels, launches and messages", "[calibrate]") {
  if (!can_fit()) return;
  // Memory: 3.35 TB/s at 0.9, 2.2 us of gap. Launches: 5 us, then 1.9 us each.
  MeasurementFile file{.file = "probe.json"};
  const auto add = [&](std::string kind, std::vector<std::pair<std::string, std::int64_t>> shape, double bytes,
                       std::int64_t ranks, double seconds) {
    file.rows.push_back({.kind = std::move(kind),
                         .type = "bf16",
                         .shape = std::move(shape),
                         .bytes = bytes,
                         .ranks = ranks,
                         .time = time_of(seconds),
                         .cache = measure::CacheState::cold,
                         .device = "H100 80GB HBM3",
                         .source = "made up",
                         .line = 1});
  };
  for (const char* kind : {"copy", "rmsnorm", "adam"})
    for (double bytes = 1e5; bytes < 2e9; bytes *= 10.0) add(kind, {}, bytes, 1, 2.2e-6 + bytes / (0.9 * 3.35e12));
  for (const std::int64_t kernels : {1, 10, 100, 1000})
    add("launch", {{"kernels", kernels}}, 0.0, 1, 5e-6 + 1.9e-6 * static_cast<double>(kernels));
  // Messages of 4 ranks, gathered: 12 us + x/300 GB/s, x = 3/4 of the buffer.
  for (double bytes = 1024.0; bytes < 2e9; bytes *= 4.0) add("all_gather", {}, bytes, 4, 12e-6 + 0.75 * bytes / 300e9);
  const Result result = calibrate(shipped(), {&file, 1}, {});
  const FamilyResult& memory = family(result, "memory-bound");
  CHECK(parameter(memory, "efficiency") == Approx(0.9).epsilon(0.01));
  CHECK(parameter(memory, "gap") == Approx(2.2e-6).epsilon(0.02));
  CHECK(memory.record.left_out->median < 0.01);
  CHECK(parameter(family(result, "launch"), "gap") == Approx(1.9e-6).epsilon(0.01));
  CHECK(result.calibration.gap_s == Approx(1.9e-6).epsilon(0.01));
  const FamilyResult& gather = family(result, "all-gather");
  CHECK(gather.type == "4 ranks");
  CHECK(gather.record.in_sample.median < 0.03);
  // The written law prices what was measured: 64 MiB in 12 us + 50.33 MB at 300 GB/s = 179.8 us.
  const cost::DomainLaws& domain = result.calibration.transfers.domain;
  const cost::TransferLinks links{.intra = {.bandwidth = domain.link_bandwidth, .latency = domain.link_latency_s}};
  const cost::TransferTime priced =
      cost::transfer_time(cost::Collective::all_gather, 67108864.0, {4, 4}, links, result.calibration.transfers);
  CHECK(priced.basis == cost::Basis::measured);
  CHECK(priced.total_s == Approx(179.8e-6).epsilon(0.04));
}

TEST_CASE("the links of a base may be of any speed", "[calibrate]") {
  if (!can_fit()) return;
  const std::filesystem::path configs = std::filesystem::path(cairn::testing::source_dir()) / "configs";
  std::ifstream h100(configs / "calibration" / "h100-sxm5-80gb.yaml");
  std::string base(std::istreambuf_iterator<char>(h100), {});
  const std::string stated = "link_bandwidth: 450 GB/s";
  REQUIRE(contains(base, stated));
  const auto [words, link] = GENERATE(table<std::string, double>({{"1 MB/s", 1e6}, {"10000 TB/s", 1e16}}));
  base.replace(base.find(stated), stated.size(), "link_bandwidth: " + words);
  const cairn::test::TemporaryFolder folder;
  folder.write("calibration/mine.yaml", base);
  // Gathered by 4 ranks: 12 us + x / (2/3 of the link), x = 3/4 of the buffer.
  const auto seconds = [link = link](double bytes) { return 12e-6 + 0.75 * bytes / (link * 2.0 / 3.0); };
  MeasurementFile file{.file = "messages.txt"};
  for (double bytes = 1024.0; bytes < 2e9; bytes *= 4.0)
    file.rows.push_back({.kind = "all_gather",
                         .type = "bf16",
                         .bytes = bytes,
                         .ranks = 4,
                         .time = time_of(seconds(bytes)),
                         .device = "H100 80GB HBM3",
                         .source = "made up",
                         .line = 1});
  const Result result =
      calibrate(config::Loader({folder.path(), configs}), {&file, 1}, {.accelerator = "", .base = "mine"});
  CHECK(family(result, "all-gather").record.in_sample.median < 0.03);
  const cost::DomainLaws& domain = result.calibration.transfers.domain;
  CHECK(domain.link_bandwidth == link);
  const cost::TransferLinks links{.intra = {.bandwidth = link, .latency = domain.link_latency_s}};
  const double priced =
      cost::transfer_time(cost::Collective::all_gather, 67108864.0, {4, 4}, links, result.calibration.transfers)
          .total_s;
  CHECK(priced == Approx(seconds(67108864.0)).epsilon(0.04));
}

}  // namespace cairn::calibrate
