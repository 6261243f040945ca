// One pass of one rank: its list, stage by stage. What leaves with a stage is sent, then its tiles are computed, then
// what arrives with it is waited for; ranks meet nowhere but in their messages.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/sequence/list.h"
#include "held_rows.h"
#include "tile_arithmetic.h"
#include "wire.h"

namespace cairn::attention_mpi {

class RankPass {
 public:
  // All arguments outlive this.
  RankPass(const sequence::Problem& problem, sequence::Pass pass, const sequence::RankList& list, HeldRows& held,
           Wire& wire);

  // Leaves the results in `held`.
  Fault run();

 private:
  // A message with the stage behind which its call is over.
  struct Planned {
    const sequence::Message* message = nullptr;
    std::int32_t ends = 0;
    bool receives = false;
  };
  struct UnderWay {
    Planned planned;
    Transfer transfer;
  };

  std::vector<Planned> beginning_with(std::int32_t stage) const;
  Fault leave(std::int32_t stage);
  Fault take(const sequence::Message& message, Cargo& cargo);
  Fault arrive(std::int32_t stage);
  Fault arrive(const sequence::Message& message, const Cargo& cargo);
  Fault compute(const sequence::Tile& tile);
  void find_seen(std::int64_t q, std::int64_t head);
  Fault forward(std::int64_t q, std::int64_t head);
  void backward(std::int64_t q, std::int64_t head);

  const sequence::Problem& problem_;
  sequence::Pass pass_;
  const sequence::RankList& list_;
  HeldRows& held_;
  Wire& wire_;
  sequence::TileArithmetic arithmetic_;
  std::vector<UnderWay> under_way_;
  std::vector<std::int64_t> keys_;      // of the tile
  std::vector<sequence::KeyRow> seen_;  // of them, by the query at hand
  std::vector<float> output_;
};

}  // namespace cairn::attention_mpi
