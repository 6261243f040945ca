#include "piece_matching.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace cairn::sequence {
namespace {

// Calls that are one call of several ranks.
using CallKey =
    std::tuple<collective::Collective, std::int64_t, std::int64_t, std::int64_t, std::int32_t, std::int32_t>;
CallKey key_of(const PieceCall& call) {
  return {call.collective, call.peers.first, call.peers.count, call.peers.stride, call.begins, call.ends};
}

struct Delivery {
  CallKey call;
  std::int64_t source = 0;
  std::int64_t destination = 0;
  TensorPiece piece = {};
  bool gives = false;
  friend auto operator<=>(const Delivery&, const Delivery&) = default;
};

bool belongs(const Peers& peers, std::int64_t rank) {
  const std::int64_t ahead = rank - peers.first;
  return peers.stride > 0 && ahead >= 0 && ahead % peers.stride == 0 && ahead / peers.stride < peers.count;
}

bool exists(const Formula& formula, const TensorPiece& piece) {
  if (piece.tensor >= formula.tensors().size()) return false;
  const std::vector<std::int64_t>& extents = formula.tensors()[piece.tensor].extents;
  if (extents.size() != piece.ranges.size()) return false;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const Range& range = piece.ranges[axis];
    if (range.first < 0 || range.count < 1 || range.first + range.count > extents[axis]) return false;
  }
  return true;
}

class PieceMatching {
 public:
  PieceMatching(const Formula& formula, const std::vector<RankPass>& ranks) : formula_(formula), ranks_(ranks) {}

  std::optional<std::string> fault() {
    for (std::int64_t rank = 0; rank < count(); ++rank)
      if (auto wrong = wrong_of(rank, ranks_[static_cast<std::size_t>(rank)]))
        return fmt::format("rank {}: {}", rank, *wrong);
    if (auto wrong = absent()) return wrong;
    return unmatched();
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(ranks_.size()); }

  std::optional<std::string> wrong_of(std::int64_t rank, const RankPass& pass) {
    for (const std::vector<TensorPiece>* named : {&pass.given, &pass.kept})
      for (const TensorPiece& piece : *named)
        if (!exists(formula_, piece)) return "it is given or keeps elements that there are not";
    std::int32_t stage = 0;
    for (const Work& work : pass.list.work) {
      if (work.stage < stage || work.stage >= pass.list.stages) return "work is out of order";
      stage = work.stage;
      if (auto wrong = wrong_work(work)) return wrong;
    }
    stage = 0;
    for (const PieceCall& call : pass.list.calls) {
      if (call.begins < stage || call.ends < call.begins || call.ends >= pass.list.stages)
        return "calls are out of order";
      stage = call.begins;
      if (auto wrong = wrong_call(rank, call)) return wrong;
    }
    return std::nullopt;
  }

  std::optional<std::string> wrong_work(const Work& work) const {
    bool known = false;
    for (const Operator& op : formula_.operators()) known = known || op.label == work.label;
    if (!known) return fmt::format("there is no operator labelled '{}'", work.label);
    for (const auto& [letter, range] : work.box)
      if (range.first < 0 || range.count < 0 || range.first + range.count > formula_.extent(letter))
        return fmt::format("'{}' runs out of the loop {}", work.label, letter);
    return std::nullopt;
  }

  std::optional<std::string> wrong_call(std::int64_t rank, const PieceCall& call) {
    if (!belongs(call.peers, rank)) return "it makes a call of ranks that it is not among";
    callers_[key_of(call)].insert(rank);
    for (const bool sends : {true, false})
      for (const PieceMessage& message : sends ? call.sends : call.receives) {
        if (message.peer == rank || message.peer >= count() || !belongs(call.peers, message.peer))
          return fmt::format("a message to or from rank {}", message.peer);
        if (!exists(formula_, message.piece)) return "a message of elements that there are not";
        (sends ? sent_ : received_)
            .push_back({.call = key_of(call),
                        .source = sends ? rank : message.peer,
                        .destination = sends ? message.peer : rank,
                        .piece = message.piece,
                        .gives = message.gives});
      }
    return std::nullopt;
  }

  std::optional<std::string> absent() const {
    for (const auto& [key, callers] : callers_)
      if (std::get<collective::Collective>(key) != collective::Collective::send &&
          static_cast<std::int64_t>(callers.size()) != std::get<2>(key))
        return fmt::format("{} of {} ranks take part in the {} of stage {}", callers.size(), std::get<2>(key),
                           name(std::get<collective::Collective>(key)), std::get<4>(key));
    return std::nullopt;
  }

  std::optional<std::string> unmatched() {
    std::sort(sent_.begin(), sent_.end());
    std::sort(received_.begin(), received_.end());
    const auto [sent, received] = std::mismatch(sent_.begin(), sent_.end(), received_.begin(), received_.end());
    if (sent == sent_.end() && received == received_.end()) return std::nullopt;
    const bool unreceived = received == received_.end() || (sent != sent_.end() && *sent < *received);
    const Delivery& odd = unreceived ? *sent : *received;
    return fmt::format("{} of {}, rank {} to {}, is not {}", unreceived ? "what is sent" : "what is awaited",
                       formula_.tensors()[odd.piece.tensor].name, odd.source, odd.destination,
                       unreceived ? "awaited" : "sent");
  }

  const Formula& formula_;
  const std::vector<RankPass>& ranks_;
  std::map<CallKey, std::set<std::int64_t>> callers_;
  std::vector<Delivery> sent_, received_;
};

}  // namespace

std::optional<std::string> mismatch(const Formula& formula, const std::vector<RankPass>& ranks) {
  return PieceMatching(formula, ranks).fault();
}

}  // namespace cairn::sequence
