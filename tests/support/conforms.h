// Documents against their schemas.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "catch.h"

namespace cairn::test {

// What the schemas use of JSON Schema. Keys that no schema names are wrong here: the documents are ours.
inline void conforms(const nlohmann::json& schema, const nlohmann::json& value, const std::string& path) {
  INFO(path);
  if (schema.contains("anyOf")) {
    if (value.is_null()) {
      CHECK(schema.at("anyOf")[1]["type"] == "null");
      return;
    }
    return conforms(schema.at("anyOf")[0], value, path);
  }
  if (schema.contains("const")) {
    CHECK(value == schema.at("const"));
    return;
  }
  if (!schema.contains("type")) return;  // anything
  const std::string type = schema.at("type");
  CHECK((type == "object"    ? value.is_object()
         : type == "array"   ? value.is_array()
         : type == "string"  ? value.is_string()
         : type == "boolean" ? value.is_boolean()
         : type == "integer" ? value.is_number_integer()
                             : value.is_number()));
  if (schema.contains("minimum")) CHECK(value.get<double>() >= schema.at("minimum").get<double>());
  if (schema.contains("prefixItems")) {
    const nlohmann::json& places = schema.at("prefixItems");
    REQUIRE(value.size() == places.size());
    for (std::size_t k = 0; k < places.size(); ++k) conforms(places[k], value[k], path + "[" + std::to_string(k) + "]");
  } else if (type == "array") {
    for (const nlohmann::json& each : value) conforms(schema.at("items"), each, path + "[]");
  }
  if (type != "object") return;
  const nlohmann::json none = nlohmann::json::object();
  const nlohmann::json& named = schema.contains("properties") ? schema.at("properties") : none;
  const bool open = schema.contains("additionalProperties");
  if (!open && named.empty()) return;
  for (const nlohmann::json& key : schema.value("required", nlohmann::json::array()))
    CHECK(value.contains(key.get<std::string>()));
  for (const auto& [key, each] : value.items()) {
    INFO(key);
    REQUIRE((open || named.contains(key)));
    conforms(named.contains(key) ? named[key] : schema.at("additionalProperties"), each, path + "." + key);
  }
}

}  // namespace cairn::test
