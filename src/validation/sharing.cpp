#include <map>
#include <string>
#include <vector>

#include "cairn/validation/validate.h"

namespace cairn::validation {

std::vector<SharingScore> sharing_scores(std::span<const ValidatedRow> rows) {
  std::map<std::string, std::vector<double>> errors;
  for (const ValidatedRow& row : rows)
    if (row.error && !row.sharing.empty()) errors[row.sharing].push_back(*row.error);
  std::vector<SharingScore> scores;
  for (const auto& [scheme, all] : errors)
    scores.push_back(
        {.scheme = scheme, .rows = static_cast<std::int64_t>(all.size()), .errors = summarize(all).value()});
  return scores;
}

}  // namespace cairn::validation
