#include "cairn/predict/analytic.h"

#include <algorithm>
#include <unordered_map>

#include "cairn/core/assert.h"
#include "cairn/predict/max_plus.h"
#include "execute.h"

namespace cairn::predict {
namespace {

using plan::Stream;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
constexpr std::size_t at(Stream stream) { return static_cast<std::size_t>(stream); }

constexpr auto ignore = [](std::size_t, const auto&, const auto&) {};

// A pass as the few maxima that are not plain "unchanged": x'_row = max over terms ( weight + x_col ).
struct PassFunction {
  struct Term {
    std::uint8_t row;
    std::uint8_t column;
    core::Picoseconds weight;
  };
  std::vector<Term> terms;  // by row
  Matrix matrix;

  void apply(Frontiers& x) const {
    Frontiers result = x;
    for (std::size_t i = 0; i < terms.size();) {
      const std::uint8_t row = terms[i].row;
      core::Picoseconds time = core::k_never;
      for (; i < terms.size() && terms[i].row == row; ++i) time = std::max(time, terms[i].weight + x[terms[i].column]);
      result[row] = time;
    }
    x = result;
  }
};

struct RunsHash {
  std::size_t operator()(const std::vector<std::pair<const plan::Block*, std::int64_t>>& runs) const {
    std::uint64_t h = runs.size();
    for (const auto& [block, count] : runs) {
      h = (h ^ reinterpret_cast<std::uintptr_t>(block)) * 0x9E3779B97F4A7C15ULL;
      h = (h ^ static_cast<std::uint64_t>(count)) * 0xBF58476D1CE4E5B9ULL;
      h ^= h >> 29;
    }
    return h;
  }
};

}  // namespace

class Analytic::Implementation {
 public:
  explicit Implementation(PriceTable& prices) : prices_(prices) {}

  Makespan makespan(const plan::Program& program) {
    sweep(program);
    Makespan result{.time = core::k_never, .last_stage = 0};
    for (std::size_t stage = 0; stage < states_.size(); ++stage) {
      const core::Picoseconds end = *std::max_element(states_[stage].begin(), states_[stage].end());
      if (end > result.time) result = {.time = end, .last_stage = static_cast<std::int32_t>(stage)};
    }
    return result;
  }

  core::Picoseconds alone(const plan::Block& block) {
    const Frontiers end = stretch(block, 1)(origin());
    return *std::max_element(end.begin(), end.end());
  }

  StageTimeline timeline(const plan::Program& program, std::int32_t stage) {
    sweep(program);
    const auto sources = producers(program);
    StageTimeline result{.stage = stage, .steps = {}, .arrivals = {}, .end = 0};
    // The send that a pass waits for: its end is known from the sweep, its length is its price.
    std::vector<core::Picoseconds> ends = arrivals_by_position(program, stage);
    Frontiers frontier = origin();
    std::vector<core::Picoseconds> scratch;
    const auto passes = passes_of(program, stage);
    for (std::size_t position = 0; position < passes.size(); ++position) {
      const PassId source = sources[at(stage)][position];
      Span arrival;
      if (source.stage >= 0) arrival = {ends[position] - send_price(program, source), ends[position]};
      result.arrivals.push_back(arrival);
      frontier[at(Stream::arrival)] = arrival.end;
      for (const plan::BlockRun& run : passes[position]->runs)
        for (std::int64_t repeat = 0; repeat < run.count; ++repeat) run_block(*run.block, frontier, scratch, result);
    }
    frontier[at(Stream::arrival)] = 0;
    result.end = *std::max_element(frontier.begin(), frontier.end());
    return result;
  }

 private:
  static Frontiers origin() { return Frontiers{}; }

  void run_block(const plan::Block& block, Frontiers& frontier, std::vector<core::Picoseconds>& scratch, StageTimeline& result) {
    core::Picoseconds host = frontier[at(Stream::host)];
    const BlockPrices& prices = prices_.of(block);
    execute(block, prices, prices_.host_per_kernel(), frontier, scratch,
            [&](std::size_t index, core::Picoseconds start, core::Picoseconds end) {
              const plan::Step& step = block.steps[index];
              if (step.launches > 0) {
                const core::Picoseconds issued = host + step.launches * prices_.host_per_kernel();
                result.steps[at(Stream::host)].push_back({host, issued});
                host = issued;
              }
              if (step.stream == Stream::host) host = end;
              result.steps[at(step.stream)].push_back({start, end});
            });
  }

  core::Picoseconds send_price(const plan::Program& program, PassId source) {
    const plan::Pass& pass = *passes_of(program, source.stage)[at(source.position)];
    const plan::Block& block = *pass.runs.back().block;
    const BlockPrices& prices = prices_.of(block);
    const Stream stream = pass.send == plan::Send::next ? Stream::next : Stream::previous;
    for (const plan::Step& step : block.steps)
      if (step.stream == stream) return prices[at(step.work)].duration;
    CAIRN_ASSERT(!"a sending pass ends in a send");
    return 0;
  }

  std::vector<core::Picoseconds> arrivals_by_position(const plan::Program& program, std::int32_t stage) const {
    std::vector<core::Picoseconds> result;
    for (const pipeline::SweepStep& step : program.order->steps)
      if (step.device == stage) result.push_back(step.producer >= 0 ? sent_[at(step.producer)] : 0);
    result.push_back(0);
    result.push_back(tied_arrival(program, stage));
    return result;
  }

  core::Picoseconds tied_arrival(const plan::Program& program, std::int32_t stage) const {
    const auto [first, second] = program.tied_stages;
    if (second == plan::k_no_stage) return 0;
    if (stage == first) return settled_[at(second)][at(Stream::next)];
    if (stage == second) return settled_[at(first)][at(Stream::next)];
    return 0;
  }

  void sweep(const plan::Program& program) {
    functions_.clear();
    for (const plan::Pass& pass : program.passes) functions_.push_back(&function(pass));
    states_.assign(program.stages.size(), origin());
    sent_.resize(program.order->steps.size());
    for (std::size_t index = 0; index < program.order->steps.size(); ++index) {
      const pipeline::SweepStep& step = program.order->steps[index];
      Frontiers& state = states_[at(step.device)];
      state[at(Stream::arrival)] = step.producer >= 0 ? sent_[at(step.producer)] : 0;
      const plan::Pass& pass = program.pass(step.device, step.operation);
      functions_[static_cast<std::size_t>(&pass - program.passes.data())]->apply(state);
      sent_[index] = pass.send == plan::Send::next       ? state[at(Stream::next)]
                     : pass.send == plan::Send::previous ? state[at(Stream::previous)]
                                                         : 0;
    }
    for (std::size_t stage = 0; stage < states_.size(); ++stage) {
      states_[stage][at(Stream::arrival)] = 0;
      functions_[at(program.stages[stage].settle)]->apply(states_[stage]);
    }
    settled_ = states_;
    for (std::size_t stage = 0; stage < states_.size(); ++stage) {
      states_[stage][at(Stream::arrival)] = tied_arrival(program, static_cast<std::int32_t>(stage));
      functions_[at(program.stages[stage].update)]->apply(states_[stage]);
      states_[stage][at(Stream::arrival)] = 0;
    }
  }

  const PassFunction& function(const plan::Pass& pass) {
    key_.clear();
    for (const plan::BlockRun& run : pass.runs) key_.emplace_back(run.block, run.count);
    auto& slot = passes_[key_];
    if (slot) return *slot;
    slot = std::make_unique<PassFunction>();
    slot->matrix = Matrix::identity();
    for (const plan::BlockRun& run : pass.runs) slot->matrix = compose(slot->matrix, stretch(*run.block, run.count));
    for (std::size_t row = 0; row < plan::k_streams; ++row) {
      const Form& form = slot->matrix.row[row];
      if (form.c == Form::unit(row).c) continue;
      for (std::size_t column = 0; column < plan::k_streams; ++column)
        if (form.c[column] > core::k_never / 2)
          slot->terms.push_back({static_cast<std::uint8_t>(row), static_cast<std::uint8_t>(column), form.c[column]});
    }
    return *slot;
  }

  const Matrix& stretch(const plan::Block& block, std::int64_t count) {
    auto& slot = stretches_[{{&block, count}}];
    if (!slot) slot = std::make_unique<Matrix>(power(count == 1 ? symbolic(block) : stretch(block, 1), count));
    return *slot;
  }

  Matrix symbolic(const plan::Block& block) {
    Matrix matrix = Matrix::identity();
    std::vector<Form> ends;
    ends.reserve(block.steps.size());
    execute(block, prices_.of(block), prices_.host_per_kernel(), matrix.row, ends, ignore);
    return matrix;
  }

  using Runs = std::vector<std::pair<const plan::Block*, std::int64_t>>;
  PriceTable& prices_;
  std::unordered_map<Runs, std::unique_ptr<PassFunction>, RunsHash> passes_;
  std::unordered_map<Runs, std::unique_ptr<Matrix>, RunsHash> stretches_;
  Runs key_;
  std::vector<const PassFunction*> functions_;
  std::vector<Frontiers> states_;
  std::vector<Frontiers> settled_;
  std::vector<core::Picoseconds> sent_;
};

Analytic::Analytic(PriceTable& prices) : implementation_(std::make_unique<Implementation>(prices)) {}
Analytic::~Analytic() = default;
Makespan Analytic::makespan(const plan::Program& program) { return implementation_->makespan(program); }
core::Picoseconds Analytic::alone(const plan::Block& block) { return implementation_->alone(block); }
StageTimeline Analytic::timeline(const plan::Program& program, std::int32_t stage) {
  return implementation_->timeline(program, stage);
}

}  // namespace cairn::predict
