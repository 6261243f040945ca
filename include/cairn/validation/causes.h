// What the errors of a family of measured runs go with.
//
//   explained = 1 - sum |e_i - median of its group| / sum |e_i - median of all|,  e = predicted / measured - 1
//
// Groups are the rows of one value of a setting: 1 where the setting alone decides the error, 0 where it says nothing.
// A setting with so many values that groups have few rows explains by chance; it takes k_rows_of_group rows a value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cairn::validation {

inline constexpr std::size_t k_rows_of_group = 4;  // on average

// What may decide how far a prediction is off.
struct RowSetting {
  std::string model;
  std::int64_t gpus = 1;
  std::int64_t micro_batch = 1;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::string span;        // the innermost groups that reach beyond a node: tp, cp, dp, pp, none
  double imbalance = 1.0;  // time of the longest stage over the mean of all
};

struct JudgedRow {
  RowSetting setting;
  double measured = 0.0;
  double predicted = 0.0;
  double error() const { return predicted / measured - 1.0; }
};

struct CauseGroup {
  std::string value;
  std::int64_t rows = 0;
  double median = 0.0;  // signed error
};
struct ResidualCause {
  std::string setting;  // micro_batch, tp, pp, span, imbalance, gpus
  double explained = 0.0;
  std::vector<CauseGroup> groups;
};

// One for each setting that the rows vary, the one that explains most first.
std::vector<ResidualCause> residual_causes(std::span<const JudgedRow> rows);

// The error of runs that a user's own runs do not cover: the times of each model are scaled by the factor that is best
// for the others. Where there is one model, of each number of GPUs.
struct NextError {
  std::string by;  // model, gpus
  double mape = 0.0;
};
std::optional<NextError> left_out_error(std::span<const JudgedRow> rows);

}  // namespace cairn::validation
