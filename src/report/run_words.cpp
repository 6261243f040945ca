#include "run_words.h"

#include <algorithm>
#include <cmath>

#include "cairn/core/printable.h"
#include "paint.h"

namespace cairn::report {
namespace {

// The data-parallel degree, and how experts are spread.
std::string experts(const plan::Strategy& s) {
  std::string text = std::to_string(s.data);
  if (s.expert > 1) text += fmt::format(", ep {}", s.expert);
  if (s.expert_tensor > 1) text += fmt::format(", etp {}", s.expert_tensor);
  return text;
}

// What is sharded over data-parallel ranks, and what is offloaded.
std::string sharding(const plan::Strategy& s) {
  std::string text;
  if (s.sharded != plan::Sharded::nothing) text += fmt::format(", zero {}", static_cast<int>(s.sharded));
  if (!text.empty() && s.shard != 0) text += fmt::format(" over {}", s.shard);
  const auto away = [&](plan::Home home, std::string_view what) {
    if (home != plan::Home::device)
      text += fmt::format(", {} on {}", what, home == plan::Home::host ? "host" : "drives");
  };
  away(s.offload.optimizer, "optimizer");
  away(s.offload.parameters, "parameters");
  away(s.offload.activations, "activations");
  return text;
}

// What runs again in the backward pass.
std::string recomputed(const plan::Strategy& s) {
  constexpr std::string_view k_names[] = {"", "; recompute attention", "; recompute full", "; recompute per-op",
                                          "; recompute some operators"};
  std::string text(k_names[static_cast<std::size_t>(s.recompute)]);
  if (text.empty()) return text;
  const plan::RecomputeLayers& layers = s.recompute_layers;
  if (layers.method == plan::RecomputeMethod::uniform) text += fmt::format(" in groups of {} layers", layers.count);
  if (layers.method == plan::RecomputeMethod::block || !layers.ranges.empty()) text += " of some layers";
  return text;
}

std::string_view meaning_of_exchange(program::Axis axis) {
  switch (axis) {
    case program::Axis::tensor:
      return "waiting for tensor-parallel transfers";
    case program::Axis::context:
      return "waiting for context-parallel transfers";
    case program::Axis::expert:
      return "waiting for expert-parallel transfers";
    case program::Axis::pipeline:
      return "waiting for messages between stages";
    default:
      return "waiting for gradients and parameters";
  }
}

std::string_view label(predict::Cause cause) {
  using predict::Cause;
  switch (cause) {
    case Cause::compute:
      return "compute";
    case Cause::recompute:
      return "recompute";
    case Cause::launch:
      return "launch";
    case Cause::optimizer:
      return "optimizer";
    case Cause::imbalance:
      return "imbalance";
    case Cause::schedule:
      return "schedule";
    case Cause::exchange:
      return "exchange";
    case Cause::copy:
      return "offload_exposed";
    case Cause::host:
      return "host";
    case Cause::message:
      return "pp_exposed";
    case Cause::ranks:
      return "ranks";
    case Cause::links:
      return "links_exposed";
  }
  return "";
}

// As part of a sentence about a step.
std::string_view noun(const predict::CauseTime& part) {
  using predict::Cause;
  switch (part.cause) {
    case Cause::compute:
      return "computation";
    case Cause::recompute:
      return "recomputation";
    case Cause::launch:
      return "waiting for kernels to start";
    case Cause::optimizer:
      return "the parameter update";
    case Cause::imbalance:
      return "more work than the average stage has";
    case Cause::schedule:
      return "filling and draining the pipeline";
    case Cause::exchange:
      return meaning_of_exchange(part.axis);
    case Cause::message:
      return "waiting for messages between stages";
    case Cause::copy:
      return "waiting for copies from and to the host";
    case Cause::host:
      return "waiting for the host to issue kernels";
    case Cause::ranks:
      return "waiting for slower ranks";
    case Cause::links:
      return "waiting for links that transfers share";
  }
  return "";
}

}  // namespace

std::string cause_label(const predict::CauseTime& part) {
  if (part.cause == predict::Cause::exchange) return fmt::format("{}_exposed", program::label(part.axis));
  return std::string(label(part.cause));
}

std::string name(const predict::CauseTime& part) {
  if (part.cause == predict::Cause::copy) return "offload";
  if (part.cause == predict::Cause::links) return "links";
  std::string result = cause_label(part);
  std::replace(result.begin(), result.end(), '_', ' ');
  return result;
}

std::string_view meaning(const predict::CauseTime& part) {
  using predict::Cause;
  if (part.cause == Cause::compute) return "forward and backward kernels";
  if (part.cause == Cause::recompute) return "forward kernels run again in backward";
  if (part.cause == Cause::launch) return "the device waits for its next kernel";
  if (part.cause == Cause::optimizer) return "update of the parameters";
  return noun(part);
}

std::vector<predict::CauseTime> by_cause(const predict::Causes& causes) {
  std::vector<predict::CauseTime> result;
  for (const predict::CauseTime& part : causes.parts) {
    const auto same = [&](const predict::CauseTime& other) {
      return other.cause == part.cause && other.axis == part.axis;
    };
    if (const auto known = std::find_if(result.begin(), result.end(), same); known != result.end())
      known->time += part.time;
    else
      result.push_back(part);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const predict::CauseTime& a, const predict::CauseTime& b) { return a.time > b.time; });
  return result;
}

Limit limit(const predict::Prediction& prediction) {
  constexpr double k_stands_out = 0.01;  // of the step, which the limiting stage needs beyond the average
  constexpr double k_worth_saying = 0.05;
  constexpr int k_most_said = 3;
  const predict::Causes& causes = prediction.causes;
  const double step_s = core::to_seconds(prediction.time);
  const std::vector<predict::CauseTime> parts = by_cause(causes);
  double sum_s = 0.0;
  for (const core::Picoseconds time : causes.stages) sum_s += core::to_seconds(time);
  const double mean_s = sum_s / static_cast<double>(causes.stages.size());
  const double longest_s = core::to_seconds(causes.stages[static_cast<std::size_t>(causes.limiting)]);
  std::string shares;
  int said = 1;
  for (const predict::CauseTime& part : parts) {
    const double share = core::to_seconds(part.time) / step_s;
    if (shares.empty())
      shares = fmt::format("{} takes {} of the step", noun(part), percent(share, 0));
    else if (share >= k_worth_saying && said++ < k_most_said)
      shares += fmt::format(", {} {}", noun(part), percent(share, 0));
  }
  Limit result{.stage = causes.limiting, .cause = cause_label(parts.front()), .sentence = {}};
  if (causes.stages.size() > 1 && longest_s - mean_s >= k_stands_out * step_s)
    result.sentence =
        fmt::format("Stage {} holds the others up: without waiting for them it takes {}, the average stage {}; ",
                    causes.limiting, seconds(longest_s), seconds(mean_s));
  else if (causes.stages.size() > 1)
    result.sentence = "No stage holds the others up: ";
  result.sentence += shares + ".";
  if (result.sentence.front() >= 'a') result.sentence.front() = static_cast<char>(result.sentence.front() - 'a' + 'A');
  return result;
}

std::string joined(const std::vector<std::string>& settings) {
  std::string result;
  for (const std::string& each : settings) {
    const bool quoted = each.find(' ') != std::string::npos;
    result += fmt::format("{}--set {}{}{}", result.empty() ? "" : " ", quoted ? "'" : "", each, quoted ? "'" : "");
  }
  return result;
}

std::string effect_words(const experiment::Effect& effect, double step_s) {
  return fmt::format("If {}: {} ({:.0f} %) {}", effect.alternative, seconds(std::abs(effect.change_s)),
                     100.0 * std::abs(effect.change_s) / step_s, effect.change_s < 0.0 ? "less" : "more");
}

std::string measured_words(const contrast::Explanation& measured) {
  const double gap = core::to_seconds(measured.gap()), predicted = core::to_seconds(measured.predicted);
  const std::string said = fmt::format("Measured {}: ", seconds(core::to_seconds(measured.measured)));
  if (measured.gap() == 0) return said + "as predicted";
  return said + fmt::format("{} ({}) {} than predicted", seconds(std::abs(gap)), percent(std::abs(gap) / predicted, 0),
                            gap < 0.0 ? "less" : "more");
}

std::string fact_words(const contrast::Fact& fact, core::Picoseconds measured) {
  constexpr double k_none = 0.0005;  // of the measured step: what is left below it is nothing
  const double left = static_cast<double>(fact.residual) / static_cast<double>(measured);
  const std::string rest = std::abs(left) < k_none
                               ? "as measured"
                               : fmt::format("{} {}", percent(std::abs(left)), left < 0.0 ? "above" : "below");
  return fmt::format("{} if {} ({})", aligned_time(core::to_seconds(fact.time)), fact.sentence, rest);
}

std::vector<contrast::Fact> helpful(const contrast::Explanation& measured) {
  std::vector<contrast::Fact> result;
  for (const contrast::Fact& fact : measured.facts)
    if (std::abs(fact.residual) < std::abs(measured.gap())) result.push_back(fact);
  return result;
}

std::string run_name(const Run& run) {
  const std::string& given = run.job.experiment().name;
  return core::printable(given.empty() ? run.job.transformer().name : given);
}

std::string machine_words(const Run& run) {
  const hardware::Machine& machine = run.job.machine();
  return fmt::format("{} parameters on {} x {}, {} node{}; {}, {}",
                     core::format_count(static_cast<double>(run.job.model().parameters())), run.job.gpus(),
                     machine.accelerator.value.name, machine.network.nodes, machine.network.nodes == 1 ? "" : "s",
                     run.job.recipe().recipe, run.job.framework().name);
}

namespace {

// "cp 8 by attention2d on 4 x 2, "
std::string shared_sequences(const plan::Strategy& s) {
  if (s.context == 1) return {};
  if (s.attention.scheme == nullptr) return fmt::format("cp {}, ", s.context);
  const bool plain = s.attention.grid.ranks() == s.attention.grid.columns;
  return fmt::format("cp {} by {}{}, ", s.context, s.attention.scheme->name,
                     plain ? std::string() : fmt::format(" on {}", sequence::text(s.attention.grid)));
}

}  // namespace

std::string plan_words(const Run& run) {
  const plan::Strategy& s = run.job.strategy();
  return fmt::format(
      "tp {}{}, {}pp {}, dp {}{}; {}{}{}; {} sequences of {} tokens, {} micro-batch{} of {} on each rank", s.tensor,
      s.sequence_parallel ? " with sp" : "", shared_sequences(s), s.pipeline, experts(s), sharding(s), s.schedule,
      s.chunks > 1 ? fmt::format(" with {} chunks", s.chunks) : std::string(), recomputed(s), run.job.global_batch(),
      run.job.experiment().training.seq_len, s.micro_batches, s.micro_batches == 1 ? "" : "es", s.micro_batch);
}

}  // namespace cairn::report
