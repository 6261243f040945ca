#include <algorithm>
#include <cctype>
#include <numeric>
#include <tuple>
#include <utility>

#include "cairn/core/diagnostics.h"

namespace cairn::core {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Levenshtein's from `a` to `b`, where a digit of `a` that is replaced or dropped counts `lost_digit`.
std::size_t edit_distance(const std::string& a, const std::string& b, std::size_t lost_digit) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const std::size_t lost = is_digit(a[i - 1]) ? lost_digit : 1;
    std::size_t diagonal = row[0];
    row[0] += lost;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : lost);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + lost, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// Letters and digits alone, in lower case.
std::string squeezed(const std::string& text) {
  std::string kept;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      kept += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return kept;
}

// The smaller, the more alike.
using Unlikeness = std::tuple<std::size_t, std::ptrdiff_t>;
Unlikeness unlikeness(const std::string& word, const std::string& candidate) {
  constexpr std::size_t k_other_version = 3;  // slips: llama-3 is nearer to llama-3.1 than to llama-2
  const auto same = std::mismatch(word.begin(), word.end(), candidate.begin(), candidate.end()).first - word.begin();
  return {edit_distance(word, candidate, k_other_version), -same};
}

// The shortest candidate that begins with the word, or else holds it, whatever stands between letters and digits.
std::string holding(const std::string& word, const std::vector<std::string>& candidates) {
  constexpr std::size_t k_least = 3;  // letters and digits
  const std::string wanted = squeezed(word);
  if (wanted.size() < k_least) return {};
  std::string best;
  std::pair<bool, std::size_t> best_rank;
  for (const std::string& candidate : candidates) {
    const std::size_t at = squeezed(candidate).find(wanted);
    if (at == std::string::npos) continue;
    const std::pair<bool, std::size_t> rank{at > 0, candidate.size()};
    if (!best.empty() && rank >= best_rank) continue;
    best = candidate;
    best_rank = rank;
  }
  return best;
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  const std::size_t most = 1 + word.size() / 4;
  std::string best;
  Unlikeness least;
  for (const std::string& candidate : candidates) {
    if (edit_distance(word, candidate, 1) > most) continue;
    const Unlikeness unlike = unlikeness(word, candidate);
    if (!best.empty() && unlike >= least) continue;
    best = candidate;
    least = unlike;
  }
  return best.empty() ? holding(word, candidates) : best;
}

std::vector<std::string> nearest_first(const std::string& word, std::vector<std::string> candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [&](const std::string& a, const std::string& b) {
    return unlikeness(word, a) < unlikeness(word, b);
  });
  return candidates;
}

}  // namespace cairn::core
