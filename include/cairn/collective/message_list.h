// A collective algorithm as the list of its messages. Bytes and steps are folds, that is sums and maxima, over the list
// (folds.h), and its correctness is checked on it (verify.h).
//
// The messages of one step happen at once, from what nodes held before the step. A message carries one chunk: the
// receiver adds it to what it holds (`reduces`) or puts it in place of that. Chunks have numbers from 0, equal sizes,
// and an owner where the collective has one:
//   all_gather, reduce_scatter, gather  chunk c is the share of rank c n / chunks
//   all_to_all                          the send buffers of ranks 0, 1, ... one after the other, each the shares for
//                                       ranks 0, 1, ...: S is chunks / n of them
//   the others                          chunks of the one tensor
// Nodes are the ranks 0 ... n-1 and, behind them, switches. A switch remembers nothing: what reaches it in one step is
// added up there and must leave it in the next.
//
// A list is a function, not a stored array: messages_of() gives the messages of one node as a few runs of similar
// messages, so that counting the bytes of one of 16,384 ranks takes no longer than of one of two.
//
// Example: ring all-reduce of 3 ranks. Chunks 3, steps 4. Rank 0 sends to rank 1 in steps 0, 1 chunks 2, 1 that are
// added, then in steps 2, 3 chunks 0, 2 that replace: 4 of 3 chunks = 2 (n-1)/n S.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/collective/collective.h"

namespace cairn::collective {

struct Message {
  std::int64_t step = 0;
  std::int64_t source = 0;
  std::int64_t destination = 0;
  std::int64_t chunk = 0;
  bool reduces = false;
  friend auto operator<=>(const Message&, const Message&) = default;
};

// Of more ranks no all-to-all is listed: its chunks, one per pair of ranks, are numbered in 64 bits.
inline constexpr std::int64_t k_most_paired = std::int64_t{1} << 31;
// Steps of a chain, ranks and pieces together, are numbered in 64 bits.
inline constexpr std::int64_t k_most_pieces = std::int64_t{1} << 62;

struct Group {
  std::int64_t ranks = 1;
  std::int64_t domain = 1;  // consecutive ranks that share a domain; divides `ranks`
  // Pieces of the tensor in a chain of ranks, which passes one on while the next arrives; at most k_most_pieces.
  std::int64_t pieces = 1;
  friend bool operator==(const Group&, const Group&) = default;
};

// count x width messages: message (i, j), i < count, j < width, is `first` plus i times `stride` in each of its fields
// and plus j times `width_stride` in its chunk.
struct Run {
  struct Stride {
    std::int64_t step = 0;
    std::int64_t source = 0;
    std::int64_t destination = 0;
    std::int64_t chunk = 0;
  };
  Message first{};
  std::int64_t count = 1;
  Stride stride{};
  std::int64_t width = 1;
  std::int64_t width_stride = 1;
};

// Receives the runs of messages of one node from messages_of().
class Port {
 public:
  virtual void sends(const Run& run) = 0;
  virtual void receives(const Run& run) = 0;

 protected:
  ~Port() = default;
};

struct MessageList {
  Collective collective = Collective::none;
  Group group{};
  std::int64_t nodes = 1;  // ranks and switches
  std::int64_t chunks = 1;
  std::int64_t steps = 0;
  std::int64_t busiest = 0;  // a rank for which max(sent, received) is largest
  void (*messages_of)(const MessageList& list, std::int64_t node, Port& port) = nullptr;

  // Chunks of S.
  std::int64_t buffer_chunks() const { return collective == Collective::all_to_all ? chunks / group.ranks : chunks; }
};

// One by one, in no particular order.
std::vector<Message> sent_by(const MessageList& list, std::int64_t node);
std::vector<Message> received_by(const MessageList& list, std::int64_t node);
// Of all nodes, by step.
std::vector<Message> messages(const MessageList& list);

}  // namespace cairn::collective
