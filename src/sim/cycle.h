// Who waits for whom, and the name of the cycle that kept some from running.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cairn::sim {

// The edges of a graph by their source; of() is in the order of the sources' lists that it was made from.
struct Adjacency {
  std::vector<std::uint32_t> begin;  // nodes + 1 offsets into targets
  std::vector<std::uint32_t> targets;

  std::span<const std::uint32_t> of(std::uint32_t node) const {
    return std::span(targets).subspan(begin[node], begin[node + 1] - begin[node]);
  }
};

// Every edge the other way round. begin: nodes + 1 offsets into targets.
Adjacency invert(std::span<const std::uint32_t> begin, std::span<const std::uint32_t> targets);

// remaining: predecessors that never ended, by node; some are above 0. Throws core::ConfigurationError, which calls the
// nodes by `noun` ("flows").
[[noreturn]] void raise_cycle(const std::string& noun, const Adjacency& successors,
                              std::span<const std::uint32_t> remaining);

}  // namespace cairn::sim
