#include "cairn/swarm/answer.h"

#include <algorithm>
#include <numeric>

#include "cairn/core/diagnostics.h"

namespace cairn::swarm {
namespace {

using pipeline::Fraction;

// Ticks in which every time is whole, those of peers of any speed included.
class Ticks {
 public:
  void count(const Fraction& time) { divide_by(time.denominator); }
  // So that `whole` units of work take whole ticks at this speed.
  void count(const Speed& speed, std::int64_t whole) { divide_by(product(speed.numerator, whole)); }
  void divide_by(std::int64_t parts) {
    constexpr std::int64_t k_most = std::int64_t{1} << 40;
    const std::int64_t more = parts / std::gcd(parts, per_unit_);
    if (more > k_most / per_unit_)
      throw core::ConfigurationError("times",
                                     "the times and speeds have no common measure of a size that can be counted with",
                                     "round them to fewer digits");
    per_unit_ *= more;
  }
  std::int64_t per_unit() const { return per_unit_; }
  core::Picoseconds of(const Fraction& time) const { return product(time.numerator, per_unit_ / time.denominator); }
  std::optional<core::Picoseconds> of(const std::optional<Fraction>& time) const {
    return time ? std::optional(of(*time)) : std::nullopt;
  }

 private:
  static std::int64_t product(std::int64_t a, std::int64_t b) {
    constexpr std::int64_t k_most = std::int64_t{1} << 60;  // so that the sum of two can be counted
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result) || result > k_most)
      throw core::ConfigurationError("times", "a time is too long to be counted, or a speed too finely given",
                                     "give fewer digits or a smaller unit");
    return result;
  }

  std::int64_t per_unit_ = 1;
};

// Those of the start, then those that join.
std::vector<Peer> peers_of(const Request& request) {
  std::vector<Peer> peers;
  for (std::size_t stage = 0; stage < request.peers.size(); ++stage)
    for (const Speed& speed : request.peers[stage])
      peers.push_back({.stage = static_cast<std::int32_t>(stage), .speed = speed});
  for (const Request::Joining& each : request.joins) peers.push_back({.speed = each.speed});
  return peers;
}

Ticks ticks_for(const Request& request, const std::vector<Peer>& peers) {
  Ticks ticks;
  constexpr std::int64_t k_fine = 1000;  // of a unit, to which random lives are rounded
  if (request.mean_life) ticks.divide_by(k_fine);
  const pipeline::ExactTimes& times = request.times;
  for (const Fraction& time : {times.forward, times.input_gradient, times.weight_gradient, times.delay})
    ticks.count(time);
  for (const Request::Failing& each : request.failures) ticks.count(each.time);
  for (const Request::Joining& each : request.joins) ticks.count(each.time);
  for (const auto* time : {&request.mean_life, &request.repair, &request.rebalance, &request.migration})
    if (*time) ticks.count(**time);
  const std::int64_t whole = ticks.per_unit();
  for (const Peer& peer : peers)
    if (peer.speed.numerator > 0) ticks.count(peer.speed, whole);
  return ticks;
}

Problem in_ticks(const Request& request, std::vector<Peer> peers, const Ticks& ticks) {
  const std::size_t first = peers.size() - request.joins.size();
  for (std::size_t i = 0; i < request.joins.size(); ++i)
    peers[first + i].joins = std::max<core::Picoseconds>(ticks.of(request.joins[i].time), 1);
  Problem problem{.stages = static_cast<std::int32_t>(request.peers.size()),
                  .micro_batches = request.micro_batches,
                  .forward = ticks.of(request.times.forward),
                  .backward = ticks.of(request.times.input_gradient) + ticks.of(request.times.weight_gradient),
                  .delay = ticks.of(request.times.delay),
                  .peers = std::move(peers),
                  .in_flight = request.in_flight,
                  .mean_life = ticks.of(request.mean_life),
                  .repair = ticks.of(request.repair),
                  .rebalance = ticks.of(request.rebalance),
                  .migration = ticks.of(request.migration).value_or(0),
                  .seed = request.seed};
  for (const Request::Failing& each : request.failures)
    problem.failures.push_back({.peer = each.peer, .time = ticks.of(each.time)});
  return problem;
}

}  // namespace

Answer answer(const Request& request) {
  std::vector<Peer> peers = peers_of(request);
  const Ticks ticks = ticks_for(request, peers);
  Answer answer{.problem = in_ticks(request, std::move(peers), ticks),
                .times = request.times,
                .ticks_per_unit = ticks.per_unit(),
                .unit = request.unit};
  answer.outcome = run(answer.problem);
  return answer;
}

}  // namespace cairn::swarm
