#include "evaluation.h"

#include <algorithm>
#include <set>

#include "cairn/attention/layer.h"
#include "cairn/plan/layer.h"
#include "cairn/predict/bounds/lower_bounds.h"
#include "cairn/predict/evaluate/analytic.h"

namespace cairn::attention {
namespace {

using pebble::AttentionPass;

core::Picoseconds sum_of(const program::Block& block, const predict::BlockPrices& prices, program::StepKind kind) {
  core::Picoseconds sum = 0;
  for (const program::Step& step : block.steps)
    if (step.kind == kind && step.work >= 0) sum += prices[static_cast<std::size_t>(step.work)].duration;
  return sum;
}

}  // namespace

Evaluation::Evaluation(const Request& request)
    : request_(request),
      problem_(request.problem()),
      layer_(attention_layer({.heads = problem_.heads,
                              .kv_heads = problem_.kv_heads,
                              .head_dim = problem_.head_dim,
                              .causal = problem_.mask == sequence::Mask::causal,
                              .kernel = request.kernel})),
      pricer_(request.calibration, request.accelerator, request.network, host_) {}

Evaluation::Lowered Evaluation::lowered(const sequence::Scheme& scheme, const sequence::Grid& grid) const {
  Lowered result{.way = {.scheme = &scheme, .grid = grid, .refusal = scheme.refusal(problem_, grid)}};
  Way& way = result.way;
  if (!way.stands()) return result;
  const RankFigures figures = rank_figures(problem_, scheme, grid, request_.backward);
  way.sent = figures.sent;
  way.received = figures.received;
  way.messages = figures.messages;
  way.memory = figures.memory;
  way.balance = figures.balance;
  way.bound.forward = ratio(way.received.forward, figures, AttentionPass::forward);
  if (request_.backward) way.bound.backward = ratio(way.received.backward, figures, AttentionPass::backward);
  result.blocks =
      blocks({.axis = program::Axis::context, .size = grid.ranks(), .stride = request_.tensor_ranks}, &scheme, grid);
  return result;
}

Way Evaluation::priced(Lowered lowered) {
  if (!lowered.way.stands()) return std::move(lowered.way);
  const Run done = run(lowered.blocks);
  lowered.way.time = done.time;
  lowered.way.compute = done.compute;
  lowered.way.transfers = done.transfers;
  return std::move(lowered.way);
}

core::Picoseconds Evaluation::alone() {
  const Run done = run(blocks({.axis = program::Axis::context}, nullptr, {}));
  return done.time.forward + done.time.backward;
}

double Evaluation::bound_bytes(AttentionPass pass) const {
  return bound(pass).words * static_cast<double>(problem_.wire.operand);
}

std::vector<std::string> Evaluation::assumptions() {
  std::set<std::string> all = pricer_.assumptions();
  all.insert(request_.assumptions.begin(), request_.assumptions.end());
  const std::set<std::string>& kernels = pricer_.shards().assumptions();
  all.insert(kernels.begin(), kernels.end());
  const cost::Provenance& transfers = request_.calibration.transfer_provenance;
  if (transfers.evidence == cost::Evidence::assumed) all.insert("transfers: " + transfers.source);
  all.insert("the attention operator alone, on idle streams; the host issues kernels ahead of the device");
  return {all.begin(), all.end()};
}

std::vector<std::string> Evaluation::warnings() {
  std::vector<std::string> all = pricer_.extrapolation().sentences();
  for (std::string& each : pricer_.shards().extrapolation().sentences()) all.push_back(std::move(each));
  return all;
}

std::vector<program::Block> Evaluation::blocks(const program::Group& group, const sequence::Scheme* scheme,
                                               const sequence::Grid& grid) const {
  plan::LayerOptions options{
      .sizes = {.batch = problem_.sequences, .sequence = problem_.tokens / group.size},
      .rules = {},
      .groups = {},
      .context = {.group = group,
                  .sharing = {.scheme = scheme, .grid = grid, .fp32_gradients = request_.fp32_gradients}},
      .recompute = {}};
  options.behaviour.eager_joins = request_.eager_joins;
  const plan::LayerLowering lowering(layer_, std::move(options));
  std::vector<program::Block> passes;
  passes.push_back(lowering.forward());
  if (request_.backward) passes.push_back(lowering.backward());
  return passes;
}

Evaluation::Run Evaluation::run(const std::vector<program::Block>& blocks) {
  predict::PriceTable prices(pricer_);
  predict::Analytic analytic(prices);
  Run result;
  // Calls of two lanes may take the same links.
  const auto time = [&](const program::Block& block) {
    return std::max(analytic.alone(block), predict::busiest_links(block, pricer_));
  };
  result.time.forward = time(blocks.front());
  if (request_.backward) result.time.backward = time(blocks.back());
  for (const program::Block& block : blocks) {
    result.compute += sum_of(block, prices.of(block), program::StepKind::compute);
    result.transfers += sum_of(block, prices.of(block), program::StepKind::transfer);
  }
  return result;
}

pebble::ParallelWords Evaluation::bound(AttentionPass pass) const {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  return pebble::attention_exchange_bound({.tokens = number(problem_.tokens),
                                           .width = number(problem_.heads * problem_.head_dim),
                                           .kv_width = number(problem_.kv_heads * problem_.head_dim),
                                           .devices = number(request_.context_ranks()),
                                           .sequences = problem_.sequences},
                                          problem_.mask == sequence::Mask::causal, pass);
}

BoundRatio Evaluation::ratio(std::int64_t received, const RankFigures& figures, AttentionPass pass) const {
  const pebble::ParallelWords least = bound(pass);
  if (!figures.whole_heads) return {.ratio = {}, .premise = "the bound is of whole heads, and ranks split them"};
  if (figures.balance < k_balanced)
    return {.ratio = {}, .premise = "the bound is of equal shares of the pairs, and ranks have unequal ones"};
  if (pass == AttentionPass::backward && !figures.keeps_owned)
    return {.ratio = {}, .premise = "the bound starts from owned tokens, and ranks keep what they gathered forward"};
  if (least.words <= 0.0) return {.ratio = {}, .premise = "ranks could own whole sequences and exchange nothing"};
  return {.ratio = static_cast<double>(received) / (least.words * static_cast<double>(problem_.wire.operand)),
          .premise = least.premise};
}

}  // namespace cairn::attention
