#include "attention/small_request.h"
#include "catch.h"
#include "support/complaints.h"

using namespace cairn;
using test::complaints;
using test::contains;
using testing::small_request;

namespace {

template <class Change>
std::string refused(Change change) {
  attention::Request request = small_request();
  change(request);
  return complaints([&] { attention::compare(request); });
}

}  // namespace

TEST_CASE("attention: requests that cannot be met name the field", "[attention]") {
  const auto wrong = [](auto change, std::string_view field, std::string_view remedy) {
    const std::string said = refused(change);
    INFO(said);
    CHECK(contains(said, field));
    CHECK(contains(said, remedy));
  };
  wrong([](auto& request) { request.kv_heads = 8; }, "request.kv_heads", "at most 4");
  wrong([](auto& request) { request.kv_heads = 3; }, "request.kv_heads", "divisor");
  wrong([](auto& request) { request.tensor_ranks = 8; }, "request.tensor_ranks", "divisor");
  wrong([](auto& request) { request.tokens = 4; }, "request.tokens", "at least 8");
  wrong([](auto& request) { request.heads = 0; }, "request.heads", "at least 1");
  wrong([](auto& request) { request.tokens = std::int64_t{1} << 40; }, "request.tokens", "counted");
  wrong([](auto& request) { request.kernel = models::AttentionKernel::unfused; }, "request.kernel", "flash2");
  wrong(
      [](auto& request) {
        request.calibration.flash_attention.pop_back();
        request.kernel = models::AttentionKernel::cudnn;
      },
      "'cudnn'", "known here: flash1");
  wrong([](auto& request) { request.choice.grid.sides = sequence::Sides{.rows = 3, .columns = 5}; }, "request.choice",
        "make up 8");
  wrong([](auto& request) { request.choice = {.scheme = "ring", .grid = {.head_ranks = 2}}; }, "ring has no grid",
        "it stands in 8");
  wrong([](auto& request) { request.choice.grid.head_ranks = 3; }, "no scheme has a grid of 8 ranks", "make up 8");
  wrong([](auto& request) { request.choice.scheme = "rings"; }, "rings", "ring");
  wrong([](auto& request) { request.choice.scheme = "tree-attention"; }, "'tree-attention' is for decoding", "zigzag");
  // All at once.
  const std::string several = refused([](auto& request) { request.heads = request.tokens = 0; });
  CHECK(contains(several, "request.heads"));
  CHECK(contains(several, "request.tokens"));
}

TEST_CASE("attention: lengths that cannot be cut say how far to pad", "[attention]") {
  attention::Request request = small_request();
  request.tokens = 1000;  // 8 x 125, but not 16 pieces
  request.choice.scheme = "zigzag";
  const attention::Comparison comparison = attention::compare(request);
  REQUIRE(comparison.ways.size() == 1);
  REQUIRE_FALSE(comparison.ways.front().stands());
  CHECK(contains(*comparison.ways.front().refusal, "1008"));
  CHECK(comparison.best() == nullptr);
}
