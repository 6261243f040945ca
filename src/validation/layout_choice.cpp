#include "cairn/validation/layout_choice.h"

#include <algorithm>
#include <map>

namespace cairn::validation {
namespace {

using LayoutRows = std::vector<const LayoutRow*>;

// Of rows that are as long the first.
template <class Time>
const LayoutRow& shortest(const LayoutRows& rows, Time time) {
  return **std::min_element(rows.begin(), rows.end(),
                            [&](const LayoutRow* a, const LayoutRow* b) { return time(*a) < time(*b); });
}

void count_pairs(const LayoutRows& rows, LayoutQuestion& question) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      const bool ordered = rows[i]->measured < rows[j]->measured;
      const LayoutRow& faster = ordered ? *rows[i] : *rows[j];
      const LayoutRow& slower = ordered ? *rows[j] : *rows[i];
      if (slower.measured <= faster.measured * (1.0 + k_told_apart)) continue;
      ++question.pairs;
      if (faster.predicted < slower.predicted) ++question.concordant;
      if (faster.predicted > slower.predicted) ++question.discordant;
    }
}

LayoutQuestion answered(const LayoutRows& rows) {
  const LayoutRow& chosen = shortest(rows, [](const LayoutRow& row) { return row.predicted; });
  const LayoutRow& fastest = shortest(rows, [](const LayoutRow& row) { return row.measured; });
  LayoutQuestion question{.chosen = chosen.label,
                          .fastest = fastest.label,
                          .gpus = chosen.gpus,
                          .rows = static_cast<std::int64_t>(rows.size()),
                          .regret = chosen.measured / fastest.measured - 1.0};
  question.rank = 1 + std::count_if(rows.begin(), rows.end(),
                                    [&](const LayoutRow* row) { return row->measured < chosen.measured; });
  count_pairs(rows, question);
  return question;
}

}  // namespace

std::optional<LayoutChoice> layout_choice(std::span<const LayoutRow> rows) {
  std::vector<LayoutRows> questions;
  std::map<std::string_view, std::size_t> known;
  for (const LayoutRow& row : rows) {
    const auto [place, fresh] = known.try_emplace(row.question, questions.size());
    if (fresh) questions.emplace_back();
    questions[place->second].push_back(&row);
  }
  LayoutChoice choice;
  std::int64_t balance = 0;
  for (const LayoutRows& alike : questions) {
    if (alike.size() < 2) continue;
    const LayoutQuestion& question = choice.questions.emplace_back(answered(alike));
    choice.rows += question.rows;
    choice.right += question.rank == 1 ? 1 : 0;
    choice.mean_regret += question.regret;
    choice.max_regret = std::max(choice.max_regret, question.regret);
    choice.pairs += question.pairs;
    balance += question.concordant - question.discordant;
  }
  if (choice.questions.empty()) return std::nullopt;
  choice.mean_regret /= static_cast<double>(choice.questions.size());
  if (choice.pairs > 0) choice.tau = static_cast<double>(balance) / static_cast<double>(choice.pairs);
  return choice;
}

}  // namespace cairn::validation
