// What `cairn topology` answers: a network's figures as JSON (cairn.topology/1) and as text, several side by side, and
// small ones as a picture.
//
//   endpoints 1024   diameter 4 links   bisection 25.0 %   all-to-all 26.6 %   all-reduce 50.0 %   5.41 M USD
// Shares are of what an endpoint injects. `routed` is what the all-to-all share comes to under the routes as they are,
// counted pair by pair, where the network is small enough.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cairn/hardware/network_files.h"
#include "cairn/report/run.h"
#include "cairn/sim/flows.h"
#include "cairn/topology/prices.h"
#include "cairn/topology/survey.h"
#include "cairn/traffic/collective_run.h"
#include "cairn/traffic/run.h"

namespace cairn::report {

struct TopologyFlow {
  std::string from = {};
  std::string to = {};
  double bytes = 0.0;
  double finish_s = 0.0;
};
struct TopologyFlows {
  std::size_t count = 0;
  sim::Sharing sharing = sim::Sharing::max_min;
  double makespan_s = 0.0;
  double first_finish_s = 0.0;
  double mean_finish_s = 0.0;
  std::vector<double> finish_s = {};     // by row of the table
  std::vector<TopologyFlow> first = {};  // rows that a text shows
};

struct TopologyAnswer {
  topology::Network network = {};
  topology::Limits limits = {};
  std::optional<topology::Survey> routed = {};
  topology::Bill bill = {};
  std::string prices = {};  // the list's name
  std::optional<TopologyFlows> flows = {};
  std::optional<traffic::CollectiveRuns> collective = {};
  std::vector<std::string> assumptions = {};
};
// Everything but flows and collectives.
TopologyAnswer describe(topology::Network network, const topology::PriceList& prices);
TopologyFlows summary(const topology::Topology& network, const traffic::FlowFile& flows, const traffic::FlowRun& run,
                      sim::Sharing sharing);
std::string_view name(sim::Sharing sharing);

std::string json(const TopologyAnswer& answer, const Tool& tool, int indent = 2);
std::string text(const TopologyAnswer& answer, const TextStyle& style = {});
// One cairn.topology-comparison/1 document of cairn.topology/1 ones; a table with a column for each.
std::string json(std::span<const TopologyAnswer> answers, const Tool& tool, int indent = 2);
std::string text(std::span<const TopologyAnswer> answers, const TextStyle& style = {});

// Nodes up to which a picture can be read.
inline constexpr std::int64_t k_drawn_nodes = 400;
// Throw core::ConfigurationError for networks with more.
std::string svg(const topology::Network& network);
std::string graphviz(const topology::Network& network);

}  // namespace cairn::report
