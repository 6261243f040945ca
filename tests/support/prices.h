// Prices for tests: random ones, and ones a test states itself.
#pragma once

#include <cmath>
#include <functional>

#include "cairn/core/random.h"
#include "cairn/predict/price/price.h"

namespace cairn::testing {

// Every piece of work gets a price of its own; one in `zero_in` takes no time (0: none).
class RandomPricer final : public predict::Pricer {
 public:
  RandomPricer(std::uint64_t seed, std::uint64_t longest, std::uint64_t zero_in, core::Picoseconds host_per_kernel)
      : random_(seed), longest_(longest), zero_in_(zero_in), host_per_kernel_(host_per_kernel) {}
  predict::Price shard(const ir::Shard&) override { return price(); }
  predict::Price transfer(const program::Transfer& transfer) override {
    return {.duration = price().duration, .issue = transfer.per_peer ? price().duration : 0};
  }
  predict::Price copy(const program::Copy&) override { return {.duration = price().duration, .launch = 0}; }
  predict::Price processor(const program::OnProcessor&) override { return {.duration = price().duration, .launch = 0}; }
  predict::Price host(program::HostWork) override { return {.duration = price().duration, .launch = 0}; }
  predict::Price interference(const program::Interference&) override { return {.duration = price().duration}; }
  core::Picoseconds host_per_kernel() const override { return host_per_kernel_; }

 private:
  predict::Price price() {
    if (zero_in_ > 0 && random_.below(zero_in_) == 0) return {};
    const auto duration = static_cast<core::Picoseconds>(random_.below(longest_));
    return {.duration = duration,
            .launch = static_cast<core::Picoseconds>(random_.below(static_cast<std::uint64_t>(duration) + 1))};
  }

  core::Random random_;
  std::uint64_t longest_, zero_in_;
  core::Picoseconds host_per_kernel_;
};

// Equal work has an equal price, whatever block or program it is met in: a hash of what it is.
class HashedPricer final : public predict::Pricer {
 public:
  HashedPricer(std::uint64_t seed, std::uint64_t longest, core::Picoseconds host_per_kernel,
               core::Picoseconds scale = 1)
      : seed_(seed), longest_(longest), host_per_kernel_(host_per_kernel), scale_(scale) {}
  predict::Price shard(const ir::Shard& shard) override {
    std::uint64_t hash = seed_;
    for (const char letter : shard.op->name) mix(hash, static_cast<std::uint64_t>(letter));
    for (const loopnest::Interval& interval : shard.box) mix(hash, static_cast<std::uint64_t>(interval.extent()));
    return {.duration = price(hash), .launch = 0};
  }
  predict::Price transfer(const program::Transfer& transfer) override {
    const std::uint64_t hash = hash_of(transfer);
    return {.duration = price(hash), .issue = transfer.per_peer ? price(hash + 1) : 0};
  }
  predict::Price interference(const program::Interference& beside) override {
    return {.duration = price(hash_of(beside.transfer) + 2)};
  }
  predict::Price copy(const program::Copy& copy) override {
    std::uint64_t hash = seed_ + 2;
    mix(hash, static_cast<std::uint64_t>(copy.lane));
    mix(hash, static_cast<std::uint64_t>(copy.bytes));
    return {.duration = price(hash), .launch = 0};
  }
  predict::Price processor(const program::OnProcessor& work) override {
    std::uint64_t hash = seed_ + 3;
    mix(hash, static_cast<std::uint64_t>(work.elements));
    return {.duration = price(hash), .launch = 0};
  }
  predict::Price host(program::HostWork work) override {
    return {.duration = price(seed_ + 7 * static_cast<std::uint64_t>(work)), .launch = 0};
  }
  core::Picoseconds host_per_kernel() const override { return scale_ * host_per_kernel_; }

 private:
  std::uint64_t hash_of(const program::Transfer& transfer) const {
    std::uint64_t hash = seed_ + 1;
    mix(hash, static_cast<std::uint64_t>(transfer.collective));
    mix(hash, static_cast<std::uint64_t>(transfer.group.axis));
    mix(hash, static_cast<std::uint64_t>(transfer.group.size));
    mix(hash, static_cast<std::uint64_t>(transfer.group.stride));
    mix(hash, static_cast<std::uint64_t>(transfer.bytes));
    return hash;
  }
  static void mix(std::uint64_t& hash, std::uint64_t word) { hash = core::Random(hash ^ word).next(); }
  core::Picoseconds price(std::uint64_t hash) const {
    return scale_ * static_cast<core::Picoseconds>(core::Random(hash).below(longest_));
  }

  std::uint64_t seed_, longest_;
  core::Picoseconds host_per_kernel_, scale_;
};

// Prices as functions; what is left out is free.
struct StatedPricer final : public predict::Pricer {
  std::function<core::Picoseconds(const ir::Shard&)> of_shard = [](const ir::Shard&) { return 0; };
  std::function<core::Picoseconds(const program::Transfer&)> of_transfer = [](const program::Transfer&) { return 0; };
  std::function<core::Picoseconds(const program::Copy&)> of_copy = [](const program::Copy&) { return 0; };
  std::function<core::Picoseconds(const program::OnProcessor&)> of_processor = [](const program::OnProcessor&) {
    return 0;
  };
  std::function<core::Picoseconds(program::HostWork)> of_host = [](program::HostWork) { return 0; };
  std::function<core::Picoseconds(const program::Transfer&)> beside = [](const program::Transfer&) { return 0; };
  core::Picoseconds per_kernel = 0;

  predict::Price shard(const ir::Shard& shard) override { return {.duration = of_shard(shard), .launch = 0}; }
  predict::Price transfer(const program::Transfer& transfer) override {
    return {.duration = of_transfer(transfer), .launch = 0};
  }
  predict::Price copy(const program::Copy& copy) override { return {.duration = of_copy(copy), .launch = 0}; }
  predict::Price processor(const program::OnProcessor& work) override {
    return {.duration = of_processor(work), .launch = 0};
  }
  predict::Price host(program::HostWork work) override { return {.duration = of_host(work), .launch = 0}; }
  predict::Price interference(const program::Interference& of) override { return {.duration = beside(of.transfer)}; }
  core::Picoseconds host_per_kernel() const override { return per_kernel; }
};

}  // namespace cairn::testing
