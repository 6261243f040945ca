// What every rank holds while lists are executed.
//
// Inputs are whole, and alike wherever they are held. Of a row of a result a rank may hold a part, which is made of so many
// (query, key, head) pairs. No pair is computed twice, so parts of one row have no pair in common until one of them is
// whole, and their counts tell what their sets would: a sum beyond the whole contains a pair twice.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cairn/sequence/list.h"
#include "dense.h"
#include "place.h"

namespace cairn::sequence {

class OracleState {
 public:
  static constexpr std::int32_t k_absent = -1;

  // `inputs` has the inputs of the pass and outlives the state.
  OracleState(const Problem& problem, const Visible& visible, Pass pass, const Tensors<float>& inputs,
              std::int64_t ranks);

  // Pairs that a whole row has; 1 of an input.
  std::int32_t whole(Tensor tensor, std::int64_t token) const;
  // Pairs that the rank's part has, or k_absent.
  std::int32_t part(std::int64_t rank, const Place& place) const;
  // Whether the rank has all of it. Whoever has O and dO has delta.
  bool holds(std::int64_t rank, const Place& place) const;
  const float* numbers(std::int64_t rank, const Place& place) const;

  void set_input(std::int64_t rank, const Place& place) { part_at(rank, place) = 1; }
  // Joins a part with the rank's. A part of O is added before that of its log-sum-exp, which it is weighted by.
  void add(std::int64_t rank, const Place& place, std::int32_t pairs, const float* numbers, const float* logsumexp);
  // Adds to the pairs of the rank's part of a gradient; returns the numbers, to be added to in place.
  float* add_pairs(std::int64_t rank, const Place& place, std::int32_t pairs);
  void remove(std::int64_t rank, const Place& place);

 private:
  struct OfRank {
    std::array<std::vector<std::int32_t>, k_tensors> parts;
    Tensors<float> results;
  };

  std::size_t row(const Place& place) const;
  std::int32_t& part_at(std::int64_t rank, const Place& place);

  Pass pass_;
  const Tensors<float>& inputs_;
  std::array<std::int64_t, k_tensors> heads_{};
  std::array<std::vector<std::int32_t>, k_tensors> whole_;  // by token
  std::vector<OfRank> ranks_;
};

}  // namespace cairn::sequence
