// Executes the lists of all ranks of a Sharing on real numbers and compares with the mathematics on one machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cairn/sequence/piece_list.h"

namespace cairn::sequence {

struct Proof {
  std::optional<std::string> fault;  // the first thing that is wrong
  // Of all results in fp32 against Sharing::mathematics() in fp64: the largest difference in a tensor over the largest
  // magnitude in it.
  double largest_error = 0.0;
  std::int64_t points = 0;  // computed, of all ranks, passes and operators
};

// Follows which contributions to every element every rank holds, stage by stage, and computes in fp32. Faults:
//   a list out of order, or that names ranks, stages, labels, tensors or elements that there are not;
//   what one rank sends is not what another receives, in calls of the same kind, peers and stages; a peer that takes no
//   part in a collective;
//   work reads an element that is not whole at its rank, or adds a contribution that is there already;
//   a message that copies what is not whole, gives away what is not there, adds what is there already, or brings what
//   its destination has;
//   a rank ends a pass without what it keeps, or a part is left that is not whole and not summed elsewhere;
//   a result that no rank ends with; an error above `tolerance`.
// Given tensors are drawn from `seed`. Memory: ranks x elements x contributions bits; for small formulas.
Proof verify(const Sharing& sharing, std::uint64_t seed, double tolerance = 1e-5);

}  // namespace cairn::sequence
