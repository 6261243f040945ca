// Runs the lists of all ranks, stage by stage: what leaves with a stage, then its tiles, then what arrives with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dense.h"
#include "oracle_state.h"
#include "tile_arithmetic.h"

namespace cairn::sequence {

class Execution {
 public:
  // The lists fit each other (list_check.h). All arguments outlive this.
  Execution(const Problem& problem, const Visible& visible, Pass pass, const Tensors<float>& inputs,
            std::span<const RankList> lists);

  // Inputs of the pass that a rank has from the start.
  void begin_with(std::int64_t rank, const Parcel& parcel);
  std::optional<std::string> run();

  std::int64_t pairs() const { return pairs_; }
  const OracleState& state() const { return state_; }

 private:
  using Fault = std::optional<std::string>;

  // What a message took from its source: of results the parts and numbers, tensor by tensor, token by token.
  struct Cargo {
    const Message* message = nullptr;
    std::int64_t source = 0;
    std::int32_t begins = 0, ends = 0;
    std::array<std::vector<std::int32_t>, k_tensors> parts;
    std::array<std::vector<float>, k_tensors> numbers;
  };

  Fault take(std::int64_t rank, const Call& call, const Message& message);
  Fault take(std::int64_t rank, const Message& message, const Place& place, Cargo& cargo);
  Fault leave(std::int32_t stage);
  Fault arrive(std::int32_t stage);
  Fault arrive(const Cargo& cargo);
  Fault arrive(const Cargo& cargo, const Place& place, std::size_t row, bool& news);
  Fault compute(std::int64_t rank, const Tile& tile);
  Fault reads(std::int64_t rank, const Tile& tile) const;
  // Marks the pairs of a query with the keys of the tile that it sees, and leaves these in `seen_`.
  Fault find_seen(std::int64_t q, std::int64_t head);
  void forward(std::int64_t rank, std::int64_t q, std::int64_t head);
  void backward(std::int64_t rank, std::int64_t q, std::int64_t head);

  const Problem& problem_;
  const Visible& visible_;
  Pass pass_;
  const Tensors<float>& inputs_;
  std::span<const RankList> lists_;
  TileArithmetic arithmetic_;
  OracleState state_;
  std::vector<std::uint8_t> computed_;  // by query, key, head
  std::int64_t pairs_ = 0;
  std::vector<Cargo> under_way_;
  std::vector<std::int64_t> keys_, seen_;  // of the tile, and of one of its queries
  std::vector<KeyRow> rows_;               // of the keys seen
  std::vector<float> output_;
};

}  // namespace cairn::sequence
