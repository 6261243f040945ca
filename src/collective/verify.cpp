#include "cairn/collective/verify.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "cairn/core/assert.h"

namespace cairn::collective {
namespace {

constexpr std::int64_t k_bits = 64;

// A set of ranks.
class Contributions {
 public:
  explicit Contributions(std::int64_t ranks) : words_(static_cast<std::size_t>((ranks + k_bits - 1) / k_bits), 0) {}

  void insert(std::int64_t rank) {
    words_[static_cast<std::size_t>(rank / k_bits)] |= std::uint64_t{1} << static_cast<std::uint64_t>(rank % k_bits);
  }
  bool empty() const {
    return std::all_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word == 0; });
  }
  bool meets(const Contributions& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if ((words_[i] & other.words_[i]) != 0) return true;
    return false;
  }
  bool contains(const Contributions& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if ((other.words_[i] & ~words_[i]) != 0) return false;
    return true;
  }
  void add(const Contributions& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  void clear() { std::fill(words_.begin(), words_.end(), 0); }
  friend bool operator==(const Contributions&, const Contributions&) = default;

 private:
  std::vector<std::uint64_t> words_;
};

// What ranks begin with, and what they are promised.
class Promise {
 public:
  explicit Promise(const MessageList& list) : list_(list), ranks_(list.group.ranks) {}

  Contributions begins(std::int64_t rank, std::int64_t chunk) const {
    Contributions held(ranks_);
    if (reduces(list_.collective) || rank == owner(chunk)) held.insert(rank);
    return held;
  }
  // What there is of a chunk in the end.
  Contributions whole(std::int64_t chunk) const {
    Contributions all(ranks_);
    if (!reduces(list_.collective)) all.insert(owner(chunk));
    for (std::int64_t rank = 0; reduces(list_.collective) && rank < ranks_; ++rank) all.insert(rank);
    return all;
  }
  bool wants(std::int64_t rank, std::int64_t chunk) const {
    switch (list_.collective) {
      case Collective::none:
        return false;
      case Collective::all_reduce:
      case Collective::all_gather:
      case Collective::broadcast:
        return true;
      case Collective::reduce_scatter:
        return rank == chunk / (list_.chunks / ranks_);
      case Collective::all_to_all:
        return rank == chunk % list_.buffer_chunks() / (list_.buffer_chunks() / ranks_);
      case Collective::reduce:
      case Collective::gather:
        return rank == 0;
      case Collective::send:
        return rank == 1;
    }
    return false;
  }

 private:
  // Of collectives that do not add.
  std::int64_t owner(std::int64_t chunk) const {
    const bool of_one = list_.collective == Collective::broadcast || list_.collective == Collective::send;
    return of_one ? 0 : chunk / (list_.chunks / ranks_);
  }

  const MessageList& list_;
  std::int64_t ranks_;
};

std::string at(const Message& message, std::string_view problem) {
  return fmt::format("step {}, {} -> {}, chunk {}: {}", message.step, message.source, message.destination,
                     message.chunk, problem);
}

class Execution {
 public:
  explicit Execution(const MessageList& list) : list_(list), promise_(list) {
    held_.reserve(static_cast<std::size_t>(list.nodes * list.chunks));
    for (std::int64_t node = 0; node < list.nodes; ++node)
      for (std::int64_t chunk = 0; chunk < list.chunks; ++chunk)
        held_.push_back(node < list.group.ranks ? promise_.begins(node, chunk) : Contributions(list.group.ranks));
    reached_.assign(held_.size(), Reached::not_yet);
  }

  // The messages [first, last) of one step.
  std::optional<std::string> run(const Message* first, const Message* last) {
    std::vector<Contributions> carried;
    for (const Message* message = first; message != last; ++message) {
      if (auto problem = misplaced(*message)) return problem;
      carried.push_back(held_[index(message->source, message->chunk)]);
      if (carried.back().empty()) return at(*message, "the source does not hold it");
    }
    if (auto problem = empty_switches(first, last)) return problem;
    for (const Message* message = first; message != last; ++message)
      if (auto problem = arrive(*message, carried[static_cast<std::size_t>(message - first)])) return problem;
    for (const Message* message = first; message != last; ++message)
      reached_[index(message->destination, message->chunk)] = Reached::not_yet;
    return std::nullopt;
  }

  std::optional<std::string> end() {
    if (auto problem = empty_switches(nullptr, nullptr)) return problem;
    for (std::int64_t chunk = 0; chunk < list_.chunks; ++chunk) {
      const Contributions whole = promise_.whole(chunk);
      for (std::int64_t rank = 0; rank < list_.group.ranks; ++rank)
        if (promise_.wants(rank, chunk) && held_[index(rank, chunk)] != whole)
          return fmt::format("rank {} ends without all of chunk {}", rank, chunk);
    }
    return std::nullopt;
  }

 private:
  enum class Reached : std::uint8_t { not_yet, by_sums, by_copy };

  std::size_t index(std::int64_t node, std::int64_t chunk) const {
    return static_cast<std::size_t>(node * list_.chunks + chunk);
  }

  std::optional<std::string> misplaced(const Message& message) const {
    const auto within = [](std::int64_t number, std::int64_t end) { return number >= 0 && number < end; };
    if (!within(message.source, list_.nodes) || !within(message.destination, list_.nodes))
      return at(message, "there is no such node");
    if (!within(message.chunk, list_.chunks)) return at(message, "there is no such chunk");
    if (!within(message.step, list_.steps)) return at(message, "there is no such step");
    if (message.source == message.destination) return at(message, "it stays where it is");
    return std::nullopt;
  }

  std::optional<std::string> empty_switches(const Message* first, const Message* last) {
    for (std::int64_t node = list_.group.ranks; node < list_.nodes; ++node)
      for (std::int64_t chunk = 0; chunk < list_.chunks; ++chunk) {
        Contributions& held = held_[index(node, chunk)];
        if (held.empty()) continue;
        if (std::none_of(first, last, [&](const Message& m) { return m.source == node && m.chunk == chunk; }))
          return fmt::format("switch {} loses chunk {}", node, chunk);
        held.clear();
      }
    return std::nullopt;
  }

  std::optional<std::string> arrive(const Message& message, const Contributions& carried) {
    const std::size_t where = index(message.destination, message.chunk);
    Contributions& held = held_[where];
    Reached& reached = reached_[where];
    const Reached by = message.reduces ? Reached::by_sums : Reached::by_copy;
    if (reached != Reached::not_yet && (by == Reached::by_copy || reached == Reached::by_copy))
      return at(message, "it meets another message of the step there");
    reached = by;
    if (message.reduces && held.meets(carried)) return at(message, "it adds what is in the sum already");
    if (!message.reduces && (held == carried || !carried.contains(held)))
      return at(message, "it brings nothing new, or replaces what it does not contain");
    held.add(carried);
    return std::nullopt;
  }

  const MessageList& list_;
  Promise promise_;
  std::vector<Contributions> held_;
  std::vector<Reached> reached_;
};

}  // namespace

std::optional<std::string> find_fault(const MessageList& list, std::vector<Message> all) {
  CAIRN_ASSERT(list.collective != Collective::none && list.group.ranks >= 1 && list.nodes >= list.group.ranks);
  std::stable_sort(all.begin(), all.end(), [](const Message& a, const Message& b) { return a.step < b.step; });
  Execution execution(list);
  for (std::size_t first = 0; first < all.size();) {
    std::size_t last = first;
    while (last < all.size() && all[last].step == all[first].step) ++last;
    if (auto problem = execution.run(all.data() + first, all.data() + last)) return problem;
    first = last;
  }
  return execution.end();
}

}  // namespace cairn::collective
