// DualPipe: forwards of one direction run joined with backwards of the other, so that each one's communication hides
// behind the other's arithmetic. Two pipelines in opposite directions over two copies of the model, half of the
// micro-batches each; or, DualPipeV, the two halves of one V-shaped pipeline, chunk 0 going down, chunk 1 coming back.
//
// With h = p/2, r = min(d, p-1-d) of device d and n micro-batches in a direction (V: h = p, r = d, n-p becomes m-2p),
// phase 0 the direction that enters at this device's half, phase 1 the other one:
//   1  2(h-r-1)         F0
//   2  r+1              F0, F1
//   3  h-r-1            B1 split, W, F1
//   4  n-p+r+1          F0 joined B1, F1 joined B0; the middle devices' first F0 and B1 are not joined
//   5  h-r-1            B1, F1 joined B0
//   6  r+1              B1, B0; the second half of them split: from B1 on in the middle turn where r is odd, from B0 on
//                       where it is even
//   7  h-r-1            W, B0 split
//   8  r+1              W
// Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, section 3.2.1, and the schedule of its DualPipe release.
#include <algorithm>
#include <array>
#include <queue>

#include "kinds.h"

namespace cairn::pipeline {
namespace {

struct Shape {
  std::int32_t half = 0;      // h
  std::int32_t distance = 0;  // r
  std::int32_t steady = 0;    // turns of step 4
  bool middle = false;        // the first pair of step 4 is not joined
};

class Row {
 public:
  // chunks: of phase 0 and 1; first: their first micro-batches.
  Row(ScheduleBuilder& builder, std::array<std::int32_t, 2> chunks, std::array<std::int32_t, 2> first)
      : builder_(builder), chunks_(chunks), forwards_(first), backwards_(first) {}

  void run(const Shape& shape) {
    const std::int32_t outer = shape.half - shape.distance - 1;
    for (std::int32_t i = 0; i < 2 * outer; ++i) forward(0);
    for (std::int32_t i = 0; i < shape.distance + 1; ++i) forward(0), forward(1);
    for (std::int32_t i = 0; i < outer; ++i) backward(1, true), weight(), forward(1);
    for (std::int32_t i = 0; i < shape.steady; ++i) {
      both(0, 1, !(i == 0 && shape.middle));
      both(1, 0, true);
    }
    for (std::int32_t i = 0; i < outer; ++i) backward(1, false), both(1, 0, true);
    finish(shape.distance + 1);
    for (std::int32_t i = 0; i < outer; ++i) weight(), backward(0, true);
    for (std::int32_t i = 0; i < shape.distance + 1; ++i) weight();
    builder_.end_row();
  }

 private:
  void forward(int phase) { builder_.push(Phase::forward, chunks_[phase], forwards_[phase]++); }

  void backward(int phase, bool split) {
    const Operation operation{.phase = split ? Phase::input_gradient : Phase::backward,
                              .chunk = chunk_number(chunks_[phase]),
                              .micro_batch = backwards_[phase]++};
    builder_.push(operation);
    if (split) due_.push(operation);
  }

  void both(int up, int down, bool joined) {
    forward(up);
    if (joined) builder_.join();
    backward(down, false);
  }

  void weight() {
    builder_.push(Phase::weight_gradient, due_.front().chunk, due_.front().micro_batch);
    due_.pop();
  }

  // Step 6.
  void finish(std::int32_t turns) {
    bool split = false;
    for (std::int32_t i = 0; i < turns; ++i) {
      if (i == turns / 2 && turns % 2 == 0) split = true;
      backward(1, split);
      if (i == turns / 2 && turns % 2 == 1) split = true;
      backward(0, split);
    }
  }

  ScheduleBuilder& builder_;
  std::array<std::int32_t, 2> chunks_;
  std::array<std::int32_t, 2> forwards_;  // next micro-batch
  std::array<std::int32_t, 2> backwards_;
  std::queue<Operation> due_;
};

void check(std::string_view kind, const Settings& settings, std::int32_t least) {
  require(settings.micro_batches >= least, "micro_batches",
          std::string(kind) + " needs at least " + std::to_string(least) + " micro-batches (twice its stages), not " +
              std::to_string(settings.micro_batches),
          "use " + std::to_string(least) + " or more");
}

}  // namespace

Schedule dualpipe(const Settings& settings) {
  const std::int32_t p = settings.stages;
  const std::int32_t m = settings.micro_batches;
  require(p % 2 == 0, "stages", "dualpipe needs an even number of stages, not " + std::to_string(p),
          "use " + multiples_near(p, 2) + " stages");
  check("dualpipe", settings, 2 * p);
  require(m % 2 == 0, "micro_batches",
          "dualpipe sends as many micro-batches down as up, not " + std::to_string(m) + " together",
          "use " + multiples_near(m, 2) + " micro-batches");
  ScheduleBuilder builder("dualpipe", settings, opposed_layout(p, 2));
  for (std::int32_t device = 0; device < p; ++device) {
    const bool second_half = device >= p / 2;
    const std::int32_t own = second_half ? 1 : 0;
    const std::int32_t r = std::min(device, p - 1 - device);
    Row row(builder, {own, 1 - own}, {own * m / 2, (1 - own) * m / 2});
    row.run({.half = p / 2, .distance = r, .steady = m / 2 - p + r + 1, .middle = r == p / 2 - 1});
  }
  return builder.take();
}

Schedule dualpipev(const Settings& settings) {
  const std::int32_t p = settings.stages;
  check("dualpipev", settings, 2 * p);
  ScheduleBuilder builder("dualpipev", settings, wave_layout(p, 2));
  for (std::int32_t device = 0; device < p; ++device) {
    Row row(builder, {0, 1}, {0, 0});
    row.run({.half = p,
             .distance = device,
             .steady = settings.micro_batches - 2 * p + device + 1,
             .middle = device == p - 1});
  }
  return builder.take();
}

}  // namespace cairn::pipeline
