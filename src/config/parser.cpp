// Reads a Node into a described structure. Keeps going after an error, so that one run reports them all.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/config/read.h"
#include "example.h"
#include "kind_keys.h"
#include "scalar.h"

namespace cairn::config {

namespace {

// No amount other than 0 is smaller or larger, in base units: products and quotients of a few stay finite.
constexpr double k_least_amount = 1e-30;
constexpr double k_most_amount = 1e30;

struct Context {
  core::Diagnostics& diagnostics;
  Origins& origins;
  std::function<std::vector<std::string>()> paths = {};  // of every key of the whole, to look up misplaced ones

  void error(const Place& place, const std::string& path, std::string message, std::string hint) {
    diagnostics.add(error_at(place, path, std::move(message), std::move(hint)));
  }
};

constexpr std::pair<std::string_view, Source> k_sources[] = {{"datasheet", Source::datasheet},
                                                             {"measured", Source::measured},
                                                             {"fitted", Source::fitted},
                                                             {"assumed", Source::assumed}};

// "did you mean 'x'?", or the valid names when none is near: of many those most alike.
std::string suggest(const std::string& word, const std::vector<std::string>& names) {
  constexpr std::size_t k_most = 24;
  if (const std::string near = core::nearest(word, names); !near.empty())
    return fmt::format("did you mean '{}'?", near);
  if (names.empty()) return {};
  if (names.size() <= k_most) return fmt::format("one of: {}", fmt::join(names, ", "));
  const std::vector<std::string> sorted = core::nearest_first(word, names);
  return fmt::format("one of: {} and {} more, which `cairn schema` has",
                     fmt::join(sorted.begin(), sorted.begin() + k_most, ", "), names.size() - k_most);
}

constexpr double k_exact_integers = 9007199254740992.0;  // 2^53: whole doubles below are exact

// The node under {value: ...}, with its provenance written to `origin`.
const Node& unwrap(const Node& node, const std::string& path, Origin& origin, Context& context) {
  if (!node.is_sourced()) return node;
  for (const Entry& entry : node.entries) {
    const std::string key_path = join_path(path, entry.key);
    if (entry.key == "value") continue;
    if (entry.key == "source") {
      const auto* found = std::find_if(std::begin(k_sources), std::end(k_sources),
                                       [&entry](const auto& source) { return source.first == entry.value.text; });
      if (found == std::end(k_sources)) {
        context.error(entry.value.place, key_path, fmt::format("unknown source {}", quote(entry.value.text)),
                      suggest(entry.value.text, {"datasheet", "measured", "fitted", "assumed"}));
      } else {
        origin.source = found->second;
      }
    } else if (entry.key == "ref") {
      if (!entry.value.is_scalar()) {
        context.error(entry.value.place, key_path, fmt::format("expected text, found {}", describe_form(entry.value)),
                      "name the document");
      }
      origin.reference = entry.value.text;
    } else {
      context.error(entry.key_place, key_path, "unknown key", suggest(entry.key, {"value", "source", "ref"}));
    }
  }
  return *node.find("value");
}

// What a count that is written otherwise amounts to: 8k, 8 Ki, 1e6.
std::string written_out(const std::string& text) {
  if (const std::optional<double> number = parse_number(text)) {
    if (*number == std::floor(*number) && std::abs(*number) < k_exact_integers)
      return fmt::format("write it out: {:.0f}", *number);
    return "write a whole number, without fraction and exponent";
  }
  const ParsedQuantity count = parse_quantity(text + " tokens", Dimension::tokens);
  if (!count.base || *count.base != std::floor(*count.base) || std::abs(*count.base) >= k_exact_integers) return {};
  if (!text.ends_with('k')) return fmt::format("write it out: {:.0f}", *count.base);
  constexpr double k_kibi = 1024.0 / 1000.0;
  return fmt::format("write it out: {:.0f}, or {:.0f} for {}Ki", *count.base, *count.base * k_kibi,
                     text.substr(0, text.size() - 1));
}

class ParserValue final : public Value {
 public:
  // `description` says what the value may be, for messages; `doc` what it is.
  ParserValue(const Node& node, std::string path, Context& context, const std::function<void(Value&)>& description,
              std::string_view doc = {})
      : path_(std::move(path)), context_(context), description_(description), doc_(doc) {
    Origin origin{.key_path = path_, .place = node.place};
    node_ = &unwrap(node, path_, origin, context_);
    context_.origins.add(std::move(origin));
  }

 protected:
  void visit_flag(bool& x) override {
    if (const std::optional<bool> flag = as_flag(*node_)) {
      x = *flag;
    } else {
      expected("true or false", node_->is_scalar() ? "write true or false, without quotes" : "");
    }
  }

  void visit_count(std::int64_t& x, const CountRule& rule) override {
    if (!node_->is_scalar() || node_->quoted)
      return expected("an integer", node_->quoted ? "write it without quotes" : "");
    const std::string& text = node_->text;
    std::int64_t value = 0;
    switch (parse_integer(text, value)) {
      case IntegerText::valid:
        break;
      case IntegerText::too_large:
        return refuse(fmt::format("{} is too large", quote(text)), range_text(rule));
      case IntegerText::leading_zero:
        return refuse(fmt::format("{} has a leading zero", quote(text)), "some read it as octal: write it without");
      case IntegerText::no_integer:
        return expected("an integer", written_out(text));
    }
    if (value < rule.minimum || value > rule.maximum)
      return refuse(fmt::format("{} is out of range", value), range_text(rule));
    x = value;
  }

  void visit_number(double& x, const NumberRule& rule) override {
    if (!node_->is_scalar() || node_->quoted)
      return expected("a number", node_->quoted ? "write it without quotes" : "");
    const std::optional<double> value = parse_number(node_->text);
    if (!value) return expected("a finite decimal number", "");
    if (const std::string range = outside(*value, rule, std::nullopt); !range.empty()) {
      return refuse(fmt::format("{} is out of range", node_->text), range);
    }
    x = *value;
  }

  void visit_text(std::string& x) override {
    if (!node_->is_scalar()) return expected("text", "");
    x = node_->text;
  }

  void visit_quantity(double& x, Dimension dimension, const NumberRule& rule) override {
    if (!node_->is_scalar())
      return expected(describe_dimension(dimension), fmt::format("for example {}", examples_of(dimension)));
    ParsedQuantity parsed = parse_quantity(node_->text, dimension);
    if (!parsed.base) return refuse(fmt::format("{}: {}", quote(node_->text), parsed.message), std::move(parsed.hint));
    if (const std::string range = outside(*parsed.base, rule, dimension); !range.empty()) {
      return refuse(fmt::format("{} is out of range", quote(node_->text)), range);
    }
    x = *parsed.base;
  }

  void visit_choice(std::size_t& index, const std::vector<std::string_view>& names) override {
    if (!node_->is_scalar()) return expected(fmt::format("one of: {}", fmt::join(names, ", ")), "");
    const auto found = std::find(names.begin(), names.end(), node_->text);
    if (found == names.end()) return unknown_name(std::vector<std::string>(names.begin(), names.end()));
    index = static_cast<std::size_t>(found - names.begin());
  }

  void visit_name(std::string& x, const std::vector<std::string>& names) override {
    visit_name_or(x, names, [](std::string_view) { return std::string(); });
  }
  void visit_name_or(std::string& x, const std::vector<std::string>& names, const WhyNot& why_not) override {
    const auto known = [&] { return fmt::format("one of: {}", fmt::join(names, ", ")); };
    if (!node_->is_scalar()) return expected(known(), "");
    if (std::find(names.begin(), names.end(), node_->text) == names.end()) {
      std::string reason = why_not(node_->text);
      return reason.empty() ? unknown_name(names) : refuse(std::move(reason), known());
    }
    x = node_->text;
  }

  void visit_object(const std::function<void(Fields&)>& description) override;

  void visit_list(const ListAccess& access, const ListRule& rule) override {
    if (!node_->is_list()) return expected("a list", "write [a, b, ...]");
    const std::size_t size = node_->items.size();
    if (size < rule.minimum_size || size > rule.maximum_size) {
      const bool bounded = rule.maximum_size != ListRule{}.maximum_size;
      return refuse(fmt::format("a list of {}", size),
                    bounded ? fmt::format("from {} to {} items are due", rule.minimum_size, rule.maximum_size)
                            : fmt::format("at least {} items are due", rule.minimum_size));
    }
    access.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      const std::string path = join_path(path_, i);
      if (empty(node_->items[i], path)) continue;
      const auto describe_item = [&](Value& value) { access.visit(i, value); };
      ParserValue item(node_->items[i], path, context_, describe_item);
      describe_item(item);
    }
  }

  void visit_map(const MapAccess& access) override {
    if (!node_->is_map()) return expected("a map", "write name: value, one below the other");
    access.clear();
    for (const Entry& entry : node_->entries) {
      const std::string path = join_path(path_, entry.key);
      if (empty(entry.value, path)) continue;
      const auto describe_item = [&](Value& value) { access.visit(entry.key, value); };
      ParserValue item(entry.value, path, context_, describe_item);
      describe_item(item);
    }
  }

  void visit_node(Node& x) override {
    x = *node_;
    note_origins(*node_, path_);
  }

  void visit_one_of(std::size_t, const std::vector<Alternative>& alternatives) override {
    if (empty(*node_, path_)) return;  // {value: null}
    const Form form = form_of(*node_);
    const auto offered = [&alternatives](Form wanted) {
      return std::find_if(alternatives.begin(), alternatives.end(),
                          [wanted](const Alternative& a) { return a.form == wanted; });
    };
    auto found = is_notation(*node_) ? offered(Form::notation) : alternatives.end();
    if (found == alternatives.end()) found = offered(form);
    if (found == alternatives.end() && node_->is_scalar()) {
      found = offered(Form::word);
      if (found == alternatives.end()) {
        found = std::find_if(alternatives.begin(), alternatives.end(),
                             [](const Alternative& a) { return a.form == Form::flag || a.form == Form::number; });
      }
    }
    if (found == alternatives.end()) {
      std::vector<std::string_view> forms;
      for (const Alternative& alternative : alternatives) forms.push_back(form_name(alternative.form));
      return expected(fmt::format("{}", fmt::join(forms, " or ")), "");
    }
    found->describe(*this);
  }

 private:
  void refuse(std::string message, std::string hint) {
    context_.error(node_->place, path_, std::move(message), std::move(hint));
  }
  void expected(std::string_view what, std::string hint) {
    refuse(fmt::format("expected {}, found {}", what, describe_form(*node_)),
           hint.empty() ? example() : std::move(hint));
  }
  // "tensor-parallel degree, for example tp: 1"
  std::string example() const {
    const std::string text = example_of(description_);
    if (text.empty()) return std::string(doc_);
    const std::string key = path_.substr(path_.find_last_of('.') + 1);
    const bool is_item = key.empty() || key.ends_with(']');
    return fmt::format("{}{}for example {}{}", doc_, doc_.empty() ? "" : ", ", is_item ? "" : key + ": ", text);
  }
  void unknown_name(const std::vector<std::string>& names) {
    refuse(fmt::format("unknown value {}", quote(node_->text)), suggest(node_->text, names));
  }
  // A raw tree is read by another module; where its parts came from is known here.
  void note_origins(const Node& node, const std::string& path) {
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::string item_path = join_path(path, i);
      context_.origins.add(Origin{.key_path = item_path, .place = node.items[i].place});
      note_origins(node.items[i], item_path);
    }
    for (const Entry& entry : node.entries) {
      const std::string entry_path = join_path(path, entry.key);
      context_.origins.add(Origin{.key_path = entry_path, .place = entry.value.place});
      note_origins(entry.value, entry_path);
    }
  }
  bool empty(const Node& node, const std::string& path) {
    if (node.is_null()) context_.error(node.place, path, "empty value", "give a value or remove the key");
    return node.is_null();
  }

  static std::string range_text(const CountRule& rule) {
    if (rule.maximum == CountRule{}.maximum) return fmt::format("at least {} is due", rule.minimum);
    return fmt::format("from {} to {} is due", rule.minimum, rule.maximum);
  }
  // What is due, when `value` breaks the rule; empty when it is fine.
  static std::string outside(double value, const NumberRule& rule, std::optional<Dimension> dimension) {
    const auto show = [dimension](double bound) {
      return dimension ? exact_text(bound, *dimension) : fmt::format("{}", bound);
    };
    if (rule.positive && value <= 0.0) return "more than 0 is due";
    if (value < rule.minimum) return fmt::format("at least {} is due", show(rule.minimum));
    if (value > rule.maximum) return fmt::format("at most {} is due", show(rule.maximum));
    const double size = std::abs(value);
    if (size != 0.0 && (size < k_least_amount || size > k_most_amount))
      return fmt::format("{} to {} is due", show(k_least_amount), show(k_most_amount));
    return {};
  }

  std::string path_;
  Context& context_;
  std::function<void(Value&)> description_;
  std::string_view doc_;
  const Node* node_ = nullptr;
};

class ParserFields final : public Fields {
 public:
  ParserFields(const Node& map, const std::string& path, Context& context)
      : map_(map), path_(path), context_(context), errors_before_(context.diagnostics.error_count()) {}

  void open() override { open_ = true; }

  // After the description: what it did not name.
  void finish() {
    if (open_) return;
    for (const Entry& entry : map_.entries) {
      if (is_known(entry.key) || is_of_others(entry.key)) continue;
      context_.error(entry.key_place, join_path(path_, entry.key), "unknown key", remedy(entry.key));
    }
  }

 protected:
  void visit(std::string_view key, const Rule& rule, bool, const std::function<void(Value&)>& body) override {
    if (any_kind_ && is_known(key)) return;
    known_.emplace_back(key);
    const std::string path = join_path(path_, key);
    const Node* node = given(key);
    if (node == nullptr) {
      if (rule.required && !any_kind_) {
        if (kind_.empty())
          context_.error(map_.place, path, "missing",
                         rule.doc.empty() ? "this key is required" : fmt::format("required: {}", rule.doc));
        else
          context_.error(map_.place, path, fmt::format("{} needs this key", kind_),
                         rule.doc.empty() ? "add it" : fmt::format("add it: {}", rule.doc));
      } else {
        context_.origins.add(Origin{.key_path = path});
      }
      return;
    }
    if (node->is_null()) return context_.error(node->place, path, "empty value", "give a value or remove the key");
    ParserValue value(*node, path, context_, body, rule.doc);
    body(value);
  }

  void visit_kind(std::string_view key, const KindAccess& kinds) override {
    if (is_refused(key)) {
      // A wrong word hides nothing else that is wrong: what any kind would take is read.
      any_kind_ = true;
      for (std::size_t kind = 0; kind < kinds.words.size(); ++kind) kinds.visit(kind, *this);
      any_kind_ = false;
      return;
    }
    kind_ = fmt::format("{} '{}'", key, kinds.words[kinds.current]);
    kinds.visit(kinds.current, *this);
    for (const KindKey& other : kind_keys(kinds)) {
      if (is_known(other.key)) continue;
      const std::string owners = kind_words(kinds, other.kinds);
      if (const Node* node = given(other.key))
        context_.error(node->place, join_path(path_, other.key), fmt::format("{} has no such key", kind_),
                       fmt::format("remove it, or choose another {}: it belongs to {}", key, owners));
      others_.emplace_back(other.key, owners);
    }
    kind_.clear();
  }

  bool is_known(std::string_view key) const { return std::find(known_.begin(), known_.end(), key) != known_.end(); }
  bool is_of_others(std::string_view key) const {
    return std::any_of(others_.begin(), others_.end(), [key](const auto& other) { return other.first == key; });
  }
  // Null: it is not there, or is taken away.
  const Node* given(std::string_view key) const {
    const Node* node = map_.find(key);
    return node != nullptr && node->is_null() && (open_ || !node->text.empty()) ? nullptr : node;
  }
  bool is_refused(std::string_view key) const {
    const std::vector<core::Diagnostic>& all = context_.diagnostics.all();
    return std::any_of(all.begin(), all.end(),
                       [path = join_path(path_, key)](const core::Diagnostic& each) { return each.key_path == path; });
  }

  // A near key, also of another kind, or the place where a key of this very name belongs.
  std::string remedy(const std::string& key) const {
    const bool is_near = !core::nearest(key, known_).empty();
    for (const auto& [other, owners] : others_)
      if (!is_near && !core::nearest(key, {other}).empty())
        return fmt::format("did you mean '{}'? it belongs to {}", other, owners);
    if (!is_near && context_.paths) {
      for (const std::string& path : context_.paths())
        if (path.ends_with("." + key)) return fmt::format("did you mean {}?", path);
    }
    return suggest(key, known_);
  }

  bool checks() const override { return context_.diagnostics.error_count() == errors_before_; }
  void refuse(std::string_view key, std::string_view message, std::string_view hint) override {
    const Node* node = map_.find(key);
    context_.error(node != nullptr ? node->place : map_.place, join_path(path_, key), std::string(message),
                   std::string(hint));
  }

 private:
  const Node& map_;
  const std::string& path_;
  Context& context_;
  std::size_t errors_before_;
  std::vector<std::string> known_;
  std::vector<std::pair<std::string, std::string>> others_;  // keys of other kinds, and those
  std::string kind_;                                         // "kind 'torus'", while its keys are read
  bool any_kind_ = false;                                    // while those of all kinds are
  bool open_ = false;
};

void ParserValue::visit_object(const std::function<void(Fields&)>& description) {
  if (!node_->is_map()) return expected("a map", "");
  ParserFields fields(*node_, path_, context_);
  description(fields);
  fields.finish();
}

}  // namespace

std::string_view name(Source source) {
  for (const auto& [text, value] : k_sources) {
    if (value == source) return text;
  }
  return "unstated";
}

const Origin* Origins::find(std::string_view key_path) const {
  for (;;) {
    for (const Origin& origin : all_) {
      if (origin.key_path == key_path) return &origin;
    }
    if (key_path.empty()) return nullptr;
    const std::size_t cut = key_path.find_last_of(".[");
    key_path = cut == std::string_view::npos ? std::string_view() : key_path.substr(0, cut);
  }
}

core::Diagnostic Origins::error(std::string_view key_path, std::string message, std::string hint) const {
  // What was not written has no place of its own: the map that it is missing from has.
  const Origin* origin = find(key_path);
  for (std::string_view path = key_path; origin != nullptr && origin->is_default() && !path.empty();
       origin = find(path)) {
    const std::size_t cut = path.find_last_of(".[");
    path = cut == std::string_view::npos ? std::string_view() : path.substr(0, cut);
  }
  return error_at(origin != nullptr ? origin->place : Place{}, std::string(key_path), std::move(message),
                  std::move(hint));
}

Origins read_value(const Node& node, const std::function<void(Value&)>& description, core::Diagnostics& diagnostics,
                   std::string_view path) {
  Origins origins;
  if (node.is_null()) {
    if (!diagnostics.has_errors())
      diagnostics.add(error_at(node.place, std::string(path), "empty value", "give a value"));
    return origins;
  }
  core::Diagnostics found;
  Context context{found, origins, [&description] { return key_paths(description); }};
  ParserValue value(node, std::string(path), context, description);
  description(value);
  // Reported as a reader goes down the file, not in the order of the description.
  std::vector<core::Diagnostic> sorted = found.all();
  std::stable_sort(sorted.begin(), sorted.end(), [](const core::Diagnostic& a, const core::Diagnostic& b) {
    return std::tie(a.file, a.line, a.column) < std::tie(b.file, b.line, b.column);
  });
  for (core::Diagnostic& diagnostic : sorted) diagnostics.add(std::move(diagnostic));
  return origins;
}

Origins read_fields(const Node& node, const std::function<void(Fields&)>& description, core::Diagnostics& diagnostics,
                    std::string_view path) {
  return read_value(
      node, [&description](Value& value) { value.object(description); }, diagnostics, path);
}

}  // namespace cairn::config
