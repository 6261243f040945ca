#include "bound_moves.h"

#include <sstream>

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

bound::Moves read_moves(const std::string& file, const pebble::NamedCdag& graph) {
  std::istringstream stream(core::read_file(file, core::k_most_listed_bytes, "a list of moves"));
  return {.file = file, .play = pebble::read_play(stream, file, vertex_names(graph))};
}

void write_moves(const bound::Answer& answer, const pebble::NamedCdag& graph, const std::string& file,
                 const config::Sources& read) {
  const pebble::Play* play = answer.cheapest();
  if (play == nullptr)
    throw core::ConfigurationError("--write-moves", "no play was found", "give a graph that can be played");
  std::ostringstream text;
  write_play(*play, vertex_names(graph), text);
  write_file(file, text.str(), read);
}

}  // namespace cairn::cli
