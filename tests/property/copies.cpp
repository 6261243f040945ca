// Where several stages hold copies of the same parameters: which ranks exchange gradients, and how near they are.
#include <algorithm>
#include <map>

#include "cairn/predict/evaluate/timeline.h"
#include "catch.h"
#include "support/random_plans.h"
#include "support/replicas.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

// The groups over which a stage sums dense gradients or parameters, each once.
std::vector<program::Group> data_groups(const program::Program& program, std::int32_t stage) {
  std::vector<program::Group> result;
  for (const program::Pass* pass : predict::passes_of(program, stage))
    for (const program::BlockRun& run : pass->runs)
      for (const program::Work& work : run.block->works)
        if (const auto* transfer = std::get_if<program::Transfer>(&work);
            transfer != nullptr && transfer->group.axis == program::Axis::data &&
            std::find(result.begin(), result.end(), transfer->group) == result.end())
          result.push_back(transfer->group);
  return result;
}

// Ranks that hold what the first rank of `stage` holds.
std::vector<std::int64_t> holders(const program::Program& program, std::int32_t stage) {
  const program::Group data = program.mesh.group(program::Axis::data);
  const program::Group pipeline = program.mesh.group(program::Axis::pipeline);
  std::vector<std::int64_t> ranks;
  for (const std::int32_t other : replica_group(program, stage))
    for (std::int64_t i = 0; i < data.size; ++i) ranks.push_back(other * pipeline.stride + i * data.stride);
  return ranks;
}

std::int64_t most_in_one(const std::vector<std::int64_t>& ranks, std::int64_t domain) {
  std::map<std::int64_t, std::int64_t> count;
  std::int64_t most = 0;
  for (const std::int64_t rank : ranks) most = std::max(most, ++count[rank / domain]);
  return most;
}

plan::Strategy two_copies(std::int64_t tensor, std::int64_t pipeline, std::int64_t data) {
  plan::Strategy s;
  s.tensor = tensor;
  s.pipeline = pipeline;
  s.data = data;
  s.micro_batches = 2 * pipeline;
  s.schedule = "chimera";
  s.stage_layers.assign(static_cast<std::size_t>(pipeline), 1);
  s.stage_layers.front() = s.stage_layers.back() = 0;
  return s;
}

}  // namespace

TEST_CASE("Copies of a stage on its mirror image: the ranks by hand") {
  const ir::Model model = small_transformer({.body_layers = 2});
  // tp 2, pp 4, dp 1 on eight ranks: stage s begins at rank 2 s, and stages 0 and 3 hold copies, 1 and 2 as well: ranks
  // 0 and 6, 2 and 4. A domain of eight holds both, one of four neither pair.
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected{{0, 2}, {8, 2}, {4, 1}, {2, 1}};
  for (const auto& [domain, together] : expected) {
    plan::Lowering lowering(model, 8, {}, domain);
    const program::Program& program = lowering.lower(two_copies(2, 4, 1));
    REQUIRE(holders(program, 0) == std::vector<std::int64_t>{0, 6});
    REQUIRE(holders(program, 1) == std::vector<std::int64_t>{2, 4});
    const std::vector<program::Group> groups = data_groups(program, 0);
    REQUIRE(groups.size() == 1);
    REQUIRE(groups.front().size == 2);
    REQUIRE(groups.front().members(domain == 0 ? 8 : domain) == together);
    REQUIRE(groups.front().extent() == 8);
  }
  // With dp 2 in between, stage s begins at rank 4 s: ranks 0, 2 and 12, 14; a domain of eight holds two stages.
  plan::Lowering lowering(model, 8, {}, 8);
  const program::Program& program = lowering.lower(two_copies(2, 4, 2));
  REQUIRE(holders(program, 0) == std::vector<std::int64_t>{0, 2, 12, 14});
  const program::Group group = data_groups(program, 0).front();
  REQUIRE(group.size == 4);
  REQUIRE(group.members(8) == 2);
  REQUIRE(group.members(16) == 4);
  REQUIRE(group.extent() == 16);
  // Shards over two ranks are pairs of one stage, replicas a pair on both; over all four there are no replicas.
  plan::Strategy s = two_copies(2, 4, 2);
  s.sharded = plan::Sharded::optimizer;
  s.shard = 2;
  const std::vector<program::Group> split = data_groups(lowering.lower(s), 0);
  REQUIRE(split.size() == 2);
  REQUIRE((split[0].size == 2 && split[0].members(4) == 2 && split[0].extent() == 4));
  REQUIRE((split[1].size == 2 && split[1].members(8) == 1 && split[1].extent() == 16));
}

TEST_CASE("Copies of a stage: as many ranks share a domain as hold it there, on every mesh that nests") {
  const ir::Model model = small_transformer({.body_layers = 14});
  int met = 0;
  for (const char* kind : {"chimera", "bitpipe", "dualpipe"})
    for (const bool data_inside : {true, false})
      for (const std::int64_t tensor : {1, 2})
        for (const std::int64_t data : {1, 2, 4})
          for (const std::int64_t pipeline : {2, 4, 8})
            for (std::int32_t copies = 2; copies <= (kind == std::string("chimera") ? 4 : 2); copies += 2) {
              plan::Strategy s = two_copies(tensor, pipeline, data);
              s.schedule = kind;
              if (!data_inside)
                s.order = {program::Axis::tensor, program::Axis::context, program::Axis::pipeline, program::Axis::data};
              if (copies > 2) s.schedule_options.pipelines = copies;
              s.micro_batches = 4 * pipeline;
              const std::int64_t ranks = tensor * data * pipeline;
              for (std::int64_t domain = 1; domain <= ranks; domain *= 2) {
                plan::Lowering lowering(model, 8, {}, domain);
                const program::Program* program = nullptr;
                try {
                  const auto passed = pipeline::generate(kind, plan::schedule_settings(s)).chain_length;
                  s.stage_layers.assign(static_cast<std::size_t>(passed), 14 / passed);
                  s.stage_layers.back() += 14 % passed;
                  program = &lowering.lower(s);
                } catch (const core::ConfigurationError&) {
                  continue;  // a number of stages or copies that the schedule does not know
                }
                INFO(kind << ", " << copies << " copies, tp " << tensor << ", pp " << pipeline << ", dp " << data
                          << (data_inside ? " inside" : " outside") << ", domain " << domain);
                const std::vector<program::Group> groups = data_groups(*program, 0);
                REQUIRE(groups.size() == 1);
                REQUIRE(groups.front().size == copies * data);
                std::int64_t fewest = groups.front().size;
                for (std::int32_t stage = 0; stage < pipeline; ++stage)
                  fewest = std::min(fewest, most_in_one(holders(*program, stage), domain));
                REQUIRE(groups.front().members(domain) == fewest);
                for (std::int64_t wider = domain; wider <= ranks; wider *= 2)
                  REQUIRE((groups.front().extent() <= wider) ==
                          (most_in_one(holders(*program, 0), wider) == groups.front().size));
                ++met;
              }
            }
  REQUIRE(met > 100);
}

TEST_CASE("Copies of a stage: a plan lowered after one of equally many ranks in one row is as if lowered alone") {
  const ir::Model model = small_transformer({.body_layers = 2});
  for (const plan::Sharded sharded :
       {plan::Sharded::nothing, plan::Sharded::optimizer, plan::Sharded::gradients, plan::Sharded::parameters})
    for (const bool overlap : {false, true}) {
      plan::Strategy copies = two_copies(2, 4, 4);
      plan::Strategy row = two_copies(2, 4, 8);
      row.schedule = "1f1b";
      for (plan::Strategy* s : {&copies, &row}) {
        s->sharded = sharded;
        s->overlap_gradient_reduce = overlap;
      }
      for (const auto& [before, after] : {std::pair(row, copies), std::pair(copies, row)})
        for (std::int32_t stage = 0; stage < 4; ++stage) {
          plan::Lowering used(model, 8, {}, 8), fresh(model, 8, {}, 8);
          (void)used.lower(before);
          INFO(static_cast<int>(sharded) << (overlap ? ", overlapped" : "") << ", stage " << stage);
          REQUIRE(data_groups(used.lower(after), stage) == data_groups(fresh.lower(after), stage));
        }
    }
}

TEST_CASE("A job that fills one domain sends nothing out of it, under every schedule") {
  for (const pipeline::Generator& kind : pipeline::generators()) {
    int met = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      core::Random random(seed);
      const ir::Model model = random_model(random);
      std::optional<plan::Strategy> strategy = random_strategy(random, model, kind);
      if (!strategy) continue;
      const std::int64_t ranks = strategy->tensor * strategy->context * strategy->pipeline * strategy->data;
      plan::Lowering lowering = random_lowering(random, model, ranks);
      const program::Program* program = nullptr;
      try {
        program = &lowering.lower(*strategy);
      } catch (const core::ConfigurationError&) {
        continue;  // parameters on two stages under updates within a step
      }
      INFO(kind.kind << ", seed " << seed);
      for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(program->stages()); ++stage)
        for (const program::Pass* pass : predict::passes_of(*program, stage))
          for (const program::BlockRun& run : pass->runs)
            for (const program::Work& work : run.block->works)
              if (const auto* transfer = std::get_if<program::Transfer>(&work))
                REQUIRE(transfer->group.members(ranks) == transfer->group.size);
      ++met;
    }
    INFO(kind.kind);
    REQUIRE(met > 5);
  }
}
