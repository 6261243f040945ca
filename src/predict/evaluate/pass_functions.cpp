#include "pass_functions.h"

#include <algorithm>

#include "at.h"
#include "cairn/predict/evaluate/reach.h"
#include "interpret.h"

namespace cairn::predict {
namespace {

constexpr std::size_t k_narrow = 8;  // streams of most blocks

// Those that its steps occupy or wait for.
StreamSet streams_of(const program::Block& block) {
  StreamSet streams = 0;
  for (const program::Step& step : block.steps) {
    streams |= set_of(at(step.stream));
    if (step.launches > 0) streams |= set_of(at(program::Stream::host));
  }
  for (const program::Dependency dependency : block.dependencies)
    if (dependency < 0) streams |= set_of(at(~dependency));
  return streams;
}

}  // namespace

const std::vector<Kernel>& SetFunctions::shortened(StreamSet wanted) {
  wanted &= touched;
  if (kernels.empty() || live != wanted) {
    kernels.clear();
    for (PassFunction* pass : passes) kernels.push_back(pass->shortened(wanted));
    live = wanted;
  }
  return kernels;
}

std::uint64_t PassFunctions::Terms::hash(const PassFunction& function) {
  core::Hash hash;
  for (const PassTerm& term : function.terms()) hash.add(term.row).add(term.column).add(term.weight);
  return hash.value();
}

PassFunction& PassFunctions::of(const program::Pass& pass) {
  const std::size_t id = at(pass.id);
  if (id >= passes_.size()) passes_.resize(id + 1);
  auto& [known, slot] = passes_[id];
  if (known == &pass) return *slot;
  slot = functions_.stored(PassFunction(matrix_of(pass))).first;
  known = &pass;
  return *slot;
}

SetFunctions& PassFunctions::of(const program::Program& program, program::PassPart part) {
  const program::PassSet& set = program.set(part);
  const std::size_t id = at(set.id);
  if (id >= sets_.size()) sets_.resize(id + 1);
  SetFunctions& made = sets_[id];
  if (made.of == &set) return made;
  made = {};
  const std::size_t width = program.layout().width(part);
  made.together.resize(program.kinds.size());
  for (const program::Pass* pass : set.passes) {
    PassFunction& function = of(*pass);
    made.touched |= function.touched();
    made.together[made.passes.size() / width].add(function);
    made.passes.push_back(&function);
  }
  if (part == program::PassPart::end)
    for (std::size_t first = 0; first < set.passes.size(); first += width)
      made.finishes.push_back(&finish(*set.passes[first], *set.passes[first + 1]));
  made.of = &set;
  return made;
}

const Finish& PassFunctions::finish(const program::Pass& finalize, const program::Pass& update) {
  std::unique_ptr<Finish>& slot = finishes_.of({&finalize, &update});
  if (slot) return *slot;
  slot = std::make_unique<Finish>();
  const Matrix both = compose(matrix_of(finalize), matrix_of(update));
  for (std::size_t from = 0; from < program::k_streams; ++from) {
    core::Picoseconds& longest = (*slot)[from] = core::k_never;
    for (std::size_t to = 0; to < program::k_streams; ++to) longest = std::max(longest, both.weight(to, from));
  }
  return *slot;
}

Matrix PassFunctions::matrix_of(const program::Pass& pass) {
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

const PassFunctions::Stretch& PassFunctions::stretch(const program::Block& block, std::int64_t count) {
  const program::BlockRun run{&block, count};
  if (const auto& known = stretches_.of(run)) return *known;
  auto made = std::make_unique<Stretch>();
  made->in_a_row = static_cast<double>(count) * in_a_row(block, prices_.of(block), prices_.host_per_kernel());
  require_reachable(made->in_a_row, block, count, prices_);
  made->matrix = power(count == 1 ? symbolic(block) : stretch(block, 1).matrix, count);
  return *(stretches_.of(run) = std::move(made));
}

Matrix PassFunctions::symbolic(const program::Block& block) {
  Matrix matrix(streams_of(block));
  if (matrix.size() <= k_narrow)
    run_symbolically<k_narrow>(block, matrix);
  else
    run_symbolically<program::k_streams>(block, matrix);
  return matrix;
}

template <std::size_t N>
void PassFunctions::run_symbolically(const program::Block& block, Matrix& matrix) {
  std::array<Form<N>, program::k_streams> frontier;
  for (std::size_t i = 0; i < matrix.size(); ++i) frontier[matrix.stream(i)] = Form<N>::unit(i);
  std::vector<Form<N>> ends;
  ends.reserve(block.steps.size());
  execute(block, prices_.of(block), prices_.host_per_kernel(), frontier, ends, [](const auto&...) {});
  for (std::size_t i = 0; i < matrix.size(); ++i)
    for (std::size_t j = 0; j < matrix.size(); ++j) matrix.entry(i, j) = frontier[matrix.stream(i)].c[j];
}

}  // namespace cairn::predict
