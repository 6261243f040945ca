// Writes a described structure as JSON.
#include <utility>

#include <nlohmann/json.hpp>

#include "cairn/config/loader.h"
#include "cairn/config/read.h"
#include "cairn/core/json_text.h"
#include "scalar.h"

namespace cairn::config {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Node& node) {
  switch (node.kind) {
    case NodeKind::null:
      return nullptr;
    case NodeKind::list: {
      Json list = Json::array();
      for (const Node& item : node.items) list.push_back(json_of(item));
      return list;
    }
    case NodeKind::map: {
      Json map = Json::object();
      for (const Entry& entry : node.entries) map[entry.key] = json_of(entry.value);
      return map;
    }
    case NodeKind::scalar:
      break;
  }
  if (node.quoted) return node.text;
  if (const std::optional<bool> flag = as_flag(node)) return *flag;
  std::int64_t integer = 0;
  if (parse_integer(node.text, integer) == IntegerText::valid) return integer;
  if (const std::optional<double> number = parse_number(node.text)) return *number;
  return node.text;
}

class WriterValue final : public Value {
 public:
  Json result = nullptr;

 protected:
  void visit_flag(bool& x) override { result = x; }
  void visit_count(std::int64_t& x, const CountRule&) override { result = x; }
  void visit_number(double& x, const NumberRule&) override { result = x; }
  void visit_text(std::string& x) override { result = x; }
  void visit_quantity(double& x, Dimension dimension, const NumberRule&) override { result = exact_text(x, dimension); }
  void visit_choice(std::size_t& index, const std::vector<std::string_view>& names) override {
    CAIRN_ASSERT(index < names.size());
    result = names[index];
  }
  void visit_name(std::string& x, const std::vector<std::string>&) override { result = x; }
  void visit_object(const std::function<void(Fields&)>& description) override;
  void visit_list(const ListAccess& access, const ListRule&) override {
    result = Json::array();
    for (std::size_t i = 0; i < access.size; ++i) {
      WriterValue item;
      access.visit(i, item);
      result.push_back(std::move(item.result));
    }
  }
  void visit_map(const MapAccess& access) override {
    result = Json::object();
    for (const std::string& key : access.keys) {
      WriterValue item;
      access.visit(key, item);
      result[key] = std::move(item.result);
    }
  }
  void visit_node(Node& x) override { result = json_of(x); }
  void visit_one_of(std::size_t current, const std::vector<Alternative>& alternatives) override {
    CAIRN_ASSERT(current < alternatives.size());
    alternatives[current].describe(*this);
  }
};

class WriterFields final : public Fields {
 public:
  Json result = Json::object();

 protected:
  void visit(std::string_view key, const Rule&, bool has_value, const std::function<void(Value&)>& body) override {
    if (!has_value) return;
    WriterValue value;
    body(value);
    result[std::string(key)] = std::move(value.result);
  }
};

void WriterValue::visit_object(const std::function<void(Fields&)>& description) {
  WriterFields fields;
  description(fields);
  result = std::move(fields.result);
}

std::string dump(const Json& json, int indent) { return core::json_text(json, indent); }

void flatten(const Json& json, const std::string& path, const Origins& origins, std::vector<ResolvedKey>& leaves) {
  const bool nested = json.is_object() || (json.is_array() && !json.empty() && json.front().is_structured());
  if (!nested || json.empty()) {
    const Origin* origin = origins.find(path);
    leaves.push_back(
        ResolvedKey{.key_path = path, .value = dump(json, -1), .origin = origin != nullptr ? *origin : Origin{}});
    return;
  }
  if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) flatten(json[i], join_path(path, i), origins, leaves);
    return;
  }
  for (const auto& [key, value] : json.items()) flatten(value, join_path(path, key), origins, leaves);
}

}  // namespace

std::vector<ResolvedKey> resolved_fields(const std::function<void(Fields&)>& description, const Origins& origins) {
  WriterFields fields;
  description(fields);
  std::vector<ResolvedKey> leaves;
  for (const auto& [key, value] : fields.result.items()) flatten(value, key, origins, leaves);
  return leaves;
}

std::string write_fields(const std::function<void(Fields&)>& description, int indent) {
  WriterFields fields;
  description(fields);
  return dump(fields.result, indent);
}

std::string write_value(const std::function<void(Value&)>& description, int indent) {
  WriterValue value;
  description(value);
  return dump(value.result, indent);
}

std::string to_json(const Node& node, int indent) { return dump(json_of(node), indent); }

Node written_node(const std::string& json) {
  core::Diagnostics none;
  return parse_text(json, Syntax::json, {}, none);
}

}  // namespace cairn::config
