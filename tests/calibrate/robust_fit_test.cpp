#include "cairn/calibrate/robust_fit.h"

#include <cmath>
#include <limits>

#include "catch.h"

namespace cairn::calibrate {
namespace {

constexpr double k_free = 1e6;  // a prior this wide weighs nothing

// t = a + b x at x = 1, 2, 4 .. 512.
struct Line {
  std::vector<double> x = {};
  std::vector<double> t = {};
};
Line line(double a, double b) {
  Line result;
  for (double x = 1.0; x < 1000.0; x *= 2.0) {
    result.x.push_back(x);
    result.t.push_back(a + b * x);
  }
  return result;
}

FitProblem problem_of(const Line& data, double prior = k_free) {
  return {.parameters = {{"a", 1.0, 1e-3, 1e3, prior}, {"b", 1.0, 1e-3, 1e3, prior}},
          .rows = data.x.size(),
          .residuals = [&data](std::span<const double> p, std::span<double> r) {
            for (std::size_t i = 0; i < r.size(); ++i) r[i] = std::log((p[0] + p[1] * data.x[i]) / data.t[i]);
          }};
}

}  // namespace

TEST_CASE("a law without noise is found again", "[calibrate]") {
  if (!can_fit()) return;
  const Line data = line(30.0, 0.2);
  const FitResult fit = robust_fit(problem_of(data));
  CHECK(fit.values[0] == Approx(30.0).epsilon(1e-3));
  CHECK(fit.values[1] == Approx(0.2).epsilon(1e-3));
  CHECK(!fit.at_bound[0]);
}

TEST_CASE("an outlier pulls with bounded force", "[calibrate]") {
  if (!can_fit()) return;
  // One of ten measurements is ten times too long. Least squares of the logarithm would move the mean level by a tenth
  // of ln 10 = 26 %; a loss that grows linearly beyond 5 % moves it by far less.
  Line data = line(30.0, 0.2);
  data.t[4] *= 10.0;
  const FitResult fit = robust_fit(problem_of(data));
  CHECK(fit.values[0] == Approx(30.0).epsilon(0.05));
  CHECK(fit.values[1] == Approx(0.2).epsilon(0.05));
}

TEST_CASE("bounds hold, and say so", "[calibrate]") {
  if (!can_fit()) return;
  const Line data = line(30.0, 0.2);
  FitProblem problem = problem_of(data);
  problem.parameters[0].high = 10.0;
  const FitResult fit = robust_fit(problem);
  CHECK(fit.values[0] == Approx(10.0));
  CHECK(fit.at_bound[0]);
  CHECK(!fit.at_bound[1]);
}

TEST_CASE("a parameter that no row depends on stays at its prior", "[calibrate]") {
  if (!can_fit()) return;
  const Line data = line(30.0, 0.2);
  FitProblem problem = problem_of(data);
  problem.parameters.push_back({"idle", 7.0, 1.0, 100.0, 1.0});
  const FitResult fit = robust_fit(problem);
  CHECK(fit.values[2] == Approx(7.0));
  CHECK(fit.values[0] == Approx(30.0).epsilon(1e-3));
}

TEST_CASE("the same problem gives the same bits", "[calibrate]") {
  if (!can_fit()) return;
  Line data = line(30.0, 0.2);
  data.t[3] *= 1.07;
  const FitResult one = robust_fit(problem_of(data, 1.0));
  const FitResult two = robust_fit(problem_of(data, 1.0));
  CHECK(one.values == two.values);
  CHECK(one.objective == two.objective);
}

}  // namespace cairn::calibrate
