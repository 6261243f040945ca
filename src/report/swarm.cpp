#include "cairn/report/swarm.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "long_list.h"
#include "schedule_json.h"
#include "schedule_picture.h"
#include "text_report.h"

namespace cairn::report {
namespace {

using Json = nlohmann::ordered_json;
using pipeline::Fraction;

const std::vector<std::string>& assumptions_of_swarms() {
  static const std::vector<std::string> all{
      "a backward is the input and the weight gradient; where peers recompute add that to --input-grad",
      "the all-reduce between the peers of a stage is not part of the times"};
  return all;
}

double seconds_per_unit(const swarm::Answer& answer) { return answer.unit ? answer.unit->base() : 1.0; }

// As any schedule's answer: a row per peer.
ScheduleAnswer drawn(const swarm::Answer& answer) {
  ScheduleAnswer drawn{.times = answer.times, .unit = answer.unit, .assumptions = assumptions_of_swarms()};
  const auto peers = static_cast<std::int32_t>(answer.problem.peers.size());
  pipeline::ExactRun& run = drawn.run;
  run.schedule.kind = swarm::k_kind;
  run.schedule.stages = answer.problem.stages;
  run.schedule.micro_batches = answer.problem.micro_batches;
  run.order.stages = peers;
  for (std::int32_t peer = 0; peer < peers; ++peer) run.order.row_device.push_back(peer);
  run.ticks_per_unit = answer.ticks_per_unit;
  run.result.makespan = answer.outcome.makespan;
  for (const swarm::Run& one : answer.outcome.runs) {
    pipeline::SweepStep step;
    step.device = one.peer;
    step.operation.phase = one.backward ? pipeline::Phase::backward : pipeline::Phase::forward;
    step.operation.micro_batch = one.micro_batch;
    run.order.steps.push_back(step);
    run.result.start.push_back(one.start);
    run.result.end.push_back(one.end);
  }
  return drawn;
}

struct SwarmFigures {
  ScheduleFigures schedule;
  double utilisation = 0.0;
};

double speed_of(const swarm::Speed& speed) {
  return static_cast<double>(speed.numerator) / static_cast<double>(speed.denominator);
}

SwarmFigures figures(const swarm::Answer& answer) {
  const swarm::Outcome& outcome = answer.outcome;
  const swarm::Problem& problem = answer.problem;
  const auto peers = std::ssize(problem.peers);
  SwarmFigures result;
  ScheduleFigures& f = result.schedule;
  std::vector<core::Picoseconds> first(peers, -1), last(peers, 0);
  for (const swarm::Run& run : outcome.runs) {
    if (first[run.peer] < 0) first[run.peer] = run.start;
    last[run.peer] = run.end;
  }
  core::Picoseconds span = 0, idle = 0;
  double speeds = 0.0, work = 0.0;
  for (std::ptrdiff_t peer = 0; peer < peers; ++peer) {
    span = std::max(span, last[peer] - std::max<core::Picoseconds>(first[peer], 0));
    f.idle.push_back(answer.in_units(outcome.makespan - outcome.busy[peer]));
    idle = std::max(idle, outcome.makespan - outcome.busy[peer]);
    const double speed = speed_of(problem.peers[peer].speed);
    speeds += speed;
    work += speed * static_cast<double>(outcome.busy[peer]);
  }
  f.makespan = answer.in_units(outcome.makespan);
  f.span = answer.in_units(span);
  if (outcome.makespan > 0) {
    f.bubble = pipeline::fraction(idle, outcome.makespan);
    result.utilisation = work / (speeds * static_cast<double>(outcome.makespan));
  }
  for (const std::int32_t most : outcome.most_held) f.peak_release_at_b.push_back({.numerator = most});
  f.peak_release_at_w = f.peak_release_at_b;
  f.weight_copies = (peers + problem.stages - 1) / problem.stages;
  f.weight_versions.assign(peers, 1);
  f.gradient_delays.assign(peers, 0);
  const std::int64_t plain = std::int64_t{2} * problem.micro_batches * (problem.stages - 1);
  if (plain > 0) f.messages = static_cast<double>(outcome.messages) / static_cast<double>(plain);
  return result;
}

Json peers_json(const swarm::Answer& answer) {
  const double s = seconds_per_unit(answer);
  Json list = Json::array();
  for (std::size_t peer = 0; peer < answer.problem.peers.size(); ++peer)
    list.push_back(
        {{"speed", speed_of(answer.problem.peers[peer].speed)},
         {"stage", answer.problem.peers[peer].joins > 0 ? Json(nullptr) : Json(answer.problem.peers[peer].stage)},
         {"busy", answer.in_units(answer.outcome.busy[peer]).value() * s},
         {"lost", answer.in_units(answer.outcome.lost[peer]).value() * s}});
  return list;
}

Json moves_json(const swarm::Answer& answer) {
  Json list = Json::array();
  for (const swarm::Move& move : answer.outcome.moves)
    list.push_back({{"peer", move.peer},
                    {"from", move.from},
                    {"to", move.to},
                    {"time", answer.in_units(move.time).value() * seconds_per_unit(answer)}});
  return list;
}

class SwarmText : private TextReport {
 public:
  explicit SwarmText(bool color) : TextReport(color), color_(color) {}

  std::string run(const swarm::Answer& answer) {
    const SwarmFigures f = figures(answer);
    const swarm::Outcome& outcome = answer.outcome;
    line("{}",
         paint_.bold(fmt::format("{}, {}, {}, {}", swarm::k_kind, counted(answer.problem.stages, "stage", "stages"),
                                 counted(std::ssize(answer.problem.peers), "peer", "peers"),
                                 counted(answer.problem.micro_batches, "micro-batch", "micro-batches"))));
    row("makespan", amount(answer, outcome.makespan));
    row("utilisation", fmt::format("{:.1f} % of what all peers could do", 100 * f.utilisation));
    row("messages", fmt::format("{:.3g} x those of 1f1b", f.schedule.messages));
    if (outcome.failures > 0)
      row("failures",
          fmt::format("{}; {} sent again", outcome.failures, counted(outcome.resent, "request", "requests")));
    if (!outcome.moves.empty()) row("moves", fmt::format("{}", outcome.moves.size()));
    out_ += '\n';
    peers(answer);
    out_ += '\n';
    out_ += schedule_picture(drawn(answer).run, "peer", amount(answer, outcome.makespan), color_);
    for (const std::string& assumption : assumptions_of_swarms()) out_ += wrapped(assumption, "note: ", "      ");
    return std::move(out_);
  }

 private:
  static std::string amount(const swarm::Answer& answer, core::Picoseconds ticks) {
    const Fraction time = answer.in_units(ticks);
    return answer.unit ? aligned_time(time.value() * answer.unit->base()) : fmt::format("{:.6g}", time.value());
  }
  void row(std::string_view name, const std::string& value) { line("  {:<18}{}", name, value); }
  void peers(const swarm::Answer& answer) {
    constexpr std::size_t k_shown = 32;
    line("{}", paint_.dim(fmt::format("  {:>4}{:>8}{:>8}{:>12}{:>12}{:>8}", "peer", "stage", "speed", "busy", "lost",
                                      "held")));
    const std::vector<swarm::Peer>& all = answer.problem.peers;
    for (std::size_t i = 0; i < std::min(all.size(), k_shown); ++i)
      line("  {:>4}{:>8}{:>8.3g}{:>12}{:>12}{:>8}", i, all[i].joins > 0 ? "joins" : std::to_string(all[i].stage),
           speed_of(all[i].speed), amount(answer, answer.outcome.busy[i]), amount(answer, answer.outcome.lost[i]),
           answer.outcome.most_held[i]);
    if (all.size() > k_shown) line("  and {} more", all.size() - k_shown);
  }
  bool color_;
};

}  // namespace

void write_json(const swarm::Answer& answer, const Tool& tool, const Sink& sink) {
  const SwarmFigures f = figures(answer);
  Json document = schedule_document(drawn(answer), f.schedule, tool);
  document["result"]["swarm"] = {{"utilisation", f.utilisation},
                                 {"failures", answer.outcome.failures},
                                 {"sent_again", answer.outcome.resent},
                                 {"peers", peers_json(answer)},
                                 {"moves", moves_json(answer)}};
  document["result"]["operations"] = Json::array();
  Json operation;
  write_long_list(
      document, "operations", answer.outcome.runs.size(),
      [&](std::size_t i) -> const Json& {
        const swarm::Run& run = answer.outcome.runs[i];
        operation["device"] = run.peer;
        operation["kind"] = run.backward ? "backward" : "forward";
        operation["micro_batch"] = run.micro_batch;
        operation["chunk"] = 0;
        operation["stage"] = run.stage;
        operation["start"] = answer.in_units(run.start).value() * seconds_per_unit(answer);
        operation["end"] = answer.in_units(run.end).value() * seconds_per_unit(answer);
        if (run.lost)
          operation["lost"] = true;
        else
          operation.erase("lost");
        return operation;
      },
      sink);
}

std::string text(const swarm::Answer& answer, const TextStyle& style) { return SwarmText(style.color).run(answer); }
std::string svg(const swarm::Answer& answer) { return schedule_svg(drawn(answer), figures(answer).schedule, "peer"); }

}  // namespace cairn::report
