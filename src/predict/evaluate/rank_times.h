// What the run of one simulated rank leaves: when it ends, the messages its passes received, and, where asked for, the
// times of its tasks and passes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "cairn/predict/evaluate/timeline.h"

namespace cairn::predict {

inline constexpr core::Picoseconds k_unknown = std::numeric_limits<core::Picoseconds>::max();

class RankTimes {
 public:
  explicit RankTimes(std::size_t passes) : arrivals_(passes, Span{.start = 0, .end = k_unknown}) {}

  // Keeps the times of all tasks from now on, stream by stream.
  void record() { recording_ = watched_ = true; }
  // Keeps when the computation of each pass ends.
  void note_passes() {
    pass_ends_.resize(arrivals_.size());
    watched_ = true;
  }

  // A task has run.
  void add(std::size_t stream, std::int32_t pass, const Span& span) {
    end_ = std::max(end_, span.end);
    if (span.end > span.start) ++events_;
    if (watched_) keep(stream, pass, span);
  }
  // What a pass awaits has come; of several messages the first counts.
  void arrive(std::int32_t pass, const Span& message) {
    Span& kept = arrivals_[static_cast<std::size_t>(pass)];
    if (kept.end == k_unknown) kept = message;
  }
  // Its end is k_unknown where nothing came yet.
  const Span& arrival(std::int32_t pass) const { return arrivals_[static_cast<std::size_t>(pass)]; }

  core::Picoseconds end() const { return end_; }
  std::int64_t events() const { return events_; }  // tasks that took time
  std::size_t passes() const { return arrivals_.size(); }

  StageTimeline timeline(std::int32_t stage) const {
    return {.stage = stage, .steps = spans_, .arrivals = messages(), .end = end_};
  }
  std::vector<PassTime> pass_times() const { return predict::pass_times(messages(), pass_ends_); }

 private:
  void keep(std::size_t stream, std::int32_t pass, const Span& span) {
    if (recording_) spans_[stream].push_back(span);
    if (stream == static_cast<std::size_t>(program::Stream::compute) && !pass_ends_.empty())
      pass_ends_[static_cast<std::size_t>(pass)] = span.end;
  }
  // By pass; zero where none came.
  std::vector<Span> messages() const {
    std::vector<Span> result = arrivals_;
    for (Span& arrival : result)
      if (arrival.end == k_unknown) arrival = Span{};
    return result;
  }

  core::Picoseconds end_ = 0;
  std::int64_t events_ = 0;
  bool recording_ = false;
  bool watched_ = false;  // something is kept
  std::vector<Span> arrivals_;
  std::array<std::vector<Span>, program::k_streams> spans_;
  std::vector<core::Picoseconds> pass_ends_;
};

}  // namespace cairn::predict
