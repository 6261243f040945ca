#include <memory>

#include <fmt/format.h>

#include "cairn/config/units.h"
#include "cairn/report/topology.h"
#include "cairn/traffic/collective_run.h"
#include "cairn/traffic/run.h"
#include "context.h"
#include "exit_code.h"
#include "progress.h"
#include "result_form.h"

namespace cairn::cli {
namespace {

// How many flows have ended.
class EndedFlows final : public sim::FlowObserver {
 public:
  EndedFlows(ProgressLine& line, std::size_t flows) : line_(line), flows_(flows) {}
  void on_end(sim::FlowId /*flow*/, core::Picoseconds /*time*/) override { line_.show("flows", ++ended_, flows_); }
  void on_release(sim::FlowId /*flow*/, core::Picoseconds /*time*/) override {}
  void on_enter(sim::FlowId /*flow*/, core::Picoseconds /*time*/) override {}
  void on_capacity(sim::LinkId /*link*/, core::Picoseconds /*time*/, double /*capacity*/) override {}

 private:
  ProgressLine& line_;
  std::size_t flows_;
  std::size_t ended_ = 0;
};

sim::Sharing sharing_of(const TopologyArguments& arguments) {
  return arguments.sharing == "max-min" ? sim::Sharing::max_min : sim::Sharing::rtt_weighted;
}

traffic::CollectiveRuns collective_on(const topology::Composite& network, const TopologyArguments& arguments,
                                      const Context& context) {
  traffic::CollectiveRequest request{
      .collective = collective::collective_named(arguments.collective),
      .bytes = config::require_quantity(arguments.bytes, config::Dimension::bytes, "--bytes"),
      .group = {.ranks = arguments.ranks == 0 ? network.endpoints() : arguments.ranks, .pieces = arguments.pieces},
      .algorithm = arguments.algorithm,
      .sharing = sharing_of(arguments)};
  const std::int64_t domain = network.levels().front().domain;
  if (request.group.ranks % domain == 0) request.group.domain = domain;
  ProgressLine line(context.common);
  return traffic::run_collective(network, request,
                                 [&](std::size_t messages) { return std::make_unique<EndedFlows>(line, messages); });
}

report::TopologyAnswer answer_for(const std::string& name, const TopologyArguments& arguments,
                                  const topology::PriceList& prices, const Context& context) {
  report::TopologyAnswer answer =
      report::describe(hardware::load_network(context.loader, name, arguments.overrides), prices);
  const topology::Composite& network = *answer.network.topology;
  if (!arguments.collective.empty()) {
    answer.collective = collective_on(network, arguments, context);
    answer.assumptions.emplace_back(
        "collectives use one channel, ranks in the order of endpoints, and software takes no time");
  }
  if (arguments.flows.empty()) return answer;
  const traffic::FlowFile flows = traffic::read_flows(arguments.flows, traffic::endpoint_names(network));
  const sim::Sharing sharing = sharing_of(arguments);
  ProgressLine line(context.common);
  EndedFlows ended(line, flows.rows.size());
  answer.flows = report::summary(network, flows, traffic::run(network, flows, sharing, &ended), sharing);
  if (flows.counts_from_zero) answer.assumptions.emplace_back("rows of the table of flows are counted from 0");
  return answer;
}

}  // namespace

int command(const TopologyArguments& arguments, Context& context) {
  const topology::PriceList prices = topology::load_prices(context.loader, arguments.prices);
  std::vector<report::TopologyAnswer> answers;
  const std::vector<std::string> names = arguments.compare.empty() ? std::vector{arguments.name} : arguments.compare;
  for (const std::string& name : names) answers.push_back(answer_for(name, arguments, prices, context));

  if (!arguments.svg.empty()) write_file(arguments.svg, report::svg(answers.front().network), context.read);
  if (!arguments.dot.empty()) write_file(arguments.dot, report::graphviz(answers.front().network), context.read);
  Output output(arguments.result.output, context.read);
  const report::TextStyle style{.color = context.color(output)};
  const bool one = arguments.compare.empty();
  output.write(in_form(
      arguments.result,
      [&] { return one ? report::json(answers.front(), context.tool) : report::json(answers, context.tool); },
      [&] { return one ? report::text(answers.front(), style) : report::text(answers, style); }));
  output.finish();
  return k_ok;
}

}  // namespace cairn::cli
