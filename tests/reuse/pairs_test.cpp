// Pairs of plans that have little in common but numbers that add up to the same, or parts of the one that look like
// parts of the other: random plans seldom meet them.
#include <string>

#include "cairn/core/diagnostics.h"
#include "catch.h"
#include "experts/mixtures.h"
#include "support/program_difference.h"
#include "support/spine_models.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

constexpr std::int64_t k_sequence = 8;

// Where the second plan differs from what it is alone when the first has been lowered before; empty where it does not.
std::string behind(const ir::Model& model, std::int64_t sequence, const plan::Strategy& first,
                   const plan::Strategy& second) {
  plan::Lowering lowering(model, sequence, {});
  plan::Lowering alone(model, sequence, {});
  lowering.lower(first);
  return difference(lowering.lower(second), alone.lower(second));
}

// That the plans are not the same, and that neither changes the other.
void require_apart(const ir::Model& model, std::int64_t sequence, const plan::Strategy& a, const plan::Strategy& b) {
  plan::Lowering one(model, sequence, {});
  plan::Lowering other(model, sequence, {});
  REQUIRE(!difference(one.lower(a), other.lower(b)).empty());
  CHECK(behind(model, sequence, a, b).empty());
  CHECK(behind(model, sequence, b, a).empty());
}

plan::Strategy plain(std::int64_t tensor = 1) {
  plan::Strategy s;
  s.tensor = tensor;
  s.stage_layers = {4};
  return s;
}

}  // namespace

TEST_CASE("A schedule of whole backward passes finds them behind one that splits them all") {
  const ir::Model model = small_transformer();
  plan::Strategy whole = plain();
  whole.pipeline = 2;
  whole.micro_batches = 4;
  whole.stage_layers = {2, 2};
  plan::Strategy split = whole;
  split.schedule = "zb-h1";
  require_apart(model, k_sequence, whole, split);
  whole.sharded = split.sharded = plan::Sharded::gradients;  // units that move: first and last passes alike
  whole.data = split.data = 2;
  require_apart(model, k_sequence, whole, split);
}

TEST_CASE("Units that stay on the device are told apart whatever their number, and whether any parameters leave") {
  const ir::Model model = small_transformer();
  plan::Strategy none = plain();
  plan::Strategy some = none;
  some.offload.resident_units = 2;
  CHECK(behind(model, k_sequence, none, some).empty());
  CHECK(behind(model, k_sequence, some, none).empty());
  none.offload.parameters = some.offload.parameters = plan::Home::host;
  require_apart(model, k_sequence, none, some);
  some.offload.resident_units = std::int64_t{1} << 32;
  require_apart(model, k_sequence, none, some);
}

TEST_CASE("Ranks far apart are told from ranks side by side") {
  // size a, stride b against size a - 1, stride b + 1,000,003
  const ir::Model model = small_transformer();
  plan::Strategy near = plain(2);
  near.data = 1'000'004;
  plan::Strategy far = plain(1);
  far.data = 1'000'004;
  far.order = {program::Axis::data, program::Axis::context, program::Axis::tensor, program::Axis::pipeline};
  require_apart(model, k_sequence, near, far);
}

TEST_CASE("Copies of a token are told apart from the domains that they go to, whatever their number") {
  models::TransformerConfig config = small_mixture();
  const ir::Model model = models::build_transformer(config, {});
  plan::Strategy limited = mixture_strategy(4);
  limited.expert_copies = 2;
  limited.expert_domain_limit = 1;
  plan::Strategy unlimited = limited;
  unlimited.expert_copies = (std::int64_t{1} << 24) + 2;
  unlimited.expert_domain_limit = 0;
  require_apart(model, k_mixture_sequence, limited, unlimited);
}

TEST_CASE("A gather of experts is told apart from a gather of as many other parameters") {
  // The table of embeddings has as many elements as the experts of a layer: 16 x 3 x 64 x 32.
  models::TransformerConfig config = small_mixture();
  config.vocab = 1536;
  const ir::Model model = models::build_transformer(config, {});
  plan::Strategy table = mixture_strategy(1);
  table.data = 2;
  table.sharded = plan::Sharded::parameters;
  plan::Strategy experts = table;  // of the second stage; two ranks hold copies of them and none of anything else
  experts.data = 1;
  experts.tensor = 2;
  experts.sequence_parallel = true;
  experts.pipeline = 2;
  experts.stage_layers = {1, 1};
  require_apart(model, k_mixture_sequence, table, experts);
}

TEST_CASE("What cannot be lowered is refused every time") {
  const ir::Model model = small_transformer();
  // A part that stays behind half-made lets the next time come as far as the next part: as often as there are parts,
  // forward and backward, whole and in two, of every class.
  const std::size_t times = 4 * model.classes.size() + 1;
  for (const plan::Sharded sharded : {plan::Sharded::nothing, plan::Sharded::gradients, plan::Sharded::parameters})
    for (const auto& [schedule, pieces] :
         {std::pair("zb-h1", plan::TensorPieces{.kind = plan::TensorPieces::Kind::halves, .count = 2}),
          std::pair("zb-h1", plan::TensorPieces{.kind = plan::TensorPieces::Kind::chunked, .count = 3}),
          std::pair("1f1b", plan::TensorPieces{.kind = plan::TensorPieces::Kind::chunked, .count = 3})}) {
      plan::Strategy s;
      s.tensor = s.pipeline = s.data = s.micro_batches = 2;
      s.stage_layers = {2, 2};
      s.schedule = schedule;
      s.sharded = sharded;
      s.tensor_pieces = pieces;
      plan::Lowering lowering(model, k_sequence, {});
      for (std::size_t time = 0; time < times; ++time) CHECK_THROWS_AS(lowering.lower(s), core::ConfigurationError);
    }
}
