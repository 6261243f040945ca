#include "cairn/sequence/list.h"

namespace cairn::sequence {

TensorList members(TensorSet set) {
  TensorList all;
  for (std::size_t i = 0; i < k_tensors; ++i)
    if (contains(set, static_cast<Tensor>(i))) all.push_back(static_cast<Tensor>(i));
  return all;
}

std::int64_t bytes(const Problem& problem, const Parcel& parcel) {
  std::int64_t of_token = 0;
  for (const Tensor tensor : members(parcel.tensors))
    of_token += heads_of(problem, tensor, parcel.heads).count * width(problem, tensor) * wire_bytes(problem, tensor);
  return problem.sequences * count(parcel.tokens) * of_token;
}

}  // namespace cairn::sequence
