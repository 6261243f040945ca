// What errors go with, by hand.
#include "cairn/validation/causes.h"

#include "catch.h"

namespace cairn::validation {
namespace {

JudgedRow row(const char* model, std::int64_t gpus, std::int64_t micro_batch, double error) {
  return {.setting = {.model = model, .gpus = gpus, .micro_batch = micro_batch, .span = "none"},
          .measured = 2.0,
          .predicted = 2.0 * (1.0 + error)};
}

TEST_CASE("a setting that decides the error explains all of it, one beside the point nothing") {
  std::vector<JudgedRow> rows;
  // Micro-batches of 1 are 10 % short, of 2 10 % long; GPUs alternate beside.
  for (int i = 0; i < 8; ++i) rows.push_back(row("x", 8 << (i % 2), i < 4 ? 1 : 2, i < 4 ? -0.1 : 0.1));
  const std::vector<ResidualCause> causes = residual_causes(rows);
  REQUIRE(causes.size() == 2);  // the others do not vary
  CHECK(causes[0].setting == "micro_batch");
  CHECK(causes[0].explained == Approx(1.0));
  REQUIRE(causes[0].groups.size() == 2);
  CHECK(causes[0].groups[0].value == "1");
  CHECK(causes[0].groups[0].rows == 4);
  CHECK(causes[0].groups[0].median == Approx(-0.1));
  CHECK(causes[0].groups[1].median == Approx(0.1));
  CHECK(causes[1].setting == "gpus");
  CHECK(causes[1].explained == Approx(0.0).margin(1e-12));
}

TEST_CASE("values with few rows explain nothing") {
  std::vector<JudgedRow> rows;
  for (int i = 0; i < 8; ++i) rows.push_back(row("x", 8, 1 + i, 0.01 * i));
  CHECK(residual_causes(rows).empty());
  CHECK(residual_causes({}).empty());
}

TEST_CASE("the error of a model that is left out") {
  // The others say: scale by 1 / 1.1 for x, by 1 for y.
  const std::vector<JudgedRow> rows{row("x", 8, 1, 0.0), row("y", 8, 1, 0.1)};
  const auto next = left_out_error(rows);
  REQUIRE(next);
  CHECK(next->by == "model");
  // x: 1 / 1.1 - 1 = -1 / 11; y: 0.1.
  CHECK(next->mape == Approx((1.0 / 11.0 + 0.1) / 2.0));
  const auto one_model = left_out_error(std::vector<JudgedRow>{row("x", 8, 1, 0.0), row("x", 16, 1, 0.1)});
  REQUIRE(one_model);
  CHECK(one_model->by == "gpus");
  CHECK(one_model->mape == Approx((1.0 / 11.0 + 0.1) / 2.0));
  CHECK_FALSE(left_out_error(std::vector<JudgedRow>{row("x", 8, 1, 0.0), row("x", 8, 2, 0.1)}));
}

}  // namespace
}  // namespace cairn::validation
