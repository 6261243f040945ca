#include "shared_attention.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "attention_joins.h"
#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/sequence/folds.h"
#include "cairn/sequence/group.h"
#include "cairn/sequence/scheme.h"

namespace cairn::plan {

namespace {

// A double ring has two communicators: calls of the second lane take a stream that no layer with attention uses.
constexpr std::array k_lanes{Stream::context, Stream::expert_tensor};

const ir::Operator& forward_of(const ir::Graph& graph, const ir::Operator& op) {
  return op.forward >= 0 ? graph.op(op.forward) : op;
}

bool is_fused_attention(const ir::Operator& op) {
  return op.kind == ir::Kind::contraction && !op.is_plain_contraction() && op.domain.find("query") >= 0 &&
         op.domain.find("key") >= 0;
}

std::int64_t last_extent(const RankLayer& layer, const ir::Access& access) {
  return layer.graph().tensor(access.tensor).dims.back().extent.at(layer.options().sizes);
}

// The attention of one whole sequence and of the heads that this rank of the tensor axis has.
sequence::Problem problem_of(const RankLayer& layer, const ir::Operator& forward) {
  const loopnest::Box box = layer.box(forward);
  const auto extent = [&](const char* name) {
    const int dim = forward.domain.find(name);
    return dim < 0 ? std::int64_t{1} : box[static_cast<std::size_t>(dim)].extent();
  };
  sequence::Problem problem{.tokens = extent("query") * layer.options().context.group.size,
                            .sequences = extent("batch"),
                            .heads = extent("kv_heads") * extent("group"),
                            .kv_heads = extent("kv_heads")};
  problem.wire = sequence::wire_of(layer.options().context.sharing.fp32_gradients);
  problem.mask = forward.domain.guards().empty() ? sequence::Mask::full : sequence::Mask::causal;
  const auto query = static_cast<loopnest::DimId>(forward.domain.find("query"));
  const auto key = static_cast<loopnest::DimId>(forward.domain.find("key"));
  const int group = forward.domain.find("group");
  for (const ir::Access& access : forward.accesses) {
    if (access.mode != ir::Mode::read) continue;
    if (uses(access.projection, query)) problem.head_dim = last_extent(layer, access);
    if (!uses(access.projection, key)) continue;
    problem.value_dim = last_extent(layer, access);  // values come behind keys
    // Keys of every query head are exchanged as they lie.
    if (group >= 0 && uses(access.projection, static_cast<loopnest::DimId>(group))) problem.kv_heads = problem.heads;
  }
  return problem;
}

}  // namespace

std::optional<std::string> cannot_be_shared(const ir::Graph& graph, const ir::Operator& op) {
  const ir::Operator& forward = forward_of(graph, op);
  if (!is_fused_attention(forward)) return fmt::format("'{}' needs tokens of other ranks", op.name);
  if (forward.domain.find("chunk") >= 0) return fmt::format("'{}' attends within chunks of the sequence", op.name);
  if (forward.domain.guards().size() > 1) return fmt::format("'{}' sees a window of keys", op.name);
  return std::nullopt;
}

// Writes the list of one rank.
class SharedAttention::Run {
 public:
  Run(const LayerPass& pass, StepWriter& writer, const ir::Operator& op, Term term)
      : pass_(pass),
        writer_(writer),
        op_(op),
        term_(term),
        group_(pass.options().context.group),
        problem_(problem_of(pass.layer, forward_of(pass.graph(), op))),
        box_(pass.layer.box(op)),
        pass_kind_(op.phase == ir::Phase::forward ? sequence::Pass::forward : sequence::Pass::backward) {
    const AttentionSharing& sharing = pass.options().context.sharing;
    CAIRN_ASSERT(sharing.scheme != nullptr && sharing.grid.ranks() == group_.size);
    if (const auto refusal = sharing.scheme->refusal(problem_, sharing.grid))
      throw core::ConfigurationError("strategy.attention", fmt::format("{}: {}", sharing.scheme->name, *refusal),
                                     "choose another scheme or grid: `cairn attention` compares them");
    ranks_ = sequence::group_pass(*sharing.scheme, problem_, sharing.grid, pass_kind_);
  }

  Dependency write(const Dependencies& waits, Dependencies& under_way) {
    const sequence::GroupPass& list = *ranks_;
    const auto buffers = static_cast<double>(ranks_->buffer_bytes);
    eager_ = pass_.options().behaviour.eager_joins &&
             std::any_of(list.tiles.begin(), list.tiles.end(), [](const sequence::Tile& each) { return each.joins; });
    writer_.hold(Category::workspace, buffers);
    before_ = waits;
    before_.push_back(writer_.computed());
    auto call = list.calls.begin();
    auto tile = list.tiles.begin();
    for (std::int32_t stage = 0; stage < list.stages; ++stage) {
      Dependencies ready = before_;
      for (Lane& lane : lanes_)
        if (const std::int32_t step = lane.ended_before(stage); step >= 0) ready.push_back(step);
      bool computes = false;
      for (; call != list.calls.end() && call->begins == stage; ++call) start(*call, ready);
      if (pass_.options().behaviour.waits_for_attention)
        for (const Lane& lane : lanes_)
          if (!lane.calls.empty()) ready.push_back(lane.calls.back().step);
      for (; tile != list.tiles.end() && tile->stage == stage; ++tile, computes = true) compute(*tile, ready);
      if (computes && tile == list.tiles.end()) narrow();
      if (computes) before_ = {writer_.computed()};
    }
    for (const Lane& lane : lanes_)
      if (!lane.calls.empty()) under_way.push_back(lane.calls.back().step);
    writer_.hold_after(Category::workspace, -buffers);
    if (op_.phase == ir::Phase::backward)
      writer_.hold_after(Category::activations, -kept_apart());
    else if (pass_.backward || !pass_.kept.recomputed()[static_cast<std::size_t>(&op_ - &pass_.graph().op(0))])
      writer_.hold_after(Category::activations, kept_apart());
    return writer_.computed();
  }

 private:
  struct Call {
    std::int32_t ends;
    std::int32_t step;
  };
  // Calls run one after the other: who waits for the latest that has to be over waits for all before it.
  struct Lane {
    std::vector<Call> calls;
    std::size_t over = 0;

    std::int32_t ended_before(std::int32_t stage) {
      while (over < calls.size() && calls[over].ends < stage) ++over;
      return over == 0 ? -1 : calls[over - 1].step;
    }
  };

  void start(const sequence::GroupPass::Moving& call, const Dependencies& ready) {
    const Transfer transfer = transfer_of(call);
    if (transfer.bytes == 0.0) return;
    const std::int32_t step = writer_.repeat(Step{.kind = StepKind::transfer,
                                                  .stream = k_lanes.at(static_cast<std::size_t>(call.lane)),
                                                  .axis = Axis::context,
                                                  .launches = 1},
                                             transfer, ready);
    lanes_.at(static_cast<std::size_t>(call.lane)).calls.push_back({.ends = call.ends, .step = step});
  }

  // Where heads are split, what attention keeps for its derivative lies by heads: a further copy of O, which the product
  // behind it keeps by tokens, and of key heads what several ranks have.
  double kept_apart() const {
    const AttentionSharing& sharing = pass_.options().context.sharing;
    if (sharing.grid.head_ranks == 1) return 0.0;
    const sequence::Parcel kept = sharing.scheme->kept(problem_, sharing.grid, 0);
    const sequence::Tokens owned = sharing.scheme->owned(problem_, sharing.grid, 0);
    constexpr sequence::TensorSet k_keys = sequence::set_of(sequence::Tensor::key, sequence::Tensor::value);
    const auto of = [&](sequence::TensorSet tensors, const sequence::Tokens& tokens, const sequence::Heads& heads) {
      return sequence::bytes(problem_, {.tensors = tensors, .tokens = tokens, .heads = heads});
    };
    return static_cast<double>(of(sequence::set_of(sequence::Tensor::output), kept.tokens, kept.heads) +
                               of(k_keys, kept.tokens, kept.heads) - of(k_keys, owned, sequence::all_heads(problem_)));
  }

  // Every rank sends and receives alike.
  Transfer transfer_of(const sequence::GroupPass::Moving& call) const {
    const auto moved = static_cast<double>(std::max(call.sent, call.received));
    const Group ranks{.axis = Axis::context, .size = call.peers.count, .stride = group_.stride * call.peers.stride};
    if (call.collective == Collective::send)
      return {.collective = call.collective, .group = ranks, .bytes = moved, .reach = call.reach};
    const auto n = static_cast<double>(ranks.size);
    const double whole = call.collective == Collective::all_to_all ? moved * n * n / (n - 1.0) : moved * n / (n - 1.0);
    return {.collective = call.collective, .group = ranks, .bytes = whole};
  }

  void compute(const sequence::Tile& tile, const Dependencies& ready) {
    const Step step{.kind = StepKind::compute, .stream = Stream::compute, .term = term_, .launches = 1};
    writer_.repeat(step, ir::Shard{.op = &op_, .graph = &pass_.graph(), .box = box_of(tile)}, ready);
    if (tile.joins || eager_) join(tile);
  }

  void run(joins::Kernel kernel, std::int64_t elements) {
    if (elements == 0) return;
    const Step step{.kind = StepKind::compute, .stream = Stream::compute, .term = term_, .launches = 1};
    writer_.repeat(step, joins::shard(kernel, elements), {});
  }

  // See attention_joins.h.
  void join(const sequence::Tile& tile) {
    using enum joins::Kernel;
    const std::int64_t elements = sequence::joined_elements(problem_, tile, pass_kind_);
    if (!eager_ || pass_kind_ == sequence::Pass::backward) {
      if (!tile.joins) return;
      run(whole, elements);
      if (eager_) run(copy, put_back(tile));
      return;
    }
    run(widen, elements);
    if (!tile.joins) {
      widened_ += elements;
      return;
    }
    const std::int64_t rows = elements / problem_.values();
    for (int i = 0; i < 3; ++i) run(difference, rows);
    for (int i = 0; i < 2; ++i) run(scale, rows);
    run(difference, elements);
    run(scale, elements);
    run(difference, elements);
    run(copy, put_back(tile));
  }

  void narrow() { run(joins::Kernel::narrow, widened_); }

  // Elements of the tensors of which a tile has made only some of a rank's rows.
  std::int64_t put_back(const sequence::Tile& tile) const {
    const std::int64_t tokens = problem_.tokens / pass_.options().context.sharing.grid.token_ranks();
    const std::int64_t held = problem_.sequences * tokens;
    const bool backward = pass_kind_ == sequence::Pass::backward;
    std::int64_t elements = 0;
    if (sequence::count(tile.queries) < tokens)
      elements += held * tile.heads.count * (backward ? problem_.head_dim : problem_.values());
    if (backward && sequence::count(tile.keys) < tokens)
      elements += held * sequence::kv_heads(problem_, tile.heads).count * (problem_.head_dim + problem_.values());
    return elements;
  }

  // Places of queries and keys in memory, moved so that the operator's mask is that of the tile's positions.
  loopnest::Box box_of(const sequence::Tile& tile) const {
    loopnest::Box box = box_;
    const auto set = [&](int dim, std::int64_t begin, std::int64_t extent) {
      if (dim >= 0) box[static_cast<std::size_t>(dim)] = {begin, begin + extent};
    };
    const std::optional<std::int64_t> offset = sequence::local_offset(problem_, tile.queries, tile.keys);
    CAIRN_ASSERT(offset.has_value() && "a tile is whole, or masked by places in memory");
    const std::int64_t copies = copied_heads(tile);
    const std::int64_t kv = copies > 0 ? tile.heads.count / copies : sequence::kv_heads(problem_, tile.heads).count;
    set(query_, std::max<std::int64_t>(*offset, 0), sequence::count(tile.queries));
    set(key_, std::max<std::int64_t>(-*offset, 0), sequence::count(tile.keys));
    set(kv_heads_, 0, kv);
    set(group_dim_, 0, tile.heads.count / kv);
    return box;
  }

  // Where query heads have copies of keys, those of a tile that share a head; else 0. Heads that ranks split evenly are
  // whole numbers of them.
  std::int64_t copied_heads(const sequence::Tile& tile) const {
    if (group_dim_ < 0 || problem_.kv_heads < problem_.heads) return 0;
    return std::gcd(tile.heads.count, box_[static_cast<std::size_t>(group_dim_)].extent());
  }

  const LayerPass& pass_;
  StepWriter& writer_;
  const ir::Operator& op_;
  Term term_;
  const Group& group_;
  const sequence::Problem problem_;
  const loopnest::Box box_;  // of the operator over the rank's own tokens
  const int query_ = op_.domain.find("query"), key_ = op_.domain.find("key");
  const int kv_heads_ = op_.domain.find("kv_heads"), group_dim_ = op_.domain.find("group");
  const sequence::Pass pass_kind_;
  std::shared_ptr<const sequence::GroupPass> ranks_;
  Dependencies before_;       // the stage before has computed
  bool eager_ = false;        // an operation a kernel, and tiles are joined at all
  std::int64_t widened_ = 0;  // elements of tiles that were the first of their rows
  std::array<Lane, k_lanes.size()> lanes_;
};

SharedAttention::SharedAttention(const LayerPass& pass, StepWriter& writer) : pass_(pass), writer_(writer) {}

bool SharedAttention::shares(const ir::Operator& op) const {
  return pass_.options().context.group.size > 1 && op.kind == ir::Kind::contraction &&
         is_fused_attention(forward_of(pass_.graph(), op));
}

Dependency SharedAttention::run(const ir::Operator& op, Term term, const Dependencies& waits) {
  under_way_.clear();
  return Run(pass_, writer_, op, term).write(waits, under_way_);
}

}  // namespace cairn::plan
