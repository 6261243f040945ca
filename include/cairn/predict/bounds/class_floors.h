// Bytes and times of the step by operator class and by communication label, each beside its lower bound (floor).
//
// Over all executions of one stage in the step, each on its own:
//   bytes        kernels: what their prices assume to cross the link to device memory, every operand of a product once;
//                where the operands are so large that this cannot be, the floor. Transfers: what a rank sends; copies:
//                what crosses the host link or the drives
//   floor_bytes  kernels: least bytes of the operator's loop nest with all memory on the chip (cost/operator_floor.h);
//                transfers: what a rank must at least send (lower_bounds.h); copies: the same
//   time_s       their prices. Kernels of one class and transfers of one label overlap others, so that these do not add
//                up to the step
//   floor_s      kernels: the sum over kernels of the larger of FLOPs at the peak and floor_bytes at the bandwidth of
//                device memory, so never below floor_bytes / bandwidth; transfers: floor_bytes over the links; copies
//                and the host's processors: stated rates, the same
// A floor is of each piece on its own: a kernel as the program runs it, which finds its operands in device memory and
// leaves its results there. Both floors of a kernel rest on that. A kernel that does what several operators would is
// one operator of the program (attention, a fused norm, an optimizer update), so no byte that it keeps on the chip is
// counted. Fusing more than the program does may go below the sum; the bound that holds for any execution of the plan
// is in lower_bounds.h.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cairn/predict/price/cost_pricer.h"
#include "cairn/predict/price/price.h"
#include "cairn/program/program.h"

namespace cairn::predict {

struct ClassFloor {
  std::string label;  // contraction, normalization, elementwise, lookup; tp, cp, ep, pp, dp, offload, storage
  double bytes = 0.0;
  double floor_bytes = 0.0;
  double time_s = 0.0;
  double floor_s = 0.0;
};

// The floors of a program's shards, each derived once. The program must outlive it.
class ShardFloors {
 public:
  // on_chip_bytes: 0 where it is not known.
  ShardFloors(const cost::ShardPricer& pricer, double on_chip_bytes) : pricer_(pricer), on_chip_bytes_(on_chip_bytes) {}
  const cost::ShardFloor& of(const ir::Shard& shard);

 private:
  const cost::ShardPricer& pricer_;
  double on_chip_bytes_;
  std::unordered_map<const ir::Operator*, std::vector<std::pair<ir::Shard, cost::ShardFloor>>> known_;
};

// Kernels first, then transfers, then copies; only what the stage executes.
std::vector<ClassFloor> class_floors(const program::Program& program, CostPricer& pricer, PriceTable& prices,
                                     std::int32_t stage, ShardFloors& floors);

}  // namespace cairn::predict
