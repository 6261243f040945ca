#include <functional>

#include "cairn/core/format_units.h"
#include "cairn/core/printable.h"
#include "cairn/report/topology.h"
#include "text_report.h"

namespace cairn::report {
namespace {

using topology::CompositeLevel;

constexpr double k_percent = 100.0;
constexpr std::string_view k_indent = "                ";  // below the name of a figure

std::string share(double fraction) { return fmt::format("{:.1f} %", k_percent * fraction); }
std::string money(double usd) {
  constexpr double k_million = 1e6, k_thousand = 1e3;
  if (usd >= k_million) return fmt::format("{:.2f} M USD", usd / k_million);
  return usd >= k_thousand ? fmt::format("{:.1f} k USD", usd / k_thousand) : fmt::format("{:.0f} USD", usd);
}
std::string seconds(double time) { return aligned_time(time); }

// One figure: its name, how a network shows it (empty: it has none), and what it means.
struct Row {
  std::string_view name;
  std::function<std::string(const TopologyAnswer&)> value;
  std::string_view meaning;
};

std::string routed(const TopologyAnswer& answer) {
  if (!answer.routed) return "";
  topology::Limits limits = answer.limits;
  limits.alltoall_load = answer.routed->alltoall_load;
  return share(topology::alltoall_fraction(limits, answer.network.topology->endpoints()));
}

std::vector<Row> rows() {
  const auto endpoints = [](const TopologyAnswer& a) { return a.network.topology->endpoints(); };
  return {{"endpoints", [=](const TopologyAnswer& a) { return grouped(endpoints(a)); }, ""},
          {"switches", [](const TopologyAnswer& a) { return grouped(a.network.topology->switches()); },
           "of one of its parallel networks, with those inside nodes"},
          {"diameter", [](const TopologyAnswer& a) { return fmt::format("{} links", a.limits.diameter); },
           "between the two endpoints farthest apart"},
          {"mean route",
           [](const TopologyAnswer& a) { return a.routed ? fmt::format("{:.2f} links", a.routed->mean_links) : ""; },
           "between two endpoints, over all pairs"},
          {"injection",
           [](const TopologyAnswer& a) { return core::format(core::BytesPerSecond::from_base(a.limits.injection)); },
           "what an endpoint can send; the shares below are of this"},
          {"bisection", [](const TopologyAnswer& a) { return share(a.limits.bisection_fraction); },
           "left to each where one half sends to the other"},
          {"all-to-all",
           [=](const TopologyAnswer& a) { return share(topology::alltoall_fraction(a.limits, endpoints(a))); },
           "left to each where all send to all, routes spread evenly"},
          {"  as routed", routed, "the same on the routes as they are"},
          {"all-reduce",
           [=](const TopologyAnswer& a) { return share(topology::allreduce_fraction(a.limits, endpoints(a))); },
           "amount / time of a large one"},
          {"cost", [](const TopologyAnswer& a) { return a.bill.usd ? money(*a.bill.usd) : std::string("unknown"); },
           "of switches and cables, all parallel networks"},
          {"makespan", [](const TopologyAnswer& a) { return a.flows ? seconds(a.flows->makespan_s) : ""; },
           "last flow ends"},
          {"first finish", [](const TopologyAnswer& a) { return a.flows ? seconds(a.flows->first_finish_s) : ""; }, ""},
          {"mean finish", [](const TopologyAnswer& a) { return a.flows ? seconds(a.flows->mean_finish_s) : ""; }, ""},
          {"collective",
           [](const TopologyAnswer& a) {
             const bool known = a.collective && a.collective->runs.front().missing.empty();
             return known ? seconds(a.collective->runs.front().time_s) : "";
           },
           "by the fastest of the algorithms below"}};
}

class TopologyText : private TextReport {
 public:
  explicit TopologyText(bool color) : TextReport(color) {}

  std::string one(const TopologyAnswer& answer) {
    line("{}", paint_.bold(core::printable(answer.network.name)));
    for (const Row& row : rows()) {
      std::string value = row.value(answer);
      if (value.empty()) continue;
      if (row.name == "makespan") heading(answer);
      line("  {:<14}{:>16}  {}", row.name, value, paint_.dim(row.meaning));
      if (row.name == "cost") bill(answer);
    }
    if (answer.flows) flows(*answer.flows);
    if (answer.collective) collective(*answer.collective);
    levels(*answer.network.topology);
    if (!answer.assumptions.empty()) {
      line("");
      line("{}", paint_.bold("Assumptions"));
      for (const std::string& each : answer.assumptions) out_ += wrapped(each, "  ", "  ");
    }
    return std::move(out_);
  }

  std::string table(std::span<const TopologyAnswer> answers) {
    constexpr std::size_t k_first = 14;
    const std::size_t width = std::max<std::size_t>(14, (k_text_width - k_first) / answers.size() - 2);
    std::string head = fmt::format("{:<{}}", "", k_first);
    for (const TopologyAnswer& answer : answers)
      head += fmt::format("  {:>{}}", clipped(core::printable(answer.network.name), width), width);
    line("{}", paint_.bold(head));
    for (const Row& row : rows()) {
      std::string cells = fmt::format("{:<{}}", row.name, k_first);
      bool any = false;
      for (const TopologyAnswer& answer : answers) {
        const std::string value = row.value(answer);
        any = any || !value.empty();
        cells += fmt::format("  {:>{}}", value.empty() ? "-" : value, width);
      }
      if (any) line("{}", cells);
    }
    return std::move(out_);
  }

 private:
  void heading(const TopologyAnswer& answer) {
    line("");
    line("{}", paint_.bold(fmt::format("{} {}, sharing {}", grouped(static_cast<std::int64_t>(answer.flows->count)),
                                       answer.flows->count == 1 ? "flow" : "flows", name(answer.flows->sharing))));
  }
  void bill(const TopologyAnswer& answer) {
    if (!answer.bill.usd || *answer.bill.usd <= 0.0) return;
    out_ += wrapped(fmt::format("{} switches, {} short and {} long cables; prices: {}", grouped(answer.bill.switches),
                                grouped(answer.bill.short_cables), grouped(answer.bill.long_cables), answer.prices),
                    k_indent, k_indent);
  }
  void flows(const TopologyFlows& flows) {
    line("  {:<14}{:>16}{:>16}{:>16}{:>16}", "flow", "from", "to", "", "finishes");
    for (std::size_t i = 0; i < flows.first.size(); ++i) {
      const TopologyFlow& flow = flows.first[i];
      constexpr std::size_t k_name = 15;
      line("  {:<14}{:>16}{:>16}{:>16}{:>16}", i + 1, clipped(flow.from, k_name), clipped(flow.to, k_name),
           core::format(core::Bytes::from_base(flow.bytes)), seconds(flow.finish_s));
    }
    if (flows.count > flows.first.size())
      line("  {}", paint_.dim(fmt::format("... and {} more; --json has all",
                                          grouped(static_cast<std::int64_t>(flows.count - flows.first.size())))));
  }
  void collective(const traffic::CollectiveRuns& runs) {
    const traffic::CollectiveRequest& request = runs.request;
    line("");
    line("{}", paint_.bold(fmt::format("{} of {}, {} ranks, sharing {}", collective::name(request.collective),
                                       core::format(core::Bytes::from_base(request.bytes)),
                                       grouped(request.group.ranks), name(request.sharing))));
    line("  {:<20}{:>12}{:>12}{:>10}{:>8}{:>12}", "algorithm", "time", "busbw", "of least", "steps", "messages");
    for (const traffic::CollectiveRun& run : runs.runs) {
      if (!run.missing.empty()) {
        line("  {:<20}{:>12}  {}", run.algorithm, "-", paint_.dim(run.missing));
        continue;
      }
      const std::string ratio = runs.least_s > 0.0 ? fmt::format("{:.2f} x", run.time_s / runs.least_s) : "-";
      line("  {:<20}{:>12}{:>12}{:>10}{:>8}{:>12}", run.algorithm, seconds(run.time_s),
           core::format(core::BytesPerSecond::from_base(run.bus_bandwidth)), ratio, grouped(run.steps),
           grouped(run.messages));
    }
    line("  {:<20}{:>12}  {}", "least", seconds(runs.least_s),
         paint_.dim("what some rank or node must move, over what its ports carry"));
  }
  void levels(const topology::Composite& whole) {
    if (whole.levels().size() < 2) return;
    line("");
    line("{}", paint_.bold("Levels, inner to outer"));
    line("  {:<10} {:<16} {:>8} {:>7} {:>7} {:>12} {:>10}", "", "kind", "domains", "units", "ports", "of a port",
         "bisection");
    for (const CompositeLevel& level : whole.levels()) {
      const topology::Limits limits = level.network->limits(level.ports);
      line("  {:<10} {:<16} {:>8} {:>7} {:>7} {:>12} {:>10}", level.name, level.shape->name(),
           grouped(whole.domains(level)), grouped(level.domain / level.unit), level.ports,
           core::format(core::BytesPerSecond::from_base(level.port_bandwidth)), share(limits.bisection_fraction));
    }
  }
};

}  // namespace

std::string text(const TopologyAnswer& answer, const TextStyle& style) { return TopologyText(style.color).one(answer); }

std::string text(std::span<const TopologyAnswer> answers, const TextStyle& style) {
  return TopologyText(style.color).table(answers);
}

}  // namespace cairn::report
