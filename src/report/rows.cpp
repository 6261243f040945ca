#include "cairn/report/rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "cairn/core/assert.h"
#include "cairn/report/attention.h"
#include "cairn/report/calibration.h"
#include "cairn/report/diff.h"
#include "cairn/report/diff_trace.h"
#include "cairn/report/module_stages.h"
#include "cairn/report/schema.h"
#include "cairn/report/sweep.h"
#include "cairn/report/tasks.h"

namespace cairn::report {
namespace {

using Json = nlohmann::ordered_json;
using Pointer = Json::json_pointer;

// A document, and the lists in it that may be its rows: the first that is there.
struct Listing {
  std::string_view name;
  std::string (*schema)();
  std::array<std::string_view, 2> lists;
};
constexpr Listing k_listings[] = {{"cairn.run/1", run_schema, {}},
                                  {"cairn.bound/1", bound_schema, {"/layers", "/locality"}},
                                  {"cairn.calibrate/1", calibrate_schema, {"/families"}},
                                  {"cairn.diff/1", diff_schema, {"/result/settings"}},
                                  {"cairn.diff_trace/1", diff_trace_schema, {"/result/parts"}},
                                  {"cairn.topology/1", topology_schema, {"/flows/finish_s"}},
                                  {"cairn.topology-comparison/1", topology_comparison_schema, {"/networks"}},
                                  {"cairn.partition/1", partition_schema, {"/modules"}},
                                  {"cairn.tasks/1", tasks_schema, {"/rules"}},
                                  {"cairn.attention/1", attention_schema, {"/schemes"}},
                                  {"cairn.attention-comparison/1", attention_comparison_schema, {"/points"}},
                                  {"cairn.attention-batch/1", attention_batch_schema, {"/groups/groups"}},
                                  {"cairn.attention-schemes/1", attention_schemes_schema, {"/schemes"}},
                                  {"cairn.schedule/1", schedule_schema, {"/result/operations"}},
                                  {"cairn.schedule-comparison/1", schedule_comparison_schema, {"/schedules"}},
                                  {"cairn.schedule-kinds/1", schedule_kinds_schema, {"/kinds"}},
                                  {"cairn.config/1", config_schema, {"/keys"}},
                                  {"cairn.sweep/1", sweep_schema, {"/rows"}},
                                  {"cairn.validate/1", validate_schema, {"/rows"}}};

const Listing& listing(std::string_view name) {
  const auto* found = std::find_if(std::begin(k_listings), std::end(k_listings),
                                   [&](const Listing& each) { return each.name == name; });
  CAIRN_ASSERT(found != std::end(k_listings));
  return *found;
}

// Of a value that may be null: what it is otherwise.
const Json& present(const Json& schema) {
  const auto forms = schema.find("anyOf");
  return forms == schema.end() ? schema : present(forms->front());
}

// The schema of the value at `path`.
const Json& schema_at(const Json& schema, Pointer path) {
  if (path.empty()) return schema;
  const std::string key = path.back();
  path.pop_back();
  return present(schema_at(schema, std::move(path))).at("properties").at(key);
}

bool is_number(const Json& schema) {
  const std::string type = present(schema).value("type", "");
  return type == "number" || type == "integer";
}

struct Column {
  std::string name;
  Pointer path;
};

void add_columns(const Json& schema, const Column& at, std::vector<Column>& columns) {
  const Json& value = present(schema);
  const std::string type = value.value("type", "");
  if (const auto keys = value.find("properties"); keys != value.end()) {
    for (const auto& [key, below] : keys->items())
      add_columns(below, {.name = at.name.empty() ? key : at.name + "." + key, .path = at.path / key}, columns);
  } else if (type != "object" && (type != "array" || is_number(value.at("items")))) {
    columns.push_back(at);
  }
}

// Who answered, and in which form, is the same in every row.
bool is_of_answer(const Column& column) { return column.name == "schema" || column.name.starts_with("tool."); }

std::vector<Column> columns_of(const Json& row_schema, std::string_view list) {
  std::vector<Column> columns;
  add_columns(row_schema, Column{.name = {}, .path = Pointer()}, columns);
  std::erase_if(columns, is_of_answer);
  // Rows that are bare numbers are called what their list is.
  if (columns.size() == 1 && columns.front().name.empty()) columns.front().name = list.substr(list.rfind('/') + 1);
  return columns;
}

std::string field(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string all;
  for (const Json& each : value) all += (all.empty() ? "" : ";") + field(each);
  return all;
}

Record names(const std::vector<Column>& columns) {
  Record result;
  for (const Column& column : columns) result.push_back(column.name);
  return result;
}

Record record(const Json& row, const std::vector<Column>& columns) {
  Record result;
  for (const Column& column : columns)
    result.push_back(row.contains(column.path) ? field(row.at(column.path)) : std::string());
  return result;
}

}  // namespace

Rows rows(std::string_view text) {
  const Json document = Json::parse(text);
  const Listing& all = listing(document.at("schema").get<std::string>());
  const Json schema = Json::parse(all.schema());
  for (const std::string_view list : all.lists) {
    const Pointer path{std::string(list)};
    if (list.empty() || !document.contains(path)) continue;
    const std::vector<Column> columns = columns_of(present(schema_at(schema, path)).at("items"), list);
    Rows result{.columns = names(columns), .records = {}};
    for (const Json& row : document.at(path)) result.records.push_back(record(row, columns));
    return result;
  }
  const std::vector<Column> columns = columns_of(schema, {});
  return {.columns = names(columns), .records = {record(document, columns)}};
}

Record columns(std::string_view schema) { return names(columns_of(Json::parse(listing(schema).schema()), {})); }

std::string csv_line(const Record& record) {
  std::string line;
  for (const std::string& field : record) {
    if (&field != &record.front()) line += ',';
    if (field.find_first_of(",\"\r\n") == std::string::npos) {
      line += field;
      continue;
    }
    line += '"';
    for (const char c : field) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + "\n";
}

std::string csv(std::string_view document) {
  const Rows all = rows(document);
  std::string text = csv_line(all.columns);
  for (const Record& record : all.records) text += csv_line(record);
  return text;
}

}  // namespace cairn::report
