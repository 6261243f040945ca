#include "cairn/cost/operator_floor.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "cairn/cost/shard_pricer.h"
#include "cairn/pebble/operation.h"

namespace cairn::cost {
namespace {

constexpr std::array<std::string_view, k_operator_classes> k_class_names{"contraction", "normalization", "elementwise",
                                                                         "lookup"};
constexpr pebble::Game k_game{pebble::Rules::red_blue_white, pebble::Sliding::allowed};

bool is_read(const ir::Access& access) { return access.mode == ir::Mode::read; }

// Indices that a form takes over the box, first and last.
loopnest::Interval range(const loopnest::Affine& form, const loopnest::Box& box) {
  loopnest::Interval range{form.offset, form.offset};
  for (const loopnest::Term& term : form.terms) {
    const loopnest::Interval& dim = box[term.dim];
    const std::int64_t ends[] = {term.stride * dim.begin, term.stride * (dim.end - 1)};
    range.begin += std::min(ends[0], ends[1]);
    range.end += std::max(ends[0], ends[1]);
  }
  return range;
}

// True only if the two accesses share no element: some index has disjoint ranges of values.
bool disjoint(const loopnest::Projection& a, const loopnest::Projection& b, const loopnest::Box& box) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const loopnest::Interval x = range(a[i], box), y = range(b[i], box);
    if (x.end < y.begin || y.end < x.begin) return true;
  }
  return false;
}

double narrowest_bytes(const ir::Shard& shard) {
  double bytes = numerics::bytes_per_element(numerics::Format::fp64);
  for (const ir::Access& access : shard.op->accesses)
    if (!access.addend && shard.graph->tensor(access.tensor).role != ir::Role::index)
      bytes = std::min(bytes, numerics::bytes_per_element(shard.graph->tensor(access.tensor).format));
  return bytes;
}

bool couples(const loopnest::Projection& index) {
  return std::any_of(index.begin(), index.end(), [](const loopnest::Affine& form) { return form.terms.size() > 1; });
}

// Rewrites an index such as block x outer + inner as one index per loop, which is valid if no value occurs twice, that
// is if `inner` stays below the block. Nothing where a value may occur twice.
std::optional<loopnest::Projection> blocks_apart(const loopnest::Projection& index, const loopnest::Box& box) {
  loopnest::Projection apart;
  for (const loopnest::Affine& form : index) {
    auto terms = form.terms;
    std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.stride < b.stride; });
    std::int64_t below = 0;  // the furthest that the loops inside reach
    for (const loopnest::Term& term : terms) {
      if (term.stride <= below || apart.size() == loopnest::k_max_dims) return {};
      below += term.stride * (box[term.dim].extent() - 1);
      apart.push_back(loopnest::Affine::of(term.dim));
    }
  }
  return apart;
}

// The loop nest of the shard's box: its extents, from 0. Guards and choices by data keep to whole domains. What is
// walked in blocks, and shares no element with anything else that is read or written, is an array with an index per
// loop.
std::optional<pebble::Contraction> contraction(const ir::Shard& shard, const std::function<bool(ir::TensorId)>& free) {
  pebble::Contraction part;
  part.name = shard.op->name;
  if (!shard.op->domain.guards().empty()) return {};
  for (std::size_t d = 0; d < shard.box.size(); ++d) {
    const loopnest::Dim& dim = shard.op->domain.dims()[d];
    if (dim.selected != 0) return {};
    part.domain.add(dim.name, {.constant = shard.box[d].extent()});
  }
  const auto& all = shard.op->accesses;
  for (const ir::Access& access : all) {
    if (access.addend) continue;
    const bool costs_nothing = free(access.tensor);
    pebble::Role role = costs_nothing ? pebble::Role::read_free : pebble::Role::read;
    if (!is_read(access)) role = costs_nothing ? pebble::Role::result_free : pebble::Role::produce;
    part.accesses.push_back(
        {.array = shard.graph->tensor(access.tensor).name, .index = access.projection, .role = role});
    if (!couples(access.projection)) continue;
    const bool alone = std::all_of(all.begin(), all.end(), [&](const ir::Access& other) {
      return &other == &access || other.tensor != access.tensor ||
             disjoint(other.projection, access.projection, shard.box);
    });
    const std::optional<loopnest::Projection> apart = blocks_apart(access.projection, shard.box);
    if (alone && apart) {
      part.accesses.back().array += fmt::format(" ({})", &access - all.data());
      part.accesses.back().index = *apart;
    } else if (!is_read(access)) {
      return {};  // the bounds want one loop per index of the result
    }
  }
  return part;
}

}  // namespace

std::string_view name(OperatorClass kind) { return k_class_names[static_cast<std::size_t>(kind)]; }

OperatorClass class_of(const ir::Operator& op, const ir::Graph& graph) {
  const ir::Operator& forward = op.forward >= 0 ? graph.op(op.forward) : op;
  switch (forward.kind) {
    case ir::Kind::contraction:
      return op.kind == ir::Kind::contraction ? OperatorClass::contraction : OperatorClass::elementwise;
    case ir::Kind::reduce:
    case ir::Kind::scan:
      return OperatorClass::normalization;
    case ir::Kind::gather:
    case ir::Kind::scatter:
      return OperatorClass::lookup;
    case ir::Kind::pointwise:
    case ir::Kind::opaque:
      return OperatorClass::elementwise;
  }
  return OperatorClass::elementwise;
}

Uses uses_of(const ir::Shard& shard) {
  Uses uses;
  const auto& accesses = shard.op->accesses;
  for (std::size_t a = 0; a < accesses.size(); ++a) {
    const ir::Access& access = accesses[a];
    Use& each = uses[access.tensor];
    const double element = numerics::bytes_per_element(shard.graph->tensor(access.tensor).format);
    const double bytes =
        static_cast<double>(shard.op->domain.footprint(access.projection, shard.box)) * element / shard.parts;
    const bool apart =
        std::all_of(accesses.begin(), accesses.begin() + static_cast<std::ptrdiff_t>(a), [&](const auto& other) {
          return other.tensor != access.tensor || disjoint(other.projection, access.projection, shard.box);
        });
    each.bytes = apart ? each.bytes + bytes : std::max(each.bytes, bytes);
    const bool adds = access.mode == ir::Mode::accumulate && ir::bytes(shard, access) > 1.5 * bytes;
    if (adds && !each.read_first) each.added_to = true;
    if (is_read(access)) each.added_to = false;
    if (is_read(access) || adds) each.read_first = true;
    if (!is_read(access)) each.written = true;
  }
  return uses;
}

WarmBytes warm_bytes(const ir::Shard& shard, double on_chip_bytes) {
  WarmBytes bytes;
  for (const auto& [id, each] : uses_of(shard)) {
    if (each.read_first) bytes.loads += each.bytes;
    if (each.read_first && !each.added_to) bytes.first_loads += each.bytes;
    if (each.written) bytes.stores += each.bytes;
  }
  for (double* each : {&bytes.loads, &bytes.first_loads, &bytes.stores}) *each = std::max(0.0, *each - on_chip_bytes);
  return bytes;
}

std::optional<std::pair<double, std::string>> pebble_bytes(const ir::Shard& shard, double on_chip_bytes,
                                                           const std::function<bool(ir::TensorId)>& free,
                                                           Effort effort) {
  const double narrowest = narrowest_bytes(shard);
  const auto words = static_cast<pebble::Words>(std::floor(on_chip_bytes / narrowest));
  if (words < 1 || shard.op->kind != ir::Kind::contraction) return {};
  const bool attention = is_attention(shard);
  if (!attention && shard.op->is_plain_contraction()) {
    const std::optional<pebble::Contraction> part = contraction(shard, free);
    if (!part) return {};
    const pebble::LowerBound bound = effort == Effort::quick ? quick_projection_bound(*part, words)
                                                             : best_for(projection_bounds(*part, words), k_game);
    return std::pair(static_cast<double>(bound.words) * narrowest / shard.parts, bound.method);
  }
  if (!attention || shard.op->phase != ir::Phase::forward) return {};
  for (const ir::Access& access : shard.op->accesses)
    if (free(access.tensor)) return {};
  const AttentionShape shape = attention_shape(shard);
  // Whole triangles and squares only: of a band or a shard of the sequence nothing is known here.
  const auto rows = static_cast<double>(shape.b * shape.heads * shape.s_q);
  const double pairs =
      rows * (shape.causal ? static_cast<double>(shape.s_kv + 1) / 2.0 : static_cast<double>(shape.s_kv));
  if (shape.s_q != shape.s_kv || shape.score_pairs < pairs) return {};
  const pebble::AttentionSizes sizes{.sequence = shape.s_q,
                                     .head_dim = shape.head_dim,
                                     .heads = shape.heads,
                                     .kv_heads = 1,
                                     .batch = shape.b,
                                     .causal = shape.causal};
  const pebble::LowerBound bound = best_for(lower_bounds(attention_operation(sizes), words), k_game);
  return std::pair(static_cast<double>(bound.words) * narrowest / shard.parts, bound.method);
}

namespace {

// Some schedule moves no more than what is read and written, so that no bound lies above it: one operand of a product,
// twice, or the keys and values of one head stay on the chip while the rest passes by, a row and a sum at a time.
bool fits(const ir::Shard& shard, double on_chip_bytes) {
  constexpr double k_passing = 2.0;         // a value on its way and a running sum
  constexpr double k_attention_rows = 4.0;  // of one query: itself, its output, and room for scores
  const double words = std::floor(on_chip_bytes / narrowest_bytes(shard));
  if (is_attention(shard)) {
    const AttentionShape shape = attention_shape(shard);
    return static_cast<double>((2 * shape.s_kv + 1) * shape.head_dim) +
               k_attention_rows * static_cast<double>(shape.head_dim) + k_passing <=
           words;
  }
  if (shard.op->kind != ir::Kind::contraction || !shard.op->is_plain_contraction()) return true;
  const GemmShape shape = gemm_shape(shard);
  const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  return 2.0 * std::min({m * k, k * n, m * n}) + k_passing <= words;
}

}  // namespace

ShardBytes least_bytes(const ir::Shard& shard, double on_chip_bytes, Effort effort) {
  ShardBytes result{.alone = 0.0, .lower = 0.0, .method = "what it reads and writes, once"};
  for (const auto& [id, each] : uses_of(shard))
    result.alone += each.bytes * ((each.read_first ? 1 : 0) + (each.written ? 1 : 0));
  result.lower = result.alone;
  if (on_chip_bytes <= 0.0 || fits(shard, on_chip_bytes)) return result;
  const auto nothing_free = [](ir::TensorId) { return false; };
  if (const auto bound = pebble_bytes(shard, on_chip_bytes, nothing_free, effort);
      bound && bound->first > result.lower) {
    result.lower = bound->first;
    result.method = bound->second;
  }
  return result;
}

}  // namespace cairn::cost
