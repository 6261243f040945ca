// Where the ranks lie that hold copies of a stage under bidirectional pipelines, counted rank by rank.
#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "cairn/plan/lowering.h"
#include "catch.h"
#include "support/spine_models.h"
#include "support/transfers.h"

using namespace cairn;
using program::Axis;

namespace {

constexpr std::int64_t k_copied_layers = 8;

ir::Model copied_model() {
  return testing::small_transformer(
      {.body_layers = k_copied_layers, .hidden = 24, .heads = 6, .ffn = 48, .tied = false});
}

plan::Strategy copied_strategy(std::int32_t pipelines, std::int64_t stages, std::int64_t data, std::int64_t tensor) {
  plan::Strategy s;
  s.schedule = "chimera";
  s.schedule_options.pipelines = pipelines;
  s.pipeline = s.micro_batches = stages;
  s.data = data;
  s.tensor = tensor;
  for (std::int64_t left = stages, layers = k_copied_layers; left > 0; --left) {
    s.stage_layers.push_back(layers / left);
    layers -= layers / left;
  }
  return s;
}

// Of the reduction of gradients, over all ranks that hold copies.
program::Group copies_in(const program::Program& program) {
  for (const program::Stage& stage : program.kinds)
    for (const program::Pass* pass : stage.passes)
      for (const program::BlockRun& run : pass->runs)
        for (const program::Work& work : run.block->works)
          if (const auto* transfer = std::get_if<program::Transfer>(&work);
              transfer != nullptr && transfer->group.axis == Axis::data)
            return transfer->group;
  FAIL("gradients are not reduced");
  return {};
}

// The ranks of the mesh by what they hold: the layers of their stage, the shard of their tensor coordinate.
std::vector<std::vector<std::int64_t>> copies_by_rank(const program::Program& program) {
  std::map<std::pair<std::vector<std::int32_t>, std::int64_t>, std::vector<std::int64_t>> holders;
  const pipeline::Schedule& schedule = *program.schedule;
  for (std::int64_t rank = 0; rank < program.mesh.ranks(); ++rank) {
    const auto device = static_cast<std::int32_t>(program.mesh.coordinate(rank, Axis::pipeline));
    std::vector<std::int32_t> layers;
    for (std::int32_t chunk = 0; chunk < schedule.chunks; ++chunk)
      layers.push_back(schedule.virtual_stage(device, chunk) % schedule.chain_length);
    std::sort(layers.begin(), layers.end());
    holders[{layers, program.mesh.coordinate(rank, Axis::tensor)}].push_back(rank);
  }
  std::vector<std::vector<std::int64_t>> groups;
  for (auto& [held, ranks] : holders) groups.push_back(std::move(ranks));
  return groups;
}

// Over units of consecutive ranks, the job's own ranks beginning wherever a job of as many may begin.
std::int64_t fewest_in_units(const std::vector<std::vector<std::int64_t>>& groups, std::int64_t ranks,
                             std::int64_t unit) {
  auto fewest = static_cast<std::int64_t>(groups.front().size());
  const bool fills = ranks % unit == 0 || unit % ranks == 0;
  for (std::int64_t job = 0; job < (fills ? 1 : unit / std::gcd(ranks, unit)); ++job)
    for (const std::vector<std::int64_t>& group : groups) {
      std::map<std::int64_t, std::int64_t> held;
      for (const std::int64_t rank : group) ++held[(job * ranks + rank) / unit];
      for (const auto& [where, count] : held) fewest = std::min(fewest, count);
    }
  return fewest;
}

const std::vector<program::AxisOrder> k_copied_orders{{Axis::tensor, Axis::context, Axis::data, Axis::pipeline},
                                                      {Axis::tensor, Axis::pipeline, Axis::context, Axis::data},
                                                      {Axis::context, Axis::data, Axis::pipeline, Axis::tensor}};

}  // namespace

// Two stages of twelve ranks, side by side: 24 neighbours, three nodes of eight.
TEST_CASE("copies of a stage on all stages are one row of neighbours") {
  const ir::Model model = copied_model();
  plan::Lowering lowering(model, 8, {}, 8);
  const program::Group copies = copies_in(lowering.lower(copied_strategy(2, 2, 12, 1)));
  CHECK(copies == program::Group{.axis = Axis::data, .size = 24, .stride = 1});
  CHECK(copies.fewest_members(8) == 8);
}

// Jobs of two stages of three ranks each, that split tensors: 0 and 3 hold the same, and of the next job 6 and 9, which
// two units of eight part, although the units hold whole domains of four.
TEST_CASE("units of ranks hold as many copies of a stage as are counted, or more") {
  const ir::Model model = copied_model();
  for (const std::int64_t domain : {2, 4, 6, 8}) {
    plan::Lowering lowering(model, 8, {}, domain);
    for (const auto& [pipelines, stages] :
         std::vector<std::pair<std::int32_t, std::int64_t>>{{2, 2}, {2, 4}, {2, 6}, {2, 8}, {4, 4}, {4, 8}})
      for (const std::int64_t data : {1, 2, 3, 4, 12})
        for (const std::int64_t tensor : {1, 2, 3})
          for (const program::AxisOrder& order : k_copied_orders) {
            plan::Strategy strategy = copied_strategy(pipelines, stages, data, tensor);
            strategy.order = order;
            const program::Program& program = lowering.lower(strategy);
            const program::Group copies = copies_in(program);
            const auto groups = copies_by_rank(program);
            const std::int64_t ranks = program.mesh.ranks();
            REQUIRE(copies.size == static_cast<std::int64_t>(groups.front().size()));
            // Where the pipeline and the rows of copies fill domains, or domains hold whole ones.
            const auto tiles = [&](std::int64_t stretch) { return stretch % domain == 0 || domain % stretch == 0; };
            const program::Group& row = program.mesh.group(Axis::data);
            const program::Group& line = program.mesh.group(Axis::pipeline);
            const bool even = tiles(row.stride) && tiles(row.stride * row.size) && tiles(line.stride) &&
                              tiles(line.stride * line.size / pipelines) && tiles(line.stride * line.size) &&
                              tiles(ranks);
            for (std::int64_t unit = domain; unit <= 4 * domain; unit += domain) {
              const std::int64_t fewest = fewest_in_units(groups, ranks, unit);
              INFO(pipelines << " pipelines of " << stages << " stages, dp " << data << ", tp " << tensor
                             << ", domains of " << domain << ", units of " << unit << ", stride of a stage "
                             << line.stride);
              REQUIRE(copies.fewest_members(unit) <= fewest);
              if (unit == domain && even) REQUIRE(copies.fewest_members(unit) == fewest);
            }
          }
  }
}
