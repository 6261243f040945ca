// One row to measure: its kind, types and shape in the words of README.md, and what follows from them alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json.h"
#include "number.h"

namespace cairn::probe {

// Extents by name, in the order in which they are written.
class Shape {
 public:
  Shape(std::initializer_list<std::pair<std::string, std::int64_t>> extents) : extents_(extents) {}
  std::int64_t operator[](std::string_view name) const;  // a name that is not there is a bug: std::out_of_range
  const std::vector<std::pair<std::string, std::int64_t>>& extents() const { return extents_; }
  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::pair<std::string, std::int64_t>> extents_;
};

struct Case {
  std::string group;  // what --only names
  std::string kind;
  Type type = Type::none;
  Shape shape = {};
  int ranks = 1;
  std::string implementation = {};
  std::string layout = {};  // gemm: TN, NN, NT
  std::string cache = {};   // cold or warm, as asked for
  std::string memory = {};  // transfers: pinned or pageable
};

// gemm writes bf16 where its operands are fp8, else the type of its operands.
Type output_type(const Case& row);

// `bytes` and `flops` of the document (README.md); 0 flops: not a contraction.
std::int64_t bytes(const Case& row);
std::int64_t flops(const Case& row);

// "gemm bf16 m=16 n=32 k=64 TN cold": the line of --list and of the progress.
std::string describe(const Case& row);

// The members that name the row: kind, type, shape, ranks, and those of the optional words that are set.
Json::Object identity(const Case& row);

}  // namespace cairn::probe
