#include "case.h"

#include <array>
#include <stdexcept>

namespace cairn::probe {

namespace {

std::int64_t attention_bytes(const Case& row, bool backward) {
  const Shape& s = row.shape;
  const std::int64_t query = s["b"] * s["s"] * s["hq"] * s["d"] * size_of(row.type);  // q, o, do, dq
  const std::int64_t key = s["b"] * s["s"] * s["hkv"] * s["d"] * size_of(row.type);   // k, v, dk, dv
  const std::int64_t statistics = s["b"] * s["s"] * s["hq"] * size_of(Type::fp32);    // log-sum-exp
  return backward ? 4 * query + 4 * key + statistics : 2 * query + 2 * key + statistics;
}

std::int64_t attention_flops(const Case& row, bool backward) {
  const Shape& s = row.shape;
  const std::int64_t pairs = s["causal"] != 0 ? s["s"] * (s["s"] + 1) / 2 : s["s"] * s["s"];
  const std::int64_t products = backward ? 5 : 2;  // scores, dp, dv, dk, dq; or scores and their product with v
  return products * 2 * s["b"] * s["hq"] * pairs * s["d"];
}

std::int64_t gemm_bytes(const Case& row) {
  const Shape& s = row.shape;
  return (s["m"] * s["k"] + s["n"] * s["k"]) * size_of(row.type) + s["m"] * s["n"] * size_of(output_type(row));
}

// Passes over a rows x columns array of bf16, and what a norm keeps beside it.
std::int64_t row_bytes(const Case& row) {
  const std::int64_t rows = row.shape["rows"], columns = row.shape["columns"];
  const std::int64_t element = size_of(row.type), real = size_of(Type::fp32);
  const std::int64_t array = rows * columns * element;
  if (row.kind == "softmax") return 2 * array;
  if (row.kind == "softmax_backward") return 3 * array;
  if (row.kind == "swiglu") return 3 * array;
  if (row.kind == "swiglu_backward") return 5 * array;
  const bool layer = row.kind.starts_with("layernorm");
  const std::int64_t statistics = rows * real * (layer ? 2 : 1);  // mean and 1/deviation, or the latter alone
  const std::int64_t vectors = layer ? 2 : 1;                     // weight and bias, or the weight alone
  if (!row.kind.ends_with("_backward")) return 2 * array + vectors * columns * element + statistics;
  return 3 * array + columns * element + vectors * columns * real +
         statistics;  // the weight read, fp32 gradients written
}

struct PerElement {
  std::string_view kind;
  std::int64_t bytes;
};
constexpr std::array<PerElement, 11> k_per_element = {{{"copy", 2},
                                                       {"read", 1},
                                                       {"write", 1},
                                                       {"h2d", 1},
                                                       {"d2h", 1},
                                                       {"h2d_d2h", 1},
                                                       {"add", 6},
                                                       {"gelu", 4},
                                                       {"gelu_backward", 6},
                                                       {"cast", 3},
                                                       {"adam", 30}}};

}  // namespace

std::int64_t Shape::operator[](std::string_view name) const {
  for (const auto& [key, extent] : extents_)
    if (key == name) return extent;
  throw std::out_of_range("no extent " + std::string(name));
}

Type output_type(const Case& row) { return row.type == Type::fp8_e4m3 && row.kind == "gemm" ? Type::bf16 : row.type; }

std::int64_t bytes(const Case& row) {
  if (row.group == "launch") return 0;
  if (row.kind == "gemm") return gemm_bytes(row);
  if (row.kind == "attention") return attention_bytes(row, false);
  if (row.kind == "attention_backward") return attention_bytes(row, true);
  if (row.group == "collective") return row.shape["n"] * size_of(row.type);
  for (const PerElement& entry : k_per_element)
    if (entry.kind == row.kind) return entry.bytes * row.shape["n"];
  return row_bytes(row);
}

std::int64_t flops(const Case& row) {
  if (row.kind == "gemm") return 2 * row.shape["m"] * row.shape["n"] * row.shape["k"];
  if (row.kind == "attention") return attention_flops(row, false);
  if (row.kind == "attention_backward") return attention_flops(row, true);
  return 0;
}

std::string describe(const Case& row) {
  std::string text = row.kind + " " + std::string(name(row.type));
  for (const auto& [key, extent] : row.shape.extents()) text += " " + key + "=" + std::to_string(extent);
  if (row.ranks > 1) text += " ranks=" + std::to_string(row.ranks);
  for (const std::string& word : {row.implementation, row.layout, row.memory, row.cache})
    if (!word.empty()) text += " " + word;
  return text;
}

Json::Object identity(const Case& row) {
  Json::Object shape;
  for (const auto& [key, extent] : row.shape.extents()) shape.emplace_back(key, extent);
  Json::Object members = {
      {"kind", row.kind}, {"type", name(row.type)}, {"shape", std::move(shape)}, {"ranks", row.ranks}};
  if (!row.implementation.empty()) members.emplace_back("implementation", row.implementation);
  if (!row.layout.empty()) members.emplace_back("layout", row.layout);
  if (!row.memory.empty()) members.emplace_back("memory", row.memory);
  if (!row.cache.empty()) members.emplace_back("cache", row.cache);
  return members;
}

}  // namespace cairn::probe
