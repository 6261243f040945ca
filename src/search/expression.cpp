#include "cairn/search/expression.h"

#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::search {

namespace {

std::string_view name_of(Type type) {
  constexpr std::array<std::string_view, 3> k_names{"a number", "true or false", "a text"};
  return k_names[static_cast<std::size_t>(type)];
}

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

// Recursive descent, one function per rule of the grammar. Each leaves code that computes its part, and says its type.
class ExpressionParser {
 public:
  using Operation = Expression::Operation;

  ExpressionParser(Expression& into, const config::Node& node, std::span<const Variable> variables, std::string key)
      : out_(into), text_(into.text_), node_(node), variables_(variables), key_(std::move(key)) {}

  void parse() {
    if (text_.size() > Expression::k_longest)
      fail(0, fmt::format("a condition of {} characters", text_.size()),
           fmt::format("use at most {}", Expression::k_longest));
    skip();
    const std::size_t start = at_;
    want(Type::truth, either(), start);
    if (at_ < text_.size()) fail(at_, fmt::format("unexpected {}", seen()), "join conditions by and, or");
  }

 private:
  Type either() { return chain("or", Operation::either, &ExpressionParser::both); }
  Type both() { return chain("and", Operation::both, &ExpressionParser::negated); }

  Type chain(std::string_view word, Operation operation, Type (ExpressionParser::*part)()) {
    std::size_t start = at_;
    const Type first = (this->*part)();
    if (!is_word(word)) return first;
    want(Type::truth, first, start);
    while (take_word(word)) {
      start = at_;
      want(Type::truth, (this->*part)(), start);
      emit(operation);
    }
    return Type::truth;
  }

  Type negated() {
    if (!take_word("not")) return compared();
    const Nesting nesting(*this);
    const std::size_t start = at_;
    want(Type::truth, negated(), start);
    emit(Operation::invert);
    return Type::truth;
  }

  Type compared() {
    constexpr std::array<std::pair<std::string_view, Operation>, 6> k_signs{{{"==", Operation::equal},
                                                                             {"!=", Operation::unequal},
                                                                             {"<=", Operation::at_most},
                                                                             {">=", Operation::at_least},
                                                                             {"<", Operation::less},
                                                                             {">", Operation::greater}}};
    const Type left = sum();
    for (const auto& [sign, operation] : k_signs) {
      const std::size_t where = at_;
      if (!take(sign)) continue;
      const std::size_t start = at_;
      const Type right = sum();
      if (left != right)
        fail(start, fmt::format("{} is compared with {}", name_of(left), name_of(right)),
             "compare values of one kind; a text stands in quotes");
      const bool whether = operation == Operation::equal || operation == Operation::unequal;
      if (left != Type::number && !whether)
        fail(where, fmt::format("'{}' between values that have no order", sign), "use == or !=");
      if (left != Type::text)
        emit(operation);
      else
        emit(operation == Operation::equal ? Operation::equal_text : Operation::unequal_text);
      return Type::truth;
    }
    return left;
  }

  Type sum() { return numbers({{"+", Operation::add}, {"-", Operation::subtract}}, &ExpressionParser::product); }
  Type product() {
    return numbers({{"*", Operation::multiply}, {"/", Operation::divide}, {"%", Operation::remainder}},
                   &ExpressionParser::with_sign);
  }

  Type numbers(std::initializer_list<std::pair<std::string_view, Operation>> signs, Type (ExpressionParser::*part)()) {
    std::size_t start = at_;
    const Type first = (this->*part)();
    for (bool found = true; found;) {
      found = false;
      for (const auto& [sign, operation] : signs) {
        if (!text_.substr(at_).starts_with(sign)) continue;
        want(Type::number, first, start);
        take(sign);
        start = at_;
        want(Type::number, (this->*part)(), start);
        emit(operation);
        found = true;
      }
    }
    return first;
  }

  Type with_sign() {
    if (!take("-")) return atom();
    const Nesting nesting(*this);
    const std::size_t start = at_;
    want(Type::number, with_sign(), start);
    emit(Operation::negate);
    return Type::number;
  }

  Type atom() {
    if (at_ == text_.size()) fail(at_, "the condition ends where a value is due", "for example tp * pp <= 64");
    const char next = text_[at_];
    if (take("(")) {
      const Nesting nesting(*this);
      const Type inside = either();
      if (!take(")")) fail(at_, fmt::format("')' is missing before {}", seen()), "close what was opened");
      return inside;
    }
    if (next == '\'' || next == '"') return quoted(next);
    if (is_digit(next) || next == '.') return number();
    if (is_letter(next)) return name();
    fail(at_, fmt::format("unexpected {}", seen()), "a key, a number or a quoted text is due");
  }

  Type quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail(at_, "the text does not end", "close its quotes");
    emit(Operation::text, static_cast<std::uint32_t>(out_.texts_.size()));
    out_.texts_.emplace_back(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    skip();
    return Type::text;
  }

  Type number() {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    const auto length = static_cast<std::size_t>(end - (text_.data() + at_));
    if (error != std::errc() || (at_ + length < text_.size() && is_letter(text_[at_ + length])))
      fail(at_, fmt::format("{} is no number", seen()), "write it without a unit, as in 8 or 0.5");
    emit(Operation::number, 0, value);
    at_ += length;
    skip();
    return Type::number;
  }

  Type name() {
    const std::string word(peek());
    const std::size_t start = at_;
    at_ += word.size();
    skip();
    if (word == "true" || word == "false") {
      emit(Operation::number, 0, word == "true" ? 1.0 : 0.0);
      return Type::truth;
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      if (variables_[i].name == word) {
        emit(Operation::variable, static_cast<std::uint32_t>(i));
        out_.reads_ |= std::uint64_t{1} << i;
        return variables_[i].type;
      }
      names.emplace_back(variables_[i].name);
    }
    const std::string near = core::nearest(word, names);
    fail(start, fmt::format("'{}' is no key of a strategy", word),
         near.empty() ? fmt::format("a text stands in quotes; keys are {}", fmt::join(names, ", "))
                      : fmt::format("did you mean '{}'?", near));
  }

  std::string_view peek() const {
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    return text_.substr(at_, end - at_);
  }
  bool is_word(std::string_view word) const { return peek() == word; }
  bool take_word(std::string_view word) { return is_word(word) && take(word); }
  bool take(std::string_view sign) {
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    skip();
    return true;
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  std::string seen() const {
    if (at_ >= text_.size()) return "the end";
    const std::string_view word = peek();
    return fmt::format("'{}'", word.empty() ? text_.substr(at_, 1) : word);
  }

  void want(Type wanted, Type got, std::size_t where) const {
    if (wanted == got) return;
    fail(where, fmt::format("{} where {} is due", name_of(got), name_of(wanted)),
         wanted == Type::truth ? "compare it, as in tp <= 8" : "use a number");
  }
  void emit(Operation operation, std::uint32_t index = 0, double number = 0.0) {
    out_.code_.push_back({.operation = operation, .index = index, .number = number});
  }

  [[noreturn]] void fail(std::size_t where, std::string message, std::string hint) const {
    core::Diagnostic problem = config::error_at(node_.place, key_, std::move(message), std::move(hint));
    if (problem.column > 0) problem.column += static_cast<int>(where) + (node_.quoted ? 1 : 0);
    throw core::ConfigurationError(std::vector<core::Diagnostic>{std::move(problem)});
  }

  // Bounds the recursion.
  struct Nesting {
    explicit Nesting(ExpressionParser& parser) : depth(parser.depth_) {
      if (++depth > Expression::k_deepest)
        parser.fail(parser.at_, fmt::format("more than {} levels within each other", Expression::k_deepest),
                    "state several conditions");
    }
    ~Nesting() { --depth; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    int& depth;
  };

  Expression& out_;
  std::string_view text_;
  const config::Node& node_;
  std::span<const Variable> variables_;
  std::string key_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

Expression::Expression(const config::Node& text, std::span<const Variable> variables, std::string key_path)
    : text_(text.text) {
  CAIRN_ASSERT(variables.size() <= 64);
  ExpressionParser(*this, text, variables, std::move(key_path)).parse();
}

bool Expression::holds(std::span<const VariableValue> values) const {
  // No operation makes the stack higher than the operands before it, of which nesting allows so many.
  constexpr std::size_t k_highest = 4 * static_cast<std::size_t>(k_deepest);
  std::array<VariableValue, k_highest> stack;
  std::size_t height = 0;
  const auto both = [&](auto&& result) {
    --height;
    stack[height - 1] = {.number = static_cast<double>(result(stack[height - 1].number, stack[height].number))};
  };
  for (const Instruction& each : code_) {
    switch (each.operation) {
      case Operation::number:
        stack[height++] = {.number = each.number};
        break;
      case Operation::text:
        stack[height++] = {.text = texts_[each.index]};
        break;
      case Operation::variable:
        stack[height++] = values[each.index];
        break;
      case Operation::negate:
        stack[height - 1].number = -stack[height - 1].number;
        break;
      case Operation::invert:
        stack[height - 1].number = stack[height - 1].number == 0.0 ? 1.0 : 0.0;
        break;
      case Operation::multiply:
        both([](double a, double b) { return a * b; });
        break;
      case Operation::divide:
        both([](double a, double b) { return b == 0.0 ? std::numeric_limits<double>::quiet_NaN() : a / b; });
        break;
      case Operation::remainder:
        both([](double a, double b) { return b == 0.0 ? std::numeric_limits<double>::quiet_NaN() : std::fmod(a, b); });
        break;
      case Operation::add:
        both([](double a, double b) { return a + b; });
        break;
      case Operation::subtract:
        both([](double a, double b) { return a - b; });
        break;
      case Operation::equal:
        both([](double a, double b) { return a == b; });
        break;
      case Operation::unequal:
        both([](double a, double b) { return a != b; });
        break;
      case Operation::less:
        both([](double a, double b) { return a < b; });
        break;
      case Operation::at_most:
        both([](double a, double b) { return a <= b; });
        break;
      case Operation::greater:
        both([](double a, double b) { return a > b; });
        break;
      case Operation::at_least:
        both([](double a, double b) { return a >= b; });
        break;
      case Operation::both:
        both([](double a, double b) { return a != 0.0 && b != 0.0; });
        break;
      case Operation::either:
        both([](double a, double b) { return a != 0.0 || b != 0.0; });
        break;
      case Operation::equal_text:
      case Operation::unequal_text: {
        --height;
        const bool equal = stack[height - 1].text == stack[height].text;
        stack[height - 1] = {.number = equal == (each.operation == Operation::equal_text) ? 1.0 : 0.0};
        break;
      }
    }
  }
  return stack[0].number != 0.0;
}

}  // namespace cairn::search
