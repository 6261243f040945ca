#include "cairn/sequence/linear_attention.h"

#include "cairn/core/diagnostics.h"
#include "list_writer.h"

namespace cairn::sequence {
namespace {

// Loops: c, s chunks; i, j tokens of a chunk; n, t of all; h heads; d of keys, e of values.
Formula linear_notation(const LinearAttentionShape& shape) {
  const std::int64_t chunk = shape.tokens / shape.ranks;
  Formula formula({{'c', shape.ranks},
                   {'s', shape.ranks},
                   {'i', chunk},
                   {'j', chunk},
                   {'n', shape.tokens},
                   {'t', shape.tokens},
                   {'h', shape.heads},
                   {'d', shape.head_dim},
                   {'e', shape.value_dim}},
                  k_wire.operand * shape.sequences);
  return formula;
}

Formula plain_linear_attention(const LinearAttentionShape& shape) {
  Formula formula = linear_notation(shape);
  for (const char* input : {"Q[nhd]", "K[thd]", "V[the]", "dO[nhe]"}) formula.given(input);
  Terms seen;
  if (shape.causal) seen.guard = Guard{.later = 'n', .earlier = 't'};
  formula.add("forward", Kernel::product, "S[nht]", {"Q[nhd]", "K[thd]"}, seen);
  formula.add("forward", Kernel::product, "O[nhe]", {"S[nht]", "V[the]"}, seen);
  formula.add("backward", Kernel::product, "dS[nht]", {"dO[nhe]", "V[the]"}, seen);
  formula.add("backward", Kernel::product, "dQ[nhd]", {"dS[nht]", "K[thd]"}, seen);
  formula.add("backward", Kernel::product, "dK[thd]", {"dS[nht]", "Q[nhd]"}, seen);
  formula.add("backward", Kernel::product, "dV[the]", {"S[nht]", "dO[nhe]"}, seen);
  return formula;
}

// Inside chunks, under the mask.
void add_pairs_of_chunks(Formula& formula) {
  const Terms seen{.guard = Guard{.later = 'i', .earlier = 'j'}};
  formula.add("forward", Kernel::product, "S[cihj]", {"Q[cihd]", "K[cjhd]"}, seen);
  formula.add("forward", Kernel::product, "O[cihe]", {"S[cihj]", "V[cjhe]"}, seen);
  formula.add("backward", Kernel::product, "dS[cihj]", {"dO[cihe]", "V[cjhe]"}, seen);
  formula.add("backward", Kernel::product, "dQ[cihd]", {"dS[cihj]", "K[cjhd]"}, seen);
  formula.add("backward", Kernel::product, "dK[cjhd]", {"dS[cihj]", "Q[cihd]"}, seen);
  formula.add("backward", Kernel::product, "dV[cjhe]", {"S[cihj]", "dO[cihe]"}, seen);
}

enum class StateSums : std::uint8_t { all, gathered, passed };

// M of chunks and their sums P that a chunk reads; G and R backward. A sum over all chunks is one for all of them, and
// has no letter c.
Formula chunked_linear_attention(const LinearAttentionShape& shape, StateSums sums) {
  Formula formula = linear_notation(shape);
  for (const char* input : {"Q[cihd]", "K[cjhd]", "V[cjhe]", "dO[cihe]"}) formula.given(input);
  const bool all = sums == StateSums::all;
  const std::string before = all ? "P[hde]" : "P[chde]", behind = all ? "R[hde]" : "R[chde]";
  formula.add("state", Kernel::product, "M[chde]", {"K[cjhd]", "V[cjhe]"});
  if (sums == StateSums::passed) {
    formula.add("sum", Kernel::product, before, {"P[c-hde]"});
    formula.add("sum", Kernel::product, before, {"M[c-hde]"});
  } else {
    const std::optional<Guard> earlier = Guard{.later = 'c', .earlier = 's', .strict = true};
    formula.add("sum", Kernel::product, before, {"M[shde]"}, {.guard = all ? std::nullopt : earlier});
  }
  formula.add("output", Kernel::product, "O[cihe]", {"Q[cihd]", before});
  formula.add("state gradient", Kernel::product, "G[chde]", {"Q[cihd]", "dO[cihe]"});
  if (sums == StateSums::passed) {
    formula.add("gradient sum", Kernel::product, behind, {"R[c+hde]"});
    formula.add("gradient sum", Kernel::product, behind, {"G[c+hde]"});
  } else {
    const std::optional<Guard> later = Guard{.later = 's', .earlier = 'c', .strict = true};
    formula.add("gradient sum", Kernel::product, behind, {"G[shde]"}, {.guard = all ? std::nullopt : later});
  }
  formula.add("gradients", Kernel::product, "dQ[cihd]", {"dO[cihe]", before});
  formula.add("gradients", Kernel::product, "dK[cjhd]", {"V[cjhe]", behind});
  formula.add("gradients", Kernel::product, "dV[cjhe]", {"K[cjhd]", behind});
  if (!all) add_pairs_of_chunks(formula);
  return formula;
}

Sharing linear_sharing(const LinearAttentionShape& shape, StateSums sums) {
  ask_divisible("tokens", shape.tokens, shape.ranks);
  return {.formula = chunked_linear_attention(shape, sums),
          .plain = plain_linear_attention(shape),
          .results = {"O", "dQ", "dK", "dV"}};
}

// Loop c at one chunk.
Box chunk(std::int64_t index) { return {{'c', {.first = index, .count = 1}}}; }

RankPass pass_of_chunk(const ListWriter& writer, Pass pass) {
  const Box own = chunk(writer.rank());
  if (pass == Pass::backward) return {.given = writer.of({"dO"}, own), .kept = writer.of({"dQ", "dK", "dV"}, own)};
  return {.given = writer.of({"Q", "K", "V"}, own), .kept = writer.of({"Q", "K", "V", "P", "O"}, own)};
}

RankPass gather_states(ListWriter& writer, Pass pass, bool causal) {
  const bool forward = pass == Pass::forward;
  const Box own = chunk(writer.rank());
  writer.work(forward ? "state" : "state gradient", own);
  writer.next_stage();
  writer.all_gather([&](std::int64_t rank) { return writer.of({forward ? "M" : "G"}, chunk(rank)); });
  if (causal) writer.work(forward ? "forward" : "backward", own);
  writer.next_stage();
  writer.work(forward ? "sum" : "gradient sum", own);
  writer.work(forward ? "output" : "gradients", own);
  RankPass ends = pass_of_chunk(writer, pass);
  if (forward && causal) take_in(ends.kept, writer.of({"S"}, own));
  return ends;
}

// Forward rank by rank from the first, backward from the last.
RankPass pass_states(ListWriter& writer, Pass pass) {
  const bool forward = pass == Pass::forward;
  const Box own = chunk(writer.rank());
  const std::int64_t onward = forward ? 1 : -1;
  const std::int64_t last = writer.count() - 1, turn = forward ? writer.rank() : last - writer.rank();
  const std::string_view sum = forward ? "P" : "R";
  if (turn < last) writer.work(forward ? "state" : "state gradient", own);
  writer.work(forward ? "forward" : "backward", own);
  for (std::int64_t stage = 1; stage <= last; ++stage) {
    writer.next_stage();
    // The sum that the next rank reads is made here, of the one that came and of the own state.
    const Box next = chunk(writer.rank() + onward);
    if (turn == stage - 1) writer.work(forward ? "sum" : "gradient sum", next);
    writer.next_stage();
    if (turn == stage - 1) writer.send(writer.rank() + onward, writer.of({sum}, next));
    if (turn == stage) writer.receive(writer.rank() - onward, writer.of({sum}, own));
  }
  writer.next_stage();
  writer.work(forward ? "output" : "gradients", own);
  RankPass ends = pass_of_chunk(writer, pass);
  if (forward) take_in(ends.kept, writer.of({"S"}, own));
  return ends;
}

}  // namespace

Sharing share_gathered_states(const LinearAttentionShape& shape) {
  Sharing sharing = linear_sharing(shape, shape.causal ? StateSums::gathered : StateSums::all);
  for (const Pass pass : {Pass::forward, Pass::backward})
    sharing.passes.push_back(by_rank(sharing.formula, shape.ranks,
                                     [&](ListWriter& writer) { return gather_states(writer, pass, shape.causal); }));
  return sharing;
}

Sharing share_passed_states(const LinearAttentionShape& shape) {
  if (!shape.causal)
    throw core::ConfigurationError("causal", "a state that is passed on knows the tokens before it alone",
                                   "use a causal mask, or gather the states");
  Sharing sharing = linear_sharing(shape, StateSums::passed);
  for (const Pass pass : {Pass::forward, Pass::backward})
    sharing.passes.push_back(
        by_rank(sharing.formula, shape.ranks, [&](ListWriter& writer) { return pass_states(writer, pass); }));
  return sharing;
}

}  // namespace cairn::sequence
