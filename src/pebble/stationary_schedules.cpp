#include "stationary_schedules.h"

#include <algorithm>
#include <cmath>

#include "checked.h"

namespace cairn::pebble {

namespace {

GameSet games_with(Sliding sliding) {
  return GameSet::of({Rules::hong_kung, sliding}) | GameSet::of({Rules::red_blue_white, sliding});
}

Words places(Sliding sliding) { return sliding == Sliding::allowed ? 1 : 2; }

UpperBound cost(Words loads, Words stores, Sliding sliding, std::string method) {
  UpperBound upper;
  upper.loads = loads;
  upper.stores = stores;
  upper.words = loads + stores;
  upper.games = games_with(sliding);
  upper.method = std::move(method);
  return upper;
}

// Lengths of the tiles that `n` is cut into: `full` of `side`, then one of `rest` where it is not 0.
struct Cut {
  Words side, full, rest;
  Cut(Words n, Words tile) : side(std::min(n, tile)), full(n / side), rest(n % side) {}
  Words tiles() const { return full + (rest > 0 ? 1 : 0); }
  Words length(Words tile) const { return tile < full ? side : rest; }
};

// A sum over more tiles than this takes too long.
constexpr Words k_most_tiles = 1 << 20;

std::string tile_text(Words side) { return std::to_string(side) + " x " + std::to_string(side); }

}  // namespace

Words stationary_tile(Words fast, Sliding sliding) {
  const Words room = fast - places(sliding);
  if (room < 2) return 0;
  auto side = static_cast<Words>((std::sqrt(4.0L * static_cast<long double>(room) + 1.0L) - 1.0L) / 2.0L);
  while (side * side + side > room) --side;
  while ((side + 1) * (side + 1) + side + 1 <= room) ++side;
  return side;
}

namespace {

// The tile of the fewest loads among those that fit. A larger one may leave a worse rest, and what fits in some memory
// fits in any larger one.
template <class Loads>
std::optional<UpperBound> best_tiling(Words n, Words fast, Sliding sliding, Words stores, const std::string& order,
                                      Loads loads_of) {
  const Words most = std::min(n, stationary_tile(fast, sliding));
  std::optional<Words> best;
  Words chosen = 0;
  for (Words side = 1; side <= most; ++side) {
    const Cut cut(n, side);
    if (cut.tiles() > k_most_tiles) continue;
    const Words loads = loads_of(cut);
    if (best && *best < loads) continue;
    best = loads;
    chosen = side;
  }
  if (!best) return std::nullopt;
  return cost(*best, stores, sliding, order + "tiles of " + tile_text(chosen) + " stay");
}

}  // namespace

std::optional<UpperBound> lu_schedule(Words n, Words fast, Sliding sliding) {
  const auto loads_of = [n](const Cut& cut) {
    Words loads = n * n;
    // Row and column of tiles that meet in the diagonal tile d: d and what lies right of it and below it.
    for (Words d = 0; d < cut.tiles(); ++d) {
      const Words h = cut.length(d), before = d * cut.side, behind = n - before - h;
      const Words others = cut.tiles() - 1 - d;
      loads += before * 2 * h;                      // the diagonal tile
      loads += 2 * before * (others * h + behind);  // below and to the right
      // Of the diagonal tile, by those below and those to the right.
      loads += others * (h * (h + 1) / 2 + h * (h - 1) / 2);
    }
    return loads;
  };
  return best_tiling(n, fast, sliding, n * (n - 1), "left-looking, ", loads_of);
}

std::optional<UpperBound> cholesky_schedule(Words n, Words fast, Sliding sliding) {
  const auto loads_of = [n](const Cut& cut) {
    Words loads = n * (n + 1) / 2;
    for (Words d = 0; d < cut.tiles(); ++d) {
      const Words w = cut.length(d), before = d * cut.side, below = n - before - w;
      const Words others = cut.tiles() - 1 - d;
      loads += before * w;                     // the diagonal tile
      loads += before * (others * w + below);  // the tiles below
      loads += others * (w * (w + 1) / 2);     // of the diagonal tile
    }
    return loads;
  };
  return best_tiling(n, fast, sliding, n * (n + 1) / 2, "left-looking, ", loads_of);
}

std::optional<UpperBound> syrk_schedule(Words n, Words m, Words fast, Sliding sliding) {
  const auto loads_of = [n, m](const Cut& cut) {
    Words loads = 0;
    for (Words d = 0; d < cut.tiles(); ++d) {
      const Words w = cut.length(d), below = n - d * cut.side - w;
      const Words others = cut.tiles() - 1 - d;
      loads += m * (w + others * w + below);
    }
    return loads;
  };
  return best_tiling(n, fast, sliding, n * (n - 1) / 2, "", loads_of);
}

namespace {

// Words that `outputs` neighbouring positions touch along one side, summed over the tiles of a cut.
Words touched(Words outputs, Words filter, Words stride) { return (outputs - 1) * std::min(filter, stride) + filter; }
Words touched(const Cut& cut, Words filter, Words stride) {
  return cut.full * touched(cut.side, filter, stride) + (cut.rest > 0 ? touched(cut.rest, filter, stride) : 0);
}

struct ConvTile {
  Words height, width, channels;
};

Words conv_room(const ConvSizes& s, const ConvTile& t) {
  return t.height * t.width * t.channels +
         touched(t.height, s.filter_height, s.stride) * touched(t.width, s.filter_width, s.stride);
}

Words conv_loads(const ConvSizes& s, const ConvTile& t) {
  const Cut height(s.height, t.height), width(s.width, t.width), channels(s.out_channels, t.channels);
  const Words patches = touched(height, s.filter_height, s.stride) * touched(width, s.filter_width, s.stride);
  const Words filters = s.filter_height * s.filter_width * s.out_channels * height.tiles() * width.tiles();
  return s.batch * s.in_channels * (patches * channels.tiles() + filters);
}

// 1, 2, 3, ... in steps of about an eighth, and `most` itself.
std::vector<Words> candidates(Words most) {
  std::vector<Words> all;
  for (Words value = 1; value < most; value += std::max<Words>(1, value / 8)) all.push_back(value);
  all.push_back(most);
  return all;
}

}  // namespace

std::optional<UpperBound> conv2d_schedule(const ConvSizes& sizes, Words fast, Sliding sliding) {
  const Words room = fast - places(sliding);
  std::optional<Words> best;
  ConvTile chosen{};
  for (Words height : candidates(sizes.height)) {
    for (Words width : candidates(sizes.width)) {
      ConvTile tile{.height = height, .width = width, .channels = 1};
      const Words left = room - (conv_room(sizes, tile) - height * width);
      tile.channels = std::min(sizes.out_channels, left / (height * width));
      if (left < 0 || tile.channels < 1) continue;
      const Words loads = conv_loads(sizes, tile);
      if (best && loads >= *best) continue;
      best = loads;
      chosen = tile;
    }
  }
  if (!best) return std::nullopt;
  return cost(*best, sizes.batch * sizes.out_channels * sizes.height * sizes.width, sliding,
              "tiles of " + std::to_string(chosen.height) + " x " + std::to_string(chosen.width) + " positions and " +
                  std::to_string(chosen.channels) + " channels stay");
}

}  // namespace cairn::pebble
