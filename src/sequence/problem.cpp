#include "cairn/sequence/problem.h"

namespace cairn::sequence {
namespace {

// All tokens are of one document where none are listed.
std::size_t document_of(const Problem& problem, std::int64_t position) {
  std::size_t document = 0;
  std::int64_t end = 0;
  for (; document < problem.documents.size(); ++document)
    if (position < (end += problem.documents[document])) break;
  return document;
}

}  // namespace

std::string_view name(Tensor tensor) {
  switch (tensor) {
    case Tensor::query:
      return "Q";
    case Tensor::key:
      return "K";
    case Tensor::value:
      return "V";
    case Tensor::output:
      return "O";
    case Tensor::logsumexp:
      return "log-sum-exp";
    case Tensor::output_gradient:
      return "dO";
    case Tensor::delta:
      return "delta";
    case Tensor::query_gradient:
      return "dQ";
    case Tensor::key_gradient:
      return "dK";
    case Tensor::value_gradient:
      return "dV";
  }
  return "";
}

bool Problem::sees(std::int64_t q, std::int64_t k) const {
  if (mask == Mask::causal && k > q) return false;
  return document_of(*this, q) == document_of(*this, k);
}

Heads kv_heads(const Problem& problem, const Heads& heads) {
  const std::int64_t group = problem.group();
  const std::int64_t first = heads.first / group;
  if (heads.count == 0) return {.first = first, .count = 0};
  return {.first = first, .count = (heads.first + heads.count - 1) / group + 1 - first};
}

bool of_keys(Tensor tensor) {
  return tensor == Tensor::key || tensor == Tensor::value || tensor == Tensor::key_gradient ||
         tensor == Tensor::value_gradient;
}

Heads heads_of(const Problem& problem, Tensor tensor, const Heads& heads) {
  return of_keys(tensor) ? kv_heads(problem, heads) : heads;
}

std::int64_t width(const Problem& problem, Tensor tensor) {
  switch (tensor) {
    case Tensor::query:
    case Tensor::key:
    case Tensor::query_gradient:
    case Tensor::key_gradient:
      return problem.head_dim;
    case Tensor::value:
    case Tensor::output:
    case Tensor::output_gradient:
    case Tensor::value_gradient:
      return problem.values();
    case Tensor::logsumexp:
    case Tensor::delta:
      return 1;
  }
  return 0;
}

std::int64_t wire_bytes(const Problem& problem, Tensor tensor) {
  switch (tensor) {
    case Tensor::query:
    case Tensor::key:
    case Tensor::value:
    case Tensor::output:
    case Tensor::output_gradient:
      return problem.wire.operand;
    case Tensor::query_gradient:
    case Tensor::key_gradient:
    case Tensor::value_gradient:
      return problem.wire.gradient;
    case Tensor::logsumexp:
    case Tensor::delta:
      return problem.wire.statistic;
  }
  return 0;
}

}  // namespace cairn::sequence
