// Operators as a user names them:
//   matmul m=8192 n=8192 k=8192            attention n=4096 d=128 heads=32 kv_heads=8 causal=1
//   bshd,bthd->bhst   with sizes b=1 s=4096 t=4096 h=32 d=128
// Errors (core::ConfigurationError) name the operator's own keys, the nearest known word, and the default of what may
// be left out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cairn/pebble/operation.h"

namespace cairn::pebble {

using SizeMap = std::map<std::string, Words>;

struct OperatorKey {
  std::string name;
  std::optional<Words> fallback;  // none: must be given; kv_heads 0 stands for as many as heads
};

struct OperatorKind {
  std::string name;
  std::vector<OperatorKey> keys;
};

// In alphabetical order.
std::vector<OperatorKind> operator_kinds();
Operation make_operation(const std::string& kind, const SizeMap& sizes);

// "matmul m=8192 n=8192" in its first word and what is left.
struct NamedText {
  std::string name;
  std::string rest;
};
NamedText split_name(const std::string& text);

// "p=16 n=1 GiB" or "p=16,n=1 GiB": blanks or commas between; a word without '=' continues the value before it.
std::map<std::string, std::string> parse_values(const std::string& text);

// Values that are whole numbers.
SizeMap parse_sizes(const std::string& text);

// Empty when the text is anything else.
std::optional<Words> whole_number(const std::string& text);

// "matmul m=8192 n=8192 k=8192"
Operation parse_operation(const std::string& text);

// An einsum of two operands and one result, letters for loops: "ik,kj->ij". A letter of the result must stand in some
// operand; a letter may not repeat within an operand.
Operation einsum_operation(const std::string& expression, const SizeMap& sizes);

}  // namespace cairn::pebble
