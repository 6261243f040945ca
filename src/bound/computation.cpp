#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/pebble/graph_bracket.h"
#include "cairn/pebble/locality.h"
#include "cairn/pebble/schedule.h"
#include "parts.h"

namespace cairn::bound {
namespace {

using pebble::Cdag;
using pebble::Operation;
using pebble::Words;

constexpr Words k_first_memory = 16;  // words, in the table of localities; each next is four times as large
constexpr Words k_memory_step = 4;

void require_room(Words minimum, Words fast, const std::string& name) {
  if (fast >= minimum) return;
  throw core::ConfigurationError("request.fast",
                                 fmt::format("{} words cannot hold what one value of {} is made of", fast, name),
                                 fmt::format("give at least {} words", minimum));
}

void solve(Answer& answer, const Cdag& graph, std::size_t states) {
  answer.exact = pebble::solve_exactly(graph, answer.game, answer.fast, states);
  pebble::UpperBound play = best_ordered_play(graph, answer.game.sliding, answer.fast);
  if (!answer.upper || play.words < answer.upper->words) answer.upper = std::move(play);
}

// Of a product on its own: those of several, each loaded and stored apart, add up to more than is moved when they are
// fused.
void add_leading_term(Answer& answer, const Operation& operation) {
  if (operation.contractions.size() != 1) return;
  const pebble::Contraction& product = operation.contractions.front();
  answer.asymptotic.push_back(fmt::format("{}: {}", product.name, leading_term(product).expression));
}

void verify_moves(Answer& answer, const pebble::NamedCdag& graph, const Moves& moves) {
  const pebble::Verdict verdict = verify(graph.graph, answer.game, answer.fast, moves.play.moves, graph.names);
  MovesRow row{.file = moves.file, .moves = moves.play.moves.size(), .cost = verdict.cost, .line = 0, .reason = {}};
  if (verdict.illegal) {
    const std::vector<std::int64_t>& lines = moves.play.lines;
    const std::size_t move = verdict.illegal->move;
    row.line = move < lines.size() ? lines[move] : lines.empty() ? 0 : lines.back();
    row.reason = verdict.illegal->reason;
  }
  answer.moves = std::move(row);
}

void reorder(Answer& answer, const Cdag& graph) {
  const pebble::Replay before = pebble::replay(graph, graph.order());
  const pebble::Replay after = pebble::replay(graph, pebble::convex_partition_order(graph, answer.fast));
  CAIRN_ASSERT(before.fingerprint == after.fingerprint);
  const auto add = [&](Words fast) {
    answer.locality.push_back(
        {.fast = fast, .before = before.profile.traffic(fast), .after = after.profile.traffic(fast)});
  };
  const auto words = static_cast<Words>(before.words);
  for (Words fast = k_first_memory; fast < words; fast *= k_memory_step) {
    if (fast > answer.fast && fast / k_memory_step < answer.fast) add(answer.fast);
    add(fast);
  }
  if (answer.locality.empty() || answer.locality.back().fast < answer.fast) add(answer.fast);
}

void bound(Answer& answer, const Operation& operation, const ComputationRequest& request) {
  require_room(minimum_fast_words(operation, answer.game), answer.fast, operation.name);
  answer.what = request.what.empty() ? operation.name : request.what;
  answer.operations = static_cast<double>(operation.flops);
  for (pebble::LowerBound& each : lower_bounds(operation, answer.fast))
    if (each.games.contains(answer.game)) answer.lower.push_back(std::move(each));
  answer.upper = bracket(operation, answer.fast, answer.game).upper;
  add_leading_term(answer, operation);
  if (request.exact_states) solve(answer, small_graph(operation), *request.exact_states);
  if (request.accelerator) add_levels(answer, operation, *request.accelerator);
  if (request.devices) add_devices(answer, operation, request.devices->count, request.accelerator);
}

void bound(Answer& answer, const Graph& given, const ComputationRequest& request) {
  const Cdag& graph = given.graph.graph;
  require_room(minimum_fast_words(graph, answer.game), answer.fast, given.name);
  answer.what = fmt::format("{}: {} values, {} inputs, {} outputs", given.name, graph.size(), graph.input_count(),
                            graph.output_count());
  answer.operations = static_cast<double>(graph.size() - graph.input_count());
  answer.lower = lower_bounds(graph, answer.fast, answer.game);
  answer.upper = best_ordered_play(graph, answer.game.sliding, answer.fast);
  if (request.exact_states) solve(answer, graph, *request.exact_states);
  if (given.moves) verify_moves(answer, given.graph, *given.moves);
  if (given.reorder) reorder(answer, graph);
  if (request.accelerator) add_levels(answer, given.graph, *request.accelerator);
  if (request.devices) add_nodes(answer, graph, request.devices->count);
}

}  // namespace

Answer answer(const ComputationRequest& request) {
  Answer answer;
  answer.format = std::string(numerics::name(request.format));
  answer.bytes_per_word = numerics::bytes_per_element(request.format);
  answer.fast = whole_words(request.fast, answer.bytes_per_word);
  answer.game = request.game;
  if (request.devices) require_devices(request.devices->count);
  if (request.accelerator) answer.machine = machine_of(*request.accelerator, request.format);
  std::visit([&](const auto& each) { bound(answer, each, request); }, request.computation);
  if (request.devices && request.devices->links) add_network(answer, *request.devices->links);
  return answer;
}

}  // namespace cairn::bound
