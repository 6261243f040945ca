// What publications say of each kind in closed form, for 2 to 16 stages and up to 64 micro-batches. Times are counted
// in units that make every chunk's whole.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cairn/pipeline/exact_run.h"
#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/sweep.h"
#include "cairn/pipeline/traits.h"
#include "catch.h"

using namespace cairn;
using pipeline::ExactTimes;
using pipeline::Fraction;
using pipeline::fraction;
using pipeline::Release;
using pipeline::Settings;

namespace {

struct Times {
  std::int64_t f = 1, b = 1, w = 1;
  std::int64_t total() const { return f + b + w; }
  ExactTimes exact() const {
    return {.forward = fraction(f, 1), .input_gradient = fraction(b, 1), .weight_gradient = fraction(w, 1)};
  }
};
constexpr Times k_equal{1, 1, 1};  // F = B = W, a whole backward is twice a forward
constexpr Times k_small_weights{2, 2, 1};
constexpr Times k_equal_whole{1, 1, 0};  // forward and whole backward alike

// Idle time of every device, which must be the same.
Fraction idle(const char* kind, const Settings& settings, const Times& times) {
  const pipeline::ExactRun run = pipeline::run_exactly(kind, settings, times.exact());
  for (std::int32_t d = 1; d < settings.stages; ++d) CHECK(run.result.idle[d] == run.result.idle[0]);
  return run.in_units(run.result.idle[0]);
}
Fraction span_idle(const char* kind, const Settings& settings, const Times& times) {
  const pipeline::ExactRun run = pipeline::run_exactly(kind, settings, times.exact());
  return run.in_units(run.span() - settings.micro_batches * times.total() * run.ticks_per_unit);
}

std::vector<Fraction> peaks(const char* kind, const Settings& settings, Release release) {
  const pipeline::Schedule schedule = pipeline::generate(kind, settings);
  std::vector<Fraction> result;
  for (const std::int32_t sets : pipeline::peak_activations(schedule, release))
    result.push_back(fraction(sets, schedule.operations_per_stage()));
  return result;
}
Fraction most(const std::vector<Fraction>& values) {
  return *std::max_element(values.begin(), values.end(),
                           [](const Fraction& a, const Fraction& b) { return a.value() < b.value(); });
}
Fraction whole(std::int64_t value) { return fraction(value, 1); }

}  // namespace

TEST_CASE("breadth-first: idle (p-1)(F+B)/v, all micro-batches alive") {
  for (std::int32_t p = 2; p <= 16; ++p)
    for (const std::int32_t v : {1, 2, 3, 4})
      for (const std::int32_t m : {p, 2 * p, 64}) {
        if (m < p) continue;
        const Settings s{.stages = p, .micro_batches = m, .chunks = v};
        INFO("p=" << p << " m=" << m << " v=" << v);
        CHECK(idle("breadth-first", s, k_equal) == fraction((p - 1) * 3, v));
        CHECK(most(peaks("breadth-first", s, Release::at_input_gradient)) == whole(m));
      }
}

TEST_CASE("chimera: idle and activations") {
  for (std::int32_t p = 2; p <= 16; p += 2)
    for (std::int32_t k = 1; k * p <= 64; ++k) {
      const Settings s{.stages = p, .micro_batches = k * p};
      INFO("p=" << p << " m=" << s.micro_batches);
      CHECK(idle("chimera", s, k_equal_whole) == whole(p - 2));
      CHECK(idle("chimera", s, k_equal) == whole((k + 1) * (p - 2)));
      const std::vector<Fraction> alive = peaks("chimera", s, Release::at_input_gradient);
      for (std::int32_t d = 0; d < p; ++d) CHECK(alive[d] == whole(std::min(p, p / 2 + 1 + std::min(d, p - 1 - d))));
      // Forwards in pairs: a slot of 2F holds two forwards or one backward, p-2 of them idle once, whatever m.
      if (k % 2 == 0) {
        Settings doubled = s;
        doubled.continuation = pipeline::Continuation::double_forward;
        CHECK(idle("chimera", doubled, k_equal) == whole(2 * (p - 2)));
      }
      Settings halved = s;
      halved.continuation = pipeline::Continuation::halve_backward;
      CHECK(idle("chimera", halved, k_equal) == whole(p - 2));
    }
}

TEST_CASE("chimera with 2f pipelines: idle p/f - 2 of forwards as long as backwards") {
  for (const std::int32_t f : {1, 2, 4})
    for (std::int32_t p = 2 * f; p <= 16; p += 2 * f) {
      INFO("p=" << p << " f=" << f);
      CHECK(idle("chimera", {.stages = p, .micro_batches = 2 * p, .pipelines = 2 * f}, k_equal_whole) ==
            whole(p / f - 2));
      CHECK(pipeline::generate("chimera", {.stages = p, .micro_batches = p, .pipelines = 2 * f}).weight_copies() ==
            2 * f);
    }
}

TEST_CASE("zb-h1 and zb-h2: idle and activations") {
  for (std::int32_t p = 2; p <= 16; ++p)
    for (const std::int32_t m : {p, 2 * p - 1, 2 * p, 64}) {
      if (m < p) continue;
      const Settings s{.stages = p, .micro_batches = m};
      INFO("p=" << p << " m=" << m);
      for (const Times& t : {k_equal, k_small_weights})
        CHECK(idle("zb-h1", s, t) == whole((p - 1) * (t.f + t.b - t.w)));
      CHECK(most(peaks("zb-h1", s, Release::at_weight_gradient)) == whole(p));
      if (m < 2 * p - 1) continue;
      CHECK(span_idle("zb-h2", s, k_equal) == whole(0));
      CHECK(most(peaks("zb-h2", s, Release::at_weight_gradient)) == whole(2 * p - 1));
    }
}

TEST_CASE("2bp: published bubble ratios at F = B = W") {
  const auto ratio = [](const char* kind, const Settings& settings) {
    const pipeline::ExactRun run = pipeline::run_exactly(kind, settings, k_equal.exact());
    return fraction(run.result.idle[0], run.result.makespan);
  };
  for (std::int32_t n = 2; n <= 16; ++n) {
    INFO("p=" << n);
    for (const std::int32_t m : {n, 2 * n, 64})
      CHECK(ratio("2bp-gpipe", {.stages = n, .micro_batches = m}) == fraction(2 * (n - 1), 2 * (n - 1) + 3 * m));
    const auto fill = pipeline::WeightGradients::fill;
    CHECK(ratio("2bp-1f1b", {.stages = n, .micro_batches = n, .weight_gradients = fill}) == fraction(n - 1, 4 * n - 1));
    CHECK(ratio("2bp-1f1b", {.stages = n, .micro_batches = 2 * n, .weight_gradients = fill}) ==
          fraction(n - 1, 7 * n - 1));
  }
}

TEST_CASE("dualpipe and dualpipev: idle (stages/2 - 1)(F&B + B - 3W), activations p+1") {
  for (std::int32_t p = 2; p <= 16; ++p)
    for (const std::int32_t m : {2 * p, 2 * p + 6, 64}) {
      if (m < 2 * p) continue;
      const Settings s{.stages = p, .micro_batches = m};
      INFO("p=" << p << " m=" << m);
      for (const Times& t : {k_equal, k_small_weights}) {
        const std::int64_t gap = t.total() + (t.b + t.w) - 3 * t.w;
        if (p % 2 == 0) CHECK(idle("dualpipe", s, t) == whole((p / 2 - 1) * gap));
        CHECK(idle("dualpipev", s, t) == fraction((p - 1) * gap, 2));
      }
      if (p % 2 == 0) CHECK(most(peaks("dualpipe", s, Release::at_input_gradient)) == whole(p + 1));
      CHECK(most(peaks("dualpipev", s, Release::at_input_gradient)) == fraction(2 * p + 1, 2));
    }
}

TEST_CASE("hanayo with as many micro-batches as stages: idle and activations") {
  for (std::int32_t p = 2; p <= 16; ++p)
    for (const std::int32_t w : {1, 2, 3}) {
      const Settings s{.stages = p, .micro_batches = p, .waves = w};
      INFO("p=" << p << " W=" << w);
      CHECK(idle("hanayo", s, k_equal_whole) == fraction((p - 1) * 2, 2 * w));
      CHECK(idle("hanayo", s, k_equal) == fraction(2 * p - 2, w));
      const std::vector<Fraction> alive = peaks("hanayo", s, Release::at_input_gradient);
      for (std::int32_t d = 0; d < p; ++d) CHECK(alive[d] == fraction(2 * w * p - (p - 1 - d), 2 * w));
    }
}

TEST_CASE("bitpipe: idle (p-2)/2, and p-2 where a backward takes two forwards and m = p") {
  for (std::int32_t p = 2; p <= 16; p += 2) {
    INFO("p=" << p);
    CHECK(idle("bitpipe", {.stages = p, .micro_batches = p}, k_equal) == whole(p - 2));
    for (const std::int32_t k : {1, 2, 4})
      CHECK(idle("bitpipe", {.stages = p, .micro_batches = k * p}, k_equal_whole) == fraction(p - 2, 2));
  }
}

TEST_CASE("zb-v, v-half and v-min: idle and activations") {
  for (std::int32_t p = 2; p <= 16; ++p)
    for (const std::int32_t m : {2 * p, 3 * p, 64}) {
      if (m < 2 * p) continue;
      const Settings s{.stages = p, .micro_batches = m};
      INFO("p=" << p << " m=" << m);
      CHECK(span_idle("zb-v", s, k_equal) == whole(0));
      CHECK(most(peaks("v-half", s, Release::at_weight_gradient)).value() <= (p + 2) / 2);
      CHECK(most(peaks("v-min", s, Release::at_weight_gradient)).value() <= (p + 4) / 3);
    }
}

TEST_CASE("asynchronous pipelines: age of gradients and versions of weights") {
  for (std::int32_t p = 2; p <= 16; ++p) {
    const Settings s{.stages = p, .micro_batches = 64};
    const auto backpropagation = pipeline::gradient_delays(pipeline::generate("pipelined-backpropagation", s));
    const auto stashed = pipeline::weight_versions(pipeline::generate("pipedream", s));
    const auto two = pipeline::weight_versions(pipeline::generate("pipedream-2bw", s));
    for (std::int32_t d = 0; d < p; ++d) {
      CHECK(backpropagation[d] == 2 * (p - 1 - d));
      CHECK(stashed[d] == p - d);
      CHECK(two[d] <= 2);
    }
    CHECK(two[0] == 2);
  }
}

TEST_CASE("vocabulary over all devices: p+2, p+1 and 1.5p micro-batches alive, and no bubble of its own") {
  using pipeline::Vocabulary;
  for (std::int32_t p = 2; p <= 16; ++p)
    for (const std::int32_t m : {2 * p, 64}) {
      INFO("p=" << p << " m=" << m);
      const auto alive = [&](Vocabulary vocabulary) {
        return most(
            peaks("1f1b", {.stages = p, .micro_batches = m, .vocabulary = vocabulary}, Release::at_input_gradient));
      };
      CHECK(alive(Vocabulary::one) == whole(std::min(m, p + 2)));
      CHECK(alive(Vocabulary::two) == whole(std::min(m, p + 1)));
      CHECK(alive(Vocabulary::interlaced) == whole(std::min(m, p + (p + 1) / 2)));
      // F = 1, B = 2, S = T = 1: a micro-batch occupies every device for 5, so each further one costs that and no more.
      const auto makespan = [&](Vocabulary vocabulary, std::int32_t batches) {
        ExactTimes times;
        times.vocabulary_forward = times.vocabulary_backward = whole(1);
        const auto run =
            pipeline::run_exactly("1f1b", {.stages = p, .micro_batches = batches, .vocabulary = vocabulary}, times);
        return run.in_units(run.result.makespan).numerator;
      };
      for (const Vocabulary vocabulary : {Vocabulary::one, Vocabulary::two})
        CHECK(makespan(vocabulary, m + 20) - makespan(vocabulary, m) == 20 * 5);
    }
}

TEST_CASE("vocabulary over all devices, of every kind") {
  using pipeline::Vocabulary;
  constexpr std::int32_t p = 4;
  for (const pipeline::Generator& kind : pipeline::generators())
    for (const Vocabulary vocabulary : {Vocabulary::one, Vocabulary::two, Vocabulary::interlaced}) {
      Settings s{.stages = p, .micro_batches = 2 * p, .vocabulary = vocabulary};
      if ((kind.options & pipeline::takes::k_chunks) != 0) s.chunks = 2;
      ExactTimes times;
      times.vocabulary_forward = times.vocabulary_backward = whole(1);
      INFO(kind.kind);
      const pipeline::ExactRun run = pipeline::run_exactly(kind.kind, s, times);
      for (const pipeline::Phase phase : {pipeline::Phase::vocabulary_forward, pipeline::Phase::vocabulary_backward})
        CHECK(std::count_if(run.schedule.operations.begin(), run.schedule.operations.end(),
                            [&](const pipeline::Operation& o) { return o.phase == phase; }) ==
              std::int64_t{p} * run.schedule.micro_batches);
      // Every device: F + B + W + S + T = 5 a micro-batch.
      CHECK(run.in_units(run.result.makespan).value() >= 5.0 * s.micro_batches);
      // Passes and barriers by times: S of a micro-batch after its last forward, gradients after what they await.
      std::map<std::int32_t, std::int64_t> forward, last_s, last_t, gradient;
      for (std::size_t i = 0; i < run.order.steps.size(); ++i) {
        const pipeline::SweepStep& step = run.order.steps[i];
        const std::int32_t mb = step.operation.micro_batch;
        const bool top = pipeline::on_chain(step.operation.phase) &&
                         (run.order.virtual_stage(step) + 1) % run.schedule.chain_length == 0;
        if (top && step.operation.phase == pipeline::Phase::forward) forward[mb] = run.result.end[i];
        if (top && pipeline::sends_gradient(step.operation.phase)) gradient[mb] = run.result.start[i];
        if (step.operation.phase == pipeline::Phase::vocabulary_forward) {
          last_s[mb] = std::max(last_s[mb], run.result.end[i]);
          CHECK(run.result.start[i] >= forward.at(mb));
        }
        if (step.operation.phase == pipeline::Phase::vocabulary_backward)
          last_t[mb] = std::max(last_t[mb], run.result.end[i]);
      }
      for (const auto& [mb, start] : gradient) CHECK(start >= (vocabulary == Vocabulary::two ? last_s : last_t).at(mb));
    }
}

TEST_CASE("vocabulary over interleaved chunks costs its own time and nothing more") {
  for (const std::int32_t p : {2, 4, 8}) {
    const auto makespan = [&](std::int32_t m) {
      ExactTimes times;
      times.vocabulary_forward = times.vocabulary_backward = whole(1);
      const pipeline::ExactRun run = pipeline::run_exactly(
          "interleaved-1f1b", {.stages = p, .micro_batches = m, .chunks = 2, .vocabulary = pipeline::Vocabulary::two},
          times);
      return run.in_units(run.result.makespan).value();
    };
    CHECK(makespan(6 * p) - makespan(4 * p) == Approx(2 * p * 5));
  }
}

TEST_CASE("1f1b with latency and unequal stages: the slowest round trip over any window of stages") {
  // Stages s..j: F of micro-batch i goes up the window, B of micro-batch i - (p-1-j) comes down, and the forward that
  // follows it at s is that of i + j-s+1: period = max over windows of [sum(F+B) + 2c(j-s)] / (j-s+1). The window of
  // the maximum, w stages, is in step with itself again after w micro-batches.
  for (const std::int64_t c : {5, 30})  // 0.05 and 0.3 of a forward of 100
    for (std::int32_t p = 1; p <= 16; ++p)
      for (std::int64_t variant = 0; variant < (p <= 6 ? 20 : 4); ++variant) {
        std::vector<std::int64_t> sum;
        pipeline::StageTimes times(p);
        for (std::int32_t s = 0; s < p; ++s) {
          const std::int64_t f = 100 + (variant * 37 + s * 53) % 41, b = 200 + (variant * 29 + s * 71) % 67;
          times.set_duration(s, pipeline::Phase::forward, f);
          times.set_duration(s, pipeline::Phase::backward, b);
          sum.push_back(f + b);
        }
        times.set_delay(c);
        std::int64_t trip = 0, width = 1;  // of the slowest window
        for (std::int32_t s = 0; s < p; ++s) {
          std::int64_t window = 0;
          for (std::int32_t j = s; j < p; ++j) {
            window += sum[j];
            const std::int64_t round = window + 2 * c * (j - s);
            if (round * width > trip * (j - s + 1)) trip = round, width = j - s + 1;
          }
        }
        const auto makespan = [&](std::int64_t m) {
          return pipeline::makespan(pipeline::sweep_order(pipeline::generate(
                                        "1f1b", {.stages = p, .micro_batches = static_cast<std::int32_t>(m)})),
                                    times);
        };
        constexpr std::int64_t k_settled = 1200, k_rounds = 10;
        INFO("p=" << p << " c=" << c << " variant " << variant << " window of " << width);
        CHECK(makespan(k_settled + k_rounds * width) - makespan(k_settled) == k_rounds * trip);
      }
}
