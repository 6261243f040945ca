// What JSON Schemas of result documents are made of.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cairn/core/assert.h"
#include "cairn/report/glossary.h"

namespace cairn::report::schema {

using Json = nlohmann::ordered_json;
inline constexpr int k_schema_indent = 2;
using Members = std::initializer_list<std::pair<const char*, Json>>;

// An object in which every named member is present.
inline Json object(Members members) {
  Json result{{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  for (const auto& [key, value] : members) {
    result["properties"][key] = value;
    result["required"].push_back(key);
  }
  return result;
}
inline Json described(Json schema, std::string_view what) {
  schema["description"] = what;
  return schema;
}
inline Json object_of(const Json& each) { return Json{{"type", "object"}, {"additionalProperties", each}}; }
inline Json list_of(const Json& each) { return Json{{"type", "array"}, {"items", each}}; }
// An array whose places have meanings of their own.
inline Json tuple_of(const std::vector<Json>& places) {
  return Json{{"type", "array"}, {"prefixItems", places}, {"minItems", places.size()}, {"maxItems", places.size()}};
}
// What a number is of begins with its unit.
inline Json amount(std::string_view unit) { return Json{{"type", "number"}, {"minimum", 0}, {"description", unit}}; }
inline Json ratio(std::string_view of) { return amount(of); }
inline Json count() { return Json{{"type", "integer"}, {"minimum", 0}}; }
inline Json count(std::string_view what) { return described(count(), what); }
inline Json text() { return Json{{"type", "string"}}; }
inline Json text(std::string_view what) { return described(text(), what); }
inline Json texts(std::string_view what) { return described(list_of(text()), what); }
inline Json flag(std::string_view what) { return described(Json{{"type", "boolean"}}, what); }
// Described as `schema` is.
inline Json or_null(const Json& schema) {
  Json result{{"anyOf", {schema, {{"type", "null"}}}}};
  if (schema.contains("description")) result["description"] = schema["description"];
  return result;
}
// A number of either sign.
inline Json signed_amount(std::string_view unit) { return Json{{"type", "number"}, {"description", unit}}; }
inline Json tool() {
  return described(object({{"version", text("of cairn, as --version says it")}, {"build", text("its build type")}}),
                   "what made this document");
}
// What the glossary says of a label.
inline std::string meaning(std::string_view label) {
  const Term* term = explained(label);
  CAIRN_ASSERT(term != nullptr);
  return std::string(term->meaning);
}
inline Json assumption_list() { return texts("what the answer takes for granted"); }
inline Json warning_list() { return texts("what is not modelled as asked, or priced beyond what was measured"); }

inline Json document(const char* name, Json body) {
  Json result{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", name}};
  result.update(body);
  result["properties"]["schema"] = described(Json{{"const", name}}, "names this kind of document");
  return result;
}

}  // namespace cairn::report::schema
