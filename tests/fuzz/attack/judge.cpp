#include "judge.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include <nlohmann/json.hpp>

#include "printable.h"

namespace cairn::attack {
namespace {

using Json = nlohmann::json;
using Complaint = std::optional<std::string>;

// The last digit that a document keeps of a sum of a dozen numbers.
constexpr double k_rounding = 1e-9;

constexpr std::size_t k_shown = 80;  // bytes of an output that is none
constexpr int k_last_code = 4;
constexpr int k_refused = 2;
constexpr int k_bug = 70;

const Json* schema_of(const std::string& name) {
  static std::map<std::string, Json> known;
  auto found = known.find(name);
  if (found == known.end()) {
    const Answer answer = call_here({"cairn", "schema", name});
    found = known.emplace(name, answer.code == 0 ? Json::parse(answer.out) : Json()).first;
  }
  return found->second.is_null() ? nullptr : &found->second;
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  return type == "null" ? value.is_null() : value.is_number();
}

// What the schemas of answers use of JSON Schema.
Complaint departs(const Json& schema, const Json& value, const std::string& path) {
  if (const auto forms = schema.find("anyOf"); forms != schema.end()) {
    Complaint first;
    for (const Json& form : *forms) {
      Complaint wrong = departs(form, value, path);
      if (!wrong) return {};
      if (!first) first = std::move(wrong);
    }
    return first;
  }
  if (const auto fixed = schema.find("const"); fixed != schema.end())
    return value == *fixed ? Complaint() : path + " is " + value.dump();
  const auto type = schema.find("type");
  if (type != schema.end() && !has_type(value, *type)) return path + " is no " + type->get<std::string>();
  if (const auto least = schema.find("minimum"); least != schema.end() && value.get<double>() < least->get<double>())
    return path + " is negative";
  if (const auto places = schema.find("prefixItems"); places != schema.end()) {
    if (value.size() != places->size()) return path + " has another number of places";
    for (std::size_t k = 0; k < value.size(); ++k)
      if (Complaint wrong = departs((*places)[k], value[k], path + "[" + std::to_string(k) + "]")) return wrong;
  }
  if (value.is_array() && schema.contains("items"))
    for (const Json& each : value)
      if (Complaint wrong = departs(schema["items"], each, path + "[]")) return wrong;
  if (!value.is_object()) return {};
  static const Json k_none = Json::object();
  const auto properties = schema.find("properties");
  const Json& keys = properties == schema.end() ? k_none : *properties;
  const auto others = schema.find("additionalProperties");
  const bool any_other = others == schema.end() && keys.empty();
  if (const auto required = schema.find("required"); required != schema.end())
    for (const Json& key : *required)
      if (!value.contains(key.get_ref<const std::string&>())) return path + " lacks " + key.get<std::string>();
  for (const auto& [key, each] : value.items()) {
    Complaint wrong;
    if (const auto described = keys.find(key); described != keys.end())
      wrong = departs(*described, each, path + "." + key);
    else if (others != schema.end() && others->is_object())
      wrong = departs(*others, each, path + ".*");
    else if (!any_other)
      wrong = path + "." + key + " is not described";
    if (wrong) return wrong;
  }
  return {};
}

Complaint sum_departs(const Json& parts, double total, const std::string& what, const std::vector<std::string>& keys) {
  double sum = 0.0;
  for (const std::string& key : keys) sum += parts.at(key).get<double>();
  if (std::abs(sum - total) <= k_rounding * std::max(std::abs(total), std::abs(sum))) return {};
  return "the parts of the " + what + " do not add up to it";
}

Complaint parts_depart(const Json& result) {
  std::vector<std::string> terms;
  for (const auto& [key, value] : result.at("time_s").items()) terms.push_back(key);
  if (Complaint wrong = sum_departs(result["time_s"], result.at("iteration_time_s"), "time", terms)) return wrong;
  for (const Json& stage : result.at("memory_bytes").at("stages"))
    if (Complaint wrong = sum_departs(stage, stage.at("allocated_peak"), "memory",
                                      {"parameters", "gradients", "optimizer", "activations", "workspace"}))
      return wrong;
  return {};
}

// Whole picoseconds: they add up exactly.
Complaint differences_depart(const Json& result) {
  const auto sum = [&](const char* list, const char* key) {
    std::int64_t total = 0;
    for (const Json& each : result.at(list)) total += each.at(key).get<std::int64_t>();
    return total;
  };
  const auto difference = result.at("difference_ps").get<std::int64_t>();
  if (sum("parts", "difference_ps") != difference) return "the parts of the difference do not add up to it";
  if (sum("settings", "share_ps") + result.at("unexplained_ps").get<std::int64_t>() != difference)
    return "the shares of settings do not add up to the difference";
  return {};
}

Complaint document_complaint(const Json& document) {
  if (!document.is_object() || !document.contains("schema")) return {};
  const std::string name = document["schema"];
  const Json* schema = schema_of(name);
  if (schema != nullptr)
    if (Complaint wrong = departs(*schema, document, name)) return wrong;
  if (name == "cairn.diff/1") return differences_depart(document["result"]);
  return name == "cairn.run/1" ? parts_depart(document["result"]) : Complaint();
}

Complaint documents_complaint(const std::string& text) {
  if (!text.starts_with("{")) return {};
  const Json whole = Json::parse(text, nullptr, false);
  if (!whole.is_discarded()) return document_complaint(whole);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const Json line = Json::parse(text.substr(begin, end - begin), nullptr, false);
    if (line.is_discarded())
      return "standard output is no JSON, it ends: " + text.substr(text.size() - std::min(text.size(), k_shown));
    if (Complaint wrong = document_complaint(line)) return wrong;
    begin = end + 1;
  }
  return {};
}

// The line of `text` that holds `words`, or its first.
std::string line_with(const std::string& text, std::string_view words) {
  const std::size_t place = text.find(words);
  const std::size_t begin = place == std::string::npos ? 0 : text.rfind('\n', place) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

Complaint complaint(const Answer& answer) {
  if (answer.code == k_bug) return line_with(answer.err, "internal error");
  if (answer.code < 0) return "ended by signal " + std::to_string(-answer.code);
  if (answer.code > k_last_code) return "exit code " + std::to_string(answer.code);
  if (answer.code >= k_refused && answer.err.empty()) return "refused without a word";
  for (const auto& [stream, text] :
       {std::pair("standard output", &answer.out), std::pair("standard error", &answer.err),
        std::pair("a written file", &answer.written)})
    if (const Complaint wrong = unprintable(*text)) return std::string(stream) + " holds " + *wrong;
  return documents_complaint(answer.out);
}

bool is_known(const std::string& complaint) {
  static const std::vector<std::string> known{
#define KNOWN(part) part,
#include "known.def"
#undef KNOWN
  };
  return std::any_of(known.begin(), known.end(),
                     [&](const std::string& part) { return complaint.find(part) != std::string::npos; });
}

}  // namespace cairn::attack
