#include "cairn/sweep/elasticity.h"

#include <algorithm>
#include <cmath>

#include "cairn/core/workers.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/prediction.h"
#include "cairn/predict/price/cost_pricer.h"
#include "machine_figures.h"

namespace cairn::sweep {
namespace {

core::Picoseconds time_on(const PricedMachine& machine, const program::Program& program) {
  predict::CostPricer pricer(machine.calibration, machine.accelerator, machine.network, machine.host_times,
                             machine.host);
  predict::PriceTable prices(pricer);
  predict::Analytic analytic(prices);
  return predict::step_time(program, analytic, pricer);
}

// How much longer than `before` it takes, in logarithms.
double growth(core::Picoseconds before, core::Picoseconds after) {
  return std::log1p(static_cast<double>(after - before) / static_cast<double>(before));
}

}  // namespace

bool Elasticity::kinked() const {
  const double apart = std::abs(above - below);
  return apart > k_kink * std::max(std::abs(above), std::abs(below)) && apart > k_noise;
}

double Elasticities::sum() const {
  double all = 0.0;
  for (const Elasticity& each : figures) all += each.is_time ? -each.central() : each.central();
  return all;
}

Elasticities elasticities(experiment::Job& job, std::size_t threads, const std::function<bool()>& stop) {
  const experiment::Result base =
      job.run(predict::Engine::analytic,
              {.progress = {}, .detail = predict::Detail::stages, .advice = experiment::Advice::none});
  Elasticities result{.time = base.prediction.time, .headroom = base.prediction.memory.headroom()};
  const PricedMachine machine(job.parts());
  const std::vector<Figure> figures = figures_of(job);
  std::vector<std::optional<Elasticity>> found(figures.size());
  core::work_on_all(figures.size(), threads, stop, [&](std::size_t i) {
    const auto time_with = [&](double factor) {
      PricedMachine changed = machine;
      figures[i].scale(changed, factor);
      return time_on(changed, job.program());
    };
    const double step = std::log1p(k_step);
    found[i] = Elasticity{.figure = figures[i].name,
                          .value = figures[i].value,
                          .dimension = figures[i].dimension,
                          .is_time = figures[i].is_time(),
                          .below = growth(time_with(1.0 / (1.0 + k_step)), result.time) / step,
                          .above = growth(result.time, time_with(1.0 + k_step)) / step};
  });
  for (std::optional<Elasticity>& each : found)
    if (each) result.figures.push_back(std::move(*each));
  std::stable_sort(result.figures.begin(), result.figures.end(), [](const Elasticity& a, const Elasticity& b) {
    return std::abs(a.central()) > std::abs(b.central());
  });
  return result;
}

}  // namespace cairn::sweep
