#include "cairn/pebble/locality.h"

#include <algorithm>

#include "cairn/core/assert.h"

namespace cairn::pebble {

namespace {

constexpr std::size_t k_least_positions = 1024;

std::int64_t sum_from(const std::vector<std::int64_t>& counts, Words memory) {
  std::int64_t sum = 0;
  for (std::size_t d = static_cast<std::size_t>(std::max<Words>(memory, 0)); d < counts.size(); ++d) sum += counts[d];
  return sum;
}

std::uint64_t hashed(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t x = (seed ^ value) * 0x9E3779B97F4A7C15ULL;  // golden ratio; then the SplitMix64 finaliser
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

MissProfiler::MissProfiler(std::size_t words)
    : tree_(std::max(k_least_positions, 2 * words) + 1, 0),
      position_(words, k_never),
      word_at_(tree_.size(), k_never),
      longest_since_write_(words, -1),
      read_distances_(words + 1, 0),
      write_back_distances_(words + 1, 0) {}

void MissProfiler::add(std::size_t position, std::int32_t amount) {
  for (std::size_t i = position + 1; i < tree_.size(); i += i & (~i + 1)) tree_[i] += amount;
}

std::int64_t MissProfiler::up_to(std::size_t position) const {
  std::int64_t sum = 0;
  for (std::size_t i = position + 1; i > 0; i &= i - 1) sum += tree_[i];
  return sum;
}

// Packs the positions in use to the front, in order.
void MissProfiler::renumber() {
  std::size_t packed = 0;
  for (std::size_t at = 0; at < next_; ++at) {
    const std::uint32_t word = word_at_[at];
    if (word == k_never) continue;
    word_at_[at] = k_never;
    word_at_[packed] = word;
    position_[word] = static_cast<std::uint32_t>(packed);
    ++packed;
  }
  next_ = packed;
  std::fill(tree_.begin(), tree_.end(), 0);
  for (std::size_t i = 1; i < tree_.size(); ++i) {
    if (i <= packed) tree_[i] += 1;
    const std::size_t above = i + (i & (~i + 1));
    if (above < tree_.size()) tree_[above] += tree_[i];
  }
}

std::int64_t MissProfiler::distance_and_move_to_front(std::uint32_t word) {
  if (next_ + 1 == tree_.size()) renumber();
  std::int64_t distance = -1;
  if (position_[word] != k_never) {
    distance = active_ - up_to(position_[word]);
    add(position_[word], -1);
    word_at_[position_[word]] = k_never;
  } else {
    ++active_;
  }
  position_[word] = static_cast<std::uint32_t>(next_);
  word_at_[next_] = word;
  add(next_, 1);
  ++next_;
  return distance;
}

void MissProfiler::touch(std::uint32_t word, Touch kind) {
  const std::int64_t distance = distance_and_move_to_front(word);
  std::int64_t& longest = longest_since_write_[word];
  if (longest >= 0) longest = std::max(longest, distance);
  if (kind == Touch::read) {
    if (distance < 0)
      ++first_reads_;
    else
      ++read_distances_[static_cast<std::size_t>(distance)];
    return;
  }
  if (longest >= 0) ++write_back_distances_[static_cast<std::size_t>(longest)];
  longest = 0;
}

std::int64_t MissProfiler::reads_that_miss(Words memory) const {
  return first_reads_ + sum_from(read_distances_, memory);
}

std::int64_t MissProfiler::write_backs(Words memory) const {
  const auto written = std::count_if(longest_since_write_.begin(), longest_since_write_.end(),
                                     [](std::int64_t longest) { return longest >= 0; });
  return static_cast<std::int64_t>(written) + sum_from(write_back_distances_, memory);
}

Replay replay(const Cdag& graph, std::span<const Vertex> order) {
  CAIRN_ASSERT(order.size() == graph.size());
  // Where each value lies: inputs in words of their own until dead, then first come, first served.
  std::vector<std::uint32_t> word(graph.size()), readers_left(graph.size());
  std::vector<std::uint32_t> free_words;
  std::uint32_t words = 0;
  for (Vertex v = 0; v < graph.size(); ++v) {
    readers_left[v] = static_cast<std::uint32_t>(graph.successors(v).size());
    if (graph.is_input(v)) word[v] = words++;
  }
  const auto release_if_dead = [&](Vertex v) {
    if (readers_left[v] == 0 && !graph.is_output(v)) free_words.push_back(word[v]);
  };
  for (Vertex v : order) {
    if (graph.is_input(v)) continue;
    for (Vertex p : graph.predecessors(v)) {
      --readers_left[p];
      release_if_dead(p);
    }
    if (free_words.empty()) free_words.push_back(words++);
    word[v] = free_words.back();
    free_words.pop_back();
    release_if_dead(v);
  }
  Replay result{.profile = MissProfiler(words), .words = words, .fingerprint = 0};
  std::vector<std::uint64_t> memory(words);
  for (Vertex v = 0; v < graph.size(); ++v) {
    if (graph.is_input(v)) memory[word[v]] = hashed(0, v);
  }
  for (Vertex v : order) {
    if (graph.is_input(v)) continue;
    std::uint64_t value = hashed(1, v);
    for (Vertex p : graph.predecessors(v)) {
      result.profile.touch(word[p], MissProfiler::Touch::read);
      value = hashed(value, memory[word[p]]);
    }
    result.profile.touch(word[v], MissProfiler::Touch::write);
    memory[word[v]] = value;
  }
  for (Vertex v = 0; v < graph.size(); ++v) {
    if (graph.is_output(v)) result.fingerprint = hashed(result.fingerprint, memory[word[v]]);
  }
  return result;
}

}  // namespace cairn::pebble
