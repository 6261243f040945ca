// A JSON value that is only ever written. The machines to measure seldom have a JSON library, and often cannot install
// one.
//
// Members keep their order. A double is written in the fewest digits that read back as the same double; NaN and
// infinity, which JSON lacks, as null.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cairn::probe {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;  // null
  Json(bool value) : value_(value) {}
  Json(int value) : value_(std::int64_t{value}) {}
  Json(std::int64_t value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  Json(Array items) : value_(std::move(items)) {}
  Json(Object members) : value_(std::move(members)) {}

  // On one line, without a line break at the end.
  std::string compact() const;
  // Members of the document one a line; arrays in it one item a line.
  std::string document() const;

 private:
  void append(std::string& out) const;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

}  // namespace cairn::probe
