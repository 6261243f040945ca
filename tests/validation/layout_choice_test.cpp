// Which layout a prediction would choose, by hand.
#include "cairn/validation/layout_choice.h"

#include "catch.h"

namespace cairn::validation {
namespace {

LayoutRow row(const char* question, const char* label, double measured, double predicted) {
  return {.question = question, .label = label, .gpus = 8, .measured = measured, .predicted = predicted};
}

TEST_CASE("the layout with the shortest prediction: its rank, what it costs, and the order of pairs") {
  // By measurement a b c, a and b within 3 %; the prediction says b a c.
  const std::vector<LayoutRow> rows{row("x", "a", 1.00, 1.3), row("x", "b", 1.02, 1.2), row("x", "c", 1.5, 1.6)};
  const auto choice = layout_choice(rows);
  REQUIRE(choice);
  REQUIRE(choice->questions.size() == 1);
  const LayoutQuestion& question = choice->questions.front();
  CHECK(question.chosen == "b");
  CHECK(question.fastest == "a");
  CHECK(question.rank == 2);
  CHECK(question.regret == Approx(0.02));
  CHECK(question.pairs == 2);  // a c and b c
  CHECK(question.concordant == 2);
  CHECK(choice->right == 0);
  CHECK(choice->tau == Approx(1.0));
}

TEST_CASE("runs of different questions are not compared, and one run answers nothing") {
  CHECK_FALSE(layout_choice(std::vector<LayoutRow>{row("x", "a", 1.0, 2.0), row("y", "b", 2.0, 1.0)}));
  CHECK_FALSE(layout_choice({}));
  const std::vector<LayoutRow> rows{row("x", "a", 1.0, 1.0), row("y", "c", 1.0, 1.0), row("x", "b", 2.0, 3.0),
                                    row("y", "d", 2.0, 0.5), row("z", "e", 1.0, 1.0)};
  const auto choice = layout_choice(rows);
  REQUIRE(choice);
  REQUIRE(choice->questions.size() == 2);
  CHECK(choice->rows == 4);
  CHECK(choice->right == 1);
  CHECK(choice->mean_regret == Approx(0.5));  // d takes twice as long as c
  CHECK(choice->max_regret == Approx(1.0));
  CHECK(choice->pairs == 2);
  CHECK(choice->tau == Approx(0.0));
}

TEST_CASE("times that are alike are no pair, and equal predictions are neither in order nor against it") {
  const auto alike = layout_choice(std::vector<LayoutRow>{row("x", "a", 1.0, 1.0), row("x", "b", 1.01, 2.0)});
  REQUIRE(alike);
  CHECK(alike->pairs == 0);
  CHECK_FALSE(alike->tau);
  const auto equal = layout_choice(std::vector<LayoutRow>{row("x", "a", 1.0, 1.0), row("x", "b", 2.0, 1.0)});
  REQUIRE(equal);
  CHECK(equal->questions.front().chosen == "a");
  CHECK(equal->pairs == 1);
  CHECK(equal->tau == Approx(0.0));
}

}  // namespace
}  // namespace cairn::validation
