#include "cairn/cost/fusion.h"

#include <algorithm>
#include <limits>

#include "cairn/cost/operator_floor.h"
#include "fused_range.h"

namespace cairn::cost {
namespace {

constexpr std::size_t k_longest = 12;         // operators of one group
constexpr std::size_t k_most_tilings = 6000;  // looked at for one group

// Powers of two and the whole.
std::vector<std::int64_t> tile_sizes(std::int64_t extent) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size < extent; size *= 2) sizes.push_back(size);
  sizes.push_back(extent);
  return sizes;
}

bool better(const FusedGroup& a, const FusedGroup& b) {
  return a.bytes < b.bytes || (a.bytes == b.bytes && a.chip_bytes < b.chip_bytes);
}

class Search {
 public:
  Search(const ir::Graph& graph, const loopnest::Sizes& sizes, double on_chip, std::size_t count,
         const std::vector<char>& kept, Fusion fusion)
      : layer_(graph, sizes, count, kept), on_chip_(on_chip), fusion_(fusion) {}

  std::vector<FusedGroup> run() {
    std::vector<double> best(layer_.count() + 1, std::numeric_limits<double>::infinity());
    std::vector<FusedGroup> last(layer_.count() + 1);
    best[0] = 0.0;
    for (std::size_t end = 1; end <= layer_.count(); ++end)
      for (std::size_t length = 1; length <= std::min(end, k_longest); ++length) {
        const std::size_t begin = end - length;
        if (length > 1 && !may_fuse(begin, end)) break;
        FusedGroup group = length == 1 ? alone(begin) : tiled(begin, end);
        if (best[begin] + group.bytes >= best[end]) continue;
        best[end] = best[begin] + group.bytes;
        last[end] = std::move(group);
      }
    std::vector<FusedGroup> groups;
    for (std::size_t end = layer_.count(); end > 0; end = groups.back().operators.front())
      groups.push_back(std::move(last[end]));
    std::reverse(groups.begin(), groups.end());
    return groups;
  }

 private:
  // The backward pass of a layer follows that of the layers after it, so nothing is fused across.
  bool may_fuse(std::size_t begin, std::size_t end) const {
    if (fusion_ == Fusion::none) return false;
    for (std::size_t i : {begin, end - 1}) {
      const OperatorClass kind = layer_.class_of(i);
      if (kind == OperatorClass::lookup) return false;
      if (kind == OperatorClass::contraction && fusion_ == Fusion::without_contractions) return false;
    }
    return layer_.op(begin).phase == layer_.op(end - 1).phase;
  }

  // An operator whose row does not fit, or that data address, reads what it reads twice at most.
  FusedGroup alone(std::size_t i) const {
    FusedGroup group = tiled(i, i + 1);
    if (group.bytes < std::numeric_limits<double>::infinity()) return group;
    group.operators = {i};
    group.bytes = layer_.two_passes(i);
    return group;
  }

  FusedGroup tiled(std::size_t begin, std::size_t end) const {
    FusedGroup best;
    best.bytes = std::numeric_limits<double>::infinity();
    if (layer_.class_of(begin) == OperatorClass::lookup) return best;
    FusedRange range(layer_, begin, end);
    const std::vector<FusedAxis>& axes = range.axes();
    std::vector<std::vector<std::int64_t>> choices;
    std::size_t tilings = 1;
    for (const FusedAxis& axis : axes) {
      choices.push_back(tilings < k_most_tilings ? tile_sizes(axis.extent) : std::vector<std::int64_t>{axis.extent});
      tilings *= choices.back().size();
    }
    std::vector<std::int64_t> tile(axes.size());
    for (std::size_t at = 0; at < tilings; ++at) {
      std::size_t rest = at;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        tile[a] = choices[a][rest % choices[a].size()];
        rest /= choices[a].size();
      }
      FusedGroup group = range.run(tile, on_chip_);
      if (better(group, best)) best = std::move(group);
    }
    for (std::size_t i = begin; i < end; ++i) best.operators.push_back(i);
    return best;
  }

  FusedLayer layer_;
  double on_chip_;
  Fusion fusion_;
};

}  // namespace

std::vector<FusedGroup> fuse(const ir::Graph& graph, const loopnest::Sizes& sizes, double on_chip_bytes,
                             std::size_t count, const std::vector<char>& kept, Fusion fusion) {
  return Search(graph, sizes, on_chip_bytes, count, kept, fusion).run();
}

double moved_bytes(const std::vector<FusedGroup>& groups) {
  double sum = 0.0;
  for (const FusedGroup& group : groups) sum += group.bytes;
  return sum;
}

}  // namespace cairn::cost
