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

// The families of `table` on every accelerator; none without the data.
std::vector<std::pair<std::string, FamilyResult>> families(const char* table) {
  std::vector<std::pair<std::string, FamilyResult>> all;
  const char* folder = std::getenv("CAIRN_DATA");
  if (folder == nullptr || !can_fit()) {
    WARN("CAIRN_DATA is not set, or Eigen is absent: left-out accuracy on " << table << " is not checked");
    return all;
  }
  const config::Loader loader({std::filesystem::path(CAIRN_SOURCE_DIR) / "configs"});
  const measure::MeasurementFile file =
      measure::read_measurements(std::filesystem::path(folder) / "calibration" / table);
  for (const Accelerator& accelerator : k_accelerators) {
    bool measured = false;
    for (const measure::Measurement& row : file.rows)
      measured = measured || accelerator_of(loader, row.device) == accelerator.name;
    if (!measured) continue;
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
  CHECK(all.size() == 13);
  for (const auto& [name, family] : all) {
    CAPTURE(name, family.type);
    CHECK(family.parameters.size() <= 12);
    CHECK(family.record.left_out->median <= 0.06);
    CHECK(family.record.left_out->p90 <= 0.18);
  }
  const Pooled found = pooled(all);
  CAPTURE(found.median, found.p90);
  CHECK(found.median <= 0.04);
  CHECK(found.p90 <= 0.12);
}

TEST_CASE("attention forward, families of sequence and head shapes left out", "[calibrate][accuracy]") {
  const auto all = families("attention.csv");
  if (all.empty()) return;
  CHECK(all.size() == 4);
  const Pooled found = pooled(all);
  CAPTURE(found.median, found.p90);
  CHECK(found.median <= 0.04);
  CHECK(found.p90 <= 0.10);
}

TEST_CASE("collectives in a node, decades of the message size left out", "[calibrate][accuracy]") {
  const auto all = families("nccl.csv");
  if (all.empty()) return;
  CHECK(all.size() == 36);
  const Pooled found = pooled(all);
  CAPTURE(found.median, found.p90);
  CHECK(found.median <= 0.05);
  CHECK(found.p90 <= 0.15);
}

}  // namespace cairn::calibrate
