// Exports a description as JSON Schema, draft 2020-12.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/config/read.h"
#include "cairn/core/json_text.h"
#include "kind_keys.h"

namespace cairn::config {

namespace {

using Json = nlohmann::ordered_json;

// A number, an optional space, a unit; which units, the documentation of the field says by its examples.
constexpr const char* k_quantity_pattern = "^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)? *[^ 0-9].*$";

class SchemaValue final : public Value {
 public:
  Json result = Json::object();
  // Of a scalar that holds something to begin with.
  std::optional<Json> initial = {};
  bool is_scalar = false;

 protected:
  void visit_flag(bool& x) override { scalar({{"type", "boolean"}}, x); }
  void visit_count(std::int64_t& x, const CountRule& rule) override {
    Json schema = {{"type", "integer"}, {"minimum", rule.minimum}};
    if (rule.maximum != CountRule{}.maximum) schema["maximum"] = rule.maximum;
    scalar(std::move(schema), x);
  }
  void visit_number(double& x, const NumberRule& rule) override {
    Json schema = {{"type", "number"}};
    if (rule.positive) {
      schema["exclusiveMinimum"] = 0;
    } else if (rule.minimum != std::numeric_limits<double>::lowest()) {
      schema["minimum"] = rule.minimum;
    }
    if (rule.maximum != NumberRule{}.maximum) schema["maximum"] = rule.maximum;
    scalar(std::move(schema), x);
  }
  void visit_text(std::string& x) override { scalar({{"type", "string"}}, x.empty() ? Json() : Json(x)); }
  void visit_notation(std::string& x, const Notation& notation) override {
    scalar({{"type", "string"},
            {"pattern", notation.pattern},
            {"$comment", fmt::format("for example {}", notation.example)}},
           x.empty() ? Json() : Json(x));
  }
  void visit_quantity(double& x, Dimension dimension, const NumberRule&) override {
    scalar({{"type", "string"},
            {"pattern", k_quantity_pattern},
            {"$comment",
             std::string(describe_dimension(dimension)) + ", for example " + std::string(examples_of(dimension))}},
           exact_text(x, dimension));
  }
  void visit_choice(std::size_t& index, const std::vector<std::string_view>& names) override {
    scalar({{"enum", names}}, index < names.size() ? Json(names[index]) : Json());
  }
  void visit_name(std::string& x, const std::vector<std::string>& names) override {
    scalar({{"enum", names}}, x.empty() ? Json() : Json(x));
  }
  void visit_object(const std::function<void(Fields&)>& description) override;
  void visit_list(const ListAccess& access, const ListRule& rule) override {
    access.resize(1);
    SchemaValue item;
    access.visit(0, item);
    result = {{"type", "array"}, {"items", item.with_provenance()}};
    if (rule.minimum_size > 0) result["minItems"] = rule.minimum_size;
    if (rule.maximum_size != ListRule{}.maximum_size) result["maxItems"] = rule.maximum_size;
  }
  void visit_map(const MapAccess& access) override {
    SchemaValue item;
    access.clear();
    access.visit("name", item);
    result = {{"type", "object"}, {"additionalProperties", item.with_provenance()}};
  }
  void visit_node(Node&) override {}
  void visit_one_of(std::size_t current, const std::vector<Alternative>& alternatives) override {
    Json all = Json::array();
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
      SchemaValue form;
      alternatives[i].describe(form);
      if (i == current) initial = form.initial;
      all.push_back(std::move(form.result));
    }
    result = {{"anyOf", std::move(all)}};
  }

 public:
  // A scalar may carry its source.
  Json with_provenance() { return is_scalar ? sourced(std::move(result)) : std::move(result); }
  static Json sourced(Json scalar) {
    return {{"anyOf", Json::array({std::move(scalar), {{"$ref", "#/$defs/sourced"}}})}};
  }

 private:
  void scalar(Json schema, Json value) {
    result = std::move(schema);
    if (!value.is_null()) initial = std::move(value);
    is_scalar = true;
  }
};

class SchemaFields final : public Fields {
 public:
  void open() override { open_ = true; }
  Json take() {
    Json schema = {{"type", "object"}, {"properties", std::move(properties_)}};
    if (!required_.empty()) schema["required"] = std::move(required_);
    schema["additionalProperties"] = open_;
    if (!of_kinds_.empty()) schema["dependentSchemas"] = std::move(of_kinds_);
    if (!by_kind_.empty()) schema["allOf"] = std::move(by_kind_);
    return schema;
  }

 protected:
  void visit(std::string_view key, const Rule& rule, bool has_value, const std::function<void(Value&)>& body) override {
    SchemaValue value;
    body(value);
    Json schema = value.with_provenance();
    if (!rule.doc.empty()) schema["description"] = rule.doc;
    if (rule.required) {
      required_.push_back(key);
    } else if (has_value && value.initial) {
      schema["default"] = *value.initial;
    }
    properties_[std::string(key)] = std::move(schema);
  }
  // A key of some kinds has the forms that they give it, depends on the word, and where a kind requires it is required
  // under its word.
  void visit_kind(std::string_view word, const KindAccess& kinds) override {
    std::vector<SchemaFields> own(kinds.words.size());
    for (std::size_t kind = 0; kind < own.size(); ++kind) {
      kinds.visit(kind, own[kind]);
      if (own[kind].required_.empty()) continue;
      const Json is_kind{{"properties", {{word, {{"const", kinds.words[kind]}}}}}, {"required", Json::array({word})}};
      by_kind_.push_back({{"if", is_kind}, {"then", {{"required", own[kind].required_}}}});
    }
    for (const KindKey& each : kind_keys(kinds)) add_of_kinds(each, word, kinds, own);
  }

 private:
  void add_of_kinds(const KindKey& each, std::string_view word, const KindAccess& kinds,
                    const std::vector<SchemaFields>& own) {
    Json forms = Json::array(), uses = Json::array();  // schemas that differ, and the kinds that have them
    for (const std::size_t kind : each.kinds) {
      Json form = own[kind].properties_.at(each.key);
      form.erase("description");
      const auto same = std::find(forms.begin(), forms.end(), form);
      if (same == forms.end()) uses.push_back(Json::array());
      uses[static_cast<std::size_t>(same - forms.begin())].push_back(kinds.words[kind]);
      if (same == forms.end()) forms.push_back(std::move(form));
    }
    Json alternatives = Json::array();
    for (std::size_t i = 0; i < forms.size(); ++i) {
      Json keys{{word, SchemaValue::sourced({{"enum", uses[i]}})}};
      if (forms.size() > 1) keys[each.key] = forms[i];
      alternatives.push_back({{"properties", std::move(keys)}});
    }
    const bool one = forms.size() == 1;
    if (!one || each.kinds.size() < own.size())
      of_kinds_[each.key] = one ? std::move(alternatives.front()) : Json{{"anyOf", std::move(alternatives)}};
    Json schema = one ? std::move(forms.front()) : Json{{"anyOf", std::move(forms)}};
    if (!each.doc.empty()) schema["description"] = each.doc;
    properties_[each.key] = std::move(schema);
  }

  Json properties_ = Json::object();
  Json required_ = Json::array();
  Json of_kinds_ = Json::object();
  Json by_kind_ = Json::array();
  bool open_ = false;
};

void SchemaValue::visit_object(const std::function<void(Fields&)>& description) {
  SchemaFields fields;
  description(fields);
  result = fields.take();
}

}  // namespace

std::string schema_of(const std::function<void(Fields&)>& description, std::string_view title) {
  SchemaFields fields;
  description(fields);
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  schema.update(fields.take());
  schema["properties"]["extends"] = {{"type", "string"}, {"description", "another file, over which this one is laid"}};
  schema["$defs"]["sourced"] = {
      {"type", "object"},
      {"description", "a value with its provenance"},
      {"properties",
       {{"value", Json::object()},
        {"source",
         {{"enum", {name(Source::datasheet), name(Source::measured), name(Source::fitted), name(Source::assumed)}}}},
        {"ref", {{"type", "string"}}}}},
      {"required", Json::array({"value"})},
      {"additionalProperties", false}};
  return core::json_text(schema, 2);
}

}  // namespace cairn::config
