// Which ranks the event engine simulates (actors), and which actors take part in one collective.
//
// Ranks that cannot differ are one actor. Along the tensor, context and data axes coordinates are folded into classes:
// one for all that nothing distinguishes, one for every coordinate of a rank with a speed of its own; with jitter, and
// where any rank of a mixture of experts differs (its groups cut across those of the dense mesh), every coordinate is a
// class. An actor is one (stage, tensor class, context class, data class), numbered in that order, and stands for the
// lowest rank it covers.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/predict/evaluate/event.h"
#include "cairn/program/program.h"

namespace cairn::predict {

// The actors of one collective.
struct Communicator {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t size = 1;
  bool by_rank = false;    // first and stride count ranks, not actors
  std::int64_t level = 0;  // below k_levels: of groups on one stream that begin with the same rank

  static constexpr std::size_t k_levels = 3;
};

class RankClasses {
 public:
  // Throws core::ConfigurationError when more ranks differ than can be simulated.
  RankClasses(const program::Program& program, const EventOptions& options);

  std::int64_t actors() const { return stages_ * per_stage(); }
  std::int64_t per_stage() const { return std::ssize(tensor_) * copies(); }
  std::int32_t stage(std::int64_t actor) const { return static_cast<std::int32_t>(actor / per_stage()); }
  std::int64_t first(std::int32_t stage) const { return stage * per_stage(); }
  std::int64_t rank(std::int64_t actor) const;
  // The actor of another stage that has the same classes.
  std::int64_t across(std::int64_t actor, std::int32_t stage) const {
    return stage * per_stage() + actor % per_stage();
  }

  std::int64_t ranks() const { return program_.mesh.ranks(); }
  // The actor that stands for a rank.
  std::int64_t covering(std::int64_t rank) const;

  Communicator communicator(std::int64_t actor, program::Axis axis, const program::Group& group) const;
  std::int64_t member(const Communicator& communicator, std::int64_t index) const;
  // Where those who meet on a stream are counted, below meeting_places().
  std::size_t meeting_place(const Communicator& communicator, std::size_t stream) const {
    const auto first = static_cast<std::size_t>(member(communicator, 0));
    return Communicator::k_levels * (first * program::k_streams + stream) +
           static_cast<std::size_t>(communicator.level);
  }
  std::size_t meeting_places() const {
    return Communicator::k_levels * static_cast<std::size_t>(actors()) * program::k_streams;
  }

 private:
  // Actors of one tensor class of a stage: they hold copies of the same parameters.
  std::int64_t copies() const { return std::ssize(context_) * std::ssize(data_); }
  std::int64_t actor_of(std::int64_t rank) const;

  const program::Program& program_;
  std::int64_t stages_;
  std::vector<std::int64_t> tensor_;  // the coordinate each class stands for
  std::vector<std::int64_t> context_;
  std::vector<std::int64_t> data_;
};

}  // namespace cairn::predict
