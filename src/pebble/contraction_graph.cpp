#include "cairn/pebble/contraction_graph.h"

#include <algorithm>
#include <functional>
#include <map>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::pebble {

namespace {

constexpr Words k_max_points = 10'000'000;

using Point = std::vector<std::int64_t>;

std::int64_t value(const loopnest::Affine& form, const Point& point) {
  std::int64_t sum = form.offset;
  for (const loopnest::Term& term : form.terms) sum += term.stride * point[term.dim];
  return sum;
}

class GraphOfPoints {
 public:
  GraphOfPoints(const Contraction& contraction, const TiledOrder& order)
      : contraction_(contraction), order_(order), box_(contraction.domain.box(contraction.sizes)) {
    const std::size_t loops = box_.size();
    CAIRN_ASSERT(order.tiles.size() == loops && order.inside.size() == loops && order.tile.size() == loops);
    tile_.resize(loops);
    for (std::size_t i = 0; i < loops; ++i)
      tile_[i] = order.tile[i] > 0 ? order.tile[i] : std::max<std::int64_t>(1, box_[i].extent());
  }

  Cdag build() {
    Point corner(box_.size(), 0);
    walk_tiles(0, corner);
    for (const auto& [element, vertex] : sums_) {
      if (result().role != Role::result_free) builder_.label_output(vertex);
    }
    return builder_.build();
  }

 private:
  using Element = std::pair<std::string, Point>;

  static bool is_result(const Access& access) {
    return access.role == Role::update || access.role == Role::produce || access.role == Role::result_free;
  }
  const Access& result() const {
    return *std::find_if(contraction_.accesses.begin(), contraction_.accesses.end(), is_result);
  }

  void walk_tiles(std::size_t depth, Point& corner) {
    if (depth == box_.size()) {
      Point point(box_.size(), 0);
      return walk_points(0, corner, point);
    }
    const loopnest::DimId loop = order_.tiles[depth];
    for (std::int64_t at = box_[loop].begin; at < box_[loop].end; at += tile_[loop]) {
      corner[loop] = at;
      walk_tiles(depth + 1, corner);
    }
  }

  void walk_points(std::size_t depth, const Point& corner, Point& point) {
    if (depth == box_.size()) return visit(point);
    const loopnest::DimId loop = order_.inside[depth];
    const std::int64_t end = std::min(corner[loop] + tile_[loop], box_[loop].end);
    for (std::int64_t at = corner[loop]; at < end; ++at) {
      point[loop] = at;
      walk_points(depth + 1, corner, point);
    }
  }

  Element element(const Access& access, const Point& point) const {
    Point index;
    for (const loopnest::Affine& form : access.index) index.push_back(value(form, point));
    return {access.array, std::move(index)};
  }

  Vertex operand(const Access& access, const Point& point) {
    const auto [at, fresh] = operands_.try_emplace(element(access, point), 0);
    if (fresh) at->second = access.role == Role::read ? builder_.input() : builder_.vertex();
    return at->second;
  }

  void visit(const Point& point) {
    const auto& guards = contraction_.domain.guards();
    if (std::any_of(guards.begin(), guards.end(),
                    [&](const loopnest::Guard& guard) { return value(guard, point) < 0; }))
      return;
    std::vector<Vertex> reads;
    for (const Access& access : contraction_.accesses) {
      if (!is_result(access)) reads.push_back(operand(access, point));
    }
    const Access& sum_access = result();
    const auto [sum, fresh] = sums_.try_emplace(element(sum_access, point), 0);
    if (!fresh)
      reads.push_back(sum->second);
    else if (sum_access.role == Role::update)
      reads.push_back(builder_.input());
    sum->second = builder_.compute(reads);
  }

  const Contraction& contraction_;
  const TiledOrder& order_;
  loopnest::Box box_;
  std::vector<std::int64_t> tile_;
  CdagBuilder builder_;
  std::map<Element, Vertex> operands_, sums_;
};

}  // namespace

TiledOrder program_order(const Contraction& contraction) {
  TiledOrder order;
  for (std::size_t i = 0; i < contraction.domain.dims().size(); ++i) {
    order.tiles.push_back(static_cast<loopnest::DimId>(i));
    order.tile.push_back(0);
  }
  order.inside = order.tiles;
  return order;
}

Cdag contraction_graph(const Contraction& contraction, const TiledOrder& order) {
  for (const loopnest::Dim& dim : contraction.domain.dims()) {
    if (dim.selected > 0)
      throw core::ConfigurationError("contraction." + contraction.name, "loop " + dim.name + " depends on data",
                                     "a graph needs concrete indices");
  }
  const Words points = contraction.domain.points(contraction.domain.box(contraction.sizes));
  if (points > k_max_points)
    throw core::ConfigurationError("contraction." + contraction.name, std::to_string(points) + " points",
                                   "a graph of at most 10^7 points can be built");
  return GraphOfPoints(contraction, order).build();
}

}  // namespace cairn::pebble
