#include "cairn/sequence/group.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cairn/sequence/folds.h"

namespace cairn::sequence {
namespace {

constexpr std::int64_t k_all = 16;  // ranks, so many of which are all looked at

void add_spread(std::set<std::int64_t>& all, std::int64_t ranks) {
  constexpr std::int64_t k_most = 64;
  const std::int64_t steps = std::min(ranks, k_most) - 1;
  for (std::int64_t i = 1; i <= steps; ++i) all.insert(i * (ranks - 1) / steps);
}

// Those of the first ranks among the heads.
std::set<std::int64_t> corners_and_middle(const Grid& grid) {
  std::set<std::int64_t> all;
  const auto add = [&](std::int64_t row, std::int64_t column) {
    all.insert((row * grid.columns + column) * (grid.heads_inner ? grid.head_ranks : 1));
  };
  for (const std::int64_t row : {std::int64_t{0}, grid.rows - 1})
    for (const std::int64_t column : {std::int64_t{0}, grid.columns - 1}) add(row, column);
  if (grid.rows == 1) add(0, grid.columns / 2);
  return all;
}

// Ranks that are looked at, and those of them whose buffers are.
struct Looked {
  std::set<std::int64_t> ranks;
  std::set<std::int64_t> buffers;
};
Looked looked_at(const Problem& problem, const Grid& grid) {
  const bool all = grid.ranks() <= k_all;
  const std::set<std::int64_t> extreme = corners_and_middle(grid);
  std::set<std::int64_t> ranks = extreme;
  if (all || !problem.documents.empty()) add_spread(ranks, grid.ranks());
  return {.ranks = ranks, .buffers = all ? ranks : extreme};
}

GroupPass::Moving moving(const Problem& problem, const Call& call) {
  return {.collective = call.collective,
          .peers = call.peers,
          .begins = call.begins,
          .ends = call.ends,
          .lane = call.lane,
          .reach = call.reach,
          .sent = bytes_sent(problem, call),
          .received = bytes_received(problem, call)};
}

GroupPass folded(const Scheme& scheme, const Problem& problem, const Grid& grid, Pass pass) {
  GroupPass result;
  std::int64_t most_moved = -1;
  std::pair<std::int64_t, std::int64_t> most_work{-1, 0};
  const Looked looked = looked_at(problem, grid);
  for (const std::int64_t rank : looked.ranks) {
    RankList list = scheme.list(problem, grid, pass, rank);
    const std::int64_t computed = pairs(problem, list);
    std::vector<GroupPass::Moving> calls;
    calls.reserve(list.calls.size());
    std::int64_t sent = 0, received = 0, messages = 0;
    for (const Call& call : list.calls) {
      calls.push_back(moving(problem, call));
      sent += calls.back().sent;
      received += calls.back().received;
      messages += static_cast<std::int64_t>(call.sends.size());
    }
    for (const Tile& tile : list.tiles) result.whole_heads = result.whole_heads && tile.heads == all_heads(problem);
    result.pairs = std::max(result.pairs, computed);
    result.sent = std::max(result.sent, sent);
    result.received = std::max(result.received, received);
    result.messages = std::max(result.messages, messages);
    if (looked.buffers.contains(rank)) result.buffer_bytes = std::max(result.buffer_bytes, buffer_bytes(problem, list));
    result.stages = std::max(result.stages, list.stages);
    if (std::max(sent, received) > most_moved) {
      most_moved = std::max(sent, received);
      result.calls = std::move(calls);
    }
    if (const std::pair work(computed, joined_elements(problem, list, pass)); work > most_work) {
      most_work = work;
      result.tiles = std::move(list.tiles);
    }
  }
  return result;
}

// What is of ranks that split heads and are consecutive, for those that lie apart by as many ranks as share tokens. They
// differ in their numbers alone.
GroupPass heads_outside(GroupPass pass, const Grid& grid) {
  const auto moved = [&](std::int64_t rank) {
    return rank % grid.head_ranks * grid.token_ranks() + rank / grid.head_ranks;
  };
  for (GroupPass::Moving& call : pass.calls) {
    const std::int64_t first = moved(call.peers.first), second = moved(call.peers.first + call.peers.stride);
    call.peers = {.first = first, .count = call.peers.count, .stride = second - first};
  }
  return pass;
}

struct Known {
  decltype(Scheme::list) list = nullptr;
  Problem problem = {};
  Grid grid = {};
  Pass pass = Pass::forward;
  std::shared_ptr<const GroupPass> answer = {};

  bool is(const Known& other) const {
    return list == other.list && pass == other.pass && grid == other.grid && problem == other.problem;
  }
  std::size_t steps() const { return answer->tiles.size() + answer->calls.size(); }
};

// The last answers of all threads: layers are lowered again and again, and lists of many ranks are long.
class Memory {
 public:
  std::shared_ptr<const GroupPass> find(const Known& asked) {
    const std::lock_guard lock(mutex_);
    for (const Known& each : known_)
      if (each.is(asked)) return each.answer;
    return nullptr;
  }
  void keep(const Known& answered) {
    constexpr std::size_t k_always = 2;
    const std::lock_guard lock(mutex_);
    steps_ += answered.steps();
    known_.push_back(answered);
    while (known_.size() > k_always && (known_.size() > k_remembered_passes || steps_ > k_remembered_steps)) {
      steps_ -= known_.front().steps();
      known_.pop_front();
    }
  }

 private:
  std::mutex mutex_;
  std::deque<Known> known_;  // the oldest first
  std::size_t steps_ = 0;    // tiles and calls of all
};

}  // namespace

std::shared_ptr<const GroupPass> group_pass(const Scheme& scheme, const Problem& problem, const Grid& grid, Pass pass) {
  static Memory memory;
  Known asked{.list = scheme.list, .problem = problem, .grid = grid, .pass = pass};
  asked.problem.value_dim = problem.values();
  if (auto known = memory.find(asked)) return known;
  // Spread over all ranks, those that are looked at would be others.
  const bool alike = !grid.heads_inner && problem.documents.empty();
  Grid inner = grid;
  inner.heads_inner = true;
  GroupPass answer =
      alike ? heads_outside(*group_pass(scheme, problem, inner, pass), grid) : folded(scheme, problem, grid, pass);
  asked.answer = std::make_shared<const GroupPass>(std::move(answer));
  memory.keep(asked);
  return asked.answer;
}

}  // namespace cairn::sequence
