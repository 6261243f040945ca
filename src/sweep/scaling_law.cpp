#include "cairn/sweep/scaling_law.h"

#include <cmath>

namespace cairn::sweep {
namespace {

constexpr double k_least_loss = 1.8172;  // E
constexpr double k_of_parameters = 482.01, k_parameters_exponent = 0.3478;
constexpr double k_of_tokens = 2085.43, k_tokens_exponent = 0.3658;
constexpr double k_batch_tokens = 2e8, k_batch_exponent = 0.21;

}  // namespace

double loss(double parameters, double tokens) {
  return k_least_loss + k_of_parameters / std::pow(parameters, k_parameters_exponent) +
         k_of_tokens / std::pow(tokens, k_tokens_exponent);
}

double compute_optimal_tokens(double parameters) {
  const double both = k_parameters_exponent + k_tokens_exponent;
  const double g = std::pow(k_parameters_exponent * k_of_parameters / (k_tokens_exponent * k_of_tokens), 1.0 / both);
  return std::pow(parameters / g, both / k_tokens_exponent) / parameters;
}

double critical_batch_tokens(double loss) { return k_batch_tokens / std::pow(loss, 1.0 / k_batch_exponent); }

double tokens_in_batches(double parameters, double tokens, double batch_tokens) {
  return tokens * (1.0 + batch_tokens / critical_batch_tokens(loss(parameters, tokens)));
}

}  // namespace cairn::sweep
