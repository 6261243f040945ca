// What `cairn topology` answers, key by key.
#include "cairn/core/json_text.h"
#include "cairn/report/schema.h"
#include "schema_parts.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

Json level() {
  return object({{"name", text("of the level")},
                 {"kind", text("its shape, as cluster files name it")},
                 {"domains", count("equal networks of this level, side by side")},
                 {"units", count("of the level below that one of them joins")},
                 {"ports_per_unit", count("links of a unit into it")},
                 {"port_bytes_per_s", amount("B/s of one such link, one direction")},
                 {"switches", count("switches of all of them")},
                 {"diameter", count("links of the longest minimal route")},
                 {"bisection_fraction", ratio("share of what half of the ports inject")},
                 {"routing", or_null(text("how routes are chosen; null: there is one way"))},
                 {"seed", or_null(count("seed of routes chosen by a hash; null: they are not"))}});
}

Json flows() {
  return object({{"count", count("rows of the table")},
                 {"sharing", text("how flows share links: max-min or rtt-weighted")},
                 {"makespan_s", amount("s until the last flow has ended")},
                 {"first_finish_s", amount("s until the first has")},
                 {"mean_finish_s", amount("s, mean of all ends")},
                 {"finish_s", described(list_of(amount("s from the start of all")),
                                        "s when each flow ends, in the order of the table")}});
}

Json collective() {
  return object(
      {{"name", text("all-reduce, all-gather, ...")},
       {"bytes", amount("B, the buffer as nccl-tests counts it")},
       {"ranks", count("that take part: endpoints 0, 1, ...")},
       {"ranks_per_domain", count("that algorithms of two levels take to be near")},
       {"pieces", count("that a chain of ranks cuts the buffer into")},
       {"sharing", text("how messages share links: max-min or rtt-weighted")},
       {"least_s",
        amount("s, no algorithm is faster: bytes that some rank or unit must move over what its ports carry")},
       {"rows", described(list_of(object({{"algorithm", text("by which its messages are made")},
                                          {"time_s", or_null(amount("s until the last message has ended"))},
                                          {"busbw_bytes_per_s", or_null(amount("B/s, busbw of nccl-tests"))},
                                          {"steps", or_null(count("of its list"))},
                                          {"messages", or_null(count("from one rank to another in one step"))},
                                          {"reason", or_null(text("why it has no time; null: it has"))}})),
                          "an algorithm each, the fastest first, behind them those without a time")}});
}

Json topology() {
  return object(
      {{"schema", text()},
       {"tool", tool()},
       {"name", text("of the network")},
       {"endpoints", count("accelerators that it joins")},
       {"switches", count("of one plane, those inside nodes, too")},
       {"diameter", count("links of the longest minimal route")},
       {"injection_bytes_per_s", amount("B/s of one endpoint, one direction: what shares are of")},
       {"bisection_fraction", ratio("share of what half of the endpoints inject that crosses between halves")},
       {"alltoall_fraction", ratio("share of injection that all-to-alls reach, routes spread evenly")},
       {"allreduce_fraction", ratio("share of injection that large all-reduces reach: amount over time")},
       {"deadlock_free", flag("whether its routes cannot wait for one another in a circle")},
       {"routed",
        described(or_null(object({{"alltoall_fraction", ratio("share of injection, under the routes as they are")},
                                  {"longest_links", count("links of the longest route")},
                                  {"mean_links", amount("links, over all pairs")}})),
                  "counted pair by pair; null: the network is too large for that")},
       {"cost_usd", or_null(amount("USD of switches and cables; null: the list has no price for them"))},
       {"bill", described(or_null(object({{"prices", text("the list of prices")},
                                          {"switches", count("that were counted")},
                                          {"short_cables", count("inside a rack")},
                                          {"long_cables", count("between racks")}})),
                          "what the cost is of; null: there is none")},
       {"levels", described(list_of(level()), "inner to outer")},
       {"flows", described(or_null(flows()), "with --flows: when each of them ends")},
       {"collective", described(or_null(collective()), "with --collective: how long it takes by each algorithm")},
       {"assumptions", assumption_list()},
       {"warnings", warning_list()}});
}

}  // namespace
}  // namespace schema

std::string topology_schema() { return core::json_text(document("cairn.topology/1", topology()), k_schema_indent); }

std::string topology_comparison_schema() {
  const Json network = document("cairn.topology/1", topology());
  return core::json_text(
      document("cairn.topology-comparison/1",
               object({{"schema", text()}, {"networks", described(list_of(network), "in the order asked for")}})),
      k_schema_indent);
}

}  // namespace cairn::report
