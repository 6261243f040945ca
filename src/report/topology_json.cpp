#include "cairn/core/json_text.h"
#include "cairn/report/topology.h"
#include "described.h"

namespace cairn::report {
namespace {

using schema::Json;
using schema::nullable;
using topology::CompositeLevel;

Json level_json(const topology::Composite& whole, const CompositeLevel& level) {
  const topology::Limits limits = level.network->limits(level.ports);
  const std::optional<topology::Routing> routing = level.shape->routing();  // nothing where there is one way
  return Json{{"name", level.name},
              {"kind", std::string(level.shape->name())},
              {"domains", whole.domains(level)},
              {"units", level.domain / level.unit},
              {"ports_per_unit", level.ports},
              {"port_bytes_per_s", level.port_bandwidth},
              {"switches", whole.domains(level) * level.network->switches()},
              {"diameter", limits.diameter},
              {"bisection_fraction", limits.bisection_fraction},
              {"routing", nullable(routing, [](const topology::Routing& each) { return each.name; })},
              {"seed", routing ? nullable(routing->seed) : Json()}};
}

Json flows_json(const TopologyFlows& flows) {
  return {{"count", flows.count},
          {"sharing", std::string(name(flows.sharing))},
          {"makespan_s", flows.makespan_s},
          {"first_finish_s", flows.first_finish_s},
          {"mean_finish_s", flows.mean_finish_s},
          {"finish_s", flows.finish_s}};
}

Json collective_json(const traffic::CollectiveRuns& runs) {
  Json json{{"name", collective::name(runs.request.collective)},
            {"bytes", runs.request.bytes},
            {"ranks", runs.request.group.ranks},
            {"ranks_per_domain", runs.request.group.domain},
            {"pieces", runs.request.group.pieces},
            {"sharing", name(runs.request.sharing)},
            {"least_s", runs.least_s},
            {"rows", Json::array()}};
  for (const traffic::CollectiveRun& run : runs.runs) {
    if (!run.missing.empty()) {
      json["rows"].push_back({{"algorithm", run.algorithm},
                              {"time_s", nullptr},
                              {"busbw_bytes_per_s", nullptr},
                              {"steps", nullptr},
                              {"messages", nullptr},
                              {"reason", run.missing}});
      continue;
    }
    json["rows"].push_back({{"algorithm", run.algorithm},
                            {"time_s", run.time_s},
                            {"busbw_bytes_per_s", run.bus_bandwidth},
                            {"steps", run.steps},
                            {"messages", run.messages},
                            {"reason", nullptr}});
  }
  return json;
}

Json document(const TopologyAnswer& answer, const Tool& tool) {
  const topology::Composite& whole = *answer.network.topology;
  const std::int64_t p = whole.endpoints();
  Json json{{"schema", "cairn.topology/1"},
            {"tool", {{"version", tool.version}, {"build", tool.build}}},
            {"name", answer.network.name},
            {"endpoints", p},
            {"switches", whole.switches()},
            {"diameter", answer.limits.diameter},
            {"injection_bytes_per_s", answer.limits.injection},
            {"bisection_fraction", answer.limits.bisection_fraction},
            {"alltoall_fraction", topology::alltoall_fraction(answer.limits, p)},
            {"allreduce_fraction", topology::allreduce_fraction(answer.limits, p)},
            {"deadlock_free", whole.deadlock_free()},
            {"routed", nullptr},
            {"cost_usd", nullable(answer.bill.usd)},
            {"bill", nullptr}};
  if (answer.routed) {
    topology::Limits routed = answer.limits;
    routed.alltoall_load = answer.routed->alltoall_load;
    json["routed"] = {{"alltoall_fraction", topology::alltoall_fraction(routed, p)},
                      {"longest_links", answer.routed->longest},
                      {"mean_links", answer.routed->mean_links}};
  }
  if (answer.bill.usd)
    json["bill"] = {{"prices", answer.prices},
                    {"switches", answer.bill.switches},
                    {"short_cables", answer.bill.short_cables},
                    {"long_cables", answer.bill.long_cables}};
  json["levels"] = Json::array();
  for (const CompositeLevel& level : whole.levels()) json["levels"].push_back(level_json(whole, level));
  json["flows"] = answer.flows ? flows_json(*answer.flows) : Json();
  json["collective"] = answer.collective ? collective_json(*answer.collective) : Json();
  json["assumptions"] = answer.assumptions;
  json["warnings"] = Json::array();
  return json;
}

}  // namespace

std::string json(const TopologyAnswer& answer, const Tool& tool, int indent) {
  return core::json_text(document(answer, tool), indent);
}

std::string json(std::span<const TopologyAnswer> answers, const Tool& tool, int indent) {
  Json all{{"schema", "cairn.topology-comparison/1"}, {"networks", Json::array()}};
  for (const TopologyAnswer& answer : answers) all["networks"].push_back(document(answer, tool));
  return core::json_text(all, indent);
}

}  // namespace cairn::report
