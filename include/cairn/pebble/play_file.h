// A play as text, one move per line, '#' starts a comment; vertices by the names of their graph's file:
//   load V      store V      compute V      erase V      forget V
//   slide FROM -> V          the pebble of FROM moves to V
// What the moves do and cost: game.h.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "cairn/pebble/game.h"

namespace cairn::pebble {

struct NumberedPlay {
  Play moves;
  std::vector<std::int64_t> lines;  // of the file, by move
};

// Reads the whole stream; `file` only names it in diagnostics (file:line), `names` are the vertices'. All errors of the
// file are raised at once (core::ConfigurationError): unknown moves and vertices, moves with too few or too many words.
NumberedPlay read_play(std::istream& stream, const std::string& file, std::span<const std::string> names);

// Writes what read_play reads.
void write_play(const Play& play, std::span<const std::string> names, std::ostream& stream);

// As to_string() and verify() of game.h; vertices without a name go by their numbers.
std::string to_string(const Move& move, std::span<const std::string> names);
Verdict verify(const Cdag& graph, Game game, Words fast, const Play& moves, std::span<const std::string> names);

}  // namespace cairn::pebble
