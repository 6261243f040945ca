#include "cairn/sequence/piece_list.h"

#include <algorithm>

#include "cairn/core/assert.h"

namespace cairn::sequence {
namespace {

std::int64_t bytes_of_messages(const Formula& formula, const std::vector<PieceMessage>& messages) {
  std::int64_t sum = 0;
  for (const PieceMessage& message : messages) sum += bytes(formula, message.piece);
  return sum;
}

}  // namespace

std::vector<TensorPiece> pieces(const Formula& formula, const std::vector<std::string_view>& tensors, const Box& box) {
  std::vector<TensorPiece> all;
  for (const std::string_view name : tensors) {
    const std::size_t tensor = formula.index(name);
    TensorPiece piece{.tensor = tensor};
    for (const char letter : formula.tensors()[tensor].letters) {
      const auto named = std::find_if(box.begin(), box.end(), [&](const auto& each) { return each.first == letter; });
      piece.ranges.push_back(named != box.end() ? named->second : Range{.first = 0, .count = formula.extent(letter)});
    }
    all.push_back(std::move(piece));
  }
  return all;
}

std::int64_t elements(const TensorPiece& piece) {
  std::int64_t product = 1;
  for (const Range& range : piece.ranges) product *= range.count;
  return product;
}

std::int64_t bytes(const Formula& formula, const TensorPiece& piece) {
  const FormulaTensor& tensor = formula.tensors()[piece.tensor];
  const std::int64_t all = elements(piece);
  if (all == 0 || tensor.weight_bytes == 0) return all * tensor.bytes;
  return all * tensor.bytes + all / piece.ranges.back().count * tensor.weight_bytes;
}

std::int64_t bytes_sent(const Formula& formula, const PieceList& list) {
  std::int64_t sum = 0;
  for (const PieceCall& call : list.calls) sum += bytes_of_messages(formula, call.sends);
  return sum;
}

std::int64_t bytes_received(const Formula& formula, const PieceList& list) {
  std::int64_t sum = 0;
  for (const PieceCall& call : list.calls) sum += bytes_of_messages(formula, call.receives);
  return sum;
}

}  // namespace cairn::sequence
