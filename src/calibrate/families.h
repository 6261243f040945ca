// One function per family of measurements: fits its rows and puts the parameters into the calibration.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cairn/calibrate/calibrate.h"
#include "family_fit.h"

namespace cairn::calibrate {

inline constexpr double k_us = 1e-6, k_ns = 1e-9;

using Rows = std::vector<const measure::Measurement*>;

// A member of a parameter structure with its start, bounds and prior.
template <class Structure>
struct FreeParameter {
  FitParameter fit = {};
  double Structure::*member = nullptr;
};

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
