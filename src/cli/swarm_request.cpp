#include "swarm_request.h"

#include <algorithm>
#include <array>
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
std::vector<std::vector<swarm::Speed>> peers_of(const ScheduleArguments& arguments) {
  const std::string& text = arguments.swarm.peers;
  if (text.empty() || is_count(text)) {
    const std::int32_t each = text.empty() ? 1 : std::stoi(text);
    swarm::require_peers(std::int64_t{std::max(each, 1)} * arguments.stages);
    return {static_cast<std::size_t>(arguments.stages), std::vector<swarm::Speed>(static_cast<std::size_t>(each))};
  }
  const std::vector<std::string> stages = split(text, '/');
  if (std::ssize(stages) != arguments.stages)
    throw core::ConfigurationError(
        "--peers",
        "there are peers for " + std::to_string(stages.size()) + " stages of " + std::to_string(arguments.stages),
        "one list of speeds per stage, with / between them, or a number for all");
  std::vector<std::vector<swarm::Speed>> peers;
  for (const std::string& stage : stages) {
    peers.emplace_back();
    for (const std::string& one : split(stage, ',')) peers.back().push_back(speed(one, "--peers"));
  }
  return peers;
}

// "A@TIME,B@TIME".
std::vector<std::pair<std::string, Fraction>> instants(const std::string& text, const char* option,
                                                       pipeline::WrittenTimes& times) {
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

}  // namespace

swarm::Request swarm_request(const ScheduleArguments& arguments) {
  refuse_other_options(arguments);
  const SwarmArguments& given = arguments.swarm;
  pipeline::WrittenTimes times;
  const auto optional = [&](const std::string& text, const char* option) {
    return text.empty() ? std::nullopt : std::optional(times.read(text, option));
  };
  const auto failures = instants(given.failures, "--fail", times), joins = instants(given.joins, "--join", times);
  swarm::Request request{.micro_batches = arguments.micro_batches,
                         .mean_life = optional(given.mean_life, "--mtbf"),
                         .repair = optional(given.repair, "--repair"),
                         .rebalance = optional(given.rebalance, "--rebalance"),
                         .migration = optional(given.migration, "--migration"),
                         .in_flight = given.in_flight};
  request.times = given_times(arguments, times);
  request.unit = times.unit();
  request.peers = peers_of(arguments);
  for (const auto& [text, time] : joins) request.joins.push_back({.speed = speed(text, "--join"), .time = time});
  for (const auto& [text, time] : failures) {
    if (!is_count(text))
      throw core::ConfigurationError("--fail", "'" + text + "' is no peer", "peers are counted from 0");
    request.failures.push_back({.peer = std::stoi(text), .time = time});
  }
  if (given.seed) request.seed = *given.seed;
  return request;
}

void refuse_swarm_options(const ScheduleArguments& arguments) {
  for (const std::string& name : arguments.given)
    if (among(swarm::option_names(), name))
      throw core::ConfigurationError("--" + name, "only swarm has peers that fail and move",
                                     "leave it out, or ask for the kind swarm");
}

}  // namespace cairn::cli
