// How well predictions of left-out shapes come on the public samples. Runs where CAIRN_DATA names a folder with
// calibration/{gemm,attention,nccl}.csv; prints the figures with -s.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cairn/calibrate/calibrate.h"
#include "cairn/calibrate/robust_fit.h"
#include "cairn/core/quantile.h"
#include "cairn/measure/read.h"
#include "catch.h"
#include "support/share.h"
#include "support/source_dir.h"

namespace cairn::calibrate {
namespace {

struct Accelerator {
  const char* name;
  const char* base;
};
constexpr Accelerator k_accelerators[] = {{"a100-sxm4-80gb", ""},
                                          {"h100-sxm5-80gb", ""},
                                          {"h200-sxm-141gb", ""},
                                          {"b200-sxm-180gb", ""},
                                          {"gb200-186gb", ""}};
constexpr bool k_all_accelerators = test::k_share == 1;  // what is pooled is pooled over all of them

// The families of `table` on every accelerator, under sanitizers on the first measured; none without the data.
std::vector<std::pair<std::string, FamilyResult>> families(const char* table) {
  std::vector<std::pair<std::string, FamilyResult>> all;
  const char* folder = std::getenv("CAIRN_DATA");
  if (folder == nullptr || !can_fit()) {
    WARN("CAIRN_DATA is not set, or Eigen is absent: left-out accuracy on " << table << " is not checked");
    return all;
  }
  const config::Loader loader({std::filesystem::path(cairn::testing::source_dir()) / "configs"});
  const measure::MeasurementFile file =
      measure::read_measurements(std::filesystem::path(folder) / "calibration" / table);
  std::size_t index = 0;
  for (const Accelerator& accelerator : k_accelerators) {
    bool measured = false;
    for (const measure::Measurement& row : file.rows)
      measured = measured || accelerator_of(loader, row.device) == accelerator.name;
    if (!measured || !test::taken(index++)) continue;
    const Result result = calibrate(loader, {&file, 1}, {.accelerator = accelerator.name, .base = accelerator.base});
    for (const FamilyResult& family : result.families)
      if (!family.skipped) all.emplace_back(accelerator.name, family);
  }
  return all;
}

struct Pooled {
  double median = 0.0;
  double p90 = 0.0;
};
Pooled pooled(const std::vector<std::pair<std::string, FamilyResult>>& all) {
  std::vector<double> errors;
  for (const auto& [name, family] : all) {
    UNSCOPED_INFO(name << " " << family.kind << " " << family.type << ": in sample "
                       << 100 * family.record.in_sample.median << " / " << 100 * family.record.in_sample.p90
                       << " %, left out " << 100 * family.record.left_out->median << " / "
                       << 100 * family.record.left_out->p90 << " %");
    for (const double error : family.left_out_errors) errors.push_back(std::abs(error));
  }
  return {core::quantile(errors, 0.5), core::quantile(errors, 0.9)};
}

}  // namespace

TEST_CASE("products, decades of M, N, K left out", "[calibrate][accuracy]") {
  const auto all = families("gemm.csv");
  if (all.empty()) return;
  for (const auto& [name, family] : all) {
    CAPTURE(name, family.type);
    CHECK(family.parameters.size() <= 12);
    CHECK(family.record.left_out->median <= 0.06);
    CHECK(family.record.left_out->p90 <= 0.18);
  }
  if (!k_all_accelerators) return;
  CHECK(all.size() == 13);
  const Pooled found = pooled(all);
  CAPTURE(found.median, found.p90);
  CHECK(found.median <= 0.04);
  CHECK(found.p90 <= 0.12);
}

TEST_CASE("attention forward, families of sequence and head shapes left out", "[calibrate][accuracy]") {
  const auto all = families("attention.csv");
  if (all.empty() || !k_all_accelerators) return;
  CHECK(all.size() == 4);
  const Pooled found = pooled(all);
  CAPTURE(found.median, found.p90);
  CHECK(found.median <= 0.04);
  CHECK(found.p90 <= 0.10);
}

TEST_CASE("collectives in a node, decades of the message size left out", "[calibrate][accuracy]") {
  const auto all = families("nccl.csv");
  if (all.empty() || !k_all_accelerators) return;
  CHECK(all.size() == 36);
  const Pooled found = pooled(all);
  CAPTURE(found.median, found.p90);
  CHECK(found.median <= 0.05);
  CHECK(found.p90 <= 0.15);
}

TEST_CASE("ranks between the fitted ones, from parameters interpolated", "[calibrate][accuracy]") {
  // All-reduce of 1 MiB to 1 GiB on an A100 node at 2 to 8 ranks, of one source: fitted at 2 and 8, predicted at 3, 5,
  // 6, 7.
  const char* folder = std::getenv("CAIRN_DATA");
  if (folder == nullptr || !can_fit()) {
    WARN("CAIRN_DATA is not set, or Eigen is absent: ranks between fitted ones are not checked");
    return;
  }
  const config::Loader loader({std::filesystem::path(cairn::testing::source_dir()) / "configs"});
  measure::MeasurementFile fitted =
      measure::read_measurements(std::filesystem::path(folder) / "calibration" / "nccl.csv");
  std::erase_if(fitted.rows, [](const measure::Measurement& row) { return row.source != "VIA-Research/vTrain"; });
  measure::MeasurementFile between = fitted;
  const auto is_end = [](const measure::Measurement& row) { return row.ranks == 2 || row.ranks == 8; };
  std::erase_if(fitted.rows, [&](const measure::Measurement& row) { return !is_end(row); });
  std::erase_if(between.rows, is_end);
  REQUIRE(fitted.rows.size() == 44);
  REQUIRE(between.rows.size() == 88);
  cost::TransferLaws laws =
      calibrate(loader, {&fitted, 1}, {.accelerator = "a100-sxm4-80gb", .base = ""}).calibration.transfers;
  const cost::TransferLinks links{
      .intra = {.bandwidth = laws.domain.link_bandwidth, .latency = laws.domain.link_latency_s}};
  for (const cost::TransferForm form : {cost::TransferForm::three_protocols, cost::TransferForm::short_form}) {
    laws.form = form;
    std::vector<double> errors;
    for (const measure::Measurement& row : between.rows) {
      const cost::TransferTime time =
          cost::transfer_time(cost::Collective::all_reduce, row.bytes, {row.ranks, row.ranks}, links, laws);
      CHECK(time.basis == cost::Basis::interpolated);
      errors.push_back(std::abs(time.total_s / row.time.median_s - 1.0));
    }
    const double median = core::quantile(errors, 0.5);
    const double p90 = core::quantile(errors, 0.9);
    CAPTURE(form == cost::TransferForm::short_form, median, p90);
    CHECK(median <= 0.05);
    CHECK(p90 <= 0.15);
  }
}

}  // namespace cairn::calibrate
