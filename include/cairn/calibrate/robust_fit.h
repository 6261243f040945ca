// Parameters of a price formula from measured times, by minimising a robust sum over the logarithm of the ratio.
//
//   r_i(theta) = log(predicted_i / measured_i),  p_j = exp(theta_j)
//   minimise   sum_i rho(r_i) + sum_j ((theta_j - theta0_j) / s_j)^2 w,   low_j <= p_j <= high_j
//   rho(r) = 2 c^2 (sqrt(1 + (r/c)^2) - 1),  c = 0.05;   w = 0.05^2 0.002 rows
//
// rho is quadratic for errors well below c and linear above: 3 us and 300 ms weigh the same, and an outlier pulls with
// bounded force. The prior is weak (worth a few rows of a thousand); it keeps parameters that the rows cannot tell
// apart where physics puts them. Solved by Levenberg-Marquardt with reweighted residuals and finite differences in
// log space; a parameter at a bound whose step points outwards is held there. Deterministic: no randomness, one order
// of summation.
//
// Source: Levenberg 1944, Marquardt 1963; soft L1: Charbonnier et al. 1994; reweighting: Holland, Welsch 1977.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cairn::calibrate {

struct FitParameter {
  std::string name = {};
  double start = 1.0;  // also the centre of the prior; > 0
  double low = 0.0;    // > 0
  double high = 0.0;
  double prior = 1.0;  // s: width of the prior in natural logarithms; infinity: none
};

struct FitProblem {
  std::vector<FitParameter> parameters = {};
  std::size_t rows = 0;
  // Writes the r_i of `parameters`, in the units of `start`.
  std::function<void(std::span<const double> parameters, std::span<double> residuals)> residuals = {};
};

struct FitResult {
  std::vector<double> values = {};
  std::vector<bool> at_bound = {};  // a parameter at its bound is a message: the rows do not determine it
  double objective = 0.0;
  int iterations = 0;
};

// Whether this build can fit: it needs Eigen.
bool can_fit();

// Valid: at least one row; the residuals are finite within the bounds. Throws core::CapabilityError without Eigen.
FitResult robust_fit(const FitProblem& problem);

}  // namespace cairn::calibrate
