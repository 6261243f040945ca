#include "swarm_answer.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "schedule_times.h"

namespace cairn::cli {
namespace {

using pipeline::Fraction;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

swarm::Speed speed(const std::string& text, const char* option) {
  const Fraction value = pipeline::parse_fraction(text, option);
  return {.numerator = value.numerator, .denominator = value.denominator};
}

bool is_count(const std::string& text) {
  constexpr std::size_t k_most_digits = 6;
  return !text.empty() && text.size() <= k_most_digits && text.find_first_not_of("0123456789") == std::string::npos;
}

// "3": so many at each stage; "1,1/2,0.5": speeds, stage by stage.
std::vector<swarm::Peer> peers_of(const ScheduleArguments& arguments) {
  std::vector<swarm::Peer> peers;
  const std::string& text = arguments.swarm.peers;
  if (text.empty() || is_count(text)) {
    const std::int32_t each = text.empty() ? 1 : std::stoi(text);
    swarm::require_peers(std::int64_t{each} * arguments.stages);
    for (std::int32_t stage = 0; stage < arguments.stages; ++stage)
      for (std::int32_t i = 0; i < each; ++i) peers.push_back({.stage = stage});
    return peers;
  }
  const std::vector<std::string> stages = split(text, '/');
  if (std::ssize(stages) != arguments.stages)
    throw core::ConfigurationError(
        "--peers",
        "there are peers for " + std::to_string(stages.size()) + " stages of " + std::to_string(arguments.stages),
        "one list of speeds per stage, with / between them, or a number for all");
  for (std::int32_t stage = 0; stage < arguments.stages; ++stage)
    for (const std::string& one : split(stages[stage], ','))
      peers.push_back({.stage = stage, .speed = speed(one, "--peers")});
  return peers;
}

// "A@TIME,B@TIME".
std::vector<std::pair<std::string, Fraction>> instants(const std::string& text, const char* option, Times& times) {
  std::vector<std::pair<std::string, Fraction>> list;
  if (text.empty()) return list;
  for (const std::string& one : split(text, ',')) {
    const std::vector<std::string> parts = split(one, '@');
    if (parts.size() != 2 || parts[0].empty())
      throw core::ConfigurationError(option, "'" + one + "' does not say when", "write it as 3@12.5");
    list.emplace_back(parts[0], times.read(parts[1], option));
  }
  return list;
}

// Ticks in which every time is whole, those of peers of any speed included.
class Ticks {
 public:
  void count(const Fraction& time) { divide_by(time.denominator); }
  // So that `whole` units of work take whole ticks at this speed.
  void count(const swarm::Speed& speed, std::int64_t whole) { divide_by(product(speed.numerator, whole)); }
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

// What swarm and the other kinds take.
constexpr std::array k_of_every_kind{"stages", "micro-batches", "forward", "input-grad", "weight-grad",
                                     "p2p",    "svg",           "json",    "csv",        "output"};

bool among(const auto& options, const std::string& name) {
  return std::find(options.begin(), options.end(), name) != options.end();
}

void refuse_other_options(const ScheduleArguments& arguments) {
  for (const std::string& name : arguments.given)
    if (!among(k_of_every_kind, name) && !among(swarm::option_names(), name))
      throw core::ConfigurationError("--" + name, "swarm has no order list that this could belong to", "leave it out");
}

// The times that only swarm has, read before ticks are chosen.
struct SwarmTimes {
  std::vector<std::pair<std::string, Fraction>> failures, joins;
  std::optional<Fraction> mean_life, repair, rebalance, migration;
};

SwarmTimes swarm_times(const SwarmArguments& given, Times& times) {
  const auto optional = [&](const std::string& text, const char* option) {
    return text.empty() ? std::nullopt : std::optional(times.read(text, option));
  };
  return {.failures = instants(given.failures, "--fail", times),
          .joins = instants(given.joins, "--join", times),
          .mean_life = optional(given.mean_life, "--mtbf"),
          .repair = optional(given.repair, "--repair"),
          .rebalance = optional(given.rebalance, "--rebalance"),
          .migration = optional(given.migration, "--migration")};
}

Ticks ticks_for(const pipeline::ExactTimes& times, const SwarmTimes& more, const std::vector<swarm::Peer>& peers) {
  Ticks ticks;
  // Lives drawn at random are rounded to ticks: to a thousandth of a unit.
  constexpr std::int64_t k_fine = 1000;
  if (more.mean_life) ticks.divide_by(k_fine);
  for (const Fraction& time : {times.forward, times.input_gradient, times.weight_gradient, times.delay})
    ticks.count(time);
  for (const auto* list : {&more.failures, &more.joins})
    for (const auto& [what, time] : *list) ticks.count(time);
  for (const auto* time : {&more.mean_life, &more.repair, &more.rebalance, &more.migration})
    if (*time) ticks.count(**time);
  const std::int64_t whole = ticks.per_unit();
  for (const swarm::Peer& peer : peers)
    if (peer.speed.numerator > 0) ticks.count(peer.speed, whole);
  return ticks;
}

}  // namespace

report::SwarmAnswer swarm_answer(const ScheduleArguments& arguments) {
  refuse_other_options(arguments);
  const SwarmArguments& given = arguments.swarm;
  Times times;
  const SwarmTimes more = swarm_times(given, times);
  const report::ScheduleAnswer plain = timed(arguments, times);
  report::SwarmAnswer answer{.times = plain.times, .unit = plain.unit, .seconds_per_unit = plain.seconds_per_unit};
  swarm::Problem& problem = answer.problem;
  problem.stages = arguments.stages;
  problem.micro_batches = arguments.micro_batches;
  problem.peers = peers_of(arguments);
  for (const auto& [text, time] : more.joins) problem.peers.push_back({.speed = speed(text, "--join")});
  const Ticks ticks = ticks_for(answer.times, more, problem.peers);
  answer.ticks_per_unit = ticks.per_unit();
  problem.forward = ticks.of(answer.times.forward);
  problem.backward = ticks.of(answer.times.input_gradient) + ticks.of(answer.times.weight_gradient);
  problem.delay = ticks.of(answer.times.delay);
  const std::size_t first = problem.peers.size() - more.joins.size();
  for (std::size_t i = 0; i < more.joins.size(); ++i)
    problem.peers[first + i].joins = std::max<core::Picoseconds>(ticks.of(more.joins[i].second), 1);
  for (const auto& [text, time] : more.failures) {
    if (!is_count(text))
      throw core::ConfigurationError("--fail", "'" + text + "' is no peer", "peers are counted from 0");
    problem.failures.push_back({.peer = std::stoi(text), .time = ticks.of(time)});
  }
  const auto counted = [&](const std::optional<Fraction>& time) {
    return time ? std::optional(ticks.of(*time)) : std::nullopt;
  };
  problem.mean_life = counted(more.mean_life);
  problem.repair = counted(more.repair);
  problem.rebalance = counted(more.rebalance);
  problem.migration = counted(more.migration).value_or(0);
  problem.in_flight = given.in_flight;
  problem.seed = given.seed.value_or(problem.seed);
  answer.outcome = swarm::run(problem);
  answer.assumptions = {
      "a backward is the input and the weight gradient; where peers recompute add that to --input-grad",
      "the all-reduce between the peers of a stage is not part of the times"};
  return answer;
}

void refuse_swarm_options(const ScheduleArguments& arguments) {
  for (const std::string& name : arguments.given)
    if (among(swarm::option_names(), name))
      throw core::ConfigurationError("--" + name, "only swarm has peers that fail and move",
                                     "leave it out, or ask for the kind swarm");
}

}  // namespace cairn::cli
