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

// What a sweep does for one operation: `terms`, rows together, or where there are none
//   x'_compute = max(x_compute + compute_compute, x_arrival + compute_arrival),  x'_send likewise.
struct Kernel {
  core::Picoseconds compute_compute = 0;
  core::Picoseconds compute_arrival = core::k_never;
  core::Picoseconds send_compute = 0;
  core::Picoseconds send_arrival = core::k_never;
  const PassTerm* terms = nullptr;
  std::uint16_t count = 0;  // of the terms
  std::uint8_t send = plan::k_streams;
  StreamSet live = 0;  // streams whose rows it was made for
};

class alignas(64) PassFunction {
 public:
  explicit PassFunction(const Matrix& matrix);
  PassFunction(const PassFunction&) = delete;
  PassFunction& operator=(const PassFunction&) = delete;

  // The full form, and the short one without the rows of streams outside `live`, which nothing reads.
  Kernel full() const { return {.terms = all_.data(), .count = static_cast<std::uint16_t>(all_.size())}; }
  const Kernel& shortened(StreamSet live) {
    if ((live & touched_) != short_.live) shorten(live & touched_);
    return short_;
  }

  // Whether the short forms of these passes are valid together.
  static bool agree(std::span<PassFunction* const> passes);
  // Streams that some of them read when shortened, or that may end after the computation.
  static StreamSet live(std::span<PassFunction* const> passes);

 private:
  void find_slack(const Matrix& matrix);
  void find_relied_on(const Matrix& matrix);
  void shorten(StreamSet live);

  // What evaluation looks at, in one cache line.
  StreamSet touched_ = 0;
  StreamSet relied_on_ = 0;  // streams whose slack the short list rests on
  StreamSet unlevel_ = 0;    // touched streams of another slack than 0
  StreamSet needed_ = 0;     // columns of the short list, and touched streams of positive slack
  Kernel short_;
  // The rest.
  std::array<core::Picoseconds, plan::k_streams> slack_{};  // k_unbounded: none
  std::vector<PassTerm> all_;                               // by row
  std::vector<PassTerm> few_;
  std::vector<PassTerm> living_;
};

void run_terms(const PassTerm* terms, std::size_t count, SweepFrontiers& x);

// The same, after something came in; returns the end of what the pass sends. Of a pass that sends nothing it is some
// time.
inline core::Picoseconds run_pass(const Kernel& kernel, core::Picoseconds arrival, std::size_t sends_to,
                                  SweepFrontiers& x) {
  if (kernel.terms != nullptr) {
    x[static_cast<std::size_t>(plan::Stream::arrival)] = arrival;
    run_terms(kernel.terms, kernel.count, x);
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
