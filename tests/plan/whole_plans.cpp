// Programs of whole strategies: stages, parameters, what the data axis moves, and the errors.
#include <cmath>

#include "cairn/collective/folds.h"
#include "cairn/core/diagnostics.h"
#include "cairn/plan/lowering.h"
#include "catch.h"
#include "support/passes.h"
#include "support/replicas.h"
#include "support/spine_models.h"
#include "support/transfers.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;
using program::Axis;
using program::Category;
using program::Collective;

namespace {

double resident(const program::Stage& stage, Category category) {
  return stage.resident[static_cast<std::size_t>(category)];
}

plan::Strategy single(std::int64_t layers) {
  plan::Strategy s;
  s.stage_layers = {layers};
  return s;
}
Sent of_pass(const program::Pass& pass, Axis axis) {
  Sent result;
  for (const program::BlockRun& run : pass.runs)
    for (std::int64_t repeat = 0; repeat < run.count; ++repeat)
      for (const auto& sent : transfers(*run.block, axis)) result.push_back(sent);
  return result;
}
// What a stage moves over the data axis in one step: forward and backward once with their collectives, then the end.
double data_bytes(const program::Program& program, std::int32_t stage, Collective collective) {
  double total = whole_bytes(finalize_pass(program, stage), Axis::data, collective) +
                 whole_bytes(update_pass(program, stage), Axis::data, collective);
  for (std::int32_t chunk = 0; chunk < program.layout().chunks(); ++chunk)
    for (const program::PassKind kind : {program::PassKind::forward, program::PassKind::backward})
      total +=
          whole_bytes(program.pass(stage, {.kind = kind, .chunk = chunk, .special = true}), Axis::data, collective);
  return total;
}

void require_error(const plan::Strategy& strategy, const ir::Model& model, const std::string& place,
                   const std::string& said) {
  plan::Lowering lowering(model, 8, {});
  try {
    (void)lowering.lower(strategy);
  } catch (const core::ConfigurationError& error) {
    REQUIRE(error.diagnostics().size() == 1);
    INFO(error.what());
    REQUIRE(error.diagnostics()[0].key_path == place);
    REQUIRE(error.diagnostics()[0].message.find(said) != std::string::npos);
    REQUIRE_FALSE(error.diagnostics()[0].hint.empty());
    return;
  }
  FAIL("accepted: " << said);
}

}  // namespace

TEST_CASE(
    "Bytes per parameter: 2 + 4 + 12 / dp with a sharded optimizer, 18 without; 2 + 2 + 12 / dp with narrow "
    "gradients") {
  for (const std::int64_t layers : {1, 2, 5, 9})
    for (const std::int64_t dp : {1, 2, 3, 4, 8, 64})
      for (const bool narrow : {false, true}) {
        const ir::Model model = small_transformer({.body_layers = layers});
        const auto n = static_cast<double>(model.parameters());
        plan::ParameterTreatment treatment;
        if (narrow) treatment.gradients = numerics::Format::bf16;
        plan::Lowering lowering(model, 8, treatment);
        plan::Strategy s = single(layers);
        s.data = dp;
        s.sharded = plan::Sharded::optimizer;
        const program::Stage& stage = lowering.lower(s).stage(0);
        REQUIRE(resident(stage, Category::parameters) == 2 * n);
        REQUIRE(resident(stage, Category::gradients) == (narrow ? 2 : 4) * n);
        const double optimizer_closed_form = 12 * std::ceil(n / static_cast<double>(dp));
        REQUIRE(resident(stage, Category::optimizer) == optimizer_closed_form);
        s.sharded = plan::Sharded::nothing;
        REQUIRE(resident(lowering.lower(s).stage(0), Category::optimizer) == 12 * n);
      }
}

TEST_CASE("What a framework holds without use: results of earlier micro-batches, gradients beside their sums") {
  // Logits of 3 sequences of 8 tokens over 64 words, bf16: 3072 bytes, half of them where two ranks split the words. On
  // the last stage alone, and never more than there are micro-batches.
  const ir::Model model = small_transformer({.tied = false});
  plan::Lowering lowering(model, 8, {});
  plan::Strategy s = single(4);
  s.pipeline = 2;
  s.stage_layers = {2, 2};
  s.micro_batch = 3;
  s.micro_batches = 5;
  REQUIRE(resident(lowering.lower(s).stage(1), Category::activations) == 0);
  plan::Lowering holding(model, 8, {}, 0, {.held_results = 2});
  REQUIRE(resident(holding.lower(s).stage(0), Category::activations) == 0);
  REQUIRE(resident(holding.lower(s).stage(1), Category::activations) == 2 * 3072);
  s.micro_batches = 1;
  REQUIRE(resident(holding.lower(s).stage(1), Category::activations) == 3072);
  s.tensor = 2;
  s.vocab_parallel = true;
  REQUIRE(resident(holding.lower(s).stage(1), Category::activations) == 3072 / 2);

  const auto n = static_cast<double>(model.parameters());
  plan::ParameterTreatment treatment;
  treatment.separate_gradients = true;
  plan::Lowering apart(model, 8, treatment);
  REQUIRE(resident(apart.lower(single(4)).stage(0), Category::gradients) == (4 + 2) * n);
}

TEST_CASE("A sharded optimizer moves what an all-reduce moves, and updates a share of the elements") {
  const ir::Model model = small_transformer();
  // The same formats on both wires, so that bytes can be compared.
  plan::ParameterTreatment treatment;
  treatment.gather = treatment.reduce = numerics::Format::fp32;
  plan::Lowering lowering(model, 8, treatment);
  const auto n = static_cast<double>(model.parameters());
  for (const bool overlapped : {false, true})
    for (const std::int64_t dp : {2, 4, 8}) {
      plan::Strategy s = single(4);
      s.data = dp;
      s.overlap_gradient_reduce = s.overlap_parameter_gather = overlapped;
      const auto sent = [&](Collective collective) {
        return collective::bytes_sent(collective, dp, data_bytes(lowering.lower(s), 0, collective));
      };
      const double whole = sent(Collective::all_reduce);
      REQUIRE(whole == 2.0 * static_cast<double>(dp - 1) / static_cast<double>(dp) * 4 * n);
      s.sharded = plan::Sharded::optimizer;
      REQUIRE(sent(Collective::all_reduce) == 0.0);
      REQUIRE(sent(Collective::reduce_scatter) + sent(Collective::all_gather) == whole);
      // The update runs over 1/dp of the elements.
      const program::Block& update = *update_pass(lowering.lower(s), 0).runs[0].block;
      int updates = 0;
      for (const program::Work& work : update.works)
        if (const auto* shard = std::get_if<ir::Shard>(&work)) {
          REQUIRE(static_cast<double>(shard->box[0].extent()) == std::ceil(n / static_cast<double>(dp)));
          ++updates;
        }
      REQUIRE(updates == 3);  // norm, update, write
    }
}

TEST_CASE("Buckets: sizes, order, and what a layer holds back or carries") {
  // Per layer two weights of 8 x 16, 512 bytes each in fp32; the upper one, w2, is ready first. Three layers.
  const ir::Model model = two_products({.layers = 3});
  const auto messages = [&](double bucket) {
    plan::Lowering lowering(model, 8, {});
    plan::Strategy s = single(3);
    s.data = 2;
    s.overlap_gradient_reduce = true;
    s.bucket_bytes = bucket;
    const program::Program& program = lowering.lower(s);
    REQUIRE(of_pass(finalize_pass(program, 0), Axis::data).empty());
    REQUIRE(of_pass(testing::backward_pass(program, 0), Axis::data).empty());  // earlier micro-batches only accumulate
    std::vector<double> sizes;
    for (const auto& [collective, bytes] : of_pass(testing::backward_pass(program, 0, true), Axis::data)) {
      REQUIRE(collective == Collective::all_reduce);
      sizes.push_back(bytes);
    }
    return sizes;
  };
  REQUIRE(messages(0) == std::vector<double>(6, 512));
  REQUIRE(messages(512) == std::vector<double>(6, 512));
  REQUIRE(messages(513) == std::vector<double>(3, 1024));
  REQUIRE(messages(1024) == std::vector<double>(3, 1024));
  REQUIRE(messages(2048) == std::vector<double>{2048, 1024});
  REQUIRE(messages(1e9) == std::vector<double>{3072});
}

TEST_CASE("Whatever the bucket, everything is reduced once") {
  for (const bool tied : {false, true})
    for (const std::int64_t t : {1, 2})
      for (const bool vocab_parallel : {false, true})
        for (const double bucket : {0.0, 1.0, 100.0, 1000.0, 4096.0, 5000.0, 20000.0, 1e9})
          for (const bool interleaved : {false, true}) {
            const ir::Model model = small_transformer({.body_layers = 8, .tied = tied});
            plan::Lowering lowering(model, 8, {});
            plan::Strategy s;
            s.pipeline = 2;
            s.chunks = interleaved ? 2 : 1;
            s.schedule = interleaved ? "interleaved-1f1b" : "1f1b";
            s.micro_batches = 2;
            s.stage_layers.assign(static_cast<std::size_t>(2 * s.chunks), 4 / s.chunks);
            s.tensor = t;
            s.vocab_parallel = vocab_parallel;
            s.data = 4;
            s.overlap_gradient_reduce = true;
            s.bucket_bytes = bucket;
            const program::Program& program = lowering.lower(s);
            double elements = 0.0;
            for (std::size_t index = 0; index < program.stages(); ++index) {
              const double here = resident(program.stage(index), Category::parameters) / 2;
              REQUIRE(data_bytes(program, static_cast<std::int32_t>(index), Collective::all_reduce) == 4 * here);
              elements += here;
            }
            if (t == 1) REQUIRE(elements == static_cast<double>(model.parameters()) + (tied ? 64 * 16 : 0));
          }
}

TEST_CASE("Tied embeddings: one table on one stage, exchanged between two") {
  const ir::Model model = small_transformer();
  plan::Lowering lowering(model, 8, {});
  const auto n = static_cast<double>(model.parameters());
  const program::Program& one = lowering.lower(single(4));
  REQUIRE(replica_group(one, 0) == std::vector<std::int32_t>{0});
  REQUIRE(resident(one.stage(0), Category::parameters) == 2 * n);
  REQUIRE(of_pass(finalize_pass(one, 0), Axis::pipeline).empty());
  plan::Strategy s;
  s.pipeline = 4;
  s.stage_layers = {1, 1, 1, 1};
  s.micro_batches = 4;
  const program::Program& four = lowering.lower(s);
  for (const std::int32_t end : {0, 3}) REQUIRE(replica_group(four, end) == std::vector<std::int32_t>{0, 3});
  for (const std::int32_t inner : {1, 2}) REQUIRE(replica_group(four, inner) == std::vector<std::int32_t>{inner});
  double total = 0.0;
  for (std::int32_t stage = 0; stage < 4; ++stage) {
    total += resident(four.stage(static_cast<std::size_t>(stage)), Category::parameters) / 2;
    const bool end = stage == 0 || stage == 3;
    // 64 x 16 gradients in fp32.
    REQUIRE(of_pass(finalize_pass(four, stage), Axis::pipeline) ==
            (end ? Sent{{Collective::all_reduce, 4096}} : Sent{}));
  }
  REQUIRE(total == n + 64 * 16);  // the table twice
  // Split over the vocabulary, each tensor rank exchanges its rows.
  s.tensor = 2;
  s.vocab_parallel = true;
  REQUIRE(of_pass(finalize_pass(lowering.lower(s), 0), Axis::pipeline) == Sent{{Collective::all_reduce, 2048}});
  // Not tied: nothing.
  const ir::Model apart = small_transformer({.tied = false});
  plan::Lowering other(apart, 8, {});
  REQUIRE(replica_group(other.lower(s), 0) == std::vector<std::int32_t>{0});
}

TEST_CASE("Weights shared by every layer are counted, reduced and gathered once") {
  const ir::Model model = recurrent_network(4, 8, 4, {.body_layers = 6});
  plan::Lowering lowering(model, 8, {});
  plan::Strategy s = single(6);
  s.data = 2;
  s.sharded = plan::Sharded::optimizer;
  const auto n = static_cast<double>(model.parameters());
  for (const bool overlapped : {false, true}) {
    s.overlap_gradient_reduce = s.overlap_parameter_gather = overlapped;
    const program::Program& program = lowering.lower(s);
    REQUIRE(resident(program.stage(0), Category::parameters) == 2 * n);
    REQUIRE(data_bytes(program, 0, Collective::reduce_scatter) == 4 * n);
    REQUIRE(data_bytes(program, 0, Collective::all_gather) == 2 * n);
  }
  // On two stages both hold them; on three there is no exchange.
  s = {};
  s.pipeline = 2;
  s.stage_layers = {3, 3};
  REQUIRE(replica_group(lowering.lower(s), 0) == std::vector<std::int32_t>{0, 1});
  s.pipeline = 3;
  s.stage_layers = {2, 2, 2};
  require_error(s, model, "strategy.pp", "more than two stages");
}

TEST_CASE("Partial gradients are summed over the tensor axis once, at the end of the step") {
  const ir::Model model = small_transformer();
  plan::Lowering lowering(model, 8, {});
  plan::Strategy s = single(4);
  s.tensor = 2;
  REQUIRE(of_pass(finalize_pass(lowering.lower(s), 0), Axis::tensor).empty());
  s.sequence_parallel = s.vocab_parallel = true;
  // Two gains of 16 in each of 4 blocks, one in the head, fp32.
  REQUIRE(of_pass(finalize_pass(lowering.lower(s), 0), Axis::tensor) ==
          Sent{{Collective::all_reduce, 4 * (8 + 1) * 16}});
  // With whole tables their gradient is partial, too; the shared one is summed once.
  s.vocab_parallel = false;
  REQUIRE(of_pass(finalize_pass(lowering.lower(s), 0), Axis::tensor) ==
          Sent{{Collective::all_reduce, 4 * (9 * 16 + 64 * 16)}});
  // Of gradients that were reduced to shards in passes only the shard is summed, whether every micro-batch's were or the
  // last one's alone; what is reduced to shards after the last pass is still whole.
  s.vocab_parallel = true;
  s.data = 2;
  s.micro_batches = 2;
  for (const auto sharded : {plan::Sharded::optimizer, plan::Sharded::gradients, plan::Sharded::parameters})
    for (const bool every : {false, true}) {
      s.sharded = sharded;
      s.reduce_every_micro_batch = every && sharded != plan::Sharded::optimizer;
      CAPTURE(static_cast<int>(sharded), every);
      const double held = sharded == plan::Sharded::optimizer ? 1.0 : 0.5;
      CHECK(of_pass(finalize_pass(lowering.lower(s), 0), Axis::tensor) ==
            Sent{{Collective::all_reduce, held * 4 * 9 * 16}});
    }
}

TEST_CASE("Messages between stages") {
  // 2 x 8 x 16 x 2 bytes.
  const ir::Model model = small_transformer();
  plan::Lowering lowering(model, 8, {});
  plan::Strategy s;
  s.pipeline = 2;
  s.tensor = 4;
  s.micro_batch = 2;
  s.stage_layers = {2, 2};
  plan::Lowering scattering(model, 8, {}, 0, {.scatter_sends = true});
  bool scatters = false;
  const auto sent = [&](Axis axis, std::int32_t stage, int backward) {
    const program::Program& program = (scatters ? scattering : lowering).lower(s);
    return of_pass(backward ? testing::backward_pass(program, stage) : testing::forward_pass(program, stage), axis);
  };
  REQUIRE(sent(Axis::pipeline, 0, 0) == Sent{{Collective::send, 512}});
  REQUIRE(sent(Axis::pipeline, 1, 0).empty());
  REQUIRE(sent(Axis::pipeline, 1, 1) == Sent{{Collective::send, 512}});
  REQUIRE(sent(Axis::pipeline, 0, 1).empty());
  // In slices, gathered on arrival: one more transfer over the tensor axis per message.
  const std::size_t before = sent(Axis::tensor, 1, 0).size();
  scatters = true;
  REQUIRE(sent(Axis::pipeline, 0, 0) == Sent{{Collective::send, 128}});
  REQUIRE(sent(Axis::tensor, 1, 0).size() == before + 1);
  REQUIRE(sent(Axis::tensor, 1, 0).front() == std::pair{Collective::all_gather, 512.0});
  // Already a shard with sequence parallelism: nothing to slice.
  s.sequence_parallel = true;
  REQUIRE(sent(Axis::pipeline, 0, 0) == Sent{{Collective::send, 128}});
  scatters = false;
  REQUIRE(sent(Axis::pipeline, 0, 0) == Sent{{Collective::send, 128}});
}

TEST_CASE("A message between stages inside a domain goes over its links, others cross") {
  const ir::Model model = small_transformer({.body_layers = 8, .tied = false});
  const auto stride_from = [&](std::int64_t domain, std::int64_t t, std::int64_t p, std::int64_t dp,
                               std::int32_t stage) {
    plan::Lowering lowering(model, 8, {}, domain);
    plan::Strategy s;
    s.tensor = t;
    s.pipeline = p;
    s.data = dp;
    s.stage_layers.assign(static_cast<std::size_t>(p), 8 / p);
    const program::Pass& pass = testing::forward_pass(lowering.lower(s), stage);
    for (const program::Work& work : pass.runs.back().block->works)
      if (const auto* transfer = std::get_if<program::Transfer>(&work)) {
        REQUIRE(transfer->group.size == 2);
        return transfer->group.stride;
      }
    return std::int64_t{0};
  };
  // Stages of 4 ranks in domains of 8: 0 and 1 share one, 1 and 2 do not.
  REQUIRE(stride_from(8, 4, 4, 1, 0) == 4);
  REQUIRE(stride_from(8, 4, 4, 1, 1) == 8);
  REQUIRE(stride_from(8, 4, 4, 1, 2) == 4);
  // Each stage a domain: all cross.
  REQUIRE(stride_from(8, 4, 4, 2, 0) == 8);
  // The whole pipeline inside one domain.
  REQUIRE(stride_from(8, 2, 4, 1, 2) == 2);
  // One domain: every rank is as near as any other, two neighbours stand for all.
  REQUIRE(stride_from(0, 4, 4, 2, 0) == 1);
}

TEST_CASE("Stages: even, uneven, interleaved; embedding and head with the ends") {
  const ir::Model model = small_transformer({.body_layers = 8, .tied = false});
  REQUIRE(plan::even_stages(8, 4) == std::vector<std::int64_t>{2, 2, 2, 2});
  plan::Lowering lowering(model, 8, {});
  const double block = 48 * 16 + 16 * 16 + 2 * 32 * 16 + 2 * 16;
  const double table = 64 * 16;
  plan::Strategy s;
  s.pipeline = 4;
  s.stage_layers = {1, 3, 3, 1};
  const auto elements = [&](std::size_t stage) {
    return resident(lowering.lower(s).stage(stage), Category::parameters) / 2;
  };
  REQUIRE(elements(0) == block + table);
  REQUIRE(elements(1) == 3 * block);
  REQUIRE(elements(2) == 3 * block);
  REQUIRE(elements(3) == block + table + 16);
  REQUIRE(lowering.lower(s).stage(1).body_layers == 3);
  // The ends may hold nothing else.
  s.stage_layers = {0, 4, 4, 0};
  REQUIRE(elements(0) == table);
  REQUIRE(elements(3) == table + 16);
  // Two chunks on two devices: virtual stages 0, 2 and 1, 3.
  s.pipeline = 2;
  s.chunks = 2;
  s.schedule = "interleaved-1f1b";
  s.micro_batches = 2;
  s.stage_layers = {1, 2, 2, 3};
  REQUIRE(elements(0) == 3 * block + table);
  REQUIRE(elements(1) == 5 * block + table + 16);
  // Embedding and head alone in theirs; one between them may be empty as well.
  s.stage_layers = {0, 8, 0, 0};
  REQUIRE(elements(0) == table);
  REQUIRE(elements(1) == 8 * block + table + 16);
}

TEST_CASE("A virtual stage without layers hands on what it is given, and holds, computes and updates nothing") {
  const ir::Model model = small_transformer({.body_layers = 4, .tied = false});
  plan::Lowering lowering(model, 8, {});
  plan::Strategy s;
  s.pipeline = 3;
  s.micro_batches = 3;
  s.stage_layers = {2, 0, 2};
  const double hidden_bytes = 2.0 * 8 * 16;  // b = 1, s = 8, h = 16 in bf16
  const auto of_stage = [&](std::int32_t stage, int direction) {
    std::vector<std::pair<Collective, double>> sent;
    std::int64_t computes = 0;
    const program::Program& program = lowering.lower(s);
    const program::Pass& pass =
        direction ? testing::backward_pass(program, stage) : testing::forward_pass(program, stage);
    for (const program::BlockRun& run : pass.runs)
      for (const program::Step& step : run.block->steps) {
        computes += step.kind == program::StepKind::compute;
        if (step.work < 0) continue;
        if (const auto* transfer =
                std::get_if<program::Transfer>(&run.block->works[static_cast<std::size_t>(step.work)]))
          sent.emplace_back(transfer->collective, transfer->bytes);
      }
    return std::pair{computes, sent};
  };
  using Sent = std::vector<std::pair<Collective, double>>;
  for (const int direction : {0, 1}) {
    REQUIRE(of_stage(1, direction) == std::pair{std::int64_t{0}, Sent{{Collective::send, hidden_bytes}}});
    REQUIRE(of_stage(direction == 0 ? 0 : 2, direction).second == Sent{{Collective::send, hidden_bytes}});
  }
  const program::Program& program = lowering.lower(s);
  const program::Stage& empty = program.stage(1);
  for (std::size_t category = 0; category < program::k_categories; ++category)
    REQUIRE(resident(empty, static_cast<Category>(category)) == 0.0);
  for (const program::Pass* end : {&finalize_pass(program, 1), &update_pass(program, 1)})
    for (const program::BlockRun& run : end->runs)
      for (const program::Step& step : run.block->steps) REQUIRE(step.kind != program::StepKind::compute);
}

TEST_CASE("A stage of 1F1B holds as many micro-batches as there are stages from it to the end; GPipe holds all") {
  const ir::Model model = small_transformer();
  plan::Lowering lowering(model, 8, {});
  plan::Strategy s;
  s.pipeline = 4;
  s.micro_batches = 6;
  s.stage_layers = {1, 1, 1, 1};
  const double body = lowering.layer_state(s, 1).saved_bytes;
  const double exit = lowering.layer_state(s, 2).saved_bytes;
  for (const bool all : {false, true}) {
    s.schedule = all ? "gpipe" : "1f1b";
    const program::Program& program = lowering.lower(s);
    for (std::int32_t stage = 0; stage < 4; ++stage) {
      double held = 0.0;
      double most = 0.0;
      for (const program::PassOrder::Entry& entry : program.row(stage)) {
        held += program.pass(stage, entry.slot).profile.delta;
        most = std::max(most, held);
      }
      REQUIRE(held == 0.0);
      REQUIRE(most == (all ? 6 : 4 - stage) * (body + (stage == 3 ? exit : 0.0)));
    }
  }
}

TEST_CASE("Settings that contradict the model are refused with place and remedy") {
  const ir::Model model = small_transformer();
  plan::Strategy s = single(4);
  s.tensor = 3;
  require_error(s, model, "strategy.tp", "kv_heads of layer 'body' has extent 4, which tp = 3 does not divide");
  s.tensor = 8;
  require_error(s, model, "strategy.tp", "kv_heads of layer 'body' has extent 4");
  s.tensor = 3;
  s.vocab_parallel = true;
  require_error(s, model, "strategy.tp", "vocab of layer 'entry' has extent 64");
  s.vocab_parallel = false;
  s.sequence_parallel = true;
  require_error(s, model, "strategy.tp", "sequence of layer 'entry' has extent 8");

  s = single(4);
  s.pipeline = 2;
  require_error(s, model, "strategy.stages", "lists 1 virtual stages, but pp x chunks = 2");
  s.stage_layers = {2, 3};
  require_error(s, model, "strategy.stages", "lists 5 layers, the model has 4");
  s.stage_layers = {5, -1};
  require_error(s, model, "strategy.stages", "negative");

  s = single(4);
  s.data = 0;
  require_error(s, model, "strategy.tp", "at least 1");
  s = single(4);
  s.micro_batches = 0;
  require_error(s, model, "strategy.tp", "at least 1");

  const auto even_error = [](std::int64_t layers, std::int64_t stages) -> std::string {
    try {
      (void)plan::even_stages(layers, stages);
    } catch (const core::ConfigurationError& error) {
      REQUIRE_FALSE(error.diagnostics()[0].hint.empty());
      return error.diagnostics()[0].key_path + ": " + error.diagnostics()[0].message;
    }
    return {};
  };
  REQUIRE(even_error(8, 3) == "strategy.stages: 'even' cannot split 8 layers over 3 virtual stages");
  REQUIRE(even_error(2, 3) == "strategy.pp: 3 virtual stages for 2 layers");
}

TEST_CASE("Conditions of the schedules come with place and remedy") {
  const ir::Model model = small_transformer();
  const auto refused = [&](const plan::Strategy& s) {
    plan::Lowering lowering(model, 8, {});
    try {
      (void)lowering.lower(s);
    } catch (const core::ConfigurationError& error) {
      INFO(error.what());
      REQUIRE_FALSE(error.diagnostics().empty());
      REQUIRE(error.diagnostics()[0].key_path.rfind("schedule", 0) == 0);
      REQUIRE_FALSE(error.diagnostics()[0].hint.empty());
      return true;
    }
    return false;
  };
  plan::Strategy s;
  s.pipeline = 2;
  s.chunks = 2;
  s.stage_layers = {1, 1, 1, 1};
  s.schedule = "interleaved-1f1b";
  s.micro_batches = 3;  // not a multiple of the stages
  REQUIRE(refused(s));
  s.micro_batches = 4;
  REQUIRE_FALSE(refused(s));
  s.schedule = "1f1b";  // has no chunks
  REQUIRE(refused(s));
  s.schedule = "1f1";
  REQUIRE(refused(s));
}

TEST_CASE("Lowering again gives the same program, and one strategy leaves nothing behind for the next") {
  const ir::Model model = small_transformer();
  plan::Lowering shared(model, 8, {});
  plan::Strategy a;
  a.pipeline = 2;
  a.stage_layers = {2, 2};
  a.data = 2;
  a.overlap_gradient_reduce = true;
  plan::Strategy b = single(4);
  b.tensor = 2;
  const program::Pass* const first = &testing::backward_pass(shared.lower(a), 1, true);
  (void)shared.lower(b);
  REQUIRE(&testing::backward_pass(shared.lower(a), 1, true) == first);
  plan::Lowering fresh(model, 8, {});
  const program::Program& expected = fresh.lower(a);
  const program::Program& again = shared.lower(a);
  REQUIRE(again.stage(0).resident == expected.stage(0).resident);
  REQUIRE(data_bytes(again, 0, Collective::all_reduce) == data_bytes(expected, 0, Collective::all_reduce));
}
