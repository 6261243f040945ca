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

// A pass as the few maxima that are not plain "unchanged": x'_row = max over its terms ( weight + x_column ).
//
// Most terms never decide. Between passes every stream i satisfies x_i <= x_compute + slack_i if each pass keeps it so, that is if
//   M_ij <= M_cj + slack_i   or   M_ij + slack_j <= M_cc + slack_i      for every column j
// and then a term (r, j) with M_rj + slack_j <= M_rc may go. The slacks below are the least that this pass alone keeps; the short
// list of terms is valid on a stage all of whose passes agree on the slacks it relies on; a pass that leaves a stream alone counts on
// slack 0, as at the start.
struct PassFunction {
  struct Term {
    std::uint8_t row;
    std::uint8_t column;
    core::Picoseconds weight;
  };
  Matrix matrix;
  std::vector<Term> all;   // by row
  std::vector<Term> few;
  std::array<core::Picoseconds, plan::k_streams> slack{};  // k_unbounded: none
  std::array<bool, plan::k_streams> touched{};
  std::array<bool, plan::k_streams> relied_on{};  // streams whose slack the short list rests on

  static constexpr core::Picoseconds k_unbounded = -core::k_never;

  explicit PassFunction(const Matrix& m) : matrix(m) {
    for (std::size_t row = 0; row < plan::k_streams; ++row) {
      touched[row] = matrix.row[row].c != Form::unit(row).c;
      if (!touched[row]) continue;
      for (std::size_t column = 0; column < plan::k_streams; ++column)
        if (present(row, column)) all.push_back({index(row), index(column), weight(row, column)});
    }
    find_slack();
    for (const Term& term : all) {
      const bool bounded = term.column != k_compute && term.column != k_arrival && term.column != k_data &&
                           slack[term.column] != k_unbounded && present(term.row, k_compute);
      if (bounded && term.weight + slack[term.column] <= weight(term.row, k_compute))
        relied_on[term.column] = true;
      else
        few.push_back(term);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < plan::k_streams; ++i)
        for (std::size_t j = 0; j < plan::k_streams; ++j)
          if (relied_on[i] && !relied_on[j] && j != k_compute && j != k_arrival && i != j && present(i, j) && !below_compute(i, j)) {
            relied_on[j] = true;
            changed = true;
          }
    }
  }

  // The short list without the rows of streams outside `live`, which nothing reads. Remembers the last answer.
  const std::vector<Term>& living(std::uint32_t live) {
    if (live == live_) return living_;
    live_ = live;
    living_.clear();
    for (const Term& term : few)
      if ((live >> term.row) & 1U) living_.push_back(term);
    return living_;
  }

  static void apply(const std::vector<Term>& terms, Frontiers& x) {
    std::array<core::Picoseconds, plan::k_streams> value;
    std::array<std::uint8_t, plan::k_streams> changed;
    std::size_t rows = 0;
    const Term* term = terms.data();
    const Term* const end = term + terms.size();
    while (term != end) {
      const std::uint8_t row = term->row;
      core::Picoseconds time = term->weight + x[term->column];
      for (++term; term != end && term->row == row; ++term) time = std::max(time, term->weight + x[term->column]);
      value[rows] = time;
      changed[rows++] = row;
    }
    for (std::size_t i = 0; i < rows; ++i) x[changed[i]] = value[i];
  }

 private:
  std::vector<Term> living_;
  std::uint32_t live_ = 0;
  static constexpr std::size_t k_compute = at(Stream::compute);
  static constexpr std::size_t k_arrival = at(Stream::arrival);
  // Gathers are waited for at once, reductions run on: passes never agree on this stream, so nothing rests on it.
  static constexpr std::size_t k_data = at(Stream::data);
  static std::uint8_t index(std::size_t i) { return static_cast<std::uint8_t>(i); }
  core::Picoseconds weight(std::size_t row, std::size_t column) const { return matrix.row[row].c[column]; }
  bool present(std::size_t row, std::size_t column) const { return weight(row, column) > core::k_never / 2; }

  void find_slack() {
    for (std::size_t i = 0; i < plan::k_streams; ++i) {
      if (i == k_compute || i == k_arrival || !touched[i]) continue;
      for (const std::size_t j : {k_compute, k_arrival}) {
        if (!present(i, j)) continue;
        slack[i] = present(k_compute, j) ? std::max(slack[i], weight(i, j) - weight(k_compute, j)) : k_unbounded;
      }
    }
    // The other columns may only confirm; one that does not makes its row unbounded, which may unsettle others.
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < plan::k_streams; ++i) {
        if (i == k_compute || i == k_arrival || !touched[i] || slack[i] == k_unbounded) continue;
        for (std::size_t j = 0; j < plan::k_streams; ++j)
          if (j != k_compute && j != k_arrival && present(i, j) && !confirms(i, j)) {
            slack[i] = k_unbounded;
            changed = true;
            break;
          }
      }
    }
  }

  bool below_compute(std::size_t i, std::size_t j) const {
    return present(k_compute, j) && weight(i, j) <= weight(k_compute, j) + slack[i];
  }
  bool confirms(std::size_t i, std::size_t j) const {
    if (below_compute(i, j)) return true;
    return touched[j] && slack[j] != k_unbounded && weight(i, j) + slack[j] <= weight(k_compute, k_compute) + slack[i];
  }
};

struct RunHash {
  std::size_t operator()(const plan::BlockRun& run) const {
    const std::uint64_t h = (reinterpret_cast<std::uintptr_t>(run.block) ^ static_cast<std::uint64_t>(run.count) << 48) *
                            0x9E3779B97F4A7C15ULL;
    return h ^ h >> 29;
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

  // The functions of a program's passes; for every stage whether their short lists are valid together; the streams worth computing.
  void bind(const plan::Program& program) {
    const auto chunks = static_cast<std::size_t>(program.schedule->chunks);
    terms_.resize(program.stages.size() * chunks);
    ends_.resize(program.stages.size());
    agreed_.resize(program.stages.size());
    kinds_.clear();
    std::uint32_t live_streams = 0;
    for (std::size_t stage = 0; stage < program.stages.size(); ++stage) {
      const plan::Stage& description = program.stages[stage];
      ends_[stage] = {&function(*description.settle), &function(*description.update)};
      if (stage > 0 && description.passes == program.stages[stage - 1].passes && ends_[stage] == ends_[stage - 1]) {
        agreed_[stage] = agreed_[stage - 1];
        continue;
      }
      kinds_.push_back(stage);
      used_.clear();
      for (const auto& table : description.passes)
        for (const auto& variants : table)
          for (const plan::Pass* pass : variants) used_.push_back(&function(*pass));
      used_.push_back(ends_[stage][0]);
      used_.push_back(ends_[stage][1]);
      agreed_[stage] = agree();
      live_streams |= agreed_[stage] ? live() : ~0U;
    }
    live_ = live_streams;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const std::size_t first = kinds_[k];
      const std::size_t past = k + 1 < kinds_.size() ? kinds_[k + 1] : program.stages.size();
      for (std::size_t chunk = 0; chunk < chunks; ++chunk)
        for (std::size_t phase = 0; phase < 2; ++phase)
          for (std::size_t variant = 0; variant < 2; ++variant) {
            PassFunction& found = function(*program.stages[first].passes[chunk][phase][variant]);
            const std::vector<PassFunction::Term>* list = agreed_[first] ? &found.living(live_) : &found.all;
            for (std::size_t stage = first; stage < past; ++stage) terms_[stage * chunks + chunk][phase][variant] = list;
          }
    }
  }

  // Streams whose time some pass reads, that leave the stage, or that may end last.
  std::uint32_t live() const {
    std::uint32_t mask = 1U << at(Stream::compute) | 1U << at(Stream::next) | 1U << at(Stream::previous);
    for (const PassFunction* function : used_) {
      for (const PassFunction::Term& term : function->few) mask |= 1U << term.column;
      for (std::size_t i = 0; i < plan::k_streams; ++i)
        if (function->touched[i] && function->slack[i] > 0) mask |= 1U << i;
    }
    return mask;
  }

  bool agree() const {
    for (std::size_t i = 0; i < plan::k_streams; ++i) {
      bool matters = false;
      bool differ = false;
      core::Picoseconds slack = -1;
      for (const PassFunction* function : used_) {
        matters = matters || function->relied_on[i];
        if (!function->touched[i] && !function->relied_on[i]) continue;
        differ = differ || (slack >= 0 && function->slack[i] != slack);
        slack = function->slack[i];
      }
      if (matters && (differ || slack == PassFunction::k_unbounded)) return false;
    }
    return true;
  }

  void finish(std::size_t stage, std::size_t end) {
    PassFunction& function = *ends_[stage][end];
    PassFunction::apply(agreed_[stage] ? function.living(live_) : function.all, states_[stage]);
  }

  void sweep(const plan::Program& program) {
    bind(program);
    states_.assign(program.stages.size(), origin());
    const auto& steps = program.order->steps;
    sent_.resize(steps.size());
    const auto chunks = static_cast<std::size_t>(program.schedule->chunks);
    const std::int32_t last_micro_batch = program.schedule->micro_batches - 1;
    for (std::size_t index = 0; index < steps.size(); ++index) {
      const pipeline::SweepStep& step = steps[index];
      const bool backward = step.operation.phase != pipeline::Phase::forward;
      const bool special = step.operation.micro_batch == (backward ? last_micro_batch : 0);
      const auto& terms = *terms_[at(step.device) * chunks + at(step.operation.chunk)][backward][special];
      Frontiers& state = states_[at(step.device)];
      state[at(Stream::arrival)] = step.producer >= 0 ? sent_[at(step.producer)] : 0;
      PassFunction::apply(terms, state);
      sent_[index] = state[at(backward ? Stream::previous : Stream::next)];
    }
    for (std::size_t stage = 0; stage < states_.size(); ++stage) {
      states_[stage][at(Stream::arrival)] = 0;
      finish(stage, 0);
    }
    settled_ = states_;
    for (std::size_t stage = 0; stage < states_.size(); ++stage) {
      states_[stage][at(Stream::arrival)] = tied_arrival(program, static_cast<std::int32_t>(stage));
      finish(stage, 1);
      states_[stage][at(Stream::arrival)] = 0;
    }
  }

  // Dense by the pass's id; a pass of another lowering with the same id takes its place.
  PassFunction& function(const plan::Pass& pass) {
    const std::size_t id = at(pass.id);
    if (id >= passes_.size()) passes_.resize(id + 1);
    auto& [known, slot] = passes_[id];
    if (known == &pass) return *slot;
    Matrix matrix = Matrix::identity();
    for (const plan::BlockRun& run : pass.runs) matrix = compose(matrix, stretch(*run.block, run.count));
    slot = std::make_unique<PassFunction>(matrix);
    known = &pass;
    return *slot;
  }

  const Matrix& stretch(const plan::Block& block, std::int64_t count) {
    auto& slot = stretches_[plan::BlockRun{&block, count}];
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

  PriceTable& prices_;
  std::vector<std::pair<const plan::Pass*, std::unique_ptr<PassFunction>>> passes_;
  std::unordered_map<plan::BlockRun, std::unique_ptr<Matrix>, RunHash> stretches_;
  std::vector<std::array<std::array<const std::vector<PassFunction::Term>*, 2>, 2>> terms_;  // by stage and chunk
  std::vector<std::array<PassFunction*, 2>> ends_;                                    // settle, update
  std::vector<char> agreed_;        // by stage: the short lists are valid
  std::vector<std::size_t> kinds_;  // first stages of runs of equal ones
  std::uint32_t live_ = 0;          // streams worth computing
  std::vector<PassFunction*> used_;
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
