#include "list_check.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

namespace cairn::sequence {
namespace {

bool within(std::int64_t number, std::int64_t end) { return number >= 0 && number < end; }

bool includes(const Peers& peers, std::int64_t rank) {
  for (std::int64_t i = 0; i < peers.count; ++i)
    if (peers.first + i * peers.stride == rank) return true;
  return false;
}

// A message with its call, as one of its ends states it.
struct Stated {
  std::int64_t source = 0;
  std::int64_t destination = 0;
  const Call* call = nullptr;
  const Message* message = nullptr;

  auto place() const { return std::tuple(call->begins, source, destination); }
  auto rest() const {
    const Parcel& parcel = message->parcel;
    return std::tuple(call->ends, call->collective, call->peers.first, call->peers.count, call->peers.stride,
                      message->gives, parcel.tensors, parcel.heads.first, parcel.heads.count, positions(parcel.tokens));
  }
  friend bool operator<(const Stated& a, const Stated& b) {
    return a.place() != b.place() ? a.place() < b.place() : a.rest() < b.rest();
  }
  friend bool operator==(const Stated& a, const Stated& b) { return a.place() == b.place() && a.rest() == b.rest(); }
};

std::string ends_of(const Stated& stated) {
  return fmt::format("stage {}, {} -> {}", stated.call->begins, stated.source, stated.destination);
}

class ListCheck {
 public:
  ListCheck(const Problem& problem, std::span<const RankList> lists)
      : problem_(problem), lists_(lists), ranks_(static_cast<std::int64_t>(lists.size())) {}

  std::optional<std::string> run() {
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      const RankList& list = lists_[static_cast<std::size_t>(rank)];
      if (const auto fault = of_order(list)) return fmt::format("rank {}: {}", rank, *fault);
      for (const Tile& tile : list.tiles)
        if (const auto fault = of_tile(list, tile))
          return fmt::format("stage {}, rank {}: {}", tile.stage, rank, *fault);
      for (const Call& call : list.calls)
        if (const auto fault = of_call(list, call, rank))
          return fmt::format("stage {}, rank {}: {}", call.begins, rank, *fault);
    }
    if (auto fault = of_ends()) return fault;
    return of_parts();
  }

 private:
  static std::optional<std::string> of_order(const RankList& list) {
    const auto later_tile = [](const Tile& a, const Tile& b) { return a.stage < b.stage; };
    const auto later_call = [](const Call& a, const Call& b) { return a.begins < b.begins; };
    if (!std::is_sorted(list.tiles.begin(), list.tiles.end(), later_tile)) return "tiles are out of order";
    if (!std::is_sorted(list.calls.begin(), list.calls.end(), later_call)) return "calls are out of order";
    return std::nullopt;
  }

  std::optional<std::string> of_tile(const RankList& list, const Tile& tile) const {
    if (!within(tile.stage, list.stages)) return "a tile of no such stage";
    if (auto fault = find_misplaced(problem_, tile.queries, tile.heads)) return fault;
    return find_misplaced(problem_, tile.keys, tile.heads);
  }

  std::optional<std::string> of_call(const RankList& list, const Call& call, std::int64_t rank) const {
    if (!within(call.begins, list.stages) || !within(call.ends, list.stages) || call.ends < call.begins)
      return "a call of no such stages";
    if (call.collective == collective::Collective::none) return "a call of nothing";
    if (call.peers.count < 1 || call.peers.stride < 1 || call.peers.first < 0 ||
        call.peers.first + (call.peers.count - 1) * call.peers.stride >= ranks_)
      return "a call with peers that there are not";
    if (!includes(call.peers, rank)) return "a call of others";
    for (const auto* messages : {&call.sends, &call.receives})
      for (const Message& message : *messages) {
        if (message.peer == rank || !includes(call.peers, message.peer))
          return fmt::format("a message with {}, which is no peer", message.peer);
        if (message.parcel.tensors == 0 || message.parcel.tensors >> k_tensors != 0 ||
            count(message.parcel.tokens) == 0)
          return "a message of nothing";
        if (auto fault = find_misplaced(problem_, message.parcel.tokens, message.parcel.heads)) return fault;
      }
    return std::nullopt;
  }

  std::optional<std::string> of_ends() const {
    std::vector<Stated> sent, received;
    for (std::int64_t rank = 0; rank < ranks_; ++rank)
      for (const Call& call : lists_[static_cast<std::size_t>(rank)].calls) {
        for (const Message& message : call.sends)
          sent.push_back({.source = rank, .destination = message.peer, .call = &call, .message = &message});
        for (const Message& message : call.receives)
          received.push_back({.source = message.peer, .destination = rank, .call = &call, .message = &message});
      }
    std::sort(sent.begin(), sent.end());
    std::sort(received.begin(), received.end());
    const auto [send, receive] = std::mismatch(sent.begin(), sent.end(), received.begin(), received.end());
    if (send == sent.end() && receive == received.end()) return std::nullopt;
    if (receive == received.end() || (send != sent.end() && *send < *receive))
      return fmt::format("{}: the destination does not await what is sent", ends_of(*send));
    return fmt::format("{}: the source does not send what is awaited", ends_of(*receive));
  }

  // All peers of a collective call it equally often; neighbours of a send call each other as they need.
  std::optional<std::string> of_parts() const {
    using Identity =
        std::tuple<std::int32_t, std::int32_t, collective::Collective, std::int64_t, std::int64_t, std::int64_t>;
    std::map<Identity, std::map<std::int64_t, std::int64_t>> calls;
    for (std::int64_t rank = 0; rank < ranks_; ++rank)
      for (const Call& call : lists_[static_cast<std::size_t>(rank)].calls)
        if (call.collective != collective::Collective::send)
          ++calls[{call.begins, call.ends, call.collective, call.peers.first, call.peers.count, call.peers.stride}]
                 [rank];
    for (const auto& [identity, of_ranks] : calls) {
      const bool of_all = static_cast<std::int64_t>(of_ranks.size()) == std::get<4>(identity);
      const auto first = of_ranks.begin()->second;
      if (!of_all ||
          std::any_of(of_ranks.begin(), of_ranks.end(), [&](const auto& each) { return each.second != first; }))
        return fmt::format("stage {}: not all peers take part in {}", std::get<0>(identity),
                           collective::name(std::get<2>(identity)));
    }
    return std::nullopt;
  }

  const Problem& problem_;
  std::span<const RankList> lists_;
  std::int64_t ranks_;
};

}  // namespace

std::optional<std::string> find_misplaced(const Problem& problem, const Tokens& tokens, const Heads& heads) {
  for (const TokenRun& run : tokens) {
    if (run.count < 0 || run.stride < 1) return "a run of tokens goes backwards";
    if (run.count == 0) continue;
    if (!within(run.first, problem.tokens) || !within(run.first + (run.count - 1) * run.stride, problem.tokens))
      return "there are no such tokens";
  }
  if (heads.first < 0 || heads.count < 1 || heads.first + heads.count > problem.heads) return "there are no such heads";
  return std::nullopt;
}

std::optional<std::string> find_misfit(const Problem& problem, std::span<const RankList> lists) {
  return ListCheck(problem, lists).run();
}

}  // namespace cairn::sequence
