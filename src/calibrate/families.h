// One function per family of measurements: fits its rows and puts the parameters into the calibration.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cairn/calibrate/calibrate.h"
#include "cairn/cost/number.h"
#include "family_fit.h"

namespace cairn::calibrate {

using cost::FreeWhen, cost::k_ns, cost::k_us;

using Rows = std::vector<const measure::Measurement*>;

// A member of a parameter structure with its start, bounds and prior.
template <class Structure>
struct FreeParameter {
  FitParameter fit = {};
  double Structure::*member = nullptr;
};

// What start and bounds of a number are multiplied with, over links of this rate [B/s].
double unit_of(cost::RelativeTo relative_to, double link_bandwidth);

// The numbers of a table that are free under these conditions, in their order. link_bandwidth: of transfers.
template <class Structure, std::size_t N>
std::vector<FreeParameter<Structure>> free_numbers(const std::array<cost::Number<Structure>, N>& table,
                                                   const std::vector<FreeWhen>& conditions,
                                                   double link_bandwidth = 0.0) {
  std::vector<FreeParameter<Structure>> free;
  for (const FreeWhen condition : conditions) {
    for (const cost::Number<Structure>& number : table) {
      const cost::FreeRange& range = number.free;
      if (range.when != condition) continue;
      const double unit = unit_of(range.relative_to, link_bandwidth);
      free.push_back({{.name = std::string(number.key),
                       .start = range.start * unit,
                       .low = range.low * unit,
                       .high = range.high * unit,
                       .prior = range.prior},
                      number.member});
    }
  }
  return free;
}

template <class Structure>
std::vector<FitParameter> parameters_of(const std::vector<FreeParameter<Structure>>& free) {
  std::vector<FitParameter> parameters;
  for (const auto& each : free) parameters.push_back(each.fit);
  return parameters;
}

template <class Structure>
Structure with_values(Structure held, const std::vector<FreeParameter<Structure>>& free,
                      std::span<const double> values) {
  for (std::size_t i = 0; i < free.size(); ++i) held.*free[i].member = values[i];
  return held;
}

// The outcome as a family's result; parameters by the names of the fit.
FamilyResult result_of(std::string kind, std::string type, const std::vector<FitParameter>& parameters, FamilyFit fit);
FamilyResult too_few(std::string kind, std::string type, std::size_t rows, std::size_t needed);

// "N timings of SOURCE, ...": what the evidence of a fitted set is.
cost::Provenance measured_by(const Rows& rows);

// `peak_flops`: of the accelerator for the type, 0 where it has no units for it.
void fit_gemm(const Rows& rows, const std::function<double(std::string_view type)>& peak_flops, Result& result);
void fit_attention(const Rows& rows, Result& result);
void fit_memory_bound(const Rows& rows, Result& result);
void fit_launch(const Rows& rows, Result& result);
void fit_collectives(const Rows& rows, Result& result);

bool is_memory_bound(std::string_view kind);
std::optional<cost::Collective> collective_of(std::string_view kind);

}  // namespace cairn::calibrate
