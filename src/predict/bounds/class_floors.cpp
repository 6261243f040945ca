#include "cairn/predict/bounds/class_floors.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <variant>

#include "cairn/cost/operator_floor.h"
#include "cairn/predict/evaluate/timeline.h"

namespace cairn::predict {
namespace {

enum class Moved : std::uint8_t { offload, storage };
constexpr std::array<std::string_view, 2> k_moved_names{"offload", "storage"};

class Sums {
 public:
  Sums(CostPricer& pricer, PriceTable& prices, ShardFloors& floors)
      : pricer_(pricer), prices_(prices), floors_(floors) {}

  void add(const program::Block& block, double times) {
    const BlockPrices& prices = prices_.of(block);
    for (const program::Step& step : block.steps) {
      if (step.work < 0) continue;
      const program::Work& work = block.works[static_cast<std::size_t>(step.work)];
      const double time_s = core::to_seconds(prices[static_cast<std::size_t>(step.work)].duration);
      program::visit(
          work,
          [&](const ir::Shard& shard) {
            const cost::OperatorClass label = cost::class_of(*shard.op, *shard.graph);
            count(kernels_[static_cast<std::size_t>(label)], of(shard), time_s, times);
          },
          [&](const program::Transfer& transfer) {
            count(transfers_[static_cast<std::size_t>(program::reported_as(step.axis))], of(transfer), time_s, times);
          },
          [&](const program::Copy& copy) {
            count(copies_[program::stream_of(copy.lane) == program::Stream::storage],
                  {.bytes = copy.bytes, .floor_bytes = copy.bytes, .floor_s = time_s}, time_s, times);
          },
          [](const program::OnProcessor&) {}, [](program::HostWork) {}, [](const program::Interference&) {});
    }
  }

  std::vector<ClassFloor> result() const {
    std::vector<ClassFloor> rows;
    const auto add = [&rows](std::string_view label, const std::optional<ClassFloor>& sum) {
      if (!sum) return;
      rows.push_back(*sum);
      rows.back().label = label;
    };
    for (std::size_t i = 0; i < kernels_.size(); ++i) add(cost::name(static_cast<cost::OperatorClass>(i)), kernels_[i]);
    for (std::size_t i = 0; i < transfers_.size(); ++i)
      add(program::label(static_cast<program::Axis>(i)), transfers_[i]);
    for (std::size_t i = 0; i < copies_.size(); ++i) add(k_moved_names[i], copies_[i]);
    return rows;
  }

 private:
  struct Piece {
    double bytes = 0.0;
    double floor_bytes = 0.0;
    double floor_s = 0.0;
  };

  static void count(std::optional<ClassFloor>& sum, const Piece& piece, double time_s, double times) {
    if (!sum) sum.emplace();
    sum->bytes += times * piece.bytes;
    sum->floor_bytes += times * piece.floor_bytes;
    sum->time_s += times * time_s;
    sum->floor_s += times * piece.floor_s;
  }

  Piece of(const ir::Shard& shard) {
    const cost::ShardFloor& floor = floors_.of(shard);
    return {.bytes = std::max(floor.bytes, pricer_.shards().price(shard).memory_bytes),
            .floor_bytes = floor.bytes,
            .floor_s = floor.seconds()};
  }
  Piece of(const program::Transfer& transfer) const {
    const CostPricer::Sent sent = pricer_.sent(transfer);
    const LinkBytes least = pricer_.least_bytes(transfer);
    return {.bytes = sent.scale_up + sent.scale_out,
            .floor_bytes = least.inside + least.either,
            .floor_s = pricer_.transfer_floor_s(transfer)};
  }

  CostPricer& pricer_;
  PriceTable& prices_;
  ShardFloors& floors_;
  std::array<std::optional<ClassFloor>, cost::k_operator_classes> kernels_{};
  std::array<std::optional<ClassFloor>, program::k_axes> transfers_{};
  std::array<std::optional<ClassFloor>, k_moved_names.size()> copies_{};
};

}  // namespace

const cost::ShardFloor& ShardFloors::of(const ir::Shard& shard) {
  auto& known = known_[shard.op];
  for (const auto& [other, floor] : known)
    if (other.box == shard.box && other.parts == shard.parts) return floor;
  return known.emplace_back(shard, pricer_.floor(shard, on_chip_bytes_)).second;
}

std::vector<ClassFloor> class_floors(const program::Program& program, CostPricer& pricer, PriceTable& prices,
                                     std::int32_t stage, ShardFloors& floors) {
  Sums sums(pricer, prices, floors);
  for (const auto& [block, times] : block_counts(program, stage)) sums.add(*block, static_cast<double>(times));
  return sums.result();
}

}  // namespace cairn::predict
