#include "cairn/predict/evaluate/analytic.h"

#include <algorithm>
#include <bit>

#include "at.h"
#include "cairn/core/assert.h"
#include "cairn/core/block_deque.h"
#include "cairn/predict/evaluate/max_plus.h"
#include "cairn/predict/evaluate/reach.h"
#include "interpret.h"
#include "pass_functions.h"
#include "pass_sweep.h"

namespace cairn::predict {
namespace {

using program::Stream;

constexpr auto ignore = [](const auto&...) {};

// Streams that a stage itself occupies.
constexpr StreamSet k_own = set_of(at(Stream::arrival)) - 1;
static_assert(at(Stream::arrival) + 1 == program::k_streams);

}  // namespace

class Analytic::Implementation {
 public:
  explicit Implementation(PriceTable& prices) : prices_(prices), functions_(prices) {}

  Makespan makespan(const program::Program& program) {
    agree(program);
    require_reach(program);
    const core::Picoseconds* free = free_before_ends(program).data();
    Makespan result{.time = core::k_never, .last_stage = 0};
    for (std::size_t stage = 0; stage < program.stages(); ++stage) {
      const core::Picoseconds end = end_of(program, stage, free);
      if (end > result.time) result = {.time = end, .last_stage = static_cast<std::int32_t>(stage)};
    }
    return result;
  }

  core::Picoseconds alone(const program::Block& block) {
    const Frontiers end = functions_.of(block)(origin());
    return *std::max_element(end.begin(), end.end());
  }

  core::Picoseconds at_least(const program::Block& block) {
    return functions_.of(block).weight(at(Stream::compute), at(Stream::compute));
  }

  core::Picoseconds alone(const program::Pass& pass) {
    Frontiers state{};
    run_pass(functions_.of(pass).full(), state);
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

  // All stages before their first pass, and what every pass of the program does to its stage.
  void bind(const program::Program& program) {
    agree(program);
    require_reach(program);
    shorten(program);
    sweep_.start(program);
  }

  // What the passes of a course come to together, and when streams are free behind them.
  struct Course {
    const program::Course* of = nullptr;
    std::vector<PassFunction::Together> together;  // by kind of stage
    std::vector<core::Picoseconds> free;           // as free_before_ends(); empty until it is asked for
  };

  // Dense by id; a course of another lowering with the same id takes its place.
  Course& course(const program::Program& program) {
    const std::size_t id = at(program.course->id);
    if (id >= courses_.size()) courses_.resize(id + 1);
    Course& made = courses_[id];
    if (made.of == program.course) return made;
    made = {};
    made.together.resize(program.kinds.size());
    each_part(program, [&](program::PassPart part, std::size_t) {
      if (part == program::PassPart::end) return;
      const SetFunctions& functions = functions_.of(program, part);
      for (std::size_t kind = 0; kind < program.kinds.size(); ++kind) made.together[kind].add(functions.together[kind]);
    });
    made.of = program.course;
    return made;
  }

  // `work(part, width)` sees the parts that the program's passes have.
  template <class Work>
  static void each_part(const program::Program& program, Work work) {
    for (const program::PassPart part : program::k_all_pass_parts)
      if (const std::size_t width = program.layout().width(part); width > 0) work(part, width);
  }

  // The passes of a kind of stage are short where all agree. The end of a step, which no other pass follows, need not agree
  // with them: it is left whole, as are the rows of the pass before it. Where a schedule updates parameters within the
  // step, others follow.
  struct Kind {
    bool agreed = false;
    // Streams that passes before the end set; that any passes set.
    StreamSet set_before = 0;
    StreamSet set = 0;
  };

  void agree(const program::Program& program) {
    course_ = &course(program);
    end_ = &functions_.of(program, program::PassPart::end);
    ends_follow_ = !program.updates_within();
    apart_ = program.pass_order->ends_apart();
    live_ = program.pass_order->awaited_streams;
    kinds_.clear();
    for (std::size_t kind = 0; kind < program.kinds.size(); ++kind) {
      const PassFunction::Together& before = course_->together[kind];
      PassFunction::Together all = before;
      all.add(end_->together[kind]);
      const PassFunction::Together& together = ends_follow_ ? before : all;
      const bool agreed = together.agree() || together.agree_one_by_one(passes_of_kind(program, kind));
      kinds_.push_back({.agreed = agreed, .set_before = before.touched(), .set = all.touched()});
      live_ |= agreed ? together.live() : ~StreamSet{0};
      apart_ = apart_ && agreed;
    }
  }

  // Those that are to agree.
  const std::vector<PassFunction*>& passes_of_kind(const program::Program& program, std::size_t kind) {
    agreeing_.clear();
    each_part(program, [&](program::PassPart part, std::size_t width) {
      if (part == program::PassPart::end && ends_follow_) return;
      const auto first = functions_.of(program, part).passes.begin() + static_cast<std::ptrdiff_t>(kind * width);
      agreeing_.insert(agreeing_.end(), first, first + static_cast<std::ptrdiff_t>(width));
    });
    return agreeing_;
  }

  // The kernels of the sweep, as short as the passes of each kind of stage agree to.
  void shorten(const program::Program& program) {
    const program::PassLayout& layout = program.layout();
    const auto slots = static_cast<std::size_t>(layout.size());
    find_whole_rows(program);
    std::vector<Kernel>& kernels = sweep_.kernels();
    kernels.resize(program.kinds.size() * slots);
    each_part(program, [&](program::PassPart part, std::size_t width) {
      SetFunctions& set = functions_.of(program, part);
      const std::vector<Kernel>& shortened = set.shortened(live_);
      const bool may_be_short = part != program::PassPart::end || !ends_follow_;
      for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
        const bool is_short = may_be_short && kinds_[kind].agreed;
        Kernel* kernel = kernels.data() + kind * slots + layout.begin(part);
        for (std::size_t i = kind * width; i < (kind + 1) * width; ++i)
          *kernel++ = is_short ? shortened[i] : set.passes[i]->full();
      }
    });
    for (const auto& [index, function] : whole_) kernels[index] = function->whole();
  }

  // The last passes of rows before their ends; what these do not set of what others do is live.
  void find_whole_rows(const program::Program& program) {
    whole_.clear();
    const program::PassLayout& layout = program.layout();
    for (std::size_t stage = 0; ends_follow_ && stage < program.stages(); ++stage) {
      const std::size_t kind = program.kind_of_stage[stage];
      if (!kinds_[kind].agreed) continue;
      const std::size_t slot = program.pass_order->last_slot[stage];
      const std::size_t index = kind * static_cast<std::size_t>(layout.size()) + slot;
      if (!whole_.empty() && whole_.back().first == index) continue;
      const program::PassPart part = layout.part(slot);
      const PassFunction* const last =
          functions_.of(program, part).passes[kind * layout.width(part) + slot - layout.begin(part)];
      whole_.emplace_back(index, last);
      live_ |= kinds_[kind].set_before & ~last->touched();
    }
  }

  // Throws core::ConfigurationError where the step may be longer than simulated time is. A quick check first: no path is
  // longer than (passes) x (longest pass). Only if that could exceed it, the passes are summed one by one.
  void require_reach(const program::Program& program) {
    const std::size_t steps = program.pass_order->sweep.size();
    if (!(static_cast<double>(steps) * functions_.longest_pass() < static_cast<double>(core::k_reach)))
      require_reachable(program, prices_);
  }

  // Streams of a kind of stage that are told of behind the sweep up to the tails, and others that its end sets. A stream
  // that no pass sets is free from the start, as is some stream that is set where what waits for the former stands.
  StreamSet told(const Kind& kind) const { return k_own & (apart_ ? kind.set_before : kind.set); }
  StreamSet untold(const Kind& kind) const { return k_own & kind.set & ~told(kind); }

  // When the streams that are told of are free behind the sweep up to the tails, stage after stage. Where ends lie apart
  // and nothing before them is short on their account, that is the same for all programs of a course.
  const std::vector<core::Picoseconds>& free_before_ends(const program::Program& program) {
    if (apart_ && !course_->free.empty()) return course_->free;
    shorten(program);
    sweep_.start(program);
    sweep_.run(*program.pass_order, program.pass_order->tails);
    free_.clear();
    for (std::size_t stage = 0; stage < program.stages(); ++stage)
      for (StreamSet left = told(kinds_[program.kind_of_stage[stage]]); left != 0; left &= left - 1)
        free_.push_back(sweep_.state(stage)[static_cast<std::size_t>(std::countr_zero(left))]);
    return apart_ ? course_->free = free_ : free_;
  }

  // When a stage is done; `free` is moved on behind its streams.
  core::Picoseconds end_of(const program::Program& program, std::size_t stage, const core::Picoseconds*& free) const {
    static constexpr Finish k_finished{};  // no tail
    const std::uint16_t kind = program.kind_of_stage[stage];
    const Finish& finish = program.pass_order->has_tail[stage] ? *end_->finishes[kind] : k_finished;
    core::Picoseconds end = 0;
    for (StreamSet left = told(kinds_[kind]); left != 0; left &= left - 1)
      end = std::max(end, *free++ + finish[static_cast<std::size_t>(std::countr_zero(left))]);
    for (StreamSet left = untold(kinds_[kind]); left != 0; left &= left - 1)
      end = std::max(end, finish[static_cast<std::size_t>(std::countr_zero(left))]);
    return end;
  }

  PriceTable& prices_;
  PassFunctions functions_;
  core::BlockDeque<Course> courses_;  // by id
  // Of the program under way.
  PassSweep sweep_;
  Course* course_ = nullptr;
  const SetFunctions* end_ = nullptr;
  std::vector<Kind> kinds_;                                         // of stages
  std::vector<PassFunction*> agreeing_;                             // of one kind, those that are to agree
  std::vector<std::pair<std::size_t, const PassFunction*>> whole_;  // by place among the kernels: left with all rows
  StreamSet live_ = 0;                   // streams that some pass reads, or that may end last
  bool ends_follow_ = false;             // no pass stands behind the end of a step
  bool apart_ = false;                   // no end has a part in what the sweep up to the tails comes to
  std::vector<core::Picoseconds> free_;  // where it has
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
