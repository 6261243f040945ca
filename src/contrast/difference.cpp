#include "cairn/contrast/difference.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/format_units.h"
#include "cairn/core/printable.h"
#include "cairn/experiment/job.h"
#include "step_time.h"

namespace cairn::contrast {
namespace {

using core::Picoseconds;

std::string in_words(Picoseconds time) { return core::format(core::Seconds::from_base(core::to_seconds(time))); }

// The largest difference first.
template <class T, class Size>
void sort_by(std::vector<T>& all, Size size) {
  std::stable_sort(all.begin(), all.end(),
                   [&](const T& a, const T& b) { return std::abs(size(a)) > std::abs(size(b)); });
}

// One of the two, run and held against its document where it has one.
struct Ran {
  Side side;
  std::unique_ptr<experiment::Job> job;
};

void hold_against(const Recorded& told, const Request& request, Side& side, std::vector<std::string>& notes) {
  const bool simulated = request.engine != predict::Engine::analytic;
  const Picoseconds said = simulated ? told.time : told.analytic.value_or(told.time);
  if (!simulated && said != told.time)
    notes.push_back(
        fmt::format("{} holds a simulated step of {}; compared is the analytic time, {}: --engine event "
                    "compares simulated ones",
                    core::quoted(side.file), in_words(told.time), in_words(said)));
  if (said == side.time_now) return;
  if (said != told.time) {
    // The terms are those of the other engine.
    notes.push_back(
        fmt::format("{} says {} by the analytic engine, this version of cairn and its configurations {}: "
                    "compared is the latter",
                    core::quoted(side.file), in_words(said), in_words(side.time_now)));
    return;
  }
  notes.push_back(
      fmt::format("{} says {}, this version of cairn and its configurations {}: compared are the seconds of "
                  "the document, each rounded to whole picoseconds; shares of settings are of runs of now",
                  core::quoted(side.file), in_words(said), in_words(side.time_now)));
  side.recorded = true;
  side.time = told.time;
  side.terms = told.terms;
}

Ran run(const Compared& one, const Request& request, std::vector<std::string>& notes) {
  Ran ran;
  ran.job = std::make_unique<experiment::Job>(one.experiment, request.loader);
  ran.side.file = one.file;
  ran.side.name = one.experiment.experiment.name;
  experiment::Result result = ran.job->run(request.engine, {.advice = experiment::Advice::none});
  predict::Prediction& prediction = result.prediction;
  ran.side.time = ran.side.time_now = prediction.time;
  ran.side.terms = terms_of(prediction.breakdown);
  ran.side.causes = std::move(prediction.causes);
  ran.side.memory = std::move(prediction.memory);
  ran.side.fits = prediction.fits;
  if (one.recorded) hold_against(*one.recorded, request, ran.side, notes);
  return ran;
}

std::vector<Part> parts_of(const Side& a, const Side& b) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < k_terms.size(); ++i)
    if (a.terms[i] != 0 || b.terms[i] != 0) parts.push_back({.term = k_terms[i], .a = a.terms[i], .b = b.terms[i]});
  sort_by(parts, [](const Part& part) { return part.difference(); });
  return parts;
}

std::vector<CausePart> causes_of(const Side& a, const Side& b) {
  std::vector<CausePart> parts;
  const auto add = [&](const predict::Causes& causes, Picoseconds CausePart::*side) {
    for (const predict::CauseTime& each : causes.parts) {
      const auto found = std::find_if(parts.begin(), parts.end(), [&](const CausePart& part) {
        return part.cause == each.cause && (each.cause != predict::Cause::exchange || part.axis == each.axis);
      });
      CausePart& part =
          found != parts.end() ? *found : parts.emplace_back(CausePart{.cause = each.cause, .axis = each.axis});
      part.*side += each.time;
    }
  };
  add(a.causes, &CausePart::a);
  add(b.causes, &CausePart::b);
  sort_by(parts, [](const CausePart& part) { return part.difference(); });
  return parts;
}

// The first thing wrong, with its place.
std::string first_of(const core::ConfigurationError& error) {
  const core::Diagnostic& first = error.diagnostics().front();
  return first.key_path.empty() ? first.message : first.key_path + ": " + first.message;
}

class Between {
 public:
  Between(const Request& request, const Ran& a, const Ran& b)
      : request_(request),
        a_(a.side.time_now),
        b_(b.side.time_now),
        settings_(decided(request.a, a), decided(request.b, b), request.engine) {}

  void share_out(Answer& answer) {
    const std::size_t count = settings_.timed().size();
    const auto value = [&](Coalition changed) { return time_of(changed, (Coalition{1} << count) - 1); };
    Attribution found = attribute(count, value);
    Picoseconds sum = 0;
    for (Group& group : found.groups) {
      Share share{.reasons = std::move(group.reasons), .time = group.share};
      for (const std::size_t change : group.changes) share.settings.push_back(settings_.timed()[change]);
      sum += share.time;
      answer.shares.push_back(std::move(share));
    }
    sort_by(answer.shares, [](const Share& share) { return share.time; });
    answer.unexplained = answer.difference() - sum;
    answer.untimed = settings_.untimed();
    answer.all_orders = found.all_orders;
    answer.runs = found.evaluated;
  }

 private:
  Deciding decided(const Compared& one, const Ran& ran) const {
    return one.deciding ? *one.deciding : deciding(*ran.job, request_.loader);
  }
  Outcome time_of(Coalition changed, Coalition all) {
    if (changed == 0) return {.value = a_};
    if (changed == all) return {.value = b_};
    if (request_.progress) request_.progress(++done_, std::min(k_shown_runs, all));
    try {
      return {.value = step_time(settings_.mixed(changed), request_.loader, request_.engine)};
    } catch (const core::ConfigurationError& error) {
      return {.obstacle = first_of(error)};
    }
  }
  static constexpr std::size_t k_shown_runs = 62;  // of six settings, but for both ends

  const Request& request_;
  Picoseconds a_, b_;
  Settings settings_;
  std::size_t done_ = 0;
};

}  // namespace

Terms terms_of(const predict::Breakdown& of) {
  const auto exposed = [&](program::Axis axis) { return of.exposed[static_cast<std::size_t>(axis)]; };
  using program::Axis;
  return {of.compute,
          of.recompute,
          of.launch,
          exposed(Axis::tensor),
          exposed(Axis::context),
          exposed(Axis::expert),
          exposed(Axis::pipeline),
          exposed(Axis::data),
          of.offload,
          of.bubble,
          of.optimizer,
          of.host,
          of.links,
          of.other};
}

Compared read(const config::Loader& loader, const std::string& name, const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  config::Sources sources;
  const config::Node node = loader.noting(sources).load_named(name, "experiments", diagnostics);
  diagnostics.raise_if_errors();
  Compared result;
  result.file = name;
  result.recorded = recorded(node);
  if (!overrides.empty()) result.recorded.reset();
  result.experiment = experiment::read(node, overrides);
  result.experiment.sources = std::move(sources);
  return result;
}

Answer difference(const Request& request) {
  Answer answer;
  const Ran a = run(request.a, request, answer.notes);
  const Ran b = run(request.b, request, answer.notes);
  answer.a = a.side;
  answer.b = b.side;
  answer.parts = parts_of(answer.a, answer.b);
  if (!answer.a.recorded && !answer.b.recorded) answer.causes = causes_of(answer.a, answer.b);
  Between(request, a, b).share_out(answer);
  return answer;
}

}  // namespace cairn::contrast
