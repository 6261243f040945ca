// Demands that a test states itself.
#pragma once

#include <functional>

#include "cairn/core/random.h"
#include "cairn/predict/price/demands.h"

namespace cairn::testing {

struct StatedDemands final : public predict::Demands {
  std::vector<predict::SharedUnit> all;
  std::function<predict::UnitDemands(const program::Work&, core::Picoseconds)> of_work;

  const std::vector<predict::SharedUnit>& units() const override { return all; }
  predict::UnitDemands of(const program::Work& work, core::Picoseconds duration) override {
    return of_work(work, duration);
  }
};

inline predict::SharedUnit unit(std::int64_t ranks = 1) { return {.name = "unit", .ranks = ranks}; }

// Of up to three of the units, `most` of an instance divided among its ranks at most.
inline StatedDemands random_demands(std::vector<predict::SharedUnit> units, double most, std::uint64_t seed) {
  StatedDemands result;
  result.all = std::move(units);
  result.of_work = [all = result.all, most, random = core::Random(seed)](const program::Work& work,
                                                                         core::Picoseconds) mutable {
    predict::UnitDemands demands;
    const auto* transfer = std::get_if<program::Transfer>(&work);
    const bool message = transfer != nullptr && transfer->collective == program::Collective::send;
    for (std::uint16_t unit = 0; unit < all.size(); ++unit)
      if (random.below(2) == 0)
        demands.push_back({.unit = unit,
                           .at_receiver = message && random.below(2) == 0,
                           .amount = most * (0.1 + 0.9 * random.uniform()) / static_cast<double>(all[unit].ranks)});
    return demands;
  };
  return result;
}

}  // namespace cairn::testing
