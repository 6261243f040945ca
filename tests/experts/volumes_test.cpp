// What experts send, against the closed forms. t tokens of a rank, k experts per token, width h, e bytes, P ranks of
// ep:
//   all-to-all, one way          t k h e (P-1)/P          two forward, two backward
//   padded to a capacity         times the capacity factor
//   results that stay (exflow)   one of the two, and an all-gather of t h e per rank once per pass
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "cairn/collective/folds.h"
#include "catch.h"
#include "experts/mixtures.h"
#include "support/passes.h"
#include "support/transfers.h"

using namespace cairn;
using namespace cairn::testing;
using models::Dispatcher;
using program::Axis;
using program::Collective;

namespace {

constexpr double k_t = 128, k_k = 2, k_h = 64, k_e = 2;
double one_way(double p) { return k_t * k_k * k_h * k_e * (p - 1) / p; }

struct Lowered {
  explicit Lowered(const models::TransformerConfig& config, plan::Strategy s, std::int64_t domain = 0,
                   models::BuildOptions build = {})
      : model(models::build_transformer(config, build)),
        lowering(model, k_mixture_sequence, {}, domain),
        strategy(std::move(s)) {}
  const program::Block& forward(std::size_t layer = 1) { return lowering.forward_block(strategy, layer); }
  const program::Block& backward(std::size_t layer = 1) { return lowering.backward_block(strategy, layer); }
  ir::Model model;
  plan::Lowering lowering;
  plan::Strategy strategy;
};

// Distinct places of `copies` experts, on average over all choices of so many of `experts`. Expert e lies at place
// e mod `places`.
double mean_places(std::int64_t experts, std::int64_t places, std::int64_t copies) {
  std::int64_t choices = 0;
  std::int64_t met = 0;
  for (std::uint32_t chosen = 0; chosen < (1U << experts); ++chosen) {
    if (std::popcount(chosen) != copies) continue;
    std::uint32_t at = 0;
    for (std::int64_t e = 0; e < experts; ++e)
      if ((chosen >> e & 1U) != 0) at |= 1U << (e % places);
    ++choices;
    met += std::popcount(at);
  }
  return static_cast<double>(met) / static_cast<double>(choices);
}

plan::Strategy merged_mixture(std::int64_t ranks, std::int64_t experts, std::int64_t copies) {
  plan::Strategy s = mixture_strategy(ranks);
  s.experts = experts;
  s.expert_copies = copies;
  s.merged_copies = true;
  return s;
}

}  // namespace

TEST_CASE("Dispatch and combine send the closed form, forward and backward") {
  for (const std::int64_t ep : {2, 4, 8, 16}) {
    Lowered lowered(small_mixture(), mixture_strategy(ep));
    const double p = static_cast<double>(ep);
    for (const program::Block* block : {&lowered.forward(), &lowered.backward()}) {
      const Sent sent = transfers(*block, Axis::expert);
      REQUIRE(sent.size() == 2);
      for (const auto& [collective, bytes] : sent) {
        REQUIRE(collective == Collective::all_to_all);
        REQUIRE(collective::bytes_sent(collective, ep, bytes) == one_way(p));
      }
      REQUIRE(volume(*block, Axis::expert) == 2 * one_way(p));
    }
  }
  Lowered alone(small_mixture(), mixture_strategy(1));
  REQUIRE(volume(alone.forward(), Axis::expert) == 0.0);
}

TEST_CASE("Capacity pads, imbalance loads the fullest rank, both round up to whole rows") {
  models::TransformerConfig config = small_mixture();
  config.moe->capacity_factor = 1.25;  // 16 rows of an even spread become 20
  REQUIRE(volume(Lowered(config, mixture_strategy(4)).forward(), Axis::expert) == 2 * 1.25 * one_way(4));
  config.moe->capacity_factor = 1.01;  // 16.16: 17 rows
  REQUIRE(volume(Lowered(config, mixture_strategy(4)).forward(), Axis::expert) == 2 * 17.0 / 16.0 * one_way(4));
  config = small_mixture();
  config.moe->imbalance = 1.5;
  const ir::Model model = models::build_transformer(config, {});
  REQUIRE(volume(Lowered(config, mixture_strategy(4)).forward(), Axis::expert) == 2 * 1.5 * one_way(4));
  // The model's work is that of routed tokens, however they fall.
  const loopnest::Sizes sizes{.batch = 1, .sequence = k_mixture_sequence};
  REQUIRE(model.forward_flops(sizes, false) ==
          models::build_transformer(small_mixture(), {}).forward_flops(sizes, false));
}

TEST_CASE("Experts split over etp: tokens are gathered and their results scattered, after and before the all-to-all") {
  // Over etp the rows of both peers: 2 x t k h e whole, forward all-gather and reduce-scatter, backward the same.
  const double whole = 2 * k_t * k_k * k_h * k_e;
  for (const bool sorts : {false, true}) {
    models::BuildOptions build;
    build.several_experts = build.kernels.sorts_rows = sorts;
    Lowered lowered(small_mixture(), mixture_strategy(4, 2), 0, build);
    for (const program::Block* block : {&lowered.forward(), &lowered.backward()}) {
      REQUIRE(transfers(*block, Axis::expert_tensor) ==
              Sent{{Collective::all_gather, whole}, {Collective::reduce_scatter, whole}});
      REQUIRE(volume(*block, Axis::expert) == 2 * one_way(4));
    }
  }
}

TEST_CASE("Two-level exchange: across domains, then inside one") {
  // 16 ranks, 4 in a domain: each row travels (n-1)/n across and (m-1)/m inside, n = m = 4, both ways.
  plan::Strategy s = mixture_strategy(16);
  s.bilevel_experts = true;
  models::BuildOptions build;
  build.expert_domains = 4;
  Lowered lowered(small_mixture(Dispatcher::smile), s, 4, build);
  const double rows = k_t * k_k * k_h * k_e;
  for (const program::Block* block : {&lowered.forward(), &lowered.backward()}) {
    std::vector<std::pair<std::int64_t, double>> sent;  // stride, bytes
    for (const program::Work& work : block->works)
      if (const auto* transfer = std::get_if<program::Transfer>(&work);
          transfer && transfer->group.axis == Axis::expert) {
        REQUIRE(transfer->collective == Collective::all_to_all);
        REQUIRE(transfer->group.size == 4);
        sent.emplace_back(transfer->group.stride,
                          collective::bytes_sent(transfer->collective, transfer->group.size, transfer->bytes));
      }
    REQUIRE(sent.size() == 4);
    for (const auto& [stride, bytes] : sent) {
      REQUIRE((stride == 1 || stride == 4));
      REQUIRE(bytes == 0.75 * rows);
    }
    REQUIRE(sent[0].first != sent[1].first);
  }
  // The router has 4 + 16/4 outputs in place of 16.
  REQUIRE(lowered.lowering.layer_state(s, 1).elements[program::ParameterGroup::dense] ==
          Lowered(small_mixture(), s).lowering.layer_state(s, 1).elements[program::ParameterGroup::dense] - 8 * k_h);
}

TEST_CASE("Results that stay with their experts: half the volume, and one all-gather of the context") {
  Lowered stays(small_mixture(Dispatcher::exflow), mixture_strategy(8));
  Lowered returns(small_mixture(), mixture_strategy(8));
  REQUIRE(volume(stays.forward(), Axis::expert) == 0.5 * volume(returns.forward(), Axis::expert));
  REQUIRE(volume(stays.backward(), Axis::expert) == 0.5 * volume(returns.backward(), Axis::expert));
  REQUIRE(transfers(stays.forward(0), Axis::expert) == Sent{{Collective::all_gather, 8 * k_t * k_h * k_e}});
}

TEST_CASE("Gathering all tokens: their number is that of ranks, not of choices") {
  Lowered lowered(small_mixture(Dispatcher::allgather), mixture_strategy(8));
  // Tokens and fp32 weights out, sums back.
  const double tokens = 8 * k_t * k_h * k_e;
  const double weights = 8 * k_t * k_k * 4;
  REQUIRE(transfers(lowered.forward(), Axis::expert) == Sent{{Collective::all_gather, tokens},
                                                             {Collective::all_gather, weights},
                                                             {Collective::reduce_scatter, tokens}});
}

TEST_CASE("Expected ranks and domains of a token are those of all choices of its experts, one by one") {
  for (std::int64_t experts = 2; experts <= 8; ++experts)
    for (std::int64_t copies = 1; copies <= experts; ++copies)
      for (std::int64_t ranks = 2; ranks <= experts; ++ranks)
        for (std::int64_t inside = 1; inside <= ranks; ++inside) {
          if (ranks % inside != 0) continue;
          INFO(copies << " of " << experts << " experts over " << ranks << " ranks, " << inside << " in a domain");
          const std::int64_t domains = ranks / inside;
          plan::Strategy s = merged_mixture(ranks, experts, copies);
          const auto k = static_cast<double>(copies);
          const double by_rank = mean_places(experts, ranks, copies);
          const double by_domain = mean_places(experts, domains, copies);
          CHECK(plan::share_sent(s, inside) == Approx(by_rank / k));
          CHECK(plan::share_across(s, inside) == Approx(std::min(1.0, by_domain / by_rank)));
          s.merged_copies = false;
          for (std::int64_t limit = 1; limit <= domains; ++limit) {
            s.expert_domain_limit = limit;
            CHECK(plan::share_across(s, inside) == Approx(std::min(by_domain, static_cast<double>(limit)) / k));
          }
        }
}

TEST_CASE("Merged copies within a limit of domains: the ranks are those of choices among these domains' experts") {
  // Ranks, and ranks of a domain. Of 8 experts `limit` domains hold their share.
  for (const auto& [ranks, inside] : {std::pair<std::int64_t, std::int64_t>{8, 2}, {4, 1}, {4, 2}})
    for (std::int64_t limit = 1; limit <= ranks / inside; ++limit)
      for (std::int64_t copies = 1; copies <= 8 * limit * inside / ranks; ++copies) {
        plan::Strategy s = merged_mixture(ranks, 8, copies);
        s.expert_domain_limit = limit;
        const double by_rank = mean_places(8 * limit * inside / ranks, limit * inside, copies);
        CHECK(plan::share_sent(s, inside) == Approx(by_rank / static_cast<double>(copies)));
        const double crossings = std::min(mean_places(8, ranks / inside, copies), static_cast<double>(limit));
        CHECK(plan::share_across(s, inside) == Approx(std::min(1.0, crossings / by_rank)));
      }
}

TEST_CASE("With one expert a rank no two copies of a token meet: all rows are sent") {
  for (const std::int64_t experts : {2, 3, 8, 49, 256})
    for (std::int64_t copies = 1; copies <= std::min<std::int64_t>(experts, 8); ++copies) {
      REQUIRE(plan::share_sent(merged_mixture(experts, experts, copies), 0) == 1.0);
      REQUIRE(plan::share_sent(merged_mixture(experts, 0, copies), 0) == 1.0);  // a number that nobody set
    }
}

TEST_CASE("Merged copies: a token goes once to each rank that holds some of its experts, and once to each domain") {
  // 2 of 16 experts: of 120 pairs 91 leave out a rank of two, 28 a domain of 8. Ranks: 8 (1 - 91/120) = 29/15; domains:
  // 2 (1 - 28/120) = 23/15.
  plan::Strategy s = merged_mixture(8, 16, 2);
  REQUIRE(plan::share_sent(s, 4) == Approx(29.0 / 30.0));
  REQUIRE(plan::share_across(s, 4) == Approx(23.0 / 29.0));
  // In one domain of 8 experts: of 28 pairs 15 leave out a rank, 4 (1 - 15/28) = 13/7 ranks, one crossing.
  plan::Strategy near = s;
  near.expert_domain_limit = 1;
  REQUIRE(plan::share_sent(near, 4) == Approx(13.0 / 14.0));
  REQUIRE(plan::share_across(near, 4) == Approx(7.0 / 13.0));
  // One copy of a token has nothing to be merged with.
  const plan::Strategy single = merged_mixture(8, 16, 1);
  REQUIRE(plan::share_sent(single, 4) == Approx(1.0));
  REQUIRE(plan::share_across(single, 4) == Approx(1.0));

  Lowered lowered(small_mixture(Dispatcher::merged), s, 4);
  for (const program::Block* block : {&lowered.forward(), &lowered.backward()}) {
    REQUIRE(volume(*block, Axis::expert) == Approx(2 * 29.0 / 30.0 * one_way(8)));
    for (const program::Work& work : block->works)
      if (const auto* transfer = std::get_if<program::Transfer>(&work);
          transfer && transfer->group.axis == Axis::expert)
        REQUIRE(transfer->across == Approx(23.0 / 29.0));
  }
}

TEST_CASE("A token's copies cross to a domain once, to so many domains at most") {
  plan::Strategy s = mixture_strategy(16);
  s.expert_copies = 2;
  REQUIRE(plan::share_across(s, 4) == 1.0);
  s.expert_domain_limit = 4;  // of 120 pairs 66 leave out a domain of 4 experts: 4 (1 - 66/120) = 1.8 domains
  REQUIRE(plan::share_across(s, 4) == Approx(1.8 / 2));
  s.expert_domain_limit = 1;
  REQUIRE(plan::share_across(s, 4) == 0.5);
  Lowered lowered(small_mixture(), s, 4);
  for (const program::Work& work : lowered.forward().works)
    if (const auto* transfer = std::get_if<program::Transfer>(&work); transfer && transfer->group.axis == Axis::expert)
      REQUIRE(transfer->across == 0.5);
}

TEST_CASE("Experts have copies, gradients and optimizer shards over what ep leaves of the data-parallel ranks") {
  models::TransformerConfig config = small_mixture();
  plan::Strategy s = mixture_strategy(4);
  s.data = 8;
  s.sharded = plan::Sharded::optimizer;
  Lowered lowered(config, s);
  const program::Program& program = lowered.lowering.lower(s);
  REQUIRE(program.expert_mesh.size(Axis::expert_data) == 2);
  const plan::LayerState& state = lowered.lowering.layer_state(s, 1);
  const double experts = 3 * 64 * 32 * 16 / 4;
  REQUIRE(state.elements[program::ParameterGroup::expert] == experts);
  REQUIRE(transfers(*finalize_pass(program, 0).runs[0].block, Axis::expert_data) ==
          Sent{{Collective::reduce_scatter, 2 * experts * 4}});
  REQUIRE(transfers(*update_pass(program, 0).runs[0].block, Axis::expert_data) ==
          Sent{{Collective::all_gather, 2 * experts * 2}});
  // fp32 master and two moments: dense over 8, experts over 2.
  const double dense = static_cast<double>(lowered.model.parameters()) - 2 * 4 * experts;
  REQUIRE(program.stage(0).resident[static_cast<std::size_t>(program::Category::optimizer)] ==
          12 * (std::ceil(dense / 8) + experts));
}

TEST_CASE("What travels beside computation: shared experts, attention, the other half of the micro-batch") {
  models::TransformerConfig config = small_mixture();
  config.moe->shared_experts = 1;
  // How many kernels lie between the first expert transfer and the step that waits for it.
  const auto between = [](const program::Block& block) {
    std::int32_t sent = -1;
    std::int32_t charges = 0;  // what transfers take from kernels
    for (std::size_t i = 0; i < block.steps.size(); ++i) {
      const program::Step& step = block.steps[i];
      if (step.kind == program::StepKind::beside) ++charges;
      if (sent < 0 && step.kind == program::StepKind::transfer && step.axis == Axis::expert)
        sent = static_cast<std::int32_t>(i);
      for (std::uint32_t d = step.first_dependency; d < step.first_dependency + step.dependencies; ++d)
        if (sent >= 0 && block.dependencies[d] == sent) return static_cast<std::int32_t>(i) - sent - 1 - charges;
    }
    return -1;
  };
  plan::Strategy s = mixture_strategy(4);
  REQUIRE(between(Lowered(config, s).forward()) == 0);
  s.overlap_experts = true;
  models::BuildOptions first;
  first.shared_experts_first = true;
  // fc1, activation, fc2 of the shared expert.
  REQUIRE(between(Lowered(config, s, 0, first).forward()) == 3);
  // Norm, qkv, rotation, attention, projection, residual and the second norm.
  config.moe->shortcut = true;
  REQUIRE(between(Lowered(config, s).forward()) == 7);
  // The other half's norm to permutation: 11 steps, and its own exchange.
  config = small_mixture();
  models::BuildOptions halves;
  halves.parts = 2;
  s.micro_batch = 2;
  Lowered two(config, s, 0, halves);
  REQUIRE(between(two.forward()) >= 11);
  REQUIRE(volume(two.forward(), Axis::expert) == 2 * 2 * one_way(4));
  REQUIRE(two.model.parameters() == models::build_transformer(config, {}).parameters());
}
