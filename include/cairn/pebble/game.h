// The games whose cheapest play is the least data movement of a computation with a fast memory of S words.
//
// Red pebble = value in fast memory (weights of all reds <= S), blue pebble = value in slow memory. Start: blue on
// inputs. End: blue on every output.
//   load     red on a vertex with blue                                       costs its weight
//   store    blue on a vertex with red                                       costs its weight
//   compute  red on a non-input vertex whose predecessors are all red        free
//   slide    as compute, but the red pebble of one predecessor moves to v    free; only in the sliding variants
//   erase    removes red; forget removes blue                                free
//
// hong_kung (Hong, Kung, STOC 1981): a value may be computed any number of times.
// red_blue_white (Elango et al., arXiv 1411.2286): every vertex is computed exactly once; an input counts as computed
// when it is first loaded, and at the end all are. Hence every input is loaded, and an unsaved live value is never
// lost.
// Sliding models update in place (an accumulator register). With Q the least cost, at equal graph:
//   Q_hk <= Q_rbw,   Q_plain(S + 1) <= Q_sliding(S) <= Q_plain(S).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/pebble/cdag.h"

namespace cairn::pebble {

enum class Rules : std::uint8_t { hong_kung, red_blue_white };
enum class Sliding : std::uint8_t { forbidden, allowed };

struct Game {
  Rules rules = Rules::red_blue_white;
  Sliding sliding = Sliding::forbidden;
  friend bool operator==(const Game&, const Game&) = default;
};

inline constexpr Game k_all_games[] = {{Rules::hong_kung, Sliding::forbidden},
                                       {Rules::hong_kung, Sliding::allowed},
                                       {Rules::red_blue_white, Sliding::forbidden},
                                       {Rules::red_blue_white, Sliding::allowed}};

std::string to_string(Game game);          // HK, HK_slide, RBW, RBW_slide
Game parse_game(const std::string& text);  // throws core::ConfigurationError

// A set of games, for saying where a bound holds.
class GameSet {
 public:
  constexpr GameSet() = default;
  static constexpr GameSet all() { return GameSet(k_all); }
  static constexpr GameSet of(Game game) { return GameSet(bit(game)); }
  static constexpr GameSet with_rules(Rules rules) {
    return of({rules, Sliding::forbidden}) | of({rules, Sliding::allowed});
  }
  // Without sliding, under both rules.
  static constexpr GameSet plain() {
    return of({Rules::hong_kung, Sliding::forbidden}) | of({Rules::red_blue_white, Sliding::forbidden});
  }
  constexpr bool contains(Game game) const { return (bits_ & bit(game)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr GameSet operator&(GameSet a, GameSet b) { return GameSet(a.bits_ & b.bits_); }
  friend constexpr GameSet operator|(GameSet a, GameSet b) { return GameSet(a.bits_ | b.bits_); }
  friend constexpr bool operator==(GameSet, GameSet) = default;

 private:
  static constexpr unsigned k_all = 15;
  explicit constexpr GameSet(unsigned bits) : bits_(bits) {}
  static constexpr unsigned bit(Game game) {
    return 1U << (2 * static_cast<unsigned>(game.rules) + static_cast<unsigned>(game.sliding));
  }
  unsigned bits_ = 0;
};

std::string to_string(GameSet games);  // comma separated

// The least fast memory with which the graph can be played at all [words]. Unit weights: the largest in-degree + 1
// without sliding, the largest in-degree with it, at least 1. Under Hong-Kung rules only vertices that an output needs
// count.
Words minimum_fast_words(const Cdag& graph, Game game);

// Throws core::ConfigurationError naming the minimum when `fast` is below it.
void require_playable(const Cdag& graph, Game game, Words fast);

enum class MoveKind : std::uint8_t { load, store, compute, slide, erase, forget };

struct Move {
  MoveKind kind;
  Vertex vertex;
  Vertex from = 0;  // slide: the predecessor whose pebble moves
  friend bool operator==(const Move&, const Move&) = default;
};

using Play = std::vector<Move>;

std::string to_string(const Move& move);

struct PlayCost {
  Words loads = 0;
  Words stores = 0;
  Words peak = 0;  // most words in fast memory at any instant
  Words total() const { return loads + stores; }
};

// The first thing wrong with a play: the index of the illegal move, or the number of moves when the end is not a legal
// one.
struct Illegal {
  std::size_t move;
  std::string reason;
};

// Exactly one of the two is set.
struct Verdict {
  std::optional<PlayCost> cost;
  std::optional<Illegal> illegal;
};

// Plays `moves` by the rules above, one by one.
Verdict verify(const Cdag& graph, Game game, Words fast, const Play& moves);

}  // namespace cairn::pebble
