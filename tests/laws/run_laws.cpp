#include "run_laws.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cairn/report/schema.h"

namespace cairn::laws {
namespace {

using predict::Prediction;

// Prices are rounded to whole picoseconds, so a sum of them is off by half of one for each.
constexpr double k_half_picosecond = 0.5e-12;
// Of sums of doubles in another order.
constexpr double k_rounding = 1e-12;

bool same(double a, double b) { return std::abs(a - b) <= k_rounding * std::max(std::abs(a), std::abs(b)); }

class RunLaws {
 public:
  explicit RunLaws(const Outcome& outcome)
      : job_(*outcome.job), p_(outcome.result.prediction), why_not_(outcome.result.why_not), run_(outcome.run()) {}

  std::vector<Breach> all() {
    engines();
    times();
    bounds();
    utilisation();
    definitions();
    memory();
    volumes();
    floors();
    return std::move(breaches_);
  }

 private:
  void require(bool holds, const char* law, const std::string& what) {
    if (!holds) breaches_.push_back({law, what});
  }

  const experiment::Simulation& simulation() const { return job_.experiment().simulation; }
  bool slowed() const {  // or sped up
    return simulation().jitter.sigma > 0.0 ||
           std::any_of(simulation().faults.begin(), simulation().faults.end(),
                       [](const experiment::Fault& fault) { return fault.compute != 1.0; });
  }
  bool shared() const { return simulation().contention || simulation().interference; }

  void engines() {
    if (!p_.event || p_.analytic.time == 0) return;
    require(p_.time == p_.event->makespan.time, "the event engine's time is preferred", "");
    if (slowed() || shared()) return;
    require(p_.analytic.time == p_.time, "both engines agree", fmt::format("{} and {} ps", p_.analytic.time, p_.time));
  }

  void times() {
    const predict::Breakdown& parts = p_.breakdown;
    require(p_.time > 0, "a step takes time", fmt::format("{} ps", p_.time));
    require(parts.total() == p_.time, "terms add up", fmt::format("{} of {} ps", parts.total(), p_.time));
    require(parts.other == 0, "every picosecond has a name", fmt::format("{} ps are left", parts.other));
    std::vector<core::Picoseconds> all(parts.exposed.begin(), parts.exposed.end());
    for (const core::Picoseconds part : {parts.compute, parts.recompute, parts.launch, parts.offload, parts.bubble,
                                         parts.optimizer, parts.host, parts.links})
      all.push_back(part);
    require(*std::min_element(all.begin(), all.end()) >= 0, "no term is negative", "");
  }

  void bounds() {
    const double slack = p_.event ? k_half_picosecond * static_cast<double>(p_.event->events) : 0.0;
    const auto at_least = [&](core::Picoseconds time, const std::optional<double>& bound, const char* of) {
      if (!bound) return;
      const double s = core::to_seconds(time);
      require(s * (1.0 + k_rounding) + slack >= *bound, "no time is below its bound",
              fmt::format("{}: bound {:.9g} s, time {:.9g} s, ratio {:.4f}", of, *bound, s, *bound / s));
    };
    const auto each = [&](core::Picoseconds time) {
      at_least(time, p_.plan_bounds.compute_s, "plan compute");
      at_least(time, p_.plan_bounds.memory_s, "plan memory");
      at_least(time, p_.plan_bounds.network_s, "plan network");
      at_least(time, p_.plan_bounds.together_s, "plan together");
      at_least(time, p_.problem_bounds.compute_s, "problem compute");
      at_least(time, p_.problem_bounds.memory_s, "problem memory");
      at_least(time, p_.problem_bounds.network_s, "problem network");
    };
    if (p_.analytic.time > 0 && !shared()) each(p_.analytic.time);
    if (!slowed()) each(p_.time);
    for (const predict::Bounds* bound : {&p_.plan_bounds, &p_.problem_bounds})
      for (const std::optional<double>& part : {bound->compute_s, bound->memory_s, bound->network_s, bound->together_s})
        require(!part || *bound->best_s() >= *part, "the best bound is the largest", "");
  }

  void utilisation() {
    const report::RunFigures f = report::figures(run_);
    const auto fraction = [&](double value, const char* law) {
      require(value > 0.0 && (slowed() || value <= 1.0), law, fmt::format("{:.4f}", value));
    };
    // Full attention counts at most twice the unmasked pairs.
    require(f.mfu > 0.0 && f.mfu <= 2.0 * f.mfu_causal * (1.0 + k_rounding), "0 < MFU <= 2 causal MFU",
            fmt::format("MFU {:.6f}, causal MFU {:.6f}", f.mfu, f.mfu_causal));
    fraction(f.mfu_causal, "0 < causal MFU <= 1");
    fraction(f.hfu, "0 < HFU <= 1");
    require(f.mfu_causal <= f.mfu * (1.0 + k_rounding), "the causal MFU is the smaller",
            fmt::format("{:.4f} and {:.4f}", f.mfu_causal, f.mfu));
    require(f.hfu * (1.0 + k_rounding) >= f.mfu_causal, "what is executed holds the model's FLOPs",
            fmt::format("HFU {:.6f}, causal MFU {:.6f}", f.hfu, f.mfu_causal));
  }

  void definitions() {
    const report::RunFigures f = report::figures(run_);
    const double time = core::to_seconds(p_.time);
    const auto gpus = static_cast<double>(job_.gpus());
    const double tokens = static_cast<double>(job_.global_batch() * job_.experiment().training.seq_len);
    const char* law = "figures are what they are defined as";
    require(same(f.time_s, time), law, "time");
    require(same(f.tokens_per_s, tokens / time), law, "tokens/s");
    require(same(f.tokens_per_s_per_gpu, tokens / time / gpus), law, "tokens/s/GPU");
    require(same(f.model_flop_per_s_per_gpu, p_.model_flops / time / gpus), law, "FLOP/s/GPU");
    require(same(f.mfu, p_.model_flops / time / gpus / job_.peak().rate.base()), law, "MFU");
    require(same(f.mfu_causal, p_.model_flops_causal / time / gpus / job_.peak().rate.base()), law, "causal MFU");
    require(same(f.hfu, p_.hardware_flops / time / gpus / job_.peak().rate.base()), law, "HFU");
    const hardware::Cluster& cluster = job_.machine().cluster.value;
    if (cluster.price.accelerator_hour)
      require(f.usd_per_step && same(*f.usd_per_step, time / 3600.0 * gpus * cluster.price.accelerator_hour->base()),
              law, "USD");
    const plan::Strategy& s = job_.strategy();
    require(s.data * s.context * s.tensor * s.pipeline == job_.gpus(), law, "degrees");
    require(job_.strategy().data * job_.strategy().micro_batch * job_.strategy().micro_batches == job_.global_batch(),
            law, "batch");
    const auto& whole = job_.experiment().training.tokens;
    require(f.training.has_value() == whole.has_value(), law, "training");
    if (!whole) return;
    const double seconds = whole->tokens / tokens * time;
    require(same(f.training->time_s, seconds), law, "time of the training");
    require(same(f.training->gpu_hours, seconds / 3600.0 * gpus), law, "GPU-hours of the training");
  }

  void stage_memory(const predict::StageMemory& stage) {
    const double sum = std::accumulate(stage.at_peak.begin(), stage.at_peak.end(), 0.0);
    require(same(sum, stage.allocated_peak), "parts of memory add up",
            fmt::format("{} and {}", sum, stage.allocated_peak));
    require(*std::min_element(stage.at_peak.begin(), stage.at_peak.end()) >= 0.0, "no part of memory is negative", "");
    require(stage.reserved_peak * (1.0 + k_rounding) >= stage.allocated_peak,
            "what is reserved holds what is allocated",
            fmt::format("{} and {}", stage.reserved_peak, stage.allocated_peak));
    require(p_.memory.allocated_peak >= stage.allocated_peak, "the peak is the fullest stage's", "");
    require(p_.memory.device_peak >= stage.device_peak, "the peak is the fullest stage's", "of the device");
  }

  void memory() {
    const predict::MemoryReport& m = p_.memory;
    for (const predict::StageMemory& stage : m.stages) stage_memory(stage);
    require(m.peak_stage >= 0 && m.peak_stage < std::ssize(m.stages), "the peak is at a stage", "");
    require(m.stages[static_cast<std::size_t>(m.peak_stage)].allocated_peak == m.allocated_peak,
            "the peak is at its stage", "");
    const bool room = m.device_peak <= m.capacity && (m.host == 0.0 || m.host <= m.host_capacity) &&
                      (m.storage_capacity == 0.0 || m.storage <= m.storage_capacity);
    require(p_.fits == room, "fits says whether all fits", "");
    require(p_.fits == !why_not_.has_value(), "why_not stands where it does not fit", "");
    if (!why_not_) return;
    require(why_not_->over_by_bytes > 0.0, "what does not fit is over by something",
            fmt::format("{}", why_not_->over_by_bytes));
    require(why_not_->stage >= 0 && why_not_->stage < std::ssize(m.stages) && !why_not_->term.empty(),
            "why_not names a term and a stage", "");
    if (!why_not_->changes) return;
    for (const experiment::Remedy& each : *why_not_->changes)
      require(!each.settings.empty() && each.time_s > 0.0 && each.memory_bytes <= m.capacity,
              "a change that is proposed fits", fmt::format("{} s, {} bytes", each.time_s, each.memory_bytes));
  }

  void volumes() {
    double sent = 0.0, received = 0.0;
    for (const predict::Volume& volume : p_.volumes) {
      sent += volume.sent;
      received += volume.received;
      require(same(volume.scale_up + volume.scale_out, volume.sent), "what is sent goes up or out", "");
      require(std::min({volume.sent, volume.received, volume.scale_up, volume.scale_out}) >= 0.0,
              "no volume is negative", "");
    }
    require(same(sent, received), "what is sent is received", fmt::format("{} and {}", sent, received));
  }

  void floors() {
    const auto below = [&](double floor_s, double time_s, double count, const std::string& of) {
      require(floor_s <= time_s * (1.0 + k_rounding) + k_half_picosecond * count, "no piece is below its floor",
              fmt::format("{}: floor {:.6g} s, time {:.6g} s", of, floor_s, time_s));
    };
    for (const predict::PriceLine& line : p_.prices)
      below(line.floor_s, line.time_s, 1.0, line.name + " " + line.detail);
    for (const predict::ClassFloor& row : p_.class_floors) {
      below(row.floor_s, row.time_s, static_cast<double>(p_.event ? p_.event->events : 0), row.label);
      require(row.floor_bytes <= row.bytes * (1.0 + k_rounding), "no floor is above what is moved",
              fmt::format("{}: {} of {}", row.label, row.floor_bytes, row.bytes));
    }
    if (!p_.event) return;
    for (const predict::UnitUse& use : p_.event->uses)
      require(use.mean <= use.peak * (1.0 + k_rounding) && use.peak <= 1.0 + 1e-9,
              "no unit is used beyond its capacity",
              fmt::format("{}: mean {}, peak {}", p_.event->units[use.unit].name, use.mean, use.peak));
  }

  const experiment::Job& job_;
  const Prediction& p_;
  const std::optional<experiment::WhyNot>& why_not_;
  report::Run run_;
  std::vector<Breach> breaches_;
};

void numbers_below_zero(const Json& value, const std::string& path, std::vector<Breach>& breaches) {
  // What is missing of the memory is headroom below zero.
  if (value.is_number() && value.get<double>() < 0.0 && !path.ends_with(".headroom"))
    breaches.push_back({"no figure is negative", path});
  if (value.is_structured())
    for (const auto& [key, each] : value.items()) numbers_below_zero(each, path + "." + key, breaches);
}

}  // namespace

std::vector<Breach> breaches(const Outcome& outcome) {
  if (outcome.kind == Outcome::Kind::crashed) return {{"nothing crashes", outcome.message}};
  if (!outcome.accepted()) return {};
  return RunLaws(outcome).all();
}

std::vector<Breach> document_breaches(const Json& experiment, const Outcome& outcome, const Shelf& shelf) {
  std::string document;
  std::vector<Breach> result;
  try {
    document = outcome.document();
    (void)report::text(outcome.run());
  } catch (const std::exception& error) {
    return {{"every result can be written", error.what()}};
  }
  Json parsed = Json::parse(document);
  numbers_below_zero(parsed["result"], "result", result);
  const Outcome again = run(experiment, shelf);
  if (!again.accepted() || again.document() != document) result.push_back({"a run repeats itself", again.message});
  const Outcome fed_back = run(parsed["experiment"], shelf);
  if (!fed_back.accepted()) {
    result.push_back({"the echo is an experiment", fed_back.message});
    return result;
  }
  Json other = Json::parse(fed_back.document());
  // What the experiment left open may be changed otherwise than what its echo says.
  for (Json* answer : {&other["result"], &parsed["result"]})
    if (Json& reason = (*answer)["why_not"]; !reason.is_null()) reason.erase("changes");
  if (other["result"] != parsed["result"])
    result.push_back({"the echo is the experiment that ran", "its result differs"});
  else if (Json named = other; named["sources"] = parsed["sources"], named.dump() != parsed.dump())
    // What was a file of its own is part of the echo: the files read differ.
    result.push_back({"the echo gives the same bytes", Json::diff(parsed, named).dump().substr(0, 300)});
  return result;
}

}  // namespace cairn::laws
