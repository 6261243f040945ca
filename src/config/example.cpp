#include "example.h"
#include "silent_value.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/config/node.h"

namespace cairn::config {
namespace {

// The keys of a map: what is required, or else its first.
class Keys final : public Fields {
 public:
  std::string example() const {
    constexpr std::size_t k_shown = 3;
    const std::vector<std::string>& chosen = required_.empty() ? all_ : required_;
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < std::min(k_shown, chosen.size()); ++i) parts.push_back(chosen[i] + ": ...");
    if (parts.size() < all_.size()) parts.emplace_back("...");
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }

 protected:
  void visit(std::string_view key, const Rule& rule, bool, const std::function<void(Value&)>&) override {
    all_.emplace_back(key);
    if (rule.required) required_.emplace_back(key);
  }

 private:
  std::vector<std::string> all_, required_;
};

class Example final : public Value {
 public:
  std::string text;

 protected:
  void visit_flag(bool&) override { text = "true"; }
  void visit_count(std::int64_t& x, const CountRule& rule) override {
    text = fmt::format("{}", std::clamp(x > 0 ? x : std::int64_t{1}, rule.minimum, rule.maximum));
  }
  void visit_number(double& x, const NumberRule& rule) override {
    text = fmt::format("{}", std::clamp(x > 0.0 && std::isfinite(x) ? x : 1.0, rule.minimum, rule.maximum));
  }
  void visit_text(std::string& x) override { text = x.empty() ? "some text" : x; }
  void visit_notation(std::string&, const Notation& notation) override { text = notation.example; }
  void visit_quantity(double&, Dimension dimension, const NumberRule&) override {
    const std::string_view examples = examples_of(dimension);  // 'A' or 'B'
    text = examples.substr(1, examples.find('\'', 1) - 1);
  }
  void visit_choice(std::size_t&, const std::vector<std::string_view>& names) override { text = names.front(); }
  void visit_name(std::string&, const std::vector<std::string>& names) override { text = names.front(); }
  void visit_object(const std::function<void(Fields&)>& description) override {
    Keys keys;
    description(keys);
    text = keys.example();
  }
  void visit_list(const ListAccess&, const ListRule&) override { text = "[a, b, ...]"; }
  void visit_map(const MapAccess&) override { text = "{name: ..., ...}"; }
  void visit_node(Node&) override {}
  void visit_one_of(std::size_t, const std::vector<Alternative>& alternatives) override {
    std::vector<std::string> forms;
    for (const Alternative& each : alternatives) {
      Example form;
      each.describe(form);
      if (!form.text.empty()) forms.push_back(form.text);
    }
    text = fmt::format("{}", fmt::join(forms, " or "));
  }
};

class PathsOfValue final : public SilentValue {
 public:
  PathsOfValue(std::string path, std::vector<std::string>& all) : path_(std::move(path)), all_(all) {}

 protected:
  void visit_object(const std::function<void(Fields&)>& description) override;
  void visit_one_of(std::size_t, const std::vector<Alternative>& alternatives) override {
    for (const Alternative& each : alternatives) each.describe(*this);
  }

 private:
  std::string path_;
  std::vector<std::string>& all_;
};

class PathsOfFields final : public Fields {
 public:
  PathsOfFields(std::string path, std::vector<std::string>& all) : path_(std::move(path)), all_(all) {}

 protected:
  void visit(std::string_view key, const Rule&, bool, const std::function<void(Value&)>& body) override {
    all_.push_back(join_path(path_, key));
    PathsOfValue below(all_.back(), all_);
    body(below);
  }
  void visit_kind(std::string_view, const KindAccess& kinds) override {
    for (std::size_t kind = 0; kind < kinds.words.size(); ++kind) kinds.visit(kind, *this);
  }

 private:
  std::string path_;
  std::vector<std::string>& all_;
};

void PathsOfValue::visit_object(const std::function<void(Fields&)>& description) {
  PathsOfFields fields(path_, all_);
  description(fields);
}

}  // namespace

std::string example_of(const std::function<void(Value&)>& description) {
  Example example;
  description(example);
  return example.text;
}

std::vector<std::string> key_paths(const std::function<void(Value&)>& description) {
  std::vector<std::string> all;
  PathsOfValue paths({}, all);
  description(paths);
  return all;
}

}  // namespace cairn::config
