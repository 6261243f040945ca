#include "cairn/predict/evaluate/analytic.h"

#include <algorithm>
#include <bit>

#include "at.h"
#include "cairn/core/assert.h"
#include "cairn/core/content_store.h"
#include "cairn/core/flat_table.h"
#include "cairn/core/hash.h"
#include "cairn/predict/evaluate/max_plus.h"
#include "cairn/predict/evaluate/reach.h"
#include "interpret.h"
#include "pass_function.h"
#include "pass_sweep.h"

namespace cairn::predict {
namespace {

using program::Stream;

constexpr std::size_t k_narrow = 8;  // streams of most blocks
constexpr auto ignore = [](const auto&...) {};

struct RunHash {
  std::size_t operator()(const program::BlockRun& run) const { return core::Hash::of(run.block, run.count); }
};

struct PairHash {
  std::size_t operator()(const std::pair<const program::Pass*, const program::Pass*>& pair) const {
    return core::Hash::of(pair.first, pair.second);
  }
};

// Passes whose steps take the same times share one function, though their memory or zero-time steps may differ.
struct Terms {
  static std::uint64_t hash(const PassFunction& function) {
    core::Hash hash;
    for (const PassTerm& term : function.terms()) hash.add(term.row).add(term.column).add(term.weight);
    return hash.value();
  }
  static bool same(const PassFunction& a, const PassFunction& b) { return a.terms() == b.terms(); }
};

// Streams that a stage itself occupies.
constexpr StreamSet k_own = set_of(at(Stream::arrival)) - 1;
static_assert(at(Stream::arrival) + 1 == program::k_streams);

}  // namespace

class Analytic::Implementation {
 public:
  explicit Implementation(PriceTable& prices) : prices_(prices) {}

  Makespan makespan(const program::Program& program) {
    bind(program);
    sweep_.run(*program.pass_order, program.pass_order->tails);
    Makespan result{.time = core::k_never, .last_stage = 0};
    for (std::size_t stage = 0; stage < program.stages(); ++stage) {
      const core::Picoseconds end = end_of(program, stage);
      if (end > result.time) result = {.time = end, .last_stage = static_cast<std::int32_t>(stage)};
    }
    return result;
  }

  core::Picoseconds alone(const program::Block& block) {
    const Frontiers end = stretch(block, 1).matrix(origin());
    return *std::max_element(end.begin(), end.end());
  }

  core::Picoseconds at_least(const program::Block& block) {
    return stretch(block, 1).matrix.weight(at(Stream::compute), at(Stream::compute));
  }

  core::Picoseconds alone(const program::Pass& pass) {
    SweepFrontiers state{};
    run_pass(function(pass).full(), state);
    return state[at(Stream::compute)];
  }

  PassTimes pass_times(const program::Program& program) {
    const auto sources = producers(program);
    PassTimes result;
    result.resize(program.stages());
    bind(program);
    sweep_.run_each(program.pass_order->sweep, [&](const program::PassOrder::Step& step) {
      std::vector<PassTime>& passes = result[step.device];
      passes.push_back({.arrival = message(program, sources[step.device][passes.size()], sweep_.sent(step.producer)),
                        .end = sweep_.state(step.device)[at(Stream::compute)]});
    });
    return result;
  }

  StageTimeline timeline(const program::Program& program, std::int32_t stage) {
    bind(program);
    sweep_.run_each(std::span(program.pass_order->sweep).first(program.pass_order->tails), ignore);
    const auto sources = producers(program);
    StageTimeline result{.stage = stage, .steps = {}, .arrivals = {}, .end = 0};
    // The send that a pass waits for: its end is known from the sweep, its length is its price.
    std::vector<core::Picoseconds> ends = arrivals_by_position(program, stage);
    Frontiers frontier = origin();
    std::vector<core::Picoseconds> scratch;
    const auto passes = passes_of(program, stage);
    reserve(passes, result);
    for (std::size_t position = 0; position < passes.size(); ++position) {
      const PassId source = sources[at(stage)][position];
      result.arrivals.push_back(message(program, source, ends[position]));
      frontier[at(Stream::arrival)] = result.arrivals.back().end;
      for (const program::BlockRun& run : passes[position]->runs)
        for (std::int64_t repeat = 0; repeat < run.count; ++repeat) run_block(*run.block, frontier, scratch, result);
    }
    frontier[at(Stream::arrival)] = 0;
    result.end = *std::max_element(frontier.begin(), frontier.end());
    return result;
  }

 private:
  static Frontiers origin() { return Frontiers{}; }

  // A long step has a hundred thousand spans. Copying those of a vector that grows took three quarters of the time of
  // finding them (profile of `cairn validate`, 2026-11).
  static void reserve(const std::vector<const program::Pass*>& passes, StageTimeline& result) {
    std::array<std::size_t, program::k_streams> spans{};
    for (const program::Pass* pass : passes)
      for (const program::BlockRun& run : pass->runs)
        for (const program::Step& step : run.block->steps) {
          const auto times = static_cast<std::size_t>(run.count);
          spans[at(step.stream)] += times;
          if (step.launches > 0) spans[at(Stream::host)] += times;
        }
    for (std::size_t stream = 0; stream < spans.size(); ++stream) result.steps[stream].reserve(spans[stream]);
    result.arrivals.reserve(passes.size());
  }

  void run_block(const program::Block& block, Frontiers& frontier, std::vector<core::Picoseconds>& scratch,
                 StageTimeline& result) {
    core::Picoseconds host = frontier[at(Stream::host)];
    const BlockPrices& prices = prices_.of(block);
    execute(block, prices, prices_.host_per_kernel(), frontier, scratch,
            [&](std::size_t index, core::Picoseconds start, core::Picoseconds end) {
              const program::Step& step = block.steps[index];
              if (step.launches > 0) {
                const core::Picoseconds issued = host + issue_time(step, prices, prices_.host_per_kernel());
                result.steps[at(Stream::host)].push_back({host, issued});
                host = issued;
              }
              if (step.stream == Stream::host) host = end;
              result.steps[at(step.stream)].push_back({start, end});
            });
  }

  // The message from `source` that came at `end`.
  Span message(const program::Program& program, PassId source, core::Picoseconds end) {
    if (source.stage < 0) return {};
    return {end - send_price(program.pass(source.stage, program.row(source.stage)[at(source.position)].slot)), end};
  }

  core::Picoseconds send_price(const program::Pass& pass) {
    if (pass.send == program::Send::none) return 0;  // told at home
    const program::Block& block = *pass.runs.back().block;
    const BlockPrices& prices = prices_.of(block);
    const Stream stream = pass.send == program::Send::next ? Stream::next : Stream::previous;
    for (const program::Step& step : block.steps)
      if (step.stream == stream) return step.work < 0 ? 0 : prices[at(step.work)].duration;
    CAIRN_ASSERT(!"a sending pass ends in a send");
    return 0;
  }

  std::vector<core::Picoseconds> arrivals_by_position(const program::Program& program, std::int32_t stage) const {
    std::vector<core::Picoseconds> result;
    for (const program::PassOrder::Step& step : program.pass_order->sweep)
      if (step.device == stage) result.push_back(sweep_.sent(step.producer));
    return result;
  }

  // What every pass of the program does to its stage, and all stages before the first. Functions lie anywhere: all are
  // fetched before the first is looked at.
  void bind(const program::Program& program) {
    used_.clear();
    finishes_now_.clear();
    for (const program::Stage& kind : program.kinds) {
      for (const program::Pass* pass : kind.passes) {
        used_.push_back(&function(*pass));
        __builtin_prefetch(used_.back());
      }
      finishes_now_.push_back(&finish(kind, program.layout()));
      __builtin_prefetch(finishes_now_.back());
    }
    start(program);
    shorten(program);
  }

  // What passes of a kind of stage agree to: that none is short; that all are; that all are but the end of the step, which
  // no other pass follows, and the rows of the pass before it.
  enum class Agreed : std::uint8_t { none, all, but_end };

  // The kernels of the sweep, as short as the passes of each kind of stage agree to.
  void shorten(const program::Program& program) {
    const auto slots = static_cast<std::size_t>(program.layout().size());
    const program::PassOrder& order = *program.pass_order;
    agreed_.clear();
    touched_.clear();
    live_ = order.awaited_streams;
    bool whole_rows = false;
    for (std::size_t first = 0; first < used_.size(); first += slots) {
      agree(program, std::span(used_).subspan(first, slots));
      whole_rows = whole_rows || agreed_.back() == Agreed::but_end;
    }
    const auto last_of = [&](std::size_t stage) {
      return program.kind_of_stage[stage] * slots + order.last_slot[stage];
    };
    const auto of_whole_rows = [&](auto work) {
      for (std::size_t stage = 0; whole_rows && stage < program.stages(); ++stage)
        if (agreed_[program.kind_of_stage[stage]] == Agreed::but_end)
          work(last_of(stage), program.kind_of_stage[stage]);
    };
    of_whole_rows([&](std::size_t last, std::size_t kind) { live_ |= touched_[kind] & ~used_[last]->touched(); });
    std::vector<Kernel>& kernels = sweep_.kernels();
    kernels.resize(used_.size());
    for (std::size_t kind = 0, i = 0; kind < agreed_.size(); ++kind)
      for (std::size_t slot = 0; slot < slots; ++slot, ++i) {
        const bool end = order.layout.is_end(slot);
        const bool is_short = agreed_[kind] == Agreed::all || (agreed_[kind] == Agreed::but_end && !end);
        kernels[i] = is_short ? used_[i]->shortened(live_) : used_[i]->full();
        // Only the ends of rows, few of which a sweep comes to, are left where they are.
        if (kernels[i].count > 0 && !end) prefetch(kernels[i]);
      }
    of_whole_rows([&](std::size_t last, std::size_t) { kernels[last] = used_[last]->whole(); });
  }

  // Of the passes of one kind of stage, by slot.
  void agree(const program::Program& program, std::span<PassFunction* const> passes) {
    PassFunction::Together all;
    for (const PassFunction* each : passes) all.add(*each);
    touched_.push_back(0);
    if (all.agree(passes)) {
      live_ |= all.live();
      return agreed_.push_back(Agreed::all);
    }
    PassFunction::Together but_end;
    agreeing_.clear();
    for (std::size_t slot = 0; slot < passes.size(); ++slot)
      if (!program.layout().is_end(slot)) but_end.add(*agreeing_.emplace_back(passes[slot]));
    const bool agreed = !program.updates_within() && but_end.agree(agreeing_);
    agreed_.push_back(agreed ? Agreed::but_end : Agreed::none);
    live_ |= agreed ? but_end.live() : ~StreamSet{0};
    touched_.back() = but_end.touched();
  }

  // All stages before their first pass.
  void start(const program::Program& program) {
    const std::size_t steps = program.pass_order->sweep.size();
    // A quick check first: no path is longer than (passes) x (longest pass). Only if that could exceed simulated time,
    // the passes are summed one by one.
    if (!(static_cast<double>(steps) * longest_pass_ < static_cast<double>(core::k_reach)))
      require_reachable(program, prices_);
    sweep_.start(program);
  }

  // Prefetches the terms of coming passes into the cache, for they are scattered in memory.
  static void prefetch(const Kernel& kernel) {
    constexpr std::size_t k_terms_per_line = 64 / sizeof(PassTerm);
    for (std::size_t i = 0; i < kernel.count; i += k_terms_per_line) __builtin_prefetch(kernel.form.terms + i);
  }

  // When a stage is done, after the sweep up to the tails.
  core::Picoseconds end_of(const program::Program& program, std::size_t stage) const {
    const SweepFrontiers& state = sweep_.state(stage);
    const std::uint16_t kind = program.kind_of_stage[stage];
    const StreamSet streams = agreed_[kind] == Agreed::all ? live_ & k_own : k_own;
    const Finish& finish = program.pass_order->has_tail[stage] ? *finishes_now_[kind] : k_finished;
    core::Picoseconds end = 0;
    for (StreamSet left = streams; left != 0; left &= left - 1) {
      const auto stream = static_cast<std::size_t>(std::countr_zero(left));
      end = std::max(end, state[stream] + finish[stream]);
    }
    return end;
  }

  // What the tail of a row does to its stage: streams busy until x_j end at max_j ( x_j + finish_j ).
  using Finish = std::array<core::Picoseconds, program::k_streams>;
  static constexpr Finish k_finished{};  // no tail
  const Finish& finish(const program::Stage& stage, const program::PassLayout& layout) {
    const auto pass = [&](program::PassKind kind) {
      return stage.passes[static_cast<std::size_t>(layout.slot({kind}))];
    };
    const program::Pass* const finalize = pass(program::PassKind::finalize);
    const program::Pass* const update = pass(program::PassKind::update);
    std::unique_ptr<Finish>& slot = finishes_.of({finalize, update});
    if (slot) return *slot;
    slot = std::make_unique<Finish>();
    const Matrix both = compose(matrix_of(*finalize), matrix_of(*update));
    for (std::size_t from = 0; from < program::k_streams; ++from) {
      core::Picoseconds& longest = (*slot)[from] = core::k_never;
      for (std::size_t to = 0; to < program::k_streams; ++to) longest = std::max(longest, both.weight(to, from));
    }
    return *slot;
  }

  Matrix matrix_of(const program::Pass& pass) {
    Matrix matrix;
    double longest = 0.0;
    for (const program::BlockRun& run : pass.runs) {
      const Stretch& next = stretch(*run.block, run.count);
      require_reachable(longest += next.in_a_row, *run.block, run.count, prices_);
      matrix = compose(matrix, next.matrix);
    }
    longest_pass_ = std::max(longest_pass_, longest);
    return matrix;
  }

  // Dense by the pass's id; a pass of another lowering with the same id takes its place.
  PassFunction& function(const program::Pass& pass) {
    const std::size_t id = at(pass.id);
    if (id < passes_.size() && passes_[id].first == &pass) return *passes_[id].second;
    return make_function(pass);
  }
  // Apart, so that looking a function up saves no registers for making one.
  [[gnu::noinline]] PassFunction& make_function(const program::Pass& pass) {
    const std::size_t id = at(pass.id);
    if (id >= passes_.size()) passes_.resize(id + 1);
    PassFunction* const made = functions_.stored(PassFunction(matrix_of(pass))).first;
    passes_[id] = {&pass, made};
    return *made;
  }

  // A block some times in a row, and all its work one after the other [ps].
  struct Stretch {
    Matrix matrix;
    double in_a_row = 0.0;
  };

  const Stretch& stretch(const program::Block& block, std::int64_t count) {
    const program::BlockRun run{&block, count};
    if (const auto& known = stretches_.of(run)) return *known;
    auto made = std::make_unique<Stretch>();
    made->in_a_row =
        static_cast<double>(count) * predict::in_a_row(block, prices_.of(block), prices_.host_per_kernel());
    require_reachable(made->in_a_row, block, count, prices_);
    made->matrix = power(count == 1 ? symbolic(block) : stretch(block, 1).matrix, count);
    return *(stretches_.of(run) = std::move(made));
  }

  Matrix symbolic(const program::Block& block) {
    Matrix matrix(streams_of(block));
    if (matrix.size() <= k_narrow)
      run_symbolically<k_narrow>(block, matrix);
    else
      run_symbolically<program::k_streams>(block, matrix);
    return matrix;
  }

  template <std::size_t N>
  void run_symbolically(const program::Block& block, Matrix& matrix) {
    std::array<Form<N>, program::k_streams> frontier;
    for (std::size_t i = 0; i < matrix.size(); ++i) frontier[matrix.stream(i)] = Form<N>::unit(i);
    std::vector<Form<N>> ends;
    ends.reserve(block.steps.size());
    execute(block, prices_.of(block), prices_.host_per_kernel(), frontier, ends, ignore);
    for (std::size_t i = 0; i < matrix.size(); ++i)
      for (std::size_t j = 0; j < matrix.size(); ++j) matrix.entry(i, j) = frontier[matrix.stream(i)].c[j];
  }

  // Those that its steps occupy or wait for.
  static StreamSet streams_of(const program::Block& block) {
    StreamSet streams = 0;
    for (const program::Step& step : block.steps) {
      streams |= set_of(at(step.stream));
      if (step.launches > 0) streams |= set_of(at(Stream::host));
    }
    for (const program::Dependency dependency : block.dependencies)
      if (dependency < 0) streams |= set_of(at(~dependency));
    return streams;
  }

  PriceTable& prices_;
  core::ContentStore<PassFunction, Terms> functions_;
  std::vector<std::pair<const program::Pass*, PassFunction*>> passes_;  // by id
  core::FlatTable<program::BlockRun, std::unique_ptr<Stretch>, RunHash> stretches_;
  double longest_pass_ = 0.0;  // of all made so far, its work in a row [ps]
  core::FlatTable<std::pair<const program::Pass*, const program::Pass*>, std::unique_ptr<Finish>, PairHash> finishes_;
  // Of the program under way.
  PassSweep sweep_;
  std::vector<PassFunction*> used_;          // by kind of stage and slot
  std::vector<PassFunction*> agreeing_;      // of one kind, those that are to agree
  std::vector<Agreed> agreed_;               // by kind of stage
  std::vector<StreamSet> touched_;           // by kind of stage that agrees but for its end: streams that passes set
  std::vector<const Finish*> finishes_now_;  // by kind of stage
  StreamSet live_ = 0;                       // streams that some pass reads, or that may end last
};

Analytic::Analytic(PriceTable& prices) : implementation_(std::make_unique<Implementation>(prices)) {}
Analytic::~Analytic() = default;
Makespan Analytic::makespan(const program::Program& program) { return implementation_->makespan(program); }
core::Picoseconds Analytic::at_least(const program::Block& block) { return implementation_->at_least(block); }
core::Picoseconds Analytic::alone(const program::Block& block) { return implementation_->alone(block); }
core::Picoseconds Analytic::alone(const program::Pass& pass) { return implementation_->alone(pass); }
PassTimes Analytic::pass_times(const program::Program& program) { return implementation_->pass_times(program); }
StageTimeline Analytic::timeline(const program::Program& program, std::int32_t stage) {
  return implementation_->timeline(program, stage);
}

}  // namespace cairn::predict
