// Measures one case: what all groups share, and the function of each group.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "case.h"
#include "reference.h"
#include "runtime.h"
#include "timing.h"

namespace cairn::probe {

class Collectives;  // collective.cpp
struct CloseCollectives {
  void operator()(Collectives* collectives) const;
};

struct Context {
  Timing timing;
  int device = 0;
  int compute_capability = 0;  // 10 x major + minor
  std::int64_t l2_bytes = 0;
  Stream stream = {};
  std::unique_ptr<Collectives, CloseCollectives> collectives = {};

  // Sets of operands of `footprint` bytes for this case; NotMeasurable if memory holds not even one.
  int sets(const Case& row, std::int64_t footprint) const;
  // "cold" or "warm", as it really is.
  std::string cache(std::int64_t footprint, int sets) const;
};

// One kernel, its operands in several sets.
struct Subject {
  int sets = 1;
  std::function<void()> poison;         // outputs of all sets
  std::function<void(int)> launch;      // on a set
  std::function<Comparison()> compare;  // of the outputs that the last replays left
};

struct Run {
  std::vector<double> samples;  // [s], each of one execution
  Comparison comparison;
  std::string cache = {};
};

// Records repeats of the launch, poisons, replays, compares.
Run measure(const Context& context, const Subject& subject);

// Samples of `sample()` [s] until the timing is content.
std::vector<double> collect(const Timing& timing, const std::function<double()>& sample);

Run run_launch(Context& context, const Case& row);
Run run_copy(Context& context, const Case& row);
Run run_transfer(Context& context, const Case& row);
Run run_pointwise(Context& context, const Case& row);
Run run_norm(Context& context, const Case& row);
Run run_gemm(Context& context, const Case& row);
Run run_attention(Context& context, const Case& row);
Run run_collective(Context& context, const Case& row);

Run run_case(Context& context, const Case& row);  // the one of its group

}  // namespace cairn::probe
