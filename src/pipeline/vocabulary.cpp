// Vocabulary parallelism: instead of one stage with the whole output layer, every device computes its share for every
// micro-batch in two passes, S up to its part of the softmax and T its gradients, with barriers of all devices between:
//
//   vocab-1     F on the last stage | S on all | T on all | B on the last stage      two more micro-batches alive
//   vocab-2     F on the last stage | S on all | B on the last stage; T when it suits     one more
//   interlaced  S and T of a micro-batch side by side on all, as tensor parallelism does  p/2 more
//
// Every device runs as many forwards ahead of its backwards as micro-batches are added. In the steady state the device
// of stage s runs forward i (p-1-s) F before the last stage does, and one more every F+B+W; so its S of micro-batch i
// goes behind the forward of i + ceil((p-1-s) F / (F+B+W)), the first to run no earlier than the last stage's of i.
// Where no such forward is left, behind as many gradients instead. T goes one place later. Source: Yeung et al.,
// "Balancing Pipeline Parallelism with Vocabulary Parallelism", MLSys 2025, sections 4 and 5.
#include "vocabulary.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "kinds.h"

namespace cairn::pipeline {
namespace {

std::int32_t forwards_ahead(Vocabulary vocabulary, std::int32_t stages) {
  if (vocabulary == Vocabulary::one) return 2;
  if (vocabulary == Vocabulary::two) return 1;
  return (stages + 1) / 2;
}

// A row with its forwards `ahead` places earlier; everything else keeps its order.
std::vector<Operation> advanced(std::span<const Operation> row, std::int32_t ahead) {
  std::vector<Operation> forwards, others;
  std::vector<bool> is_forward(ahead, true);
  for (const Operation& operation : row) {
    is_forward.push_back(operation.phase == Phase::forward);
    (is_forward.back() ? forwards : others).push_back(operation);
  }
  std::vector<Operation> result;
  std::size_t next_forward = 0, next_other = 0;
  for (const bool forward : is_forward) {
    if (forward && next_forward < forwards.size()) result.push_back(forwards[next_forward++]);
    if (!forward) result.push_back(others[next_other++]);
  }
  return result;
}

// How many gradients may at most precede S and T of every micro-batch on a device.
struct Limits {
  std::vector<std::int32_t> s;
  std::vector<std::int32_t> t;

  // Micro-batches keep their order: what holds for one holds for those before it.
  void keep_order() {
    for (std::vector<std::int32_t>* limits : {&s, &t})
      for (std::size_t i = limits->size() - 1; i > 0; --i) (*limits)[i - 1] = std::min((*limits)[i - 1], (*limits)[i]);
  }
};

// The row with S and T put in: S of a micro-batch behind the forward of the one `lag` later, T one place later, both
// earlier where the limits demand it.
class RowWithPasses {
 public:
  RowWithPasses(std::int32_t lag, Vocabulary vocabulary, const Limits& limits)
      : later_(vocabulary == Vocabulary::interlaced ? 0 : 1), limits_(limits), place_(-lag) {}

  std::vector<Operation> run(const std::vector<Operation>& row) {
    std::int32_t forwards = 0;
    std::int32_t gradients = 0;
    for (const Operation& operation : row) {
      const bool gradient = sends_gradient(operation.phase);
      if (gradient) {
        while (next_s_ < micro_batches() && limits_.s[next_s_] <= gradients) run_s(next_s_);
        while (next_t_ < micro_batches() && limits_.t[next_t_] <= gradients) run_t(next_t_);
        ++gradients;
      }
      result_.push_back(operation);
      const bool forward = operation.phase == Phase::forward;
      forwards += forward ? 1 : 0;
      if (forward || (forwards == micro_batches() && gradient)) pass();
    }
    while (next_t_ < micro_batches()) pass();
    return std::move(result_);
  }

 private:
  std::int32_t micro_batches() const { return static_cast<std::int32_t>(limits_.s.size()); }
  void run_s(std::int32_t last) {
    for (; next_s_ <= last && next_s_ < micro_batches(); ++next_s_)
      result_.push_back({.phase = Phase::vocabulary_forward, .micro_batch = next_s_});
  }
  void run_t(std::int32_t last) {
    run_s(last);
    for (; next_t_ <= last && next_t_ < micro_batches(); ++next_t_)
      result_.push_back({.phase = Phase::vocabulary_backward, .micro_batch = next_t_});
  }
  void pass() {
    run_s(place_);
    run_t(place_++ - later_);
  }

  std::int32_t later_;
  const Limits& limits_;
  std::int32_t place_;  // micro-batch whose last forward runs about now
  std::int32_t next_s_ = 0;
  std::int32_t next_t_ = 0;
  std::vector<Operation> result_;
};

// How many gradients precede T of every micro-batch here and on the devices behind: no more may precede its S on a
// device before these, for its gradients await theirs, which await T, which awaits every S.
void lower_to_gradients_before(const std::vector<Operation>& row, Limits& limits) {
  std::int32_t gradients = 0;
  for (const Operation& operation : row) {
    if (sends_gradient(operation.phase)) ++gradients;
    if (operation.phase != Phase::vocabulary_backward) continue;
    std::int32_t& most = limits.s[operation.micro_batch];
    most = std::min(most, gradients);
  }
  limits.keep_order();
}

// On the last stage a micro-batch's own gradients await its T, or only its S.
Limits of_last_stage(std::span<const Operation> row, std::int32_t micro_batches, Vocabulary vocabulary) {
  Limits limits{.s = std::vector<std::int32_t>(micro_batches, micro_batches), .t = {}};
  std::int32_t gradients = 0;
  for (const Operation& operation : row)
    if (sends_gradient(operation.phase)) limits.s[operation.micro_batch] = gradients++;
  limits.t = vocabulary == Vocabulary::two ? std::vector<std::int32_t>(micro_batches, micro_batches) : limits.s;
  limits.keep_order();
  return limits;
}

class Waits {
 public:
  explicit Waits(const Schedule& schedule) : schedule_(schedule) {
    for (std::int32_t device = 0; device < schedule.stages; ++device)
      for (std::int32_t i = schedule.row_begin[device]; i < schedule.row_begin[device + 1]; ++i) {
        const Operation& operation = schedule.operations[i];
        if (operation.phase == Phase::vocabulary_forward) passes_s_.push_back({i, operation.micro_batch});
        if (operation.phase == Phase::vocabulary_backward) passes_t_.push_back({i, operation.micro_batch});
      }
    forward_.resize(schedule.micro_batches);
    gradient_.resize(schedule.micro_batches);
    for (std::int32_t i = schedule.row_begin[schedule.stages - 1]; i < schedule.row_begin[schedule.stages]; ++i) {
      const Operation& operation = schedule.operations[i];
      if (operation.phase == Phase::forward) forward_[operation.micro_batch] = i;
      if (sends_gradient(operation.phase)) gradient_[operation.micro_batch] = i;
    }
  }

  std::vector<Wait> all(Vocabulary vocabulary) const {
    std::vector<Wait> waits;
    std::vector<std::vector<std::int32_t>> of(schedule_.micro_batches);
    for (const Pass& s : passes_s_) {
      waits.push_back({.operation = s.position, .on = forward_[s.micro_batch]});
      of[s.micro_batch].push_back(s.position);
    }
    for (const Pass& t : passes_t_)
      for (const std::int32_t s : of[t.micro_batch]) waits.push_back({.operation = t.position, .on = s});
    const bool gradients_first = vocabulary != Vocabulary::two;
    for (const Pass& pass : gradients_first ? passes_t_ : passes_s_)
      waits.push_back({.operation = gradient_[pass.micro_batch], .on = pass.position});
    std::sort(waits.begin(), waits.end());
    return waits;
  }

 private:
  struct Pass {
    std::int32_t position = 0;
    std::int32_t micro_batch = 0;
  };
  const Schedule& schedule_;
  std::vector<Pass> passes_s_, passes_t_;
  std::vector<std::int32_t> forward_, gradient_;  // of the last stage, by micro-batch
};

}  // namespace

Schedule with_vocabulary(const Schedule& schedule, const Settings& settings) {
  const Vocabulary vocabulary = settings.vocabulary;
  const Durations& t = settings.durations;
  const core::Picoseconds period = std::max<core::Picoseconds>(1, t.forward + t.input_gradient + t.weight_gradient);
  require(schedule.chunks == 1 && schedule.side_rows.empty() && schedule.waits.empty() && schedule.pieces == 1,
          "vocabulary", "the vocabulary is split over pipelines of one chunk per device, not " + schedule.kind,
          "choose gpipe, 1f1b, zb-h1, zb-h2, zb-auto or 2bp");
  Limits limits = of_last_stage(schedule.row(schedule.stages - 1), schedule.micro_batches, vocabulary);
  std::vector<std::vector<Operation>> rows(schedule.stages);
  for (std::int32_t device = schedule.stages - 1; device >= 0; --device) {
    const auto lag = static_cast<std::int32_t>(((schedule.stages - 1 - device) * t.forward + period - 1) / period);
    rows[device] = RowWithPasses(lag, vocabulary, limits)
                       .run(advanced(schedule.row(device), forwards_ahead(vocabulary, schedule.stages)));
    lower_to_gradients_before(rows[device], limits);
  }
  Schedule result = schedule;
  result.operations.clear();
  result.row_begin.assign(1, 0);
  for (const std::vector<Operation>& operations : rows) {
    result.operations.insert(result.operations.end(), operations.begin(), operations.end());
    result.row_begin.push_back(static_cast<std::int32_t>(result.operations.size()));
  }
  result.waits = Waits(result).all(vocabulary);
  return result;
}

}  // namespace cairn::pipeline
