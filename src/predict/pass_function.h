// A pass as a function of its stage's frontiers, reduced to the few maxima that can decide.
//
//   x'_row = max over the row's terms ( weight + x_column );   streams without a row stay as they are
//
// Most terms of the matrix never decide. Between passes every stream i satisfies x_i <= x_compute + slack_i if each
// pass keeps it so, that is if
//   M_ij <= M_cj + slack_i   or   M_ij + slack_j <= M_cc + slack_i      for every column j
// and then a term (r, j) with M_rj + slack_j <= M_rc may go. The slacks are the least that a pass alone keeps; its
// short list is valid on a stage all of whose passes agree on the slacks that any of them relies on. A pass that leaves
// a stream alone counts on slack 0, as at the start.
//
// On such a stage most passes come down to four maxima: they advance the computation and one send from the computation
// and the arrival. A Kernel is that form.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/predict/max_plus.h"

namespace cairn::predict {

// Frontiers and one place more, where a pass that sends nothing writes its send.
using SweepFrontiers = std::array<core::Picoseconds, plan::k_streams + 1>;

struct PassTerm {
  std::uint8_t row;
  std::uint8_t column;
  core::Picoseconds weight;
};

// What a sweep does for one operation: `terms`, or where that is null
//   x'_compute = max(x_compute + compute_compute, x_arrival + compute_arrival),  x'_send likewise.
struct Kernel {
  core::Picoseconds compute_compute = 0;
  core::Picoseconds compute_arrival = core::k_never;
  core::Picoseconds send_compute = 0;
  core::Picoseconds send_arrival = core::k_never;
  const std::vector<PassTerm>* terms = nullptr;
  std::uint8_t send = plan::k_streams;
};

class alignas(64) PassFunction {
 public:
  PassFunction(const plan::Pass* pass, const Matrix& matrix);

  // The pass that this is the function of.
  const plan::Pass* pass() const { return pass_; }
  // The full form, and the short one without the rows of streams outside `live`, which nothing reads.
  Kernel full() const { return {.terms = &all_}; }
  Kernel shortened(StreamSet live) {
    if ((live & touched_) != live_) shorten(live & touched_);
    return {.compute_compute = maxima_[0],
            .compute_arrival = maxima_[1],
            .send_compute = maxima_[2],
            .send_arrival = maxima_[3],
            .terms = is_long_ ? &living_ : nullptr,
            .send = send_};
  }

  // Whether the short forms of these passes are valid together.
  static bool agree(std::span<PassFunction* const> passes);
  // Streams that some of them read when shortened, or that may end after the computation.
  static StreamSet live(std::span<PassFunction* const> passes);

 private:
  void find_slack(const Matrix& matrix);
  void find_relied_on(const Matrix& matrix);
  void shorten(StreamSet live);

  // What evaluation looks at, within one cache line.
  const plan::Pass* pass_;
  StreamSet live_ = 0;  // that the short form was made for
  StreamSet touched_ = 0;
  StreamSet relied_on_ = 0;  // streams whose slack the short list rests on
  StreamSet unlevel_ = 0;    // touched streams of another slack than 0
  StreamSet needed_ = 0;     // columns of the short list, and touched streams of positive slack
  std::array<core::Picoseconds, 4> maxima_{Kernel{}.compute_compute, Kernel{}.compute_arrival, Kernel{}.send_compute,
                                           Kernel{}.send_arrival};
  std::uint8_t send_ = Kernel{}.send;
  bool is_long_ = false;  // the short form is no kernel of four maxima
  // The rest.
  std::array<core::Picoseconds, plan::k_streams> slack_{};  // k_unbounded: none
  std::vector<PassTerm> all_;                               // by row
  std::vector<PassTerm> few_;
  std::vector<PassTerm> living_;
};

void run_pass(const std::vector<PassTerm>& terms, SweepFrontiers& x);

// The same, after something came in; returns the end of what the pass sends. Of a pass that sends nothing it is some
// time.
inline core::Picoseconds run_pass(const Kernel& kernel, core::Picoseconds arrival, std::size_t sends_to,
                                  SweepFrontiers& x) {
  if (kernel.terms != nullptr) {
    x[static_cast<std::size_t>(plan::Stream::arrival)] = arrival;
    run_pass(*kernel.terms, x);
    return x[sends_to];
  }
  const core::Picoseconds compute = x[static_cast<std::size_t>(plan::Stream::compute)];
  const core::Picoseconds send = std::max(compute + kernel.send_compute, arrival + kernel.send_arrival);
  x[kernel.send] = send;
  x[static_cast<std::size_t>(plan::Stream::compute)] =
      std::max(compute + kernel.compute_compute, arrival + kernel.compute_arrival);
  return send;
}
inline void run_pass(const Kernel& kernel, SweepFrontiers& x) {
  const core::Picoseconds arrival = x[static_cast<std::size_t>(plan::Stream::arrival)];
  run_pass(kernel, arrival, static_cast<std::size_t>(plan::Stream::arrival), x);
}

}  // namespace cairn::predict
