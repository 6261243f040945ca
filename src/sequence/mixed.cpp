#include "cairn/sequence/mixed.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cairn/core/diagnostics.h"
#include "cairn/core/out_of_range.h"
#include "mixed_input.h"

namespace cairn::sequence {

namespace {

// Tokens of a group whose memory activations do not fill; far from where sums of two wrap.
constexpr std::int64_t k_boundless_tokens = std::int64_t{1} << 62;

core::Picoseconds priced(double seconds) {
  if (!std::isfinite(seconds)) core::raise_beyond_reach(seconds);
  return core::to_picoseconds(seconds);
}

}  // namespace

core::Picoseconds exchange_time(const GroupCosts& costs, const GroupDegree& degree, std::int64_t tokens) {
  const double s = static_cast<double>(tokens), d = static_cast<double>(degree.ranks);
  double seconds = (costs.work.quadratic * s * s + costs.work.linear * s) / d;
  if (degree.ranks > 1 && costs.exchanged.base() > 0.0) seconds += (costs.exchanged * s / d / degree.rate).base();
  return priced(seconds);
}

core::Picoseconds ring_time(const RingCosts& costs, std::int64_t ranks, std::int64_t tokens) {
  const double s = static_cast<double>(tokens), d = static_cast<double>(ranks);
  const double block = costs.work.quadratic * s * s / (d * d);
  double hop = block;
  if (ranks > 1 && costs.circulated.base() > 0.0) hop = std::max(hop, (costs.circulated * s / d / costs.rate).base());
  return priced(costs.work.linear * s / d + block + (d - 1.0) * hop);
}

std::int64_t token_capacity(const GroupMemory& memory, std::int64_t ranks) {
  const core::Bytes room = memory.capacity - memory.state;
  if (room.base() < 0.0) return 0;
  if (memory.activation.base() == 0.0) return k_boundless_tokens;
  const double tokens = std::floor(static_cast<double>(ranks) * room.base() / memory.activation.base());
  return tokens < static_cast<double>(k_boundless_tokens) ? static_cast<std::int64_t>(tokens) : k_boundless_tokens;
}

void check_batch(std::span<const std::int64_t> lengths, std::int64_t ranks) {
  if (lengths.empty())
    throw core::ConfigurationError("lengths", "the batch has no sequences", "give the length of at least one");
  if (ranks < 1)
    throw core::ConfigurationError("ranks", std::to_string(ranks) + " ranks compute nothing", "give at least 1");
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::string key_path = "lengths[" + std::to_string(i) + "]";
    if (lengths[i] < 1)
      throw core::ConfigurationError(key_path, "a sequence of " + std::to_string(lengths[i]) + " tokens",
                                     "leave it out, or give at least 1 token");
    if (__builtin_add_overflow(tokens, lengths[i], &tokens))
      throw core::ConfigurationError(key_path, "the tokens of the batch are more than 64 bits count",
                                     "cut the batch into micro-batches");
  }
}

void check_amount(const std::string& key_path, double value) {
  if (!std::isfinite(value) || value < 0.0)
    throw core::ConfigurationError(key_path, std::to_string(value) + " is no cost", "give a number of at least 0");
}

void check_work(const SequenceWork& work) {
  check_amount("work.quadratic", work.quadratic);
  check_amount("work.linear", work.linear);
  check_amount("work.fixed", work.fixed.base());
  if (work.quadratic == 0.0 && work.linear == 0.0)
    throw core::ConfigurationError("work", "sequences take no time", "give the time per token or per pair of tokens");
}

std::vector<std::int64_t> longest_first(std::span<const std::int64_t> lengths) {
  std::vector<std::int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t i, std::int64_t j) { return lengths[i] > lengths[j]; });
  return order;
}

core::Picoseconds add_times(core::Picoseconds first, core::Picoseconds second) {
  const core::Picoseconds sum = first + second;  // both within reach, a quarter of what 64 bits hold
  if (sum >= core::k_reach) core::raise_beyond_reach(core::to_seconds(sum));
  return sum;
}

void set_in_order(std::vector<RankGroup>& groups) {
  for (RankGroup& group : groups) std::ranges::sort(group.sequences);
  std::ranges::sort(groups, [](const RankGroup& a, const RankGroup& b) {
    return a.ranks != b.ranks ? a.ranks > b.ranks : a.sequences.front() < b.sequences.front();
  });
}

std::int64_t ceil_divide(Wide dividend, Wide divisor) {
  return static_cast<std::int64_t>((dividend + divisor - 1) / divisor);
}

}  // namespace cairn::sequence
