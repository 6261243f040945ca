#include "cairn/traffic/collective_run.h"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "cairn/collective/folds.h"
#include "cairn/collective/least.h"
#include "cairn/core/diagnostics.h"

namespace cairn::traffic {
namespace {

using collective::Collective;
using collective::MessageList;
using collective::Run;

// All that goes from one rank to another in one step.
struct Parcel {
  std::int64_t step = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t chunks = 0;
};

[[noreturn]] void refuse_size() {
  throw core::ConfigurationError(
      "ranks",
      "its list has more than " + std::to_string(k_most_messages) + " messages, which is as many as are run one by one",
      "use fewer ranks, or an algorithm with fewer messages");
}

class Collector final : public collective::Port {
 public:
  void sends(const Run& run) override {
    if (static_cast<std::int64_t>(parcels.size()) + run.count > k_most_messages) refuse_size();
    for (std::int64_t i = 0; i < run.count; ++i)
      parcels.push_back({.step = run.first.step + i * run.stride.step,
                         .from = run.first.source + i * run.stride.source,
                         .to = run.first.destination + i * run.stride.destination,
                         .chunks = run.width});
  }
  void receives(const Run& /*run*/) override {}

  std::vector<Parcel> parcels;
};

// In the order of steps; what goes the same way in one step is one.
std::vector<Parcel> parcels_of(const MessageList& list) {
  Collector all;
  for (std::int64_t rank = 0; rank < list.group.ranks; ++rank) list.messages_of(list, rank, all);
  std::vector<Parcel>& parcels = all.parcels;
  std::sort(parcels.begin(), parcels.end(), [](const Parcel& a, const Parcel& b) {
    return std::tie(a.step, a.from, a.to) < std::tie(b.step, b.from, b.to);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < parcels.size(); ++i) {
    Parcel& last = parcels[kept];
    const Parcel& next = parcels[i];
    if (i == 0) continue;
    if (last.step == next.step && last.from == next.from && last.to == next.to)
      last.chunks += next.chunks;
    else
      parcels[++kept] = next;
  }
  if (!parcels.empty()) parcels.resize(kept + 1);
  return std::move(parcels);
}

// Which messages a rank had in its last step, and has in the one that it is in.
struct Progress {
  std::int64_t step = -1;
  std::vector<std::uint32_t> before = {};
  std::vector<std::uint32_t> now = {};

  void enter(std::int64_t next) {
    if (next == step) return;
    step = next;
    before.swap(now);
    now.clear();
  }
};

// Taken as one rank each, the units of a level do the same collective over what their ports carry, those of the levels
// above included.
double least_seconds(const topology::Composite& network, const CollectiveRequest& request) {
  double least_s = 0.0;
  double carried = 0.0;
  const std::vector<topology::CompositeLevel>& levels = network.levels();
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    carried += static_cast<double>(level->ports) * level->port_bandwidth;
    const std::int64_t units = request.group.ranks / level->unit;
    const bool whole =
        level->unit == 1 || (request.group.ranks % level->unit == 0 && request.collective != Collective::send);
    if (!whole || units < 2) continue;
    const bool own = request.collective == Collective::all_to_all;
    const double bytes = own ? request.bytes * static_cast<double>(level->unit) : request.bytes;
    least_s = std::max(least_s, collective::least_bytes(request.collective, units, bytes) / carried);
  }
  return least_s;
}

std::string_view reason_to_miss(const std::optional<MessageList>& list) {
  if (!list) return "has no list for this collective over so many ranks";
  if (list->nodes > list->group.ranks) return "adds in a switch: these networks only carry";
  return {};
}

void check(const topology::Composite& network, const CollectiveRequest& request) {
  if (request.group.ranks < 2)
    throw core::ConfigurationError("ranks", "a collective takes two ranks at least", "give a number from 2 on");
  if (request.group.ranks > network.endpoints())
    throw core::ConfigurationError("ranks",
                                   std::to_string(request.group.ranks) + " ranks on a network of " +
                                       std::to_string(network.endpoints()) + " endpoints",
                                   "give at most as many ranks as there are endpoints");
}

CollectiveRun run_one(const topology::Composite& network, const CollectiveRequest& request,
                      const collective::Algorithm& algorithm, const WatchFlows& watch) {
  const std::optional<MessageList> list = algorithm.list(request.collective, request.group);
  CollectiveRun result{.algorithm = algorithm.name, .missing = std::string(reason_to_miss(list))};
  if (!result.missing.empty()) return result;
  FlowFile flows;
  try {
    flows = flows_of(*list, request.bytes);
  } catch (const core::ConfigurationError&) {
    if (!request.algorithm.empty()) throw;
    result.missing = "more than " + std::to_string(k_most_messages) + " messages";
    return result;
  }
  const std::unique_ptr<sim::FlowObserver> observer = watch ? watch(flows.rows.size()) : nullptr;
  result.steps = list->steps;
  result.messages = static_cast<std::int64_t>(flows.rows.size());
  result.time_s = core::to_seconds(run(network, flows, request.sharing, observer.get()).makespan);
  if (result.time_s > 0.0)
    result.bus_bandwidth =
        collective::flat_share(request.collective, request.group.ranks).bytes(request.bytes) / result.time_s;
  return result;
}

}  // namespace

FlowFile flows_of(const MessageList& list, double bytes) {
  if (list.nodes > list.group.ranks)
    throw core::ConfigurationError("algorithm", "a switch adds what it gets, and these networks only carry",
                                   "name an algorithm whose ranks add");
  const double chunk = bytes / static_cast<double>(list.buffer_chunks());
  FlowFile flows;
  std::vector<Progress> ranks(static_cast<std::size_t>(list.group.ranks));
  std::vector<std::uint32_t> after;
  for (const Parcel& parcel : parcels_of(list)) {
    const auto row = static_cast<std::uint32_t>(flows.rows.size());
    after.clear();
    for (const std::int64_t end : {parcel.from, parcel.to}) {
      Progress& rank = ranks[static_cast<std::size_t>(end)];
      rank.enter(parcel.step);
      after.insert(after.end(), rank.before.begin(), rank.before.end());
      rank.now.push_back(row);
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    flows.add({.from = parcel.from, .to = parcel.to, .bytes = chunk * static_cast<double>(parcel.chunks)}, after);
  }
  return flows;
}

CollectiveRuns run_collective(const topology::Composite& network, const CollectiveRequest& request,
                              const WatchFlows& watch) {
  check(network, request);
  CollectiveRuns result{.request = request};
  result.least_s = least_seconds(network, request);
  if (!request.algorithm.empty()) {
    const collective::Algorithm& named = collective::algorithm(request.algorithm);
    result.runs.push_back(run_one(network, request, named, watch));
    if (const std::string& missing = result.runs.front().missing; !missing.empty())
      throw core::ConfigurationError("algorithm", std::string(named.name) + " " + missing,
                                     "name another, or none to see which can");
    return result;
  }
  for (const collective::Algorithm& algorithm : collective::algorithms())
    result.runs.push_back(run_one(network, request, algorithm, watch));
  std::stable_sort(result.runs.begin(), result.runs.end(), [](const CollectiveRun& a, const CollectiveRun& b) {
    return a.missing.empty() != b.missing.empty() ? a.missing.empty() : a.time_s < b.time_s;
  });
  return result;
}

}  // namespace cairn::traffic
