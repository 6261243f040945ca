// One plan with stated prices: kernels by name, transfers by label.
#pragma once

#include <map>
#include <string>

#include "cairn/plan/lowering.h"
#include "cairn/predict/account/breakdown.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/event.h"
#include "support/prices.h"

namespace cairn::testing {

using core::Picoseconds;

struct Prices {
  std::map<std::string, Picoseconds> kernels;        // by operator; others are free
  std::map<program::Axis, Picoseconds> transfers;    // by label; others are free
  std::map<program::Lane, Picoseconds> copies = {};  // likewise
  std::map<program::Axis, Picoseconds> beside = {};  // what a transfer takes from kernels, by its label
  Picoseconds per_kernel = 0;
  Picoseconds per_micro_batch = 0;
  Picoseconds per_step = 0;
};

// Six of 100 in each layer of two_products(), and its update where it takes any time.
inline std::map<std::string, Picoseconds> kernels_of_100(Picoseconds update = 0) {
  std::map<std::string, Picoseconds> kernels;
  for (const char* name :
       {"fc1", "fc2", "fc2.input_gradient", "fc2.weight_gradient", "fc1.input_gradient", "fc1.weight_gradient"})
    kernels[name] = 100;
  if (update > 0) kernels["update"] = update;
  return kernels;
}

class Timed {
 public:
  Timed(const ir::Model& model, const plan::Strategy& strategy, const Prices& prices,
        const plan::FrameworkBehaviour& behaviour = {})
      : lowering_(model, 8, {}, 0, behaviour),
        program_(lowering_.lower(strategy)),
        pricer_(stated(prices)),
        table_(pricer_) {}

  const program::Program& program() const { return program_; }
  predict::PriceTable& table() { return table_; }
  predict::EventResult event(std::vector<predict::SlowRank> slow = {}) {
    return predict::simulate(program_, table_, {.slow_ranks = std::move(slow)});
  }
  predict::EventResult event_with(predict::Demands& demands, std::vector<predict::SlowRank> slow = {}) {
    return predict::simulate(program_, table_, {.slow_ranks = std::move(slow), .demands = &demands});
  }
  predict::Makespan analytic() { return predict::Analytic(table_).makespan(program_); }
  predict::Breakdown parts(const predict::StageTimeline& timeline) {
    return predict::attribute(program_, table_, timeline);
  }

 private:
  static StatedPricer stated(const Prices& prices) {
    StatedPricer result;
    result.of_shard = [kernels = prices.kernels](const ir::Shard& shard) {
      const auto known = kernels.find(shard.op->name);
      return known == kernels.end() ? 0 : known->second;
    };
    result.of_transfer = [transfers = prices.transfers](const program::Transfer& transfer) {
      const auto known = transfers.find(transfer.group.axis);
      return known == transfers.end() ? 0 : known->second;
    };
    result.beside = [beside = prices.beside](const program::Transfer& transfer) {
      const auto known = beside.find(transfer.group.axis);
      return known == beside.end() ? 0 : known->second;
    };
    result.of_copy = [copies = prices.copies](const program::Copy& copy) {
      const auto known = copies.find(copy.lane);
      return known == copies.end() ? 0 : known->second;
    };
    result.of_host = [prices](program::HostWork work) {
      return work == program::HostWork::per_step ? prices.per_step : prices.per_micro_batch;
    };
    result.per_kernel = prices.per_kernel;
    return result;
  }

  plan::Lowering lowering_;
  program::Program program_;
  StatedPricer pricer_;
  predict::PriceTable table_;
};

}  // namespace cairn::testing
