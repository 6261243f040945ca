#include "cairn/attention/batch.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "evaluation.h"

namespace cairn::attention {
namespace {

constexpr const char* k_group_scheme = "ulysses";
constexpr const char* k_ring_scheme = "zigzag";

double number(std::int64_t value) { return static_cast<double>(value); }

class Fit {
 public:
  explicit Fit(const BatchRequest& request)
      : request_(request),
        ranks_(request.pool.context_ranks()),
        longest_(*std::max_element(request.lengths.begin(), request.lengths.end())) {}

  sequence::SequenceWork work() {
    const double whole = alone(2 * half()), part = alone(half());
    const double n = number(half());
    const double a = std::max(0.0, (whole - 2.0 * part) / (2.0 * n * n));
    return {.quadratic = a, .linear = std::max(0.0, part / n - a * n)};
  }

  sequence::GroupCosts groups(const sequence::SequenceWork& work) {
    sequence::GroupCosts costs{
        .work = work,
        .degrees = {{.ranks = 1}},
        .memory = {.activation = core::k_byte, .capacity = core::Bytes::from_base(number(request_.tokens_per_rank))}};
    for (std::int64_t d = 2; d <= ranks_; d *= 2) {
      const Request request = with_tokens(d);
      const Way way = evaluated(request, k_group_scheme, {.head_ranks = d});
      if (!way.stands()) continue;
      const double tokens = number(request.tokens);
      const double each = received(way) * number(d * d) / (number(d - 1) * tokens);
      costs.exchanged = core::Bytes::from_base(std::max(costs.exchanged.base(), each));
      const double shared = (work.quadratic * tokens + work.linear) * tokens / number(d);
      const double beyond = std::max(core::to_seconds(way.total()) - shared, core::to_seconds(way.exposed()));
      rates_.push_back({d, number(d) * beyond / tokens});
    }
    for (const auto& [d, per_byte] : rates_)
      costs.degrees.push_back({.ranks = d, .rate = core::BytesPerSecond::from_base(costs.exchanged.base() / per_byte)});
    return costs;
  }

  sequence::RingCosts ring(const sequence::SequenceWork& work) {
    const std::int64_t needed = (longest_ + request_.tokens_per_rank - 1) / request_.tokens_per_rank;
    const std::int64_t d = std::clamp<std::int64_t>(needed, 2, ranks_);
    const Request request = with_tokens(2 * d);
    const Way way = evaluated(request, k_ring_scheme, {.columns = d, .layout = sequence::Layout::zigzag});
    if (!way.stands()) throw core::ConfigurationError("request.lengths", *way.refusal, "take other lengths or heads");
    return {.work = work,
            .circulated = core::Bytes::from_base(received(way) * number(d) / (number(d - 1) * number(request.tokens))),
            .rate = core::BytesPerSecond::from_base(received(way) / core::to_seconds(way.transfers)),
            .tokens_per_rank = request_.tokens_per_rank};
  }

  std::set<std::string> assumptions, warnings;

 private:
  std::int64_t half() const { return std::max<std::int64_t>((longest_ + 1) / 2, 1); }
  // The longest sequence, as long as the ranks can cut.
  Request with_tokens(std::int64_t pieces) const {
    Request request = request_.pool;
    request.tokens = (longest_ + pieces - 1) / pieces * pieces;
    request.sequences = 1;
    return request;
  }

  double alone(std::int64_t tokens) {
    Request request = request_.pool;
    request.tokens = tokens;
    request.sequences = 1;
    Evaluation evaluation(request);
    const double time = core::to_seconds(evaluation.alone());
    note(evaluation);
    return time;
  }
  Way evaluated(const Request& request, const char* scheme, const sequence::Grid& grid) {
    Evaluation evaluation(request);
    Way way = evaluation.priced(evaluation.lowered(sequence::scheme(scheme), grid));
    note(evaluation);
    return way;
  }
  void note(Evaluation& evaluation) {
    for (std::string& each : evaluation.assumptions()) assumptions.insert(std::move(each));
    for (std::string& each : evaluation.warnings()) warnings.insert(std::move(each));
  }
  static double received(const Way& way) { return number(way.received.forward + way.received.backward); }

  const BatchRequest& request_;
  std::int64_t ranks_;
  std::int64_t longest_;
  std::vector<std::pair<std::int64_t, double>> rates_;  // degree, and seconds of exchange per token, times the degree
};

std::optional<sequence::WavedBatch> best_ring(const BatchRequest& request, const sequence::RingCosts& costs) {
  const std::int64_t ranks = request.pool.context_ranks();
  const std::int64_t longest = *std::max_element(request.lengths.begin(), request.lengths.end());
  std::optional<sequence::WavedBatch> best;
  for (std::int64_t d = 1; d <= ranks; ++d) {
    if (ranks % d != 0 || d * request.tokens_per_rank < longest) continue;
    sequence::WavedBatch waves = sequence::waves_of_degree(request.lengths, ranks, d, costs);
    if (!best || waves.time < best->time) best = std::move(waves);
  }
  return best;
}

void check(const BatchRequest& request) {
  if (request.lengths.empty())
    throw core::ConfigurationError("request.lengths", "no sequences", "give a length or more");
  if (const std::int64_t least = *std::min_element(request.lengths.begin(), request.lengths.end()); least < 1)
    throw core::ConfigurationError("request.lengths", fmt::format("a sequence of {} tokens", least), "give at least 1");
  if (request.tokens_per_rank < 1)
    throw core::ConfigurationError("request.tokens_per_rank",
                                   fmt::format("room for {} tokens", request.tokens_per_rank), "give at least 1");
  Request pool = request.pool;
  pool.tokens = std::max(*std::max_element(request.lengths.begin(), request.lengths.end()), pool.context_ranks());
  check(pool);
}

}  // namespace

BatchAnswer share_batch(const BatchRequest& request) {
  check(request);
  const std::int64_t ranks = request.pool.context_ranks();
  BatchAnswer answer{.lengths = request.lengths, .ranks = ranks, .tokens_per_rank = request.tokens_per_rank};
  Fit fit(request);
  const sequence::SequenceWork work = fit.work();
  answer.group_costs = fit.groups(work);
  answer.ring_costs = fit.ring(work);
  answer.groups = sequence::share_in_groups(request.lengths, ranks, answer.group_costs);
  answer.one_degree = sequence::by_one_degree(request.lengths, ranks, answer.group_costs);
  answer.waves = sequence::share_in_waves(request.lengths, ranks, answer.ring_costs);
  answer.one_ring = best_ring(request, answer.ring_costs);
  answer.assumptions.assign(fit.assumptions.begin(), fit.assumptions.end());
  answer.warnings.assign(fit.warnings.begin(), fit.warnings.end());
  return answer;
}

}  // namespace cairn::attention
