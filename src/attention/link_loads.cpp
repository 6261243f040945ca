#include "cairn/attention/link_loads.h"

#include <algorithm>

namespace cairn::attention {
namespace {

// Bytes that each rank sends to each.
class Exchange {
 public:
  Exchange(const sequence::Scheme& scheme, const sequence::Problem& problem, const sequence::Grid& grid, bool backward)
      : ranks_(grid.ranks()), bytes_(static_cast<std::size_t>(ranks_ * ranks_), 0) {
    for (const sequence::Pass pass : {sequence::Pass::forward, sequence::Pass::backward}) {
      if (pass == sequence::Pass::backward && !backward) continue;
      for (std::int64_t rank = 0; rank < ranks_; ++rank)
        for (const sequence::Call& call : scheme.list(problem, grid, pass, rank).calls)
          for (const sequence::Message& message : call.sends)
            bytes_[at(rank, message.peer)] += sequence::bytes(problem, message.parcel);
    }
  }

  std::int64_t ranks() const { return ranks_; }
  std::int64_t bytes(std::int64_t source, std::int64_t destination) const { return bytes_[at(source, destination)]; }

 private:
  std::size_t at(std::int64_t source, std::int64_t destination) const {
    return static_cast<std::size_t>(source * ranks_ + destination);
  }

  std::int64_t ranks_;
  std::vector<std::int64_t> bytes_;
};

// Of messages between accelerators of one group of `within` neighbours.
LinkLoad load_of(const hardware::NetworkLevel& level, std::int64_t within, const Exchange& exchange,
                 std::int64_t tensor_ranks) {
  const std::int64_t ports = level.ports();
  const auto link = [&](std::int64_t gpu) {
    return static_cast<std::size_t>(gpu / level.unit * ports + gpu % level.unit * ports / level.unit);
  };
  LinkLoad load{.level = level.name, .links = exchange.ranks() * tensor_ranks / level.unit * ports};
  std::vector<std::int64_t> sent(static_cast<std::size_t>(load.links), 0), received(sent);
  std::int64_t sum = 0;
  for (std::int64_t source = 0; source < exchange.ranks(); ++source)
    for (std::int64_t destination = 0; destination < exchange.ranks(); ++destination) {
      const std::int64_t bytes = exchange.bytes(source, destination);
      if (bytes == 0) continue;
      for (std::int64_t tensor_rank = 0; tensor_rank < tensor_ranks; ++tensor_rank) {
        const std::int64_t from = source * tensor_ranks + tensor_rank, to = destination * tensor_ranks + tensor_rank;
        if (from / level.unit == to / level.unit || from / within != to / within) continue;
        sent[link(from)] += bytes;
        received[link(to)] += bytes;
        sum += bytes;
      }
    }
  load.busiest =
      std::max(*std::max_element(sent.begin(), sent.end()), *std::max_element(received.begin(), received.end()));
  load.mean = static_cast<double>(sum) / static_cast<double>(load.links);
  return load;
}

}  // namespace

std::vector<LinkLoad> link_loads(const hardware::Network& network, std::int64_t tensor_ranks,
                                 const sequence::Scheme& scheme, const sequence::Problem& problem,
                                 const sequence::Grid& grid, bool backward) {
  const Exchange exchange(scheme, problem, grid, backward);
  std::vector<LinkLoad> loads;
  for (std::size_t i = 0; i < network.levels.size(); ++i) {
    const hardware::NetworkLevel& level = network.levels[i];
    if (level.size < 2) continue;
    loads.push_back(load_of(level, i < network.inner ? network.domain() : network.gpus(), exchange, tensor_ranks));
  }
  return loads;
}

}  // namespace cairn::attention
