// What JSON Schemas of result documents are made of.
#pragma once

#include <initializer_list>
#include <utility>

#include <nlohmann/json.hpp>

namespace cairn::report::schema {

using Json = nlohmann::ordered_json;
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
inline Json object_of(const Json& each) { return Json{{"type", "object"}, {"additionalProperties", each}}; }
inline Json list_of(const Json& each) { return Json{{"type", "array"}, {"items", each}}; }
inline Json amount(const char* unit) { return Json{{"type", "number"}, {"minimum", 0}, {"description", unit}}; }
inline Json ratio(const char* of) { return Json{{"type", "number"}, {"minimum", 0}, {"description", of}}; }
inline Json count() { return Json{{"type", "integer"}, {"minimum", 0}}; }
inline Json text() { return Json{{"type", "string"}}; }
inline Json flag() { return Json{{"type", "boolean"}}; }
inline Json or_null(Json schema) { return Json{{"anyOf", {std::move(schema), {{"type", "null"}}}}}; }

inline Json described(Json schema, const char* what) {
  schema["description"] = what;
  return schema;
}
// A number of either sign.
inline Json signed_amount(const char* unit) { return Json{{"type", "number"}, {"description", unit}}; }
inline Json tool() { return object({{"version", text()}, {"build", text()}}); }

inline Json document(const char* name, Json body) {
  Json result{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", name}};
  result.update(body);
  result["properties"]["schema"] = Json{{"const", name}};
  return result;
}

}  // namespace cairn::report::schema
