// What `cairn run` answers, as JSON (cairn.run/1) and as text.
//
//   tokens/s = global batch x seq_len / step time
//   MFU      = model FLOPs / (step time x accelerators x peak),  peak: dense, of the fastest number format that the step's
//              contractions run in (cost/peak.h): of the recipe's products, unless others run on faster units
//   HFU      = the same with the FLOPs that are executed, recomputation included; pairs that a kernel skips are not
//   USD/step = step time [h] x accelerators x price of an accelerator hour
//   J/step   = step time x (accelerators x power + nodes x overhead of a node) x PUE
//   training = tokens / (tokens/s), without restarts and checkpoints; accelerator hours and USD from it as above
// Model FLOPs are 3 x forward with attention counted full, the convention of published figures (Chowdhery et al., PaLM,
// arXiv 2204.02311, appendix B; Narayanan et al., SC 2021): all s^2 pairs of s tokens whatever the causal mask hides. A
// window of w keys is part of the model, no mask of it: its full attention is the pairs less than w apart, before or
// after. The causal MFU counts unmasked pairs alone. Neither depends on the kernel. Always
//   causal MFU <= MFU < 2 x causal MFU    a query sees itself and one side, which has as many pairs as the other
//   causal MFU <= HFU <= 1                every unmasked pair is executed, at the peak at most
// so that MFU < 2: it passes 1 where attention is most of the work and its kernel skips half of it, and a warning says
// so then.
//
// The text says the answer, what limits the step, where time and memory go, and what to distrust most; the full one
// also what is most expensive and how far each piece is from its floor, lower bounds, and every assumption.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cairn/contrast/explanation.h"
#include "cairn/experiment/job.h"
#include "cairn/hardware/running_costs.h"
#include "cairn/predict/prediction.h"

namespace cairn::report {

struct Tool {
  std::string version;
  std::string build;
};

// A finished run. The text and the JSON are functions of it alone: equal input gives equal bytes.
struct Run {
  const experiment::Job& job;
  const experiment::Result& result;
  Tool tool;
  const contrast::Explanation* measured = nullptr;  // of a step that was measured; null: none was
  // The JSON also says what pages alone show: when passes ran (Prediction::passes), what would change the step time
  // (Result::effects), and machine and plan in words.
  bool timeline = false;
};

// The whole training: `training.tokens` at the step's rate.
struct WholeTraining {
  double tokens = 0.0;
  double time_s = 0.0;
  double gpu_hours = 0.0;
  std::optional<double> usd;
};

struct RunFigures {
  double time_s = 0.0;
  double tokens_per_s = 0.0;
  double tokens_per_s_per_gpu = 0.0;
  double model_flop_per_s_per_gpu = 0.0;
  double mfu = 0.0;  // 1 = peak
  double mfu_causal = 0.0;
  double hfu = 0.0;
  std::optional<double> usd_per_step;     // where the cluster names a price
  std::optional<double> joule_per_step;   // where the cluster names its power
  std::optional<WholeTraining> training;  // where the experiment names its tokens
};
RunFigures figures(const Run& run);

// What figures of a step follow from, beside its prediction.
struct StepBasis {
  double gpus = 1.0;
  double tokens = 0.0;      // of a step
  double peak_flops = 0.0;  // of one accelerator [FLOP/s]
  const hardware::RunningCosts& costs;
};
RunFigures figures(const predict::Prediction& prediction, const StepBasis& of);

// What the memory that the driver keeps rests on, as the accelerator's file says: "measured: capacity less ...".
std::string driver_source(const Run& run);

// One cairn.run/1 document. A negative `indent` gives one line. Every number in it is finite.
std::string json(const Run& run, int indent = 2);

// What holds the step back: the stage that the others wait for, its largest cause, and a sentence that says so.
struct Limit {
  std::int32_t stage = 0;
  std::string cause;
  std::string sentence;
};
Limit limit(const predict::Prediction& prediction);
// Name of a cause in result documents: "compute", "schedule", "tp_exposed".
std::string cause_label(const predict::CauseTime& cause);

struct TextStyle {
  bool color = false;
  bool full = false;  // everything there is to say, at most 100 columns wide; else one screen, 24 lines of 80 columns
};
// For people; ends with a line break.
std::string text(const Run& run, const TextStyle& style = {});

// Memory of the stages as a picture (SVG): a bar for each at its peak, one rank of it, cut into what is held then, with
// what the allocator keeps beside and what the system takes; a line at the capacity.
std::string memory_svg(const Run& run);

// Names of memory categories in reports, parallel to program::Category.
std::string_view category_name(program::Category category);

}  // namespace cairn::report
