// The forms with the shipped parameters against the public measurements they were fitted on. Runs where the environment
// variable CAIRN_DATA names a folder with calibration/{gemm,attention,nccl}.csv.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/cost/calibration.h"
#include "catch.h"
#include "support/source_dir.h"

namespace cairn::cost {
namespace {

std::optional<std::filesystem::path> data_file(const char* name) {
  const char* folder = std::getenv("CAIRN_DATA");
  if (folder == nullptr) {
    WARN("CAIRN_DATA is not set: accuracy on " << name << " is not checked");
    return std::nullopt;
  }
  return std::filesystem::path(folder) / "calibration" / name;
}

// Fields of a line, quotes respected.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

Calibration shipped(const char* name) {
  return load_calibration(config::Loader({std::filesystem::path(cairn::testing::source_dir()) / "configs"}), name);
}

struct Scores {
  double median = 0.0;
  double p90 = 0.0;
  std::size_t rows = 0;
};

Scores scores(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  const auto at = [&](double q) {
    return 100.0 * errors[static_cast<std::size_t>(q * static_cast<double>(errors.size() - 1))];
  };
  return {at(0.5), at(0.9), errors.size()};
}

Scores gemm_scores(const std::filesystem::path& file, const Calibration& calibration, const char* type,
                   const std::string& gpu, const std::string& dtype) {
  const GemmSet& set = *calibration.find_gemm(type);
  const GemmPricer pricer(set.parameters, calibration.rates(set));
  const double input_bytes = std::string_view(type) == "bf16" ? 2.0 : 1.0;
  std::ifstream in(file);
  std::vector<double> errors;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> row = fields_of(line);
    long m = 0, n = 0, k = 0;
    if (row.size() < 6 || row[1] != gpu || row[3] != dtype) continue;
    if (std::sscanf(row[4].c_str(), "M%ld N%ld K%ld", &m, &n, &k) != 3) continue;
    const double predicted = pricer.time({.m = m, .n = n, .k = k, .input_bytes = input_bytes, .harness = true}).total_s;
    errors.push_back(std::abs(predicted / (std::stod(row[5]) * 1e-3) - 1.0));
  }
  return scores(errors);
}

Scores attention_scores(const std::filesystem::path& file, const Calibration& calibration, const std::string& gpu) {
  const MachineRates rates = calibration.rates(*calibration.find_gemm("bf16"));
  std::ifstream in(file);
  std::vector<double> errors;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> row = fields_of(line);
    long b = 0, s = 0, heads = 0, kv_heads = 0, dim = 0;
    if (row.size() < 6 || row[1] != gpu) continue;
    if (std::sscanf(row[4].c_str(), "B%ld S%ld Hq%ld Hkv%ld D%ld", &b, &s, &heads, &kv_heads, &dim) != 5) continue;
    const AttentionShape shape{
        .b = b, .s_q = s, .s_kv = s, .heads = heads, .kv_heads = kv_heads, .head_dim = dim, .harness = true};
    const double predicted = attention_time(shape, calibration.attention_operator->parameters, rates).total_s;
    errors.push_back(std::abs(predicted / (std::stod(row[5]) * 1e-3) - 1.0));
  }
  return scores(errors);
}

// Errors over the message sizes of one collective, against the median of the repeats.
Scores transfer_scores(const std::filesystem::path& file, const TransferLaws& laws, Collective collective,
                       const std::string& gpu, const std::string& label, long ranks, double link_bandwidth,
                       const std::string& source = "ai-dynamo/aiconfigurator") {
  std::ifstream in(file);
  std::map<double, std::vector<double>> repeats;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> row = fields_of(line);
    if (row.size() < 11 || row[2] != gpu || row[6] != label || row[3] != std::to_string(ranks)) continue;
    if (row[7].empty() || row[8].empty()) continue;  // a bandwidth without its message size
    if (row[0] != source) continue;
    // Integers are reduced by other means; training reduces floating-point numbers.
    const bool reduces = collective == Collective::all_reduce || collective == Collective::reduce_scatter;
    if (reduces && row[1].find("dtype=int") != std::string::npos) continue;
    repeats[std::stod(row[7])].push_back(std::stod(row[8]) * 1e-6);
  }
  const TransferLinks links{.intra = {.bandwidth = link_bandwidth, .latency = 0.6e-6}};
  std::vector<double> errors;
  for (auto& [bytes, times] : repeats) {
    std::sort(times.begin(), times.end());
    const double measured = 0.5 * (times[(times.size() - 1) / 2] + times[times.size() / 2]);
    errors.push_back(std::abs(transfer_time(collective, bytes, {ranks, 8}, links, laws).total_s / measured - 1.0));
  }
  return scores(errors);
}

}  // namespace

TEST_CASE("matrix products: the published in-sample scores", "[cost][accuracy]") {
  const auto file = data_file("gemm.csv");
  if (!file) return;
  struct Case {
    const char* calibration;
    const char* type;
    const char* gpu;
    const char* dtype;
    double median, p90;
  };
  // Scores of an independent fit of a simpler form, median / 90th percentile [%], the latter printed to whole percent:
  // the shipped parameters are no worse.
  const Case cases[] = {{"a100-sxm4-80gb", "bf16", "A100-SXM4-80GB", "bfloat16", 5.4, 16},
                        {"h100-sxm5-80gb", "bf16", "H100-SXM-80GB", "bfloat16", 3.0, 10},
                        {"h200-sxm-141gb", "bf16", "H200-SXM", "bfloat16", 2.9, 9},
                        {"b200-sxm-180gb", "bf16", "B200-SXM", "bfloat16", 4.7, 13},
                        {"h100-sxm5-80gb", "fp8", "H100-SXM-80GB", "fp8", 2.4, 8},
                        {"h100-sxm5-80gb", "fp8-block", "H100-SXM-80GB", "fp8_block", 3.1, 9},
                        {"b200-sxm-180gb", "fp8", "B200-SXM", "fp8", 3.7, 10}};
  for (const Case& expected : cases) {
    const Scores found = gemm_scores(*file, shipped(expected.calibration), expected.type, expected.gpu, expected.dtype);
    CAPTURE(expected.gpu, expected.type, found.median, found.p90);
    CHECK(found.rows == 1500);
    CHECK(found.median <= expected.median + 0.3);
    CHECK(found.p90 <= expected.p90 + 0.8);
  }
}

TEST_CASE("attention: the published in-sample scores", "[cost][accuracy]") {
  const auto file = data_file("attention.csv");
  if (!file) return;
  struct Case {
    const char* calibration;
    const char* gpu;
    double median, p90;
  };
  const Case cases[] = {{"a100-sxm4-80gb", "A100-SXM4-80GB", 0.9, 2},
                        {"h100-sxm5-80gb", "H100-SXM-80GB", 2.2, 6},
                        {"h200-sxm-141gb", "H200-SXM", 2.5, 9},
                        {"b200-sxm-180gb", "B200-SXM", 3.5, 9}};
  for (const Case& expected : cases) {
    const Scores found = attention_scores(*file, shipped(expected.calibration), expected.gpu);
    CAPTURE(expected.gpu, found.median, found.p90);
    CHECK(found.rows == 1200);
    CHECK(found.median <= expected.median + 0.3);
    CHECK(found.p90 <= expected.p90 + 0.8);
  }
}

TEST_CASE("collectives inside a node: the published in-sample scores", "[cost][accuracy]") {
  const auto file = data_file("nccl.csv");
  if (!file) return;
  struct Case {
    const char* calibration;
    const char* gpu;
    const char* label;
    Collective collective;
    long ranks;
    double median, short_median;
  };
  const Case cases[] = {{"a100-sxm4-80gb", "A100-SXM4-80GB", "all_reduce", Collective::all_reduce, 2, 1.8, 4.1},
                        {"a100-sxm4-80gb", "A100-SXM4-80GB", "all_reduce", Collective::all_reduce, 8, 2.8, 3.6},
                        {"a100-sxm4-80gb", "A100-SXM4-80GB", "all_gather", Collective::all_gather, 8, 2.2, 3.6},
                        {"h100-sxm5-80gb", "H100 80GB HBM3", "all_reduce", Collective::all_reduce, 8, 1.1, 2.4},
                        {"h100-sxm5-80gb", "H100 80GB HBM3", "reduce_scatter", Collective::reduce_scatter, 8, 1.7, 2.8},
                        {"h200-sxm-141gb", "H200", "alltoall", Collective::all_to_all, 8, 2.5, 4.5},
                        {"b200-sxm-180gb", "B200", "all_reduce", Collective::all_reduce, 8, 2.5, 3.6}};
  for (const Case& expected : cases) {
    TransferLaws laws = shipped(expected.calibration).transfers;
    const double link = laws.domain.link_bandwidth;
    const Scores full =
        transfer_scores(*file, laws, expected.collective, expected.gpu, expected.label, expected.ranks, link);
    laws.form = TransferForm::short_form;
    const Scores brief =
        transfer_scores(*file, laws, expected.collective, expected.gpu, expected.label, expected.ranks, link);
    CAPTURE(expected.gpu, expected.label, expected.ranks, full.median, full.p90, brief.median, brief.p90);
    CHECK(full.rows >= 20);
    // The priors that carry a law over sizes it was not fitted to cost up to a point in sample.
    CHECK(full.median <= expected.median + 1.1);
    CHECK(brief.median <= expected.short_median + 1.1);
  }
}

TEST_CASE("collectives at unmeasured rank counts", "[cost][accuracy]") {
  // All-reduce of 1 MiB to 1 GiB on an A100 node of another source (vTrain). Its level differs from the fitted sample
  // by 4-5 % already at the fitted counts 2 and 8; interpolating the parameters to 3, 5, 6, 7 must add nothing to that.
  const auto file = data_file("nccl.csv");
  if (!file) return;
  TransferLaws laws = shipped("a100-sxm4-80gb").transfers;
  laws.form = TransferForm::short_form;
  const auto error = [&](long ranks) {
    const Scores found = transfer_scores(*file, laws, Collective::all_reduce, "A100 SXM", "all_reduce", ranks, 300e9,
                                         "VIA-Research/vTrain");
    CHECK(found.rows == 22);
    return found.median;
  };
  const double at_fitted = std::max(error(2), error(8));
  CHECK(at_fitted < 6.0);
  for (const long ranks : {3, 5, 6, 7}) {
    CAPTURE(ranks, at_fitted);
    CHECK(error(ranks) <= at_fitted);
  }
}

TEST_CASE("all-reduces beyond the measured range: the law goes on at its last bandwidth", "[cost][accuracy]") {
  // Fitted up to 512 MiB; another source measured eight H100 up to 16 GiB.
  const auto file = data_file("nccl.csv");
  if (!file) return;
  const TransferLaws laws = shipped("h100-sxm5-80gb").transfers;
  const TransferLinks links{.intra = {.bandwidth = 450e9, .latency = 0.6e-6}};
  std::ifstream in(*file);
  int rows = 0;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> row = fields_of(line);
    if (row.size() < 11 || row[0] != "NVIDIA/dgxc-benchmarking" || row[3] != "8" || row[7].empty()) continue;
    const double bytes = std::stod(row[7]);
    if (bytes <= 536870912.0) continue;
    const double predicted = transfer_time(Collective::all_reduce, bytes, {8, 8}, links, laws).total_s;
    CAPTURE(bytes);
    CHECK(predicted / (std::stod(row[8]) * 1e-6) == Approx(1.0).margin(0.05));
    ++rows;
  }
  CHECK(rows == 5);
}

TEST_CASE("two nodes: the network rules a large all-reduce", "[cost][accuracy]") {
  // 16 A100 in two nodes with 50 GB/s each; the fabric was fitted on these rows,
  // median 3.3, 90th percentile 11 % in an independent fit of the outer law alone.
  const auto file = data_file("nccl.csv");
  if (!file) return;
  const config::Loader loader({std::filesystem::path(cairn::testing::source_dir()) / "configs"});
  TransferLaws laws = shipped("a100-sxm4-80gb").transfers;
  laws.fabric = load_fabrics(loader).find("efa-a100")->laws;
  const TransferLinks links{.intra = {.bandwidth = 300e9, .latency = 0.6e-6},
                            .inter = {.bandwidth = 50e9 / 8, .latency = 15e-6},
                            .adapters = 0.5};
  std::ifstream in(*file);
  std::vector<double> errors;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> row = fields_of(line);
    if (row.size() < 11 || row[2] != "A100-SXM-80GB (p4de)" || row[3] != "16") continue;
    const double predicted = transfer_time(Collective::all_reduce, std::stod(row[7]), {16, 8}, links, laws).total_s;
    errors.push_back(std::abs(predicted / (std::stod(row[8]) * 1e-6) - 1.0));
  }
  const Scores found = scores(errors);
  CAPTURE(found.median, found.p90);
  CHECK(found.rows == 29);
  CHECK(std::abs(found.median - 3.3) <= 0.3);
  CHECK(std::abs(found.p90 - 11.0) <= 0.8);
}

}  // namespace cairn::cost
