// Whether predictions choose the layout that measurements choose.
//
// A question is all of an experiment but its strategy: model, batch, machine, kernels. Where several runs answer the same
// one, the chosen is the one with the shortest prediction,
//
//   rank      its place by measured time, 1 the fastest
//   regret    its measured time / the shortest measured - 1: what following the prediction costs
//   tau       ( concordant - discordant ) / pairs: Kendall's rank correlation over the pairs of one question whose
//             measured times differ by more than k_told_apart; nearer ones are not told apart. A pair is concordant where the
//             prediction has the same one ahead, and neither where it has them equal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cairn::validation {

inline constexpr double k_told_apart = 0.03;

struct LayoutRow {
  std::string question;
  std::string label;
  std::int64_t gpus = 0;
  double measured = 0.0;
  double predicted = 0.0;
};

// Of one question with two rows or more.
struct LayoutQuestion {
  std::string chosen;  // labels
  std::string fastest;
  std::int64_t gpus = 0;
  std::int64_t rows = 0;
  std::int64_t rank = 0;
  double regret = 0.0;
  std::int64_t pairs = 0;
  std::int64_t concordant = 0;
  std::int64_t discordant = 0;
};

struct LayoutChoice {
  std::vector<LayoutQuestion> questions = {};  // in the order of their first rows
  std::int64_t rows = 0;
  std::int64_t right = 0;  // questions whose fastest was chosen
  double mean_regret = 0.0;
  double max_regret = 0.0;
  std::int64_t pairs = 0;
  std::optional<double> tau = {};  // empty: no two measured times of a question differ enough
};

// Empty where no question has two rows.
std::optional<LayoutChoice> layout_choice(std::span<const LayoutRow> rows);

}  // namespace cairn::validation
