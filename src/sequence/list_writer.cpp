#include "list_writer.h"

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"

namespace cairn::sequence {

Range share_of(std::int64_t extent, std::int64_t index, std::int64_t of) {
  const std::int64_t first = extent * index / of;
  return {.first = first, .count = extent * (index + 1) / of - first};
}

void ListWriter::work(std::string_view label, Box box) {
  list_.work.push_back({.stage = list_.stages - 1, .label = std::string(label), .box = std::move(box)});
}

void ListWriter::send(std::int64_t peer, const std::vector<TensorPiece>& pieces, bool gives) {
  PieceCall call = this_stage(collective::Collective::send);
  add(call.sends, peer, pieces, gives);
  list_.calls.push_back(std::move(call));
}

void ListWriter::receive(std::int64_t peer, const std::vector<TensorPiece>& pieces, bool gives) {
  PieceCall call = this_stage(collective::Collective::send);
  add(call.receives, peer, pieces, gives);
  list_.calls.push_back(std::move(call));
}

void ListWriter::hop(const std::vector<TensorPiece>& out, const std::vector<TensorPiece>& in) {
  PieceCall call = this_stage(collective::Collective::send);
  add(call.sends, neighbour(1), out, false);
  add(call.receives, neighbour(-1), in, false);
  list_.calls.push_back(std::move(call));
}

PieceCall ListWriter::this_stage(collective::Collective collective) const {
  return {.collective = collective,
          .peers = {.count = count_},
          .begins = list_.stages - 1,
          .ends = list_.stages - 1,
          .sends = {},
          .receives = {}};
}

void ListWriter::add(std::vector<PieceMessage>& messages, std::int64_t peer, const std::vector<TensorPiece>& pieces,
                     bool gives) {
  for (const TensorPiece& piece : pieces)
    if (elements(piece) > 0) messages.push_back({.peer = peer, .piece = piece, .gives = gives});
}

void ask_divisible(std::string_view what, std::int64_t count, std::int64_t parts) {
  if (parts >= 1 && count >= 1 && count % parts == 0) return;
  throw core::ConfigurationError(std::string(what),
                                 fmt::format("{} {} cannot be shared by {} ranks", count, what, parts),
                                 fmt::format("use a number of ranks that divides the {}", what));
}

}  // namespace cairn::sequence
