// Contention and interference: the share of each unit (link, memory, multiprocessors) that a piece of work uses.
//
// `ranks` consecutive ranks share one instance of a unit: rank r uses instance r / ranks. Its capacity counts as 1, and
// an amount is the share of it that one rank's part of the work takes at full speed, evenly over its price:
//
//   amount = units moved by one rank / (price x capacity of the instance)
//
// so that work alone runs at exactly its price, and an instance is used by the sum of the amounts over all ranks on it
// that run the work. At full speed sum of amounts <= 1; when more is asked for, shares are max-min fair:
//
//   work t runs at speed x_t <= 1 with sum over t of a_lt x_t <= 1 for every unit l,
//   max-min in x_t d_t,  d_t = max over l of ranks_l a_lt: its dominant share of what is due to one rank
//
// Two transfers on one link get half of it each; if one needs less than half, the other gets the rest. A transfer that
// needs few multiprocessors keeps them, and a kernel beside it runs on the others.
// Source: Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, section 4.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "cairn/core/time.h"
#include "cairn/program/program.h"

namespace cairn::predict {

enum class UnitKind : std::uint8_t { link, memory, processors };

struct SharedUnit {
  std::string name;  // "inter out": the level of the network and the direction
  UnitKind kind = UnitKind::link;
  std::int64_t ranks = 1;  // that share an instance, > 0
  double capacity = 1.0;   // of an instance: [B/s]; of processors: how many
};

struct UnitDemand {
  std::uint16_t unit = 0;
  bool at_receiver = false;  // of a message: taken on the side of the rank that receives it
  double amount = 0.0;       // > 0, <= 1
};
using UnitDemands = boost::container::small_vector<UnitDemand, 8>;

class Demands {
 public:
  virtual ~Demands() = default;
  virtual const std::vector<SharedUnit>& units() const = 0;
  // The demands of one rank's part of work that takes `duration` > 0 when alone. Each unit at most once on each side.
  virtual UnitDemands of(const program::Work& work, core::Picoseconds duration) = 0;
  // Whether transfers and kernels share the device: what kernels lose to transfers follows then, and has no price.
  virtual bool interferes() const { return false; }
};

}  // namespace cairn::predict
