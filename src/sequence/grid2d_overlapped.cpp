// ATTENTION2D with its gathers cut into the steps of rings: blocks of queries pass along rows while blocks of keys and
// values pass along columns, and a tile is computed as soon as both its blocks are there. The part of a result leaves
// for its owner one stage after its last tile. Volumes are those without overlap (grid2d.cpp); kernels are more and
// smaller, under a causal mask one for each pair of blocks.
#include <algorithm>
#include <utility>
#include <vector>

#include "calls.h"
#include "mesh.h"

namespace cairn::sequence {
namespace {

constexpr std::int32_t k_row_lane = 0;
constexpr std::int32_t k_column_lane = 1;

// Blocks by the order of their arrival, from 0, the rank's own: block x of queries was x columns back, block y of keys
// y rows back. Of queries x is there in stage x, of keys y in stage y, or one later where keys move first.
class OverlappedGrid2d {
 public:
  explicit OverlappedGrid2d(const Share& share)
      : share_(share), mesh_(share.problem, share.grid), keys_begin_(mesh_.moves_keys() ? 1 : 0) {
    for (std::int32_t x = 0; x < columns(); ++x) queries_.push_back(mesh_.owned(back(share.rank, 0, x)));
    for (std::int32_t y = 0; y < rows(); ++y) keys_.push_back(mesh_.keys(back(share.rank, y, 0)));
  }

  RankList list() {
    if (mesh_.moves_keys()) add_move_of_keys(list_, share_, mesh_, 0);
    pass_blocks();
    for (std::int32_t stage = 0; stage <= last_tiles(); ++stage)
      share_.problem.mask == Mask::causal ? add_tiles_by_block(stage) : add_whole_tiles(stage);
    list_.stages = last_tiles() + 1;
    return_query_results();
    if (share_.pass == Pass::backward) return_key_gradients();
    order_calls(list_);
    return std::move(list_);
  }

 private:
  std::int32_t columns() const { return static_cast<std::int32_t>(mesh_.columns()); }
  std::int32_t rows() const { return static_cast<std::int32_t>(mesh_.rows()); }
  std::int32_t arrival(std::int32_t x, std::int32_t y) const { return std::max(x, y + keys_begin_); }
  std::int32_t last_tiles() const { return arrival(columns() - 1, rows() - 1); }
  // The ranks whose blocks arrive here, and the other way around: where this rank's blocks are when they are last.
  std::int64_t back(std::int64_t rank, std::int64_t rows, std::int64_t columns) const {
    return mesh_.rank(mesh_.row(rank) - rows, mesh_.column(rank) - columns);
  }

  void pass_blocks() {
    const std::int64_t self = share_.rank, previous = back(self, 0, 1), above = back(self, 1, 0);
    const TensorSet operands = query_operands(share_.pass);
    for (std::int32_t x = 0; x + 1 < columns(); ++x)
      list_.calls.push_back(hop(mesh_.row_peers(self), 1, during(x, k_row_lane),
                                queries(back(self, 0, -1), back(self, 0, x), operands),
                                queries(previous, back(previous, 0, x), operands)));
    for (std::int32_t y = 0; y + 1 < rows(); ++y)
      list_.calls.push_back(hop(mesh_.column_peers(self), 1, during(y + keys_begin_, k_column_lane),
                                keys(back(self, -1, 0), back(self, y, 0), k_keys),
                                keys(above, back(above, y, 0), k_keys)));
  }

  // Pairs of blocks of which the later arrives now.
  void add_tiles_by_block(std::int32_t stage) {
    const std::int32_t newest = stage - keys_begin_;
    for (std::int32_t x = 0; x < std::min(stage, columns()); ++x)
      if (newest >= 0 && newest < rows()) add_tile(stage, {x, x + 1}, {newest, newest + 1});
    if (stage >= columns()) return;
    for (std::int32_t y = 0; y < std::min(newest + 1, rows()); ++y) add_tile(stage, {stage, stage + 1}, {y, y + 1});
  }

  // The same pairs as two tiles at most: the block of queries that has come and all keys, then earlier queries and the
  // block of keys that has come.
  void add_whole_tiles(std::int32_t stage) {
    if (stage < columns()) add_tile(stage, {stage, stage + 1}, {0, std::min(stage + 1, rows())});
    if (stage > 0 && stage < rows()) add_tile(stage, {0, std::min(stage, columns())}, {stage, stage + 1});
  }

  struct Blocks {
    std::int32_t begin = 0;
    std::int32_t end = 0;
  };
  void add_tile(std::int32_t stage, const Blocks& queries, const Blocks& keys) {
    Tile tile{.stage = stage, .heads = share_.heads};
    for (std::int32_t x = queries.begin; x < queries.end; ++x)
      tile.queries = joined(tile.queries, queries_[static_cast<std::size_t>(x)]);
    for (std::int32_t y = keys.begin; y < keys.end; ++y)
      tile.keys = joined(tile.keys, keys_[static_cast<std::size_t>(y)]);
    tile.joins = keys.begin > 0 || (share_.pass == Pass::backward && queries.begin > 0);
    list_.tiles.push_back(std::move(tile));
  }

  void return_query_results() {
    const std::int64_t self = share_.rank;
    const TensorSet results = query_results(share_.pass);
    for (std::int32_t x = 1; x < columns(); ++x) {
      const std::int32_t stage = arrival(x, rows() - 1) + 1;
      const std::int64_t owner = back(self, 0, x), maker = back(self, 0, -x);
      list_.calls.push_back(hop(mesh_.row_peers(self), columns() - x, during(stage, k_row_lane),
                                queries(owner, owner, results), queries(maker, self, results)));
      list_.stages = std::max(list_.stages, stage + 1);
    }
  }

  void return_key_gradients() {
    const std::int64_t self = share_.rank;
    for (std::int32_t y = 1; y < rows(); ++y) {
      const std::int32_t stage = arrival(columns() - 1, y) + 1;
      const std::int64_t holder = back(self, y, 0), maker = back(self, -y, 0);
      list_.calls.push_back(hop(mesh_.column_peers(self), rows() - y, during(stage, k_column_lane),
                                keys(holder, holder, k_key_gradients), keys(maker, self, k_key_gradients)));
      list_.stages = std::max(list_.stages, stage + 1);
    }
    if (mesh_.moves_keys()) add_return_of_key_gradients(list_, share_, mesh_, list_.stages++);
  }

  Message message(std::int64_t peer, const Tokens& tokens, TensorSet tensors) const {
    return {.peer = peer,
            .parcel = {.tensors = tensors, .tokens = tokens, .heads = share_.heads},
            .gives = tensors == k_key_gradients || tensors == query_results(share_.pass)};
  }
  Message queries(std::int64_t peer, std::int64_t owner, TensorSet tensors) const {
    return message(peer, mesh_.owned(owner), tensors);
  }
  Message keys(std::int64_t peer, std::int64_t holder, TensorSet tensors) const {
    return message(peer, mesh_.keys(holder), tensors);
  }

  const Share& share_;
  Mesh mesh_;
  std::int32_t keys_begin_;
  std::vector<Tokens> queries_, keys_;  // of blocks by the order of their arrival
  RankList list_;
};

RankList overlapped_list(const Share& share) { return OverlappedGrid2d(share).list(); }

}  // namespace

constinit const Family k_attention2d_overlapped{
    .shape = Shape::rectangle, .refusal = refuses_causal_blocks, .owned = owned_in_mesh, .list = overlapped_list};

}  // namespace cairn::sequence
