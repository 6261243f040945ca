// Conditions over the keys of a strategy, as a space of plans states them: "tp * cp <= 8 and not (recompute == 'full')".
//
//   either      both { "or" both }
//   both        negated { "and" negated }
//   negated     "not" negated | compared
//   compared    sum [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum ]
//   sum         product { ( "+" | "-" ) product }
//   product     signed { ( "*" | "/" | "%" ) signed }
//   signed      "-" signed | atom
//   atom        NUMBER | 'TEXT' | "TEXT" | "true" | "false" | NAME | "(" either ")"
//
// A name is a variable; a text stands in quotes. Every part has a type (number, truth or text), known before anything is
// evaluated, so that a condition that was read can be evaluated whatever the values are: what is divided by 0 is no
// number, and every comparison with it is false but !=.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/node.h"

namespace cairn::search {

enum class Type : std::uint8_t { number, truth, text };

struct Variable {
  std::string_view name;
  Type type = Type::number;
};

// What a variable holds: a number, 0 or 1 for a truth, or a text.
struct VariableValue {
  double number = 0.0;
  std::string_view text = {};
};

class Expression {
 public:
  // A condition. Throws core::ConfigurationError at the column where `text`, written at `place`, is wrong.
  // Conditions longer than k_longest or nested deeper than k_deepest are refused.
  Expression(const config::Node& text, std::span<const Variable> variables, std::string key_path);

  // `values`: by position among the variables.
  bool holds(std::span<const VariableValue> values) const;
  // Whether the condition depends on the variable of that position.
  bool reads(std::size_t variable) const { return ((reads_ >> variable) & 1U) != 0; }
  const std::string& text() const { return text_; }

  static constexpr std::size_t k_longest = 4096;
  static constexpr int k_deepest = 16;

 private:
  friend class ExpressionParser;
  // Postfix code: operands before what takes them.
  enum class Operation : std::uint8_t {
    number,
    text,
    variable,
    negate,
    multiply,
    divide,
    remainder,
    add,
    subtract,
    equal,
    unequal,
    less,
    at_most,
    greater,
    at_least,
    equal_text,
    unequal_text,
    invert,
    both,
    either
  };
  struct Instruction {
    Operation operation = Operation::number;
    std::uint32_t index = 0;  // of a variable or a text
    double number = 0.0;
  };

  std::string text_;
  std::vector<Instruction> code_;
  std::vector<std::string> texts_;
  std::uint64_t reads_ = 0;
};

}  // namespace cairn::search
