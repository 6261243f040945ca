// A pass as a function of its stage's frontiers, reduced to the few maxima that can decide.
//
//   x'_row = max over the row's terms ( weight + x_column );   streams without a row stay as they are
//
// Most terms of the matrix M never attain the maximum. Suppose x_i <= x_compute + slack_i for every stream i before a
// pass. A pass preserves this if (c: the compute stream)
//   M_ij <= M_cj + slack_i   or   M_ij + slack_j <= M_cc + slack_i      for every column j
// and then a term (r, j) with M_rj + slack_j <= M_rc can be dropped. The slacks of a pass are the least that it
// preserves by itself. Its short list of terms is valid on a stage where all passes have the same slack for each stream
// on whose slack some list relies. A pass that does not touch a stream has slack 0 there, as at the start.
//
// The end of a step, behind which a stage runs no more of its passes, need not agree with them. It is left whole, and so
// are the rows of the pass before it, which then has every stream of the stage exact.
//
// On such a stage most passes have four terms left: computation and one send, each from computation and arrival. A
// Kernel is that form.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cairn/predict/evaluate/max_plus.h"

namespace cairn::predict {

// Frontiers and one place more, where a pass that sends nothing writes its send.
using SweepFrontiers = std::array<core::Picoseconds, program::k_streams + 1>;

struct PassTerm {
  std::uint8_t row;
  std::uint8_t column;
  core::Picoseconds weight;
  friend bool operator==(const PassTerm&, const PassTerm&) = default;
};

// What a sweep does for one operation: `count` terms, rows together, or where there are none
//   x'_compute = max(x_compute + compute_compute, x_arrival + compute_arrival),  x'_send likewise.
struct Kernel {
  struct Four {
    core::Picoseconds compute_compute = 0;
    core::Picoseconds compute_arrival = core::k_never;
    core::Picoseconds send_compute = 0;
    core::Picoseconds send_arrival = core::k_never;
  };
  union Form {
    Four four = {};
    const PassTerm* terms;
  };
  Form form;
  std::uint16_t count = 0;
  std::uint8_t send = program::k_streams;

  static Kernel of(const std::vector<PassTerm>& terms) {
    Kernel kernel;
    kernel.form.terms = terms.data();
    kernel.count = static_cast<std::uint16_t>(terms.size());
    return kernel;
  }
};

class alignas(64) PassFunction {
 public:
  explicit PassFunction(const Matrix& matrix);

  // Streams that it sets.
  StreamSet touched() const { return touched_; }

  // Equal terms, equal functions.
  const std::vector<PassTerm>& terms() const { return details_->all; }
  // The full form; the short one; and that without the rows of streams outside `live`, which nothing reads.
  Kernel full() const { return Kernel::of(details_->all); }
  Kernel whole() const { return Kernel::of(details_->few); }
  Kernel shortened(StreamSet live) {
    if ((live & touched_) != made_for_) shorten(live & touched_);
    return {.form = short_, .count = static_cast<std::uint16_t>(count_), .send = static_cast<std::uint8_t>(send_)};
  }

  // What the passes of a stage come to together.
  class Together {
   public:
    void add(const PassFunction& pass) {
      relied_on_ |= pass.relied_on_;
      touched_ |= pass.touched_;
      unlevel_ |= pass.unlevel_;
      level_ |= (pass.touched_ | pass.relied_on_) & ~pass.unlevel_;
      needed_ |= pass.needed_;
      if (pass.slack_ == 0) return;
      if (slack_ == 0) slack_ = pass.slack_;
      one_slack_ = one_slack_ && pass.slack_ == slack_ && slack_ != k_mixed;
    }
    // Streams that some pass reads when shortened, or that may end after the computation.
    StreamSet live() const { return needed_ | k_always; }
    // Streams that some pass sets.
    StreamSet touched() const { return touched_; }
    // Whether their short forms are valid together; `passes` are those added.
    bool agree(std::span<PassFunction* const> passes) const {
      const StreamSet matters = relied_on_ & unlevel_;
      return matters == 0 || (one_slack_ && (matters & level_) == 0) || agree_one_by_one(passes);
    }

   private:
    static constexpr StreamSet k_always = set_of(static_cast<std::size_t>(program::Stream::compute)) |
                                          set_of(static_cast<std::size_t>(program::Stream::next)) |
                                          set_of(static_cast<std::size_t>(program::Stream::previous));
    bool agree_one_by_one(std::span<PassFunction* const> passes) const;

    StreamSet relied_on_ = 0;
    StreamSet touched_ = 0;
    StreamSet unlevel_ = 0;
    StreamSet level_ = 0;  // streams of slack 0 in some pass
    StreamSet needed_ = 0;
    core::Picoseconds slack_ = 0;
    bool one_slack_ = true;  // those that are not 0 are equal
  };

 private:
  static constexpr core::Picoseconds k_mixed = -1;
  static constexpr std::size_t k_bits = 21;  // of a set
  static_assert(program::k_streams <= k_bits);
  static constexpr StreamSet k_streams_of_a_set = (StreamSet{1} << k_bits) - 1;
  static constexpr unsigned k_most_terms = (1U << 10U) - 1;
  static constexpr unsigned k_most_send = (1U << 6U) - 1;

  void find_slack(const Matrix& matrix);
  void find_relied_on(const Matrix& matrix);
  void shorten(StreamSet live);

  // What evaluation looks at, in one cache line.
  std::uint64_t touched_ : k_bits = 0;
  std::uint64_t relied_on_ : k_bits = 0;  // streams whose slack the short list rests on
  std::uint64_t unlevel_ : k_bits = 0;    // touched streams of another slack than 0
  std::uint64_t needed_ : k_bits = 0;     // columns of the short list, and touched streams of positive slack
  std::uint64_t made_for_ : k_bits = 0;   // touched streams that were live when the short form was made
  std::uint64_t count_ : 10 = 0;
  std::uint64_t send_ : 6 = program::k_streams;
  Kernel::Form short_;
  // That of every unlevel stream that a short list may rest on; 0: there are none, k_mixed: they differ.
  core::Picoseconds slack_ = 0;
  struct Details {
    std::array<core::Picoseconds, program::k_streams> slack{};  // k_unbounded: none
    std::vector<PassTerm> all;                                  // by row
    std::vector<PassTerm> few;
    std::vector<PassTerm> living;
  };
  std::unique_ptr<Details> details_ = std::make_unique<Details>();
};
static_assert(sizeof(PassFunction) == 64);

void run_terms(const PassTerm* terms, std::size_t count, SweepFrontiers& x);

// Runs a pass after the arrival of its message; returns the end of the message that it sends (without meaning if it
// sends none).
inline core::Picoseconds run_pass(const Kernel& kernel, core::Picoseconds arrival, std::size_t sends_to,
                                  SweepFrontiers& x) {
  if (kernel.count > 0) {
    x[static_cast<std::size_t>(program::Stream::arrival)] = arrival;
    run_terms(kernel.form.terms, kernel.count, x);
    return x[sends_to];
  }
  const core::Picoseconds compute = x[static_cast<std::size_t>(program::Stream::compute)];
  const Kernel::Four& four = kernel.form.four;
  const core::Picoseconds send = std::max(compute + four.send_compute, arrival + four.send_arrival);
  x[kernel.send] = send;
  x[static_cast<std::size_t>(program::Stream::compute)] =
      std::max(compute + four.compute_compute, arrival + four.compute_arrival);
  return send;
}
inline void run_pass(const Kernel& kernel, SweepFrontiers& x) {
  const core::Picoseconds arrival = x[static_cast<std::size_t>(program::Stream::arrival)];
  run_pass(kernel, arrival, static_cast<std::size_t>(program::Stream::arrival), x);
}

}  // namespace cairn::predict
