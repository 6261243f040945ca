#include "cairn/sequence/list.h"

namespace cairn::sequence {

TensorList members(TensorSet set) {
  TensorList all;
  for (std::size_t i = 0; i < k_tensors; ++i)
    if (contains(set, static_cast<Tensor>(i))) all.push_back(static_cast<Tensor>(i));
  return all;
}

std::int64_t bytes(const Problem& problem, const Parcel& parcel) {
  const std::int64_t key_heads = kv_heads(problem, parcel.heads).count;
  std::int64_t of_token = 0;
  for (std::size_t i = 0; i < k_tensors; ++i) {
    const auto tensor = static_cast<Tensor>(i);
    if (!contains(parcel.tensors, tensor)) continue;
    const std::int64_t heads = of_keys(tensor) ? key_heads : parcel.heads.count;
    of_token += heads * width(problem, tensor) * wire_bytes(problem, tensor);
  }
  return problem.sequences * count(parcel.tokens) * of_token;
}

}  // namespace cairn::sequence
