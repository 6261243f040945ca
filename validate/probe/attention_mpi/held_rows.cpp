#include "held_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tile_arithmetic.h"

namespace cairn::attention_mpi {

using sequence::Place;
using sequence::Tensor;

namespace {

std::size_t index(Tensor tensor) { return static_cast<std::size_t>(tensor); }

std::int64_t key_of(const sequence::Problem& problem, const Place& place) {
  return place.token * problem.heads + place.head;
}

Place same_query(Tensor tensor, const Place& place) {
  return {.tensor = tensor, .token = place.token, .head = place.head};
}

}  // namespace

const float* HeldRows::find(const Place& place) {
  const auto& rows = rows_[index(place.tensor)];
  if (const auto found = rows.find(key_of(problem_, place)); found != rows.end()) return found->second.data();
  if (place.tensor != Tensor::delta) return nullptr;
  const float* output = find(same_query(Tensor::output, place));
  const float* gradient = find(same_query(Tensor::output_gradient, place));
  if (output == nullptr || gradient == nullptr) return nullptr;
  const float delta = sequence::dot<float>(output, gradient, problem_.values());
  put(place, &delta);
  return at(place).data();
}

HeldRows::Numbers& HeldRows::at(const Place& place) {
  Numbers& numbers = rows_[index(place.tensor)][key_of(problem_, place)];
  numbers.resize(static_cast<std::size_t>(sequence::width(problem_, place.tensor)));
  return numbers;
}

void HeldRows::put(const Place& place, const float* numbers) {
  Numbers& row = at(place);
  std::copy_n(numbers, row.size(), row.begin());
}

void HeldRows::remove(const Place& place) { rows_[index(place.tensor)].erase(key_of(problem_, place)); }

float* HeldRows::sum_at(const Place& place) { return at(place).data(); }

Fault HeldRows::add(const Place& place, const float* numbers, const float* logsumexp) {
  if (find(place) == nullptr) {
    put(place, numbers);
    return std::nullopt;
  }
  Numbers& held = at(place);
  const auto count = static_cast<std::int64_t>(held.size());
  if (place.tensor == Tensor::logsumexp) {
    held[0] = sequence::joined_logsumexp(held[0], *numbers);
  } else if (place.tensor != Tensor::output) {
    sequence::add_scaled(held.data(), 1.0F, numbers, count);
  } else {
    const float* held_logsumexp = find(same_query(Tensor::logsumexp, place));
    const bool of_no_keys = held_logsumexp != nullptr && std::isinf(*held_logsumexp);
    if (of_no_keys)
      put(place, numbers);
    else if (held_logsumexp == nullptr || logsumexp == nullptr)
      return fmt::format("adds to {}, and one of the parts has no log-sum-exp", text(place));
    else
      sequence::join_output(held.data(), *held_logsumexp, numbers, *logsumexp, count);
  }
  return std::nullopt;
}

void HeldRows::put_all(const sequence::Parcel& parcel, const sequence::Tensors<float>& tensors) {
  sequence::for_rows(problem_, parcel, [&](const Place& place, std::size_t) {
    put(place, tensors[place.tensor].at(place.token, place.head));
    return Fault();
  });
}

Fault HeldRows::keep(const sequence::Parcel& parcel, HeldRows& held) {
  return sequence::for_rows(problem_, parcel, [&](const Place& place, std::size_t) -> Fault {
    const float* numbers = held.find(place);
    if (numbers == nullptr) return fmt::format("keeps {}, which it does not hold after the forward pass", text(place));
    put(place, numbers);
    return std::nullopt;
  });
}

}  // namespace cairn::attention_mpi
