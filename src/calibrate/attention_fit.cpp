#include <algorithm>
#include <set>

#include "cairn/cost/attention.h"
#include "families.h"

namespace cairn::calibrate {
namespace {

using cost::AttentionParameters;
cost::AttentionShape shape_of(const measure::Measurement& row) {
  return {.b = row.extent("b"),
          .s_q = row.extent("s"),
          .s_kv = row.extent("s"),
          .heads = row.extent("hq"),
          .kv_heads = row.extent("hkv"),
          .head_dim = row.extent("d"),
          .causal = row.extent("causal") != 0,
          .harness = true};
}

bool is_whole(const cost::AttentionShape& shape) {
  return shape.b > 0 && shape.s_q > 0 && shape.heads > 0 && shape.kv_heads > 0 && shape.head_dim > 0;
}

}  // namespace

void fit_attention(const Rows& rows, Result& result) {
  Rows serving;
  std::vector<cost::AttentionShape> shapes;
  FamilyProblem problem{.groupings = {{}, {}, {}, {}},
                        .grouped_by = "octaves of S, decades of B Hq, octaves of Hq/Hkv, head sizes"};
  cost::FitRecord ranges;
  for (const measure::Measurement* row : rows) {
    const cost::AttentionShape shape = shape_of(*row);
    if (row->method != measure::Method::serving_operator || !is_whole(shape)) {
      result.drop(is_whole(shape) ? "attention kernels without their framework's call" : "attention of unstated shape",
                  1);
      continue;
    }
    serving.push_back(row);
    shapes.push_back(shape);
    problem.measured_s.push_back(row->time.median_s);
    problem.groupings[0].push_back(octave(static_cast<double>(shape.s_q)));
    problem.groupings[1].push_back(decade(static_cast<double>(shape.b * shape.heads)));
    problem.groupings[2].push_back(
        octave(static_cast<double>(std::max<std::int64_t>(1, shape.heads / shape.kv_heads))));
    problem.groupings[3].push_back(static_cast<int>(shape.head_dim));
    for (const char* extent : {"b", "s", "hq", "hkv", "d"})
      widen(ranges.ranges, extent, static_cast<double>(row->extent(extent)));
  }
  const cost::GemmSet* products = result.calibration.find_gemm("bf16");
  if (serving.size() < k_least_rows || products == nullptr) {
    result.families.push_back(too_few("attention", "bf16", serving.size(), k_least_rows));
    if (serving.size() < rows.size())
      *result.families.back().skipped += "; kernels without their framework's call do not count here";
    return;
  }
  // A form of two units needs two head sizes to tell them apart.
  const AttentionParameters held =
      result.calibration.attention_operator ? result.calibration.attention_operator->parameters : AttentionParameters{};
  std::vector<FreeWhen> conditions{FreeWhen::always};
  if (serving.size() >= k_full_rows) conditions.push_back(FreeWhen::many_rows);
  const auto free = free_numbers(cost::k_attention_numbers, conditions);
  const cost::MachineRates rates = result.calibration.rates(*products);
  problem.parameters = parameters_of(free);
  problem.price = [&](std::span<const double> values, std::span<const std::size_t> which, std::span<double> seconds) {
    const AttentionParameters parameters = with_values(held, free, values);
    for (std::size_t i = 0; i < which.size(); ++i)
      seconds[i] = cost::attention_time(shapes[which[i]], parameters, rates).total_s;
  };
  if (std::set<int>(problem.groupings[3].begin(), problem.groupings[3].end()).size() < 2) problem.groupings.pop_back();
  FamilyFit fit = fit_family(problem);
  fit.record.ranges = std::move(ranges.ranges);
  result.calibration.attention_operator = cost::AttentionSet{
      .provenance = measured_by(serving), .parameters = with_values(held, free, fit.values), .fit = fit.record};
  result.families.push_back(result_of("attention", "bf16", problem.parameters, std::move(fit)));
}

}  // namespace cairn::calibrate
