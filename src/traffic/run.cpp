#include "cairn/traffic/run.h"

#include <algorithm>
#include <unordered_map>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::traffic {
namespace {

// Numbers of links and routes as sim counts them.
class Numbering {
 public:
  Numbering(const topology::Topology& network, sim::FlowProblem& problem) : network_(network), problem_(problem) {}

  sim::RouteId route(std::int64_t from, std::int64_t to) {
    const auto [found, added] = routes_.try_emplace(from * network_.endpoints() + to, problem_.routes.size());
    if (!added) return found->second;
    path_.clear();
    network_.route(from, to, path_);
    links_.clear();
    for (const topology::LinkId id : path_) links_.push_back(link(id));
    return problem_.routes.add(links_);
  }

 private:
  sim::LinkId link(topology::LinkId id) {
    const auto [found, added] = numbers_.try_emplace(id, static_cast<sim::LinkId>(problem_.links.size()));
    if (added) {
      const topology::Link link = network_.link(id);
      problem_.links.push_back({.capacity = link.bandwidth, .latency = core::to_picoseconds(link.latency)});
    }
    return found->second;
  }

  const topology::Topology& network_;
  sim::FlowProblem& problem_;
  std::unordered_map<std::int64_t, sim::RouteId> routes_;  // looked up only
  std::unordered_map<topology::LinkId, sim::LinkId> numbers_;
  std::vector<topology::LinkId> path_;
  std::vector<sim::LinkId> links_;
};

// Rows of a cycle of waiting, each waiting for the next; empty when there is none.
std::vector<std::uint32_t> find_cycle(const FlowFile& flows) {
  enum State : std::uint8_t { unseen, open, done };
  std::vector<State> state(flows.rows.size(), unseen);
  std::vector<std::uint32_t> path, next(flows.rows.size(), 0);
  for (std::uint32_t start = 0; start < flows.rows.size(); ++start) {
    if (state[start] == unseen) path.push_back(start);
    while (!path.empty()) {
      const std::uint32_t row = path.back();
      state[row] = open;
      const auto after = flows.after_of(row);
      if (next[row] == after.size()) {
        state[row] = done;
        path.pop_back();
        continue;
      }
      const std::uint32_t earlier = after[next[row]++];
      if (state[earlier] == open) return {std::find(path.begin(), path.end(), earlier), path.end()};
      if (state[earlier] == unseen) path.push_back(earlier);
    }
  }
  return {};
}

[[noreturn]] void refuse_cycle(const FlowFile& flows, const std::vector<std::uint32_t>& cycle) {
  constexpr std::size_t k_named = 8;  // rows
  const auto number = [&](std::uint32_t row) { return std::to_string(row + (flows.counts_from_zero ? 0U : 1U)); };
  std::string text;
  for (std::size_t i = 0; i < std::min(cycle.size(), k_named); ++i) text += number(cycle[i]) + " after ";
  text += (cycle.size() > k_named ? "... after " : "") + number(cycle.front());
  throw core::ConfigurationError(
      {core::Diagnostic::at_line(flows.file, flows.rows[cycle.front()].line, "after: rows wait for each other: " + text,
                                 "remove one of these dependencies")});
}

}  // namespace

EndpointNames endpoint_names(const topology::Composite& network) {
  EndpointNames names;
  const bool named =
      network.levels().size() == 1 && network.levels().front().shape->parts() == topology::Parts::as_given;
  if (!named) return names;
  for (topology::NodeId node = 0; node < network.endpoints(); ++node) names.push_back(network.node_name(node));
  return names;
}

sim::FlowProblem problem(const topology::Topology& network, const FlowFile& flows, sim::Sharing sharing) {
  core::Diagnostics diagnostics;
  for (const FlowRow& row : flows.rows) {
    const std::int64_t largest = std::max(row.from, row.to);
    if (largest >= network.endpoints())
      diagnostics.add(core::Diagnostic::at_line(flows.file, row.line, "there is no endpoint " + std::to_string(largest),
                                                "the network has 0 to " + std::to_string(network.endpoints() - 1)));
  }
  diagnostics.raise_if_errors();
  sim::FlowProblem problem;
  problem.sharing = sharing;
  Numbering numbering(network, problem);
  problem.flows.reserve(flows.rows.size());
  for (const FlowRow& row : flows.rows) {
    problem.flows.push_back(
        {.route = numbering.route(row.from, row.to), .bytes = row.bytes, .start = core::to_picoseconds(row.start_s)});
  }
  if (flows.after.empty()) return problem;
  problem.after_begin = flows.after_begin;
  problem.after = flows.after;
  return problem;
}

FlowRun run(const topology::Topology& network, const FlowFile& flows, sim::Sharing sharing,
            sim::FlowObserver* observer) {
  CAIRN_ASSERT(!flows.rows.empty());
  const sim::FlowProblem flow_problem = problem(network, flows, sharing);
  sim::FlowTimes times;
  try {
    times = sim::run_flows(flow_problem, observer);
  } catch (const core::ConfigurationError&) {
    if (const std::vector<std::uint32_t> cycle = find_cycle(flows); !cycle.empty()) refuse_cycle(flows, cycle);
    throw;
  }
  FlowRun result{.end = std::move(times.end), .makespan = times.makespan, .first = 0, .mean_s = 0.0};
  result.first = *std::min_element(result.end.begin(), result.end.end());
  double sum = 0.0;
  for (const core::Picoseconds end : result.end) sum += static_cast<double>(end);
  result.mean_s = sum / core::k_picoseconds_per_second / static_cast<double>(result.end.size());
  return result;
}

}  // namespace cairn::traffic
