#include "bound_moves.h"

#include <sstream>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/read_file.h"
#include "cairn/pebble/play_file.h"
#include "output.h"

namespace cairn::cli {
namespace {

std::vector<std::string> vertex_names(const pebble::NamedCdag& graph) {
  if (!graph.names.empty()) return graph.names;
  std::vector<std::string> numbers;
  for (std::size_t v = 0; v < graph.graph.size(); ++v) numbers.push_back(std::to_string(v));
  return numbers;
}

}  // namespace

void verify_moves(report::BoundAnswer& answer, const pebble::NamedCdag& graph, const std::string& file) {
  std::istringstream stream(core::read_file(file, core::k_most_listed_bytes, "a list of moves"));
  const std::vector<std::string> names = vertex_names(graph);
  const pebble::NumberedPlay play = pebble::read_play(stream, file, names);
  const pebble::Verdict verdict = verify(graph.graph, answer.game, answer.fast, play.moves, names);
  report::MovesRow row{.file = file, .moves = play.moves.size(), .cost = verdict.cost, .line = 0, .reason = {}};
  if (verdict.illegal) {
    const std::size_t move = verdict.illegal->move;
    row.line = move < play.lines.size() ? play.lines[move] : play.lines.empty() ? 0 : play.lines.back();
    row.reason = verdict.illegal->reason;
  }
  answer.moves = std::move(row);
}

void write_moves(const report::BoundAnswer& answer, const pebble::NamedCdag& graph, const std::string& file,
                 const config::Sources& read) {
  const bool solved = answer.exact && answer.exact->cost;
  if (!solved && !answer.upper)
    throw core::ConfigurationError("--write-moves", "no play was found", "give a graph that can be played");
  std::ostringstream text;
  write_play(solved ? answer.exact->play : answer.upper->play, vertex_names(graph), text);
  write_file(file, text.str(), read);
}

}  // namespace cairn::cli
