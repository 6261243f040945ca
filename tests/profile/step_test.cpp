// Steps of a trace, what they add up to, and how two of them differ.
#include "cairn/profile/step.h"

#include <algorithm>
#include <string>

#include "cairn/core/random.h"
#include "cairn/profile/difference.h"
#include "cairn/profile/measured_step.h"
#include "catch.h"
#include "profile/written.h"

using namespace cairn;
using namespace cairn::profile_tests;
using profile::KernelClass;

namespace {

constexpr core::Picoseconds k_us = 1'000'000;

const profile::ClassUse& of(const profile::Summary& summary, KernelClass kind) {
  return summary.classes[static_cast<std::size_t>(kind)];
}

// The device runs behind the host: the kernels of step 1, from 0 on, run from 150 to 320.
const std::string k_two_steps =
    trace(step(1, "0", "200"), step(2, "200", "200"), call("10", 1), call("20", 2), call("210", 3),
          kernel("gemm", "150", "50", 7, 1), kernel("ncclDevKernel_AllReduce_Sum", "180", "140", 20, 2),
          kernel("gemm", "330", "100", 7, 3));

}  // namespace

TEST_CASE("kernels belong to the step in which the host issued them") {
  const profile::Trace trace = read(k_two_steps);
  const auto steps = profile::steps_of(trace);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].name == "ProfilerStep#1");
  CHECK(steps[0].start == 150'000);
  CHECK(steps[0].end == 330'000);               // where the next one's first kernel begins
  CHECK(steps[1].end == 430'000);               // its last kernel ends after its annotation
  CHECK(profile::chosen_step(steps, "") == 1);  // 100 us beside 180: the shorter of two
  CHECK(profile::chosen_step(steps, "1") == 0);
  CHECK(profile::chosen_step(steps, "ProfilerStep#2") == 1);
  CHECK_THROWS_AS(profile::chosen_step(steps, "3"), core::ConfigurationError);
}

TEST_CASE("a step adds up, instant by instant") {
  const profile::Trace trace = read(k_two_steps);
  const auto steps = profile::steps_of(trace);
  const profile::Summary summary = profile::summary(profile::measured_step(trace, steps[0]));
  // 150 to 200 the product, beside it from 180 on the all-reduce, which goes on to 320; then idle until 330.
  CHECK(summary.span == 180 * k_us);
  CHECK(of(summary, KernelClass::matmul).counted == 50 * k_us);
  CHECK(of(summary, KernelClass::all_reduce).time == 140 * k_us);
  CHECK(of(summary, KernelClass::all_reduce).counted == 120 * k_us);
  CHECK(summary.busy[1] - summary.exposed[1] == 20 * k_us);  // hidden
  CHECK(summary.wait == 10 * k_us);                          // what comes next was issued at 210, long before
  CHECK(summary.host == 0);
  REQUIRE(summary.streams.size() == 2);
  CHECK(summary.streams[0].name == "stream 7");
  CHECK(summary.streams[0].busy == 50 * k_us);
  CHECK(summary.streams[1].group == profile::Group::communication);
}

TEST_CASE("a gap is the host's until the kernel that ends it is issued") {
  const profile::Trace trace =
      read(profile_tests::trace(step(1, "0", "300"), call("0", 1), call("70", 2), kernel("gemm", "10", "40", 7, 1),
                                kernel("gemm", "100", "100", 7, 2)));
  const auto steps = profile::steps_of(trace);
  const profile::Summary summary = profile::summary(profile::measured_step(trace, steps[0]));
  // 10 to 50, 100 to 200, the annotation to 300: idle 50 to 70 until the call, 70 to 100 after it, 200 to 300 no call.
  CHECK(summary.span == 290 * k_us);
  CHECK(summary.host == 120 * k_us);
  CHECK(summary.wait == 30 * k_us);
}

TEST_CASE("a trace without annotations is one step; annotations of another clock are refused") {
  const profile::Trace bare = read(trace(kernel("a", "5", "5"), kernel("b", "20", "30")));
  const auto steps = profile::steps_of(bare);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].end - steps[0].start == 45'000);
  CHECK_THROWS_AS(profile::chosen_step(steps, "1"), core::ConfigurationError);
  CHECK_THROWS_AS(profile::steps_of(read(trace(step(1, "0", "10"), kernel("a", "5000", "5")))),
                  core::ConfigurationError);
}

TEST_CASE("what crosses the border of a step is cut there, and counts where it begins") {
  const profile::Trace trace =
      read(profile_tests::trace(step(1, "0", "90"), step(2, "100", "100"),
                                kernel("ncclDevKernel_AllGather", "50", "80", 20), kernel("gemm", "110", "40", 7)));
  const auto steps = profile::steps_of(trace);
  REQUIRE(steps.size() == 2);
  const profile::Summary first = profile::summary(profile::measured_step(trace, steps[0]));
  const profile::Summary second = profile::summary(profile::measured_step(trace, steps[1]));
  CHECK(of(first, KernelClass::all_gather).count == 1);
  CHECK(of(first, KernelClass::all_gather).time == 60 * k_us);
  CHECK(of(second, KernelClass::all_gather).count == 0);
  CHECK(of(second, KernelClass::all_gather).time == 20 * k_us);
  CHECK(of(second, KernelClass::all_gather).counted == 0);  // hidden behind the product
}

TEST_CASE("parts of any two steps add up to their difference") {
  core::Random random(20261123);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n)));
  };
  const auto drawn = [&] {
    profile::Step step{.span = 1 + below(1000)};
    for (std::size_t i = 0; i < profile::k_classes; ++i)
      step.kernels.push_back({.name = std::to_string(i), .kind = static_cast<KernelClass>(i)});
    step.streams = {"a", "b", "c"};
    for (std::int64_t n = below(40); n > 0; --n) {
      const core::Picoseconds start = below(step.span + 1);
      step.work.push_back({.start = start,
                           .end = start + below(step.span - start + 1),
                           .issued = below(2) == 0 ? profile::Work::k_unknown : below(step.span),
                           .kernel = static_cast<std::uint32_t>(below(profile::k_classes)),
                           .stream = static_cast<std::uint32_t>(below(3))});
    }
    std::stable_sort(step.work.begin(), step.work.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    return step;
  };
  for (int i = 0; i < 2000; ++i) {
    const profile::Difference difference = profile::difference(drawn(), drawn());
    core::Picoseconds sum = 0;
    for (const profile::Part& part : difference.parts) sum += part.difference();
    REQUIRE(sum == difference.measured.span - difference.predicted.span);
    for (const profile::Summary* side : {&difference.measured, &difference.predicted}) {
      core::Picoseconds whole = side->idle();
      for (const profile::ClassUse& use : side->classes) {
        REQUIRE(use.counted <= use.time);
        whole += use.counted;
      }
      REQUIRE(whole == side->span);
      REQUIRE(side->busy[0] == side->exposed[0]);
    }
  }
}
