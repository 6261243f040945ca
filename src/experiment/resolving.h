// The rules by which settings become a plan, one function each, in the order in which they run. Each may read what
// those before it have filled in, and reports errors at the key that causes them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/experiment/resolve.h"

namespace cairn::experiment {

// An error about values: it has a key path, but no file and line.
inline core::Diagnostic at_key(std::string key, std::string message, std::string hint) {
  core::Diagnostic problem;
  problem.key_path = std::move(key);
  problem.message = std::move(message);
  problem.hint = std::move(hint);
  return problem;
}

// Schedules that were generated, for plans that ask for the same again.
class Schedules {
 public:
  // Throws core::ConfigurationError for settings that the kind does not take.
  std::shared_ptr<const pipeline::Schedule> of(const std::string& kind, const pipeline::Settings& settings);

 private:
  struct Known {
    pipeline::Settings settings;
    std::shared_ptr<const pipeline::Schedule> schedule;
  };
  std::map<std::tuple<std::string, std::int32_t, std::int32_t, std::int32_t>, std::vector<Known>> known_;
};

struct Resolving {
  const Settings& settings;
  const Parts& parts;
  Resolved& plan;
  core::Diagnostics& problems;
  Schedules& schedules;

  void error(std::string key, std::string message, std::string hint) {
    problems.add(at_key(std::move(key), std::move(message), std::move(hint)));
  }
  void warn(std::string text) { plan.warnings.push_back(std::move(text)); }
};

// Throws core::ConfigurationError for values outside the ranges that their keys' descriptions allow.
void check_values(const Settings& settings);
// resolve() without check_values(), for settings that were read from a file and so are checked.
Resolved resolve_checked(const Settings& settings, const Parts& parts);
// The same in two halves: all that strategy.zero, overlap.dp and overlap.pp have no part in, then what these decide of
// it. The second may follow the first again with others of the three.
Resolved resolve_structure(const Settings& settings, const Parts& parts, Schedules& schedules);
void resolve_exchanges(const Settings& settings, const Parts& parts, Schedules& schedules, Resolved& plan);

// Degrees, axes and schedule as they are asked for; dp as the machine leaves it. The model's heads and groups, and the
// sequence, must divide.
void resolve_degrees(Resolving& r);
// How experts are spread: tp x cp x dp = etp x ep x edp.
void resolve_experts(Resolving& r);
// How the ranks of cp share attention.
void resolve_attention(Resolving& r);
// Sequences of a step, and the micro-batches that they make.
void resolve_batch(Resolving& r);
// Kernels and formats that the model is built with.
void resolve_build(Resolving& r);
// How transfers of tensor parallelism run beside computation.
void resolve_tensor_overlap(Resolving& r);
// What copies and stages exchange beside computation.
void resolve_overlap(Resolving& r);
// What becomes of a parameter in the optimizer step.
void resolve_treatment(Resolving& r);
void resolve_recompute(Resolving& r);
// What is sharded, fetched and offloaded; after treatment and overlap.
void resolve_zero(Resolving& r);
// The schedule's order lists, and the layers of every virtual stage unless prices are to balance them.
void resolve_stages(Resolving& r);

// `error` of a module that does not know the experiment's keys, by these: schedule.kind becomes strategy.schedule.kind,
// schedule.stages strategy.pp, schedule.micro_batches training.global_batch.
core::ConfigurationError by_settings(const core::ConfigurationError& error);

}  // namespace cairn::experiment
