#include "cairn/calibrate/robust_fit.h"

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

#ifdef CAIRN_HAS_EIGEN
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace cairn::calibrate {
namespace {

constexpr double k_scale = 0.05;           // c: errors beyond 5 % count linearly
constexpr double k_prior_per_row = 0.002;  // weight of a prior, in rows of error c, per row
constexpr double k_difference = 1e-3;      // step of the finite differences in log space
constexpr double k_least_decrease = 1e-6;  // relative; smaller steps end the search
constexpr double k_first_damping = 1e-2;
constexpr double k_largest_damping = 1e8;
constexpr int k_iteration_limit = 60;

double loss(double r) { return 2.0 * k_scale * k_scale * (std::sqrt(1.0 + (r / k_scale) * (r / k_scale)) - 1.0); }
double weight(double r) { return 1.0 / std::sqrt(1.0 + (r / k_scale) * (r / k_scale)); }

class Search {
 public:
  explicit Search(const FitProblem& problem)
      : problem_(problem),
        size_(static_cast<Eigen::Index>(problem.parameters.size())),
        low_(size_),
        high_(size_),
        centre_(size_),
        prior_(size_),
        theta_(size_),
        residuals_(static_cast<Eigen::Index>(problem.rows)) {
    for (Eigen::Index j = 0; j < size_; ++j) {
      const FitParameter& parameter = problem.parameters[static_cast<std::size_t>(j)];
      CAIRN_ASSERT(0.0 < parameter.low && parameter.low <= parameter.start && parameter.start <= parameter.high);
      low_[j] = std::log(parameter.low);
      high_[j] = std::log(parameter.high);
      centre_[j] = std::log(parameter.start);
      const double width = parameter.prior;
      prior_[j] = k_scale * k_scale * k_prior_per_row * static_cast<double>(problem.rows) / (width * width);
    }
    theta_ = centre_;
  }

  FitResult run() {
    double objective = evaluate(theta_, residuals_);
    double damping = k_first_damping;
    int iteration = 0;
    for (; iteration < k_iteration_limit; ++iteration) {
      linearise();
      bool moved = false;
      double decrease = 0.0;
      Eigen::VectorXd residuals(residuals_.size());
      while (!moved && damping < k_largest_damping) {
        const Eigen::VectorXd next = step(damping);
        const double value = evaluate(next, residuals);
        moved = value < objective;
        damping = moved ? damping / 5.0 : damping * 4.0;
        if (!moved) continue;
        decrease = objective - value;
        objective = value;
        theta_ = next;
        residuals_ = residuals;
      }
      if (!moved || decrease < k_least_decrease * objective) break;
    }
    FitResult result{.objective = objective, .iterations = iteration};
    for (Eigen::Index j = 0; j < size_; ++j) {
      result.values.push_back(std::exp(theta_[j]));
      result.at_bound.push_back(theta_[j] <= low_[j] || theta_[j] >= high_[j]);
    }
    return result;
  }

 private:
  double evaluate(const Eigen::VectorXd& theta, Eigen::VectorXd& residuals) const {
    std::vector<double> values(static_cast<std::size_t>(size_));
    for (Eigen::Index j = 0; j < size_; ++j) values[static_cast<std::size_t>(j)] = std::exp(theta[j]);
    problem_.residuals(values, {residuals.data(), static_cast<std::size_t>(residuals.size())});
    double sum = 0.0;
    for (const double r : residuals) sum += loss(r);
    return sum + (prior_.array() * (theta - centre_).array().square()).sum();
  }

  // Normal equations of the reweighted problem at theta_.
  void linearise() {
    Eigen::MatrixXd jacobian(residuals_.size(), size_);
    Eigen::VectorXd shifted(residuals_.size());
    for (Eigen::Index j = 0; j < size_; ++j) {
      Eigen::VectorXd theta = theta_;
      const double difference = theta[j] + k_difference <= high_[j] ? k_difference : -k_difference;
      theta[j] += difference;
      evaluate(theta, shifted);
      jacobian.col(j) = (shifted - residuals_) / difference;
    }
    const Eigen::VectorXd weights = residuals_.unaryExpr([](double r) { return weight(r); });
    gradient_ = jacobian.transpose() * weights.cwiseProduct(residuals_) +
                (prior_.array() * (theta_ - centre_).array()).matrix();
    curvature_ = jacobian.transpose() * weights.asDiagonal() * jacobian;
    curvature_.diagonal() += prior_;
  }

  Eigen::VectorXd step(double damping) const {
    Eigen::MatrixXd matrix = curvature_;
    Eigen::VectorXd downhill = -gradient_;
    const double floor = 1e-9 * (curvature_.diagonal().maxCoeff() + 1e-300);
    for (Eigen::Index j = 0; j < size_; ++j) {
      matrix(j, j) += damping * std::max(curvature_(j, j), floor);
      const bool held = (theta_[j] <= low_[j] && downhill[j] <= 0.0) || (theta_[j] >= high_[j] && downhill[j] >= 0.0);
      if (!held) continue;
      matrix.row(j).setZero();
      matrix.col(j).setZero();
      matrix(j, j) = 1.0;
      downhill[j] = 0.0;
    }
    const Eigen::VectorXd next = theta_ + matrix.ldlt().solve(downhill).cwiseMax(-1.0).cwiseMin(1.0);
    return next.cwiseMax(low_).cwiseMin(high_);
  }

  const FitProblem& problem_;
  Eigen::Index size_;
  Eigen::VectorXd low_, high_, centre_, prior_, theta_, residuals_, gradient_;
  Eigen::MatrixXd curvature_;
};

}  // namespace

bool can_fit() { return true; }

FitResult robust_fit(const FitProblem& problem) {
  CAIRN_ASSERT(problem.rows > 0 && !problem.parameters.empty());
  return Search(problem).run();
}

}  // namespace cairn::calibrate

#else

namespace cairn::calibrate {

bool can_fit() { return false; }

FitResult robust_fit(const FitProblem&) {
  throw core::CapabilityError("fitting needs Eigen, which this build was made without");
}

}  // namespace cairn::calibrate

#endif
