#include "cairn/cost/clock.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cairn/core/random.h"
#include "catch.h"

namespace cairn::cost {
namespace {

constexpr PowerLaw k_power{.limit_w = 700.0, .idle_w = 200.0, .memory_w = 600.0};

KernelTime limited_by_instructions(double seconds, double clock_hz, double alone) {
  return {.total_s = seconds * alone,
          .compute_s = seconds,
          .droop_s = seconds * (alone - 1.0),
          .follows = {.seconds = seconds, .clock_hz = clock_hz, .alone = alone}};
}
KernelTime waits_for_memory(double seconds) { return {.total_s = seconds, .memory_s = seconds}; }

double clock_of(const std::vector<KernelTime>& kernels, const PowerLaw& power = k_power) {
  SharedClock clock(power);
  for (const KernelTime& kernel : kernels) clock.add(kernel);
  return clock.solve();
}
double time_of(const std::vector<KernelTime>& kernels, const PowerLaw& power = k_power) {
  const double clock_hz = clock_of(kernels, power);
  double sum = 0.0;
  for (const KernelTime& kernel : kernels) sum += time_at(kernel, clock_hz);
  return sum;
}

}  // namespace

TEST_CASE("kernels of one kind run as long as alone, and those that wait for memory at any clock", "[cost][clock]") {
  const std::vector<KernelTime> same{limited_by_instructions(1e-3, 1.7e9, 1.16),
                                     limited_by_instructions(4e-3, 1.7e9, 1.16)};
  CHECK(clock_of(same) == Approx(1.7e9 / 1.16).epsilon(1e-12));
  CHECK(time_of(same) == Approx(5e-3 * 1.16).epsilon(1e-12));
  CHECK(time_of({waits_for_memory(2e-3)}) == 2e-3);
  CHECK(std::isinf(clock_of({waits_for_memory(2e-3)})));
}

TEST_CASE("a kernel takes no less than in a short run, and traffic beside it hides what the clock adds",
          "[cost][clock]") {
  KernelTime kernel = limited_by_instructions(1e-3, 1.7e9, 1.16);
  CHECK(time_at(kernel, 2.5e9) == Approx(1e-3).epsilon(1e-12));
  CHECK(time_at(kernel, 0.85e9) == Approx(2e-3).epsilon(1e-12));
  kernel.follows.slack_s = 0.4e-3;
  kernel.droop_s = 0.0;
  kernel.total_s = 1.4e-3;
  CHECK(time_at(kernel, 0.85e9) == Approx(2e-3).epsilon(1e-12));
  CHECK(time_at(kernel, 1.5e9) == Approx(1.4e-3).epsilon(1e-12));
}

TEST_CASE("at the shared clock the kernels use the energy that the limit gives", "[cost][clock]") {
  core::Random random(33);
  for (int i = 0; i < 1000; ++i) {
    std::vector<KernelTime> kernels;
    for (std::uint64_t n = 1 + random.below(6); n > 0; --n)
      kernels.push_back(limited_by_instructions(1e-3 * random.uniform(), 1.5e9 + 0.5e9 * random.uniform(),
                                                1.0 + 0.4 * random.uniform()));
    const double memory_s = 2e-3 * random.uniform(), gaps_s = 1e-4 * random.uniform();
    kernels.push_back(waits_for_memory(memory_s));
    kernels.push_back({.total_s = gaps_s, .launch_s = gaps_s});
    const double clock_hz = clock_of(kernels);
    double energy_j = memory_s * k_power.memory_w + gaps_s * k_power.idle_w, time_s = memory_s + gaps_s;
    for (const KernelTime& kernel : kernels) {
      if (kernel.follows.seconds == 0.0) continue;
      const double ratio = clock_hz * kernel.follows.alone / kernel.follows.clock_hz;  // f/g
      const double seconds = kernel.follows.seconds * kernel.follows.clock_hz / clock_hz;
      energy_j += seconds * (k_power.idle_w + (k_power.limit_w - k_power.idle_w) * ratio * ratio);
      time_s += seconds;
    }
    CHECK(energy_j == Approx(time_s * k_power.limit_w).epsilon(1e-9));
  }
}

TEST_CASE("faster memory beside a kernel's work never lengthens a layer", "[cost][clock]") {
  core::Random random(35);
  for (int i = 0; i < 2000; ++i) {
    // Kernels as long as their work or their traffic, whichever takes longer, as attention is priced.
    const auto kernel = [](double work_s, double traffic_s, double clock_hz, double alone) {
      const double busy_s = std::max(work_s, traffic_s), droop_s = std::max(0.0, work_s * alone - busy_s);
      return KernelTime{
          .total_s = busy_s + droop_s,
          .compute_s = work_s,
          .droop_s = droop_s,
          .follows = {.seconds = work_s, .clock_hz = clock_hz, .alone = alone, .slack_s = busy_s - work_s}};
    };
    std::vector<KernelTime> before, after;
    for (std::uint64_t n = 2 + random.below(6); n > 0; --n) {
      const double work_s = 1e-3 * random.uniform(), traffic_s = 1.5e-3 * random.uniform();
      const double clock_hz = 1.5e9 + 0.5e9 * random.uniform(), alone = 1.0 + 0.4 * random.uniform();
      before.push_back(kernel(work_s, traffic_s, clock_hz, alone));
      after.push_back(kernel(work_s, traffic_s * random.uniform(), clock_hz, alone));
    }
    CAPTURE(i);
    CHECK(time_of(after) <= time_of(before) * (1.0 + 1e-12));
  }
}

TEST_CASE("the slowest of more ranks is slower, by the mean of the largest of normal deviates", "[cost][clock]") {
  PowerLaw power = k_power;
  CHECK(slowest(power, 8) == 1.0);
  power.spread = 0.02;
  CHECK(slowest(power, 1) == Approx(1.0).epsilon(1e-12));
  // Harter, Expected values of normal order statistics, Biometrika 1961: the largest of 2, 8, 100.
  CHECK(slowest(power, 2) == Approx(1.0 + 0.02 * 0.5642).epsilon(1e-3));
  CHECK(slowest(power, 8) == Approx(1.0 + 0.02 * 1.4236).epsilon(1e-3));
  CHECK(slowest(power, 100) == Approx(1.0 + 0.02 * 2.5076).epsilon(1e-3));
  double before = 1.0;
  for (std::int64_t ranks = 2; ranks < 100'000; ranks *= 2) {
    CHECK(slowest(power, ranks) > before);
    before = slowest(power, ranks);
  }
}

TEST_CASE("a faster kernel, and a higher limit of power, never lengthen a layer", "[cost][clock]") {
  core::Random random(34);
  for (int i = 0; i < 2000; ++i) {
    std::vector<KernelTime> kernels;
    for (std::uint64_t n = 2 + random.below(6); n > 0; --n) {
      const double seconds = 1e-5 + 1e-3 * random.uniform();
      kernels.push_back(random.below(3) == 0 ? waits_for_memory(seconds)
                                             : limited_by_instructions(seconds, 1.5e9 + 0.5e9 * random.uniform(),
                                                                       1.05 + 0.4 * random.uniform()));
    }
    std::vector<KernelTime> better = kernels;
    KernelTime& faster = better[random.below(better.size())];
    const double factor = 0.5 + 0.5 * random.uniform();
    for (double* part :
         {&faster.total_s, &faster.droop_s, &faster.compute_s, &faster.memory_s, &faster.follows.seconds})
      *part *= factor;
    // The slowdown alone belongs to a limit: with more power the same work draws what it drew at any clock.
    PowerLaw more = k_power;
    more.limit_w *= 1.0 + random.uniform();
    std::vector<KernelTime> at_more = kernels;
    for (KernelTime& kernel : at_more)
      if (kernel.follows.seconds > 0.0)
        kernel.follows.alone *= std::sqrt((k_power.limit_w - k_power.idle_w) / (more.limit_w - more.idle_w));
    CAPTURE(i);
    CHECK(time_of(better) <= time_of(kernels) * (1.0 + 1e-12));
    CHECK(time_of(at_more, more) <= time_of(kernels) * (1.0 + 1e-12));
  }
}

}  // namespace cairn::cost
