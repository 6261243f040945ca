// Conditions: values by hand, and every error at its column.
#include "cairn/search/expression.h"

#include "catch.h"

#include <array>
#include <string>

#include "cairn/core/diagnostics.h"

using namespace cairn;
using search::Expression;
using search::Type;

namespace {

constexpr std::array k_asked{search::Variable{"tp"}, search::Variable{"pp"}, search::Variable{"recompute", Type::text},
                             search::Variable{"sequence_parallel", Type::truth}};

config::Node written(std::string text) {
  config::Node node = config::make_scalar(std::move(text), {});
  node.place.line = 3;
  node.place.column = 10;
  return node;
}

bool holds(const std::string& text, double tp = 8, double pp = 4, std::string_view recompute = "none",
           bool sequence_parallel = true) {
  const std::array<search::VariableValue, 4> values{
      {{.number = tp}, {.number = pp}, {.text = recompute}, {.number = sequence_parallel ? 1.0 : 0.0}}};
  return Expression(written(text), k_asked, "constraints").holds(values);
}

// "column: message" of the error that a text is.
std::string error_of(const std::string& text) {
  try {
    Expression(written(text), k_asked, "constraints");
  } catch (const core::ConfigurationError& error) {
    const core::Diagnostic& first = error.diagnostics().front();
    return std::to_string(first.column) + ": " + first.message;
  }
  return "";
}

}  // namespace

TEST_CASE("arithmetic binds as usual, and from the left") {
  CHECK(holds("tp * pp + 1 == 33"));
  CHECK(holds("1 + tp * pp == 33"));
  CHECK(holds("tp - pp - 1 == 3"));
  CHECK(holds("tp / pp / 2 == 1"));
  CHECK(holds("tp * (pp + 1) == 40"));
  CHECK(holds("-tp + 9 == 1"));
  CHECK(holds("- -tp == 8"));
  CHECK(holds("10 % 4 == 2"));
  CHECK(holds("1.5 * 2 == 3"));
}

TEST_CASE("comparisons, each at its border") {
  CHECK(holds("tp <= 8"));
  CHECK_FALSE(holds("tp < 8"));
  CHECK(holds("tp >= 8"));
  CHECK_FALSE(holds("tp > 8"));
  CHECK(holds("tp != 9"));
  CHECK_FALSE(holds("tp != 8"));
}

TEST_CASE("and binds before or, not before both") {
  CHECK(holds("tp == 8 or tp == 1 and pp == 1"));
  CHECK_FALSE(holds("(tp == 8 or tp == 1) and pp == 1"));
  CHECK(holds("not tp == 1 and pp == 4"));
  CHECK_FALSE(holds("not (tp == 8 and pp == 4)"));
  CHECK(holds("not not sequence_parallel"));
  CHECK(holds("sequence_parallel == true"));
  CHECK_FALSE(holds("sequence_parallel != true"));
}

TEST_CASE("texts are equal or not") {
  CHECK(holds("recompute == 'none'"));
  CHECK(holds("recompute != \"full\""));
  CHECK_FALSE(holds("recompute == 'full' or recompute == ''"));
}

TEST_CASE("what is divided by nothing is equal to nothing") {
  CHECK_FALSE(holds("tp % 0 == 0"));
  CHECK_FALSE(holds("tp / (pp - 4) > 0 or tp / (pp - 4) <= 0"));
  CHECK(holds("tp % 0 != 0"));
}

TEST_CASE("a condition says which variables it reads") {
  const Expression expression(written("pp <= 4 or recompute == 'full'"), k_asked, "constraints");
  CHECK_FALSE(expression.reads(0));
  CHECK(expression.reads(1));
  CHECK(expression.reads(2));
  CHECK_FALSE(expression.reads(3));
}

// Column 10 is that of the text's first character.
TEST_CASE("errors stand at their column") {
  CHECK(error_of("tp") == "10: a number where true or false is due");
  CHECK(error_of("tp <=") == "15: the condition ends where a value is due");
  CHECK(error_of("tq <= 8") == "10: 'tq' is no key of a strategy");
  CHECK(error_of("tp <= 8 8") == "18: unexpected '8'");
  CHECK(error_of("tp <= (8") == "18: ')' is missing before the end");
  CHECK(error_of("tp == 'x") == "16: the text does not end");
  CHECK(error_of("tp == recompute") == "16: a number is compared with a text");
  CHECK(error_of("recompute < 'a'") == "20: '<' between values that have no order");
  CHECK(error_of("tp + recompute == 3") == "15: a text where a number is due");
  CHECK(error_of("not tp") == "14: a number where true or false is due");
  CHECK(error_of("tp == 8 and pp") == "22: a number where true or false is due");
  CHECK(error_of("tp == 8GB") == "16: '8GB' is no number");
  CHECK(error_of("tp == #") == "16: unexpected '#'");
  CHECK(error_of("") == "10: the condition ends where a value is due");
}

TEST_CASE("conditions have bounds") {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '(') + "tp == 8" +
           std::string(static_cast<std::size_t>(depth), ')');
  };
  CHECK(holds(nested(Expression::k_deepest)));
  CHECK_FALSE(error_of(nested(Expression::k_deepest + 1)).empty());
  CHECK_FALSE(error_of(std::string(1000, '-') + "tp == 8").empty());
  CHECK_FALSE(error_of("tp == " + std::string(Expression::k_longest, '1')).empty());
  // On every level a truth waits for its `or` and another for its `and`.
  std::string deep = "tp == 8";
  for (int depth = 0; depth < Expression::k_deepest; ++depth) deep = "(tp == 1 or tp == 8 and " + deep + ")";
  CHECK(holds(deep));
}
