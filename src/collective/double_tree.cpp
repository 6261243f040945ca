// Double binary trees (Sanders, Speck, Traeff, Parallel Computing 2009). Each half of the buffer is added up along a tree
// and sent back down it; a rank that has children in one tree is a leaf of the other, so that none sends more than
// twice the buffer.
//
// The first tree: place 0 is the root. A place i whose lowest bit is b has its parent at i - b + 2b if bit 2b of i is not
// set and there is such a place, else at i - b: places with a high lowest bit are near the root, odd places are leaves.
// The second tree: the same with the places in the opposite order, or one further where their number is odd. Both are
// ceil(log2 n) deep.
#include <algorithm>

#include "algorithm_list.h"
#include "phases.h"

namespace cairn::collective {
namespace {

constexpr std::int64_t k_trees = 2;

class Tree {
 public:
  Tree(std::int64_t ranks, std::int64_t which) : ranks_(ranks), which_(which) {}

  std::int64_t place(std::int64_t rank) const {
    if (which_ == 0) return rank;
    return ranks_ % 2 == 0 ? ranks_ - 1 - rank : (rank + ranks_ - 1) % ranks_;
  }
  std::int64_t rank(std::int64_t place) const {
    if (which_ == 0) return place;
    return ranks_ % 2 == 0 ? ranks_ - 1 - place : (place + 1) % ranks_;
  }
  std::int64_t parent(std::int64_t place) const {
    const std::int64_t bit = place & -place, up = (place ^ bit) | (bit << 1);
    return up < ranks_ ? up : place ^ bit;
  }
  std::int64_t depth(std::int64_t place) const {
    std::int64_t depth = 0;
    for (; place != 0; place = parent(place)) ++depth;
    return depth;
  }
  template <class Visit>
  void visit_children(std::int64_t place, Visit visit) const {
    for (std::int64_t bit = 1; bit < ranks_ && (place & bit) == 0; bit <<= 1) {
      if (place + bit < ranks_ && parent(place + bit) == place) visit(place + bit);
      if (place - bit > 0 && parent(place - bit) == place) visit(place - bit);
    }
  }

 private:
  std::int64_t ranks_;
  std::int64_t which_;
};

void double_tree_messages(const MessageList& list, std::int64_t node, Port& port) {
  const std::int64_t height = ceil_log2(list.group.ranks);
  for (std::int64_t which = 0; which < k_trees; ++which) {
    const Tree tree(list.group.ranks, which);
    const std::int64_t place = tree.place(node), depth = tree.depth(place);
    const auto up = [&](std::int64_t child, std::int64_t parent, std::int64_t child_depth) {
      return Run{.first = {.step = height - child_depth,
                           .source = tree.rank(child),
                           .destination = tree.rank(parent),
                           .chunk = which,
                           .reduces = true}};
    };
    const auto down = [&](std::int64_t child, std::int64_t parent, std::int64_t child_depth) {
      return Run{.first = {.step = height + child_depth - 1,
                           .source = tree.rank(parent),
                           .destination = tree.rank(child),
                           .chunk = which}};
    };
    if (place != 0) {
      port.sends(up(place, tree.parent(place), depth));
      port.receives(down(place, tree.parent(place), depth));
    }
    tree.visit_children(place, [&](std::int64_t child) {
      port.receives(up(child, place, depth + 1));
      port.sends(down(child, place, depth + 1));
    });
  }
}

}  // namespace

std::optional<MessageList> double_tree(Collective collective, const Group& group) {
  if (collective != Collective::all_reduce) return std::nullopt;
  return MessageList{.collective = collective,
                     .group = group,
                     .nodes = group.ranks,
                     .chunks = k_trees,
                     .steps = 2 * ceil_log2(group.ranks),
                     .busiest = std::min<std::int64_t>(2, group.ranks - 1),
                     .messages_of = double_tree_messages};
}

}  // namespace cairn::collective
