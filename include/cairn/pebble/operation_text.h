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

// "m=8192 n=8192" or "m=8192,n=8192": blanks or commas between.
SizeMap parse_sizes(const std::string& text);

// "matmul m=8192 n=8192 k=8192"
Operation parse_operation(const std::string& text);

// An einsum of two operands and one result, letters for loops: "ik,kj->ij". A letter of the result must stand in some
// operand; a letter may not repeat within an operand.
Operation einsum_operation(const std::string& expression, const SizeMap& sizes);

}  // namespace cairn::pebble
