// Matrix products. Starts are physical defaults; the weak priors are after the published fits (cost::k_gemm_numbers).
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cairn/cost/gemm.h"
#include "families.h"

namespace cairn::calibrate {
namespace {

using cost::GemmParameters;

constexpr double k_half = 0.5;

double bytes_per_element(std::string_view type) { return type.starts_with("fp8") ? 1.0 : 2.0; }

// What is not fitted: the shape of the kernels (waves, depth of a step, splits) from the base, else as on Hopper.
GemmParameters held_parameters(const cost::Calibration& base, const std::string& type) {
  const cost::GemmSet* set = base.find_gemm(type);
  if (set == nullptr) set = base.find_gemm("bf16");
  GemmParameters held = set != nullptr ? set->parameters : GemmParameters{.wave_quantisation = 0.1};
  held.sustained = 1.0;  // benchmarks run short
  if (type == "fp8-block") held.max_split = 1;
  if (type == "bf16") held.quantise_passes = 0.0;
  return held;
}

// Which numbers of cost::k_gemm_numbers the rows determine.
std::vector<FreeWhen> conditions_of(const std::string& type, const GemmParameters& held, std::size_t rows,
                                    measure::Method method) {
  const bool serving = method == measure::Method::serving_operator;
  std::vector<FreeWhen> conditions{FreeWhen::always, serving ? FreeWhen::in_calls : FreeWhen::alone};
  if (serving && type != "bf16") conditions.push_back(FreeWhen::quantising);
  if (rows < k_full_rows) return conditions;
  conditions.push_back(FreeWhen::many_rows);
  if (held.max_split > 1) conditions.push_back(FreeWhen::splitting);
  // Kernels that do not stay resident fill and drain for every tile.
  if (held.wave_quantisation > k_half) conditions.push_back(FreeWhen::refilling);
  return conditions;
}

cost::GemmShape shape_of(const measure::Measurement& row, const std::string& type) {
  return {.m = row.extent("m"),
          .n = row.extent("n"),
          .k = row.extent("k"),
          .input_bytes = bytes_per_element(type),
          .harness = row.method == measure::Method::serving_operator};
}

FamilyResult fit_type(const std::string& type, double peak, const Rows& rows, Result& result) {
  cost::GemmSet set{.type = type, .peak_flops = peak, .provenance = measured_by(rows)};
  const measure::Method method = rows.front()->method;
  const GemmParameters held = held_parameters(result.calibration, type);
  const auto free = free_numbers(cost::k_gemm_numbers, conditions_of(type, held, rows.size(), method));
  const cost::MachineRates rates = result.calibration.rates(set);
  std::vector<cost::GemmShape> shapes;
  FamilyProblem problem{
      .parameters = parameters_of(free), .groupings = {{}, {}, {}}, .grouped_by = "decades of M, N, K"};
  cost::FitRecord ranges;
  for (const measure::Measurement* row : rows) {
    const cost::GemmShape shape = shape_of(*row, type);
    shapes.push_back(shape);
    problem.measured_s.push_back(row->time.median_s);
    const std::pair<const char*, std::int64_t> extents[] = {{"m", shape.m}, {"n", shape.n}, {"k", shape.k}};
    for (std::size_t i = 0; i < std::size(extents); ++i) {
      const auto extent = static_cast<double>(extents[i].second);
      problem.groupings[i].push_back(decade(extent));
      widen(ranges.ranges, extents[i].first, extent);
    }
  }
  problem.price = [&](std::span<const double> values, std::span<const std::size_t> which, std::span<double> seconds) {
    const cost::GemmPricer pricer(with_values(held, free, values), rates);
    for (std::size_t i = 0; i < which.size(); ++i) seconds[i] = pricer.time(shapes[which[i]]).total_s;
  };
  FamilyFit fit = fit_family(problem);
  fit.record.ranges = std::move(ranges.ranges);
  set.parameters = with_values(held, free, fit.values);
  set.parameters.sustained = result.calibration.sustained;
  if (method == measure::Method::kernel) set.parameters.launch_floor_s = set.parameters.gap_s;
  set.fit = fit.record;
  std::vector<cost::GemmSet>& sets = result.calibration.gemm;
  const auto same =
      std::find_if(sets.begin(), sets.end(), [&](const cost::GemmSet& each) { return each.type == type; });
  same == sets.end() ? sets.push_back(set) : void(*same = set);
  return result_of("gemm", type, problem.parameters, std::move(fit));
}

}  // namespace

void fit_gemm(const Rows& rows, const std::function<double(std::string_view type)>& peak_flops, Result& result) {
  // Serving operators and kernels are timed differently; the operators' rows are many and rule where both exist.
  std::map<std::string, std::pair<Rows, Rows>> by_type;
  for (const measure::Measurement* row : rows) {
    const bool whole = row->extent("m") >= 1 && row->extent("n") >= 1 && row->extent("k") >= 1;
    if (!whole || row->cache == measure::CacheState::warm) {  // the form prices operands from memory
      result.drop(whole ? "products with operands in the cache" : "products of unstated shape", 1);
      continue;
    }
    auto& [serving, kernels] = by_type[std::string(cost::gemm_set_type(row->type))];
    (row->method == measure::Method::serving_operator ? serving : kernels).push_back(row);
  }
  for (const auto& [type, both] : by_type) {
    const Rows& chosen = both.first.size() >= k_least_rows ? both.first : both.second;
    result.drop(fmt::format("products of {} timed otherwise than most: in a framework's call, or alone", type),
                both.first.size() + both.second.size() - chosen.size());
    const double peak = peak_flops(type);
    if (peak <= 0.0) {
      result.families.push_back(too_few("gemm", type, both.first.size() + both.second.size(), k_least_rows));
      result.families.back().skipped = "the accelerator's file names no peak for this type";
      result.families.back().remedy = "add it to the file, or leave these rows out";
    } else if (chosen.size() < k_least_rows) {
      result.families.push_back(too_few("gemm", type, std::max(both.first.size(), both.second.size()), k_least_rows));
    } else {
      result.families.push_back(fit_type(type, peak, chosen, result));
    }
  }
}

}  // namespace cairn::calibrate
