#include "cairn/config/template.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/config/loader.h"
#include "cairn/config/read.h"
#include "cairn/config/yaml.h"
#include "example.h"
#include "kind_keys.h"
#include "silent_value.h"

namespace cairn::config {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t k_indent = 2;
constexpr std::size_t k_doc_column = 44;

// Every line of `text`, which ends in a line break, behind `prefix`.
std::string prefixed(const std::string& text, const std::string& prefix) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    result += prefix + text.substr(at, end - at);
    at = end;
  }
  return result;
}

std::string yaml_of(const std::string& json) {
  core::Diagnostics diagnostics;
  return to_yaml(parse_text(json, Syntax::json, {}, diagnostics));
}

// The keys of a map. In a comment none is written out.
class Lines final : public Fields {
 public:
  Lines(const Json& defaults, bool is_comment) : defaults_(defaults), is_comment_(is_comment) {}
  std::string text;

 protected:
  void visit(std::string_view key, const Rule& rule, bool has_value, const std::function<void(Value&)>& body) override;
  // Keys of other kinds are shown as ones to write.
  void visit_kind(std::string_view, const KindAccess& kinds) override {
    for (const KindKey& shown : kind_keys(kinds)) {
      const bool own = std::find(shown.kinds.begin(), shown.kinds.end(), kinds.current) != shown.kinds.end();
      EachKey each(
          [&](std::string_view key, const Rule& rule, bool has_value, const std::function<void(Value&)>& body) {
            if (key == shown.key)
              visit(key, {.doc = shown.doc, .required = own && rule.required}, own && has_value, body);
          });
      kinds.visit(own ? kinds.current : shown.kinds.front(), each);
    }
  }

 private:
  void add(std::string line, const Rule& rule) {
    if (!rule.doc.empty()) line = fmt::format("{:<{}} # {}", line, k_doc_column, rule.doc);
    text += line + "\n";
  }

  const Json& defaults_;
  bool is_comment_;
};

// A map with keys of its own as lines; nothing for any other value.
class Block final : public SilentValue {
 public:
  Block(const Json& defaults, bool is_comment) : defaults_(defaults), is_comment_(is_comment) {}
  std::optional<std::string> text;

 protected:
  void visit_object(const std::function<void(Fields&)>& description) override {
    Lines lines(defaults_, is_comment_);
    description(lines);
    text = prefixed(lines.text, std::string(k_indent, ' '));
  }
  void visit_one_of(std::size_t current, const std::vector<Alternative>& alternatives) override {
    if (!is_comment_) alternatives[current].describe(*this);
  }

 private:
  const Json& defaults_;
  bool is_comment_;
};

void Lines::visit(std::string_view key, const Rule& rule, bool has_value, const std::function<void(Value&)>& body) {
  const Json none;
  const Json& initial = defaults_.is_object() && defaults_.contains(key) ? defaults_.at(std::string(key)) : none;
  const Json value = has_value ? Json::parse(write_value(body, -1)) : Json();
  const bool has_text = has_value && value != "";  // an empty text says nothing
  const bool written = !is_comment_ && (rule.required || (has_text && value != initial));
  // What is written out in a block is so in a file without it: comments hold one level of marks.
  const std::string mark = written || is_comment_ ? "" : "# ";
  Block block(written ? initial : none, !written);
  body(block);
  if (block.text) {
    add(fmt::format("{}{}:", mark, key), rule);
    text += prefixed(*block.text, mark);
    return;
  }
  const bool given = has_text && !(is_comment_ && rule.required);
  std::string shown = given ? yaml_of(value.dump()) : example_of(body) + "\n";
  if (shown == "\n") shown = "...\n";
  const bool has_lines = given && value.is_object() && !value.empty();
  if (!has_lines && shown.find('\n') + 1 == shown.size()) {
    shown.pop_back();
    return add(fmt::format("{}{}: {}", mark, key, shown), rule);
  }
  add(fmt::format("{}{}:", mark, key), rule);
  text += prefixed(prefixed(shown, std::string(k_indent, ' ')), mark);
}

}  // namespace

std::string template_fields(const std::function<void(Fields&)>& values, const std::function<void(Fields&)>& defaults) {
  const Json initial = Json::parse(write_fields(defaults, -1));
  Lines lines(initial, false);
  values(lines);
  return lines.text;
}

}  // namespace cairn::config
