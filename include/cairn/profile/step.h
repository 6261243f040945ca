// One step on one device, measured or predicted: what ran on which stream, from when to when. And what that adds up to.
//
// Every instant of the step is counted once:
//
//   a computation runs        under its class; of several under the one that began first
//   else a transfer runs      under its class: it is exposed
//   else a copy               under its class
//   else                      idle: until the host has issued the work that ends the gap, `host`; after that, `wait`
//
// so that the parts of a step add up to its span, and the differences of two steps' parts to the difference of their
// spans. Beside these parts stands the sum of a class's durations, whatever ran beside them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cairn/core/time.h"
#include "cairn/profile/kernel_class.h"

namespace cairn::profile {

struct Work {
  core::Picoseconds start = 0;  // since the step began
  core::Picoseconds end = 0;
  core::Picoseconds issued = k_unknown;  // when the host had issued it
  std::uint32_t kernel = 0;              // of Step::kernels
  std::uint32_t stream = 0;              // of Step::streams
  std::int32_t count = 1;                // kernels that it stands for; 0: its beginning lies in another step
  static constexpr core::Picoseconds k_unknown = -1;
};

struct Kernel {
  std::string name;
  KernelClass kind = KernelClass::other;
};

struct Step {
  core::Picoseconds span = 0;
  core::Picoseconds next_issued = Work::k_unknown;  // when the host had issued what comes behind the step
  std::vector<Kernel> kernels = {};
  std::vector<std::string> streams = {};
  std::vector<Work> work = {};  // within [0, span], by start
};

struct ClassUse {
  std::int64_t count = 0;
  core::Picoseconds time = 0;     // sum of durations
  core::Picoseconds counted = 0;  // of the step's instants, each once
};
struct KernelUse {
  std::string name;
  KernelClass kind = KernelClass::other;
  std::int64_t count = 0;
  core::Picoseconds time = 0;
};
struct StreamUse {
  std::string name;
  Group group = Group::computation;  // what most of its time goes to
  std::int64_t count = 0;
  core::Picoseconds busy = 0;  // instants in which it does anything
};

struct Summary {
  core::Picoseconds span = 0;
  std::array<ClassUse, k_classes> classes{};
  core::Picoseconds host = 0;                         // idle
  core::Picoseconds wait = 0;                         // idle
  std::array<core::Picoseconds, k_groups> busy{};     // instants in which anything of the group runs
  std::array<core::Picoseconds, k_groups> exposed{};  // of them those in which nothing of the groups before it does
  std::vector<StreamUse> streams = {};                // in the step's order
  std::vector<KernelUse> kernels = {};                // the longest first
  core::Picoseconds idle() const { return host + wait; }
};

Summary summary(const Step& step);

}  // namespace cairn::profile
