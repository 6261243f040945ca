// What one rank holds: rows of operands and of results, none but those that it owns, received or made.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dense.h"
#include "place.h"

namespace cairn::attention_mpi {

using Fault = std::optional<std::string>;

class HeldRows {
 public:
  // `problem` outlives this.
  explicit HeldRows(const sequence::Problem& problem) : problem_(problem) {}

  // Null where the rank does not hold it. Whoever has O and dO of a query has its delta.
  const float* find(const sequence::Place& place);
  void put(const sequence::Place& place, const float* numbers);
  void remove(const sequence::Place& place);
  // Adds to a part of a result. `logsumexp` is that of an added part of O, null where O comes alone, being whole.
  Fault add(const sequence::Place& place, const float* numbers, const float* logsumexp);
  // A gradient, to be added to in place; zeros where the rank had none.
  float* sum_at(const sequence::Place& place);

  void exchange(HeldRows& other) { rows_.swap(other.rows_); }
  void put_all(const sequence::Parcel& parcel, const sequence::Tensors<float>& tensors);
  // Copies what `held` holds of the parcel; a fault where it lacks any.
  Fault keep(const sequence::Parcel& parcel, HeldRows& held);

 private:
  using Numbers = std::vector<float>;

  Numbers& at(const sequence::Place& place);

  const sequence::Problem& problem_;
  std::array<std::unordered_map<std::int64_t, Numbers>, sequence::k_tensors> rows_;  // by token and head
};

}  // namespace cairn::attention_mpi
