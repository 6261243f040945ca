#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "cairn/sequence/asked_grid.h"
#include "cairn/sequence/grid_choice.h"
#include "cairn/sequence/scheme.h"
#include "resolving.h"

namespace cairn::experiment {
namespace {

// The attention of one sequence and of the heads of one rank of tp. Of latent attention the heads are what counts, and
// where keys are repeated to all of them.
sequence::Problem shared_attention(const Resolving& r) {
  const models::TransformerConfig& model = r.plan.model;
  const std::int64_t tp = r.settings.strategy.tp;
  const std::int64_t heads = model.heads / tp;
  const bool all_heads = model.mla || r.parts.software.framework.kernels.repeats_heads();
  return {.tokens = r.settings.training.seq_len,
          .heads = heads,
          .kv_heads = all_heads ? heads : model.kv_head_count() / tp,
          .head_dim = std::max<std::int64_t>(model.head_size(), 1),
          .mask = model.causal ? sequence::Mask::causal : sequence::Mask::full};
}

sequence::AskedGrid asked_grid(const AttentionChoice& asked) {
  sequence::AskedGrid grid{.head_ranks = asked.heads, .window = asked.window, .heads_inner = asked.heads_inner};
  if (!asked.grid.empty()) grid.sides = sequence::Sides{.rows = asked.grid.at(0), .columns = asked.grid.at(1)};
  return grid;
}

// Of grids that can be, the one with most ranks that split heads; then the 2-d shape that exchanges least, and the inner
// ring that fills the fast links' domain.
class Preference {
 public:
  Preference(const Resolving& r, const sequence::Problem& problem)
      : neighbours_(std::max<std::int64_t>(1, r.parts.machine.network.domain() / r.settings.strategy.tp)),
        group_(problem.group()) {}

  bool prefers(const sequence::Grid& grid, const sequence::Grid& to) const {
    if (grid.head_ranks != to.head_ranks) return grid.head_ranks > to.head_ranks;
    if (grid.rows != to.rows) return off_shape(grid) < off_shape(to);
    return off_window(grid) < off_window(to);
  }

 private:
  double off_shape(const sequence::Grid& grid) const {
    const sequence::WholeGrid best = sequence::best_grid(grid.token_ranks(), group_, sequence::GridUse::training);
    return std::abs(std::log(static_cast<double>(grid.rows) / static_cast<double>(best.rows)));
  }
  std::int64_t off_window(const sequence::Grid& grid) const {
    return std::abs(grid.window - std::min(neighbours_, grid.token_ranks()));
  }
  std::int64_t neighbours_;
  std::int64_t group_;
};

void report_refusal(Resolving& r, const AttentionChoice& asked, const std::optional<std::string>& refusal) {
  const std::int64_t cp = r.settings.strategy.cp;
  if (refusal)
    r.error("strategy.attention", fmt::format("{} over {} ranks: {}", asked.scheme, cp, *refusal),
            "choose another cp, scheme or grid: `cairn attention` compares them");
  else
    r.error("strategy.attention", fmt::format("{} has no such grid of {} ranks", asked.scheme, cp),
            "leave heads, grid, window and heads_inner out, or let their ranks make up cp");
}

}  // namespace

void resolve_attention(Resolving& r) {
  const StrategyChoice& choice = r.settings.strategy;
  if (choice.cp == 1) {
    if (choice.attention) r.warn("strategy.attention: cp is 1, so no ranks share attention");
    return;
  }
  if (r.settings.training.seq_len % choice.cp != 0)
    return r.error(
        "strategy.cp",
        fmt::format("{} does not divide the {} tokens of a sequence", choice.cp, r.settings.training.seq_len),
        fmt::format("choose a divisor of {}", r.settings.training.seq_len));
  if (r.plan.model.heads == 0) return;
  const AttentionChoice asked =
      choice.attention.value_or(AttentionChoice{.scheme = r.parts.software.framework.attention_sharing});
  const sequence::Scheme& scheme = sequence::scheme(asked.scheme);
  const sequence::Problem problem = shared_attention(r);
  const sequence::AskedGrid wanted = asked_grid(asked);
  const Preference preference(r, problem);
  std::optional<sequence::Grid> chosen;
  std::optional<std::string> refusal;
  for (const sequence::Grid& grid : scheme.grids(choice.cp)) {
    if (!wanted.agrees(grid)) continue;
    const std::optional<std::string> why = scheme.refusal(problem, grid);
    if (why)
      refusal = refusal ? refusal : why;
    else if (!chosen || preference.prefers(grid, *chosen))
      chosen = grid;
  }
  if (!chosen) return report_refusal(r, asked, refusal);
  r.plan.strategy.attention = {
      .scheme = &scheme,
      .grid = *chosen,
      .fp32_gradients = asked.fp32_gradients.value_or(r.parts.software.framework.attention_fp32_gradients)};
}

}  // namespace cairn::experiment
