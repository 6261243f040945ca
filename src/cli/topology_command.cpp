#include <fmt/format.h>

#include "cairn/report/topology.h"
#include "cairn/traffic/run.h"
#include "context.h"
#include "exit_code.h"

namespace cairn::cli {
namespace {

report::TopologyAnswer answer_for(const std::string& name, const TopologyArguments& arguments,
                                  const topology::PriceList& prices, const std::optional<traffic::FlowFile>& flows,
                                  const Context& context) {
  report::TopologyAnswer answer =
      report::describe(topology::load_network(context.loader, name, arguments.overrides), prices);
  if (!flows) return answer;
  const sim::Sharing sharing = arguments.sharing == "max-min" ? sim::Sharing::max_min : sim::Sharing::rtt_weighted;
  answer.flows = report::summary(traffic::run(*answer.network.topology, *flows, sharing), sharing);
  if (flows->counts_from_zero) answer.assumptions.emplace_back("rows of the table of flows are counted from 0");
  return answer;
}

}  // namespace

int command(const TopologyArguments& arguments, Context& context) {
  const topology::PriceList prices = topology::load_prices(context.loader, arguments.prices);
  std::optional<traffic::FlowFile> flows;
  if (!arguments.flows.empty()) flows = traffic::read_flows(arguments.flows);
  std::vector<report::TopologyAnswer> answers;
  const std::vector<std::string> names = arguments.compare.empty() ? std::vector{arguments.name} : arguments.compare;
  for (const std::string& name : names) answers.push_back(answer_for(name, arguments, prices, flows, context));

  if (!arguments.svg.empty()) write_file(arguments.svg, report::svg(answers.front().network), context.read);
  if (!arguments.dot.empty()) write_file(arguments.dot, report::graphviz(answers.front().network), context.read);
  Output output(arguments.result.output, context.read);
  const report::TextStyle style{.color = context.color(output)};
  const bool one = arguments.compare.empty();
  if (arguments.result.json)
    output.write((one ? report::json(answers.front(), context.tool) : report::json(answers, context.tool)) + "\n");
  else
    output.write(one ? report::text(answers.front(), style) : report::text(answers, style));
  output.finish();
  return k_ok;
}

}  // namespace cairn::cli
