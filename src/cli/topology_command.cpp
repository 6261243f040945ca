#include <fmt/format.h>

#include "cairn/report/topology.h"
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

report::TopologyAnswer answer_for(const std::string& name, const TopologyArguments& arguments,
                                  const topology::PriceList& prices, const Context& context) {
  report::TopologyAnswer answer =
      report::describe(hardware::load_network(context.loader, name, arguments.overrides), prices);
  if (arguments.flows.empty()) return answer;
  const topology::Composite& network = *answer.network.topology;
  const traffic::FlowFile flows = traffic::read_flows(arguments.flows, traffic::endpoint_names(network));
  const sim::Sharing sharing = arguments.sharing == "max-min" ? sim::Sharing::max_min : sim::Sharing::rtt_weighted;
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
