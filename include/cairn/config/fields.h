// One declaration of a structure's keys serves three readers: the parser, the JSON Schema writer, the writer of
// resolved values. A structure says what it holds by a free function beside it, found by its argument's namespace:
//
//   struct Link {
//     LinkKind kind = LinkKind::nvswitch;
//     core::BytesPerSecond bandwidth;
//     std::optional<core::Seconds> latency;
//   };
//   void describe(config::Fields& f, Link& link) {
//     f.choice("kind", link.kind, {{"nvswitch", LinkKind::nvswitch}, {"star", LinkKind::star}}, {.doc = "shape"});
//     f.quantity("bandwidth", link.bandwidth, {.doc = "per GPU, per direction", .required = true, .positive = true});
//     f.quantity("latency", link.latency, {.doc = "one-way, of a zero-byte send"});
//     f.check("latency", [&] { return link.latency < core::k_second; }, "beyond a second", "give it in us");
//   }
//
// A key that is absent leaves the member as it is: the initializer in the struct is the default, its only owner.
// A std::optional member stays empty when its key is absent. Every function takes T& or std::optional<T>&.
// A map that holds required keys is itself required or a std::optional: else its default could not be read back.
//
// A value of several forms describes itself to a Value instead, and is used with f.value:
//
//   void describe(config::Value& v, Zero& zero) {            // zero: 1   or   zero: {stage: 1, shard: 8}
//     v.shorthand(config::Form::number, zero, [&](config::Value& s) { s.count(zero.stage, {.maximum = 3}); });
//   }
//   void describe(config::Value& v, Stages& stages) {        // stages: even | balanced | [7, 8]
//     v.one_of(stages.sizes.empty() ? 0 : 1,
//              {{config::Form::word, [&](config::Value& w) { w.choice(stages.rule, k_stage_rules); }},
//               {config::Form::list, [&](config::Value& w) { w.counts(stages.sizes, {.minimum = 1}); }}});
//   }
//
// A value of several kinds, each with keys of its own in the same map, says them by a KindAccess:
//
//   config::KindAccess kind_access(Shape& shape);           // {kind: torus, dims: [4, 4], bandwidth: 75 GB/s}
//   f.kind("kind", level.shape, {.doc = "shape"});
//   f.quantity("bandwidth", level.bandwidth);               // of every kind
//   f.keys_of_kind("kind", level.shape);                    // a key of another kind is an error
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cairn/config/node.h"
#include "cairn/config/units.h"
#include "cairn/core/assert.h"

namespace cairn::config {

class Fields;
class Value;

struct Rule {
  std::string_view doc = {};
  bool required = false;
};
struct CountRule {
  std::string_view doc = {};
  bool required = false;
  std::int64_t minimum = 0;
  std::int64_t maximum = std::numeric_limits<std::int64_t>::max();
};
// Bounds of a plain number, or of a quantity in base units. `positive` excludes 0. Never valid are NaN, infinity, what
// lies beyond 1e30 and what is nearer to 0 than 1e-30.
struct NumberRule {
  std::string_view doc = {};
  bool required = false;
  double minimum = 0.0;
  double maximum = std::numeric_limits<double>::max();
  bool positive = false;
};
struct ListRule {
  std::string_view doc = {};
  bool required = false;
  std::size_t minimum_size = 0;
  std::size_t maximum_size = std::numeric_limits<std::size_t>::max();
};

template <class E>
using Choices = std::vector<std::pair<std::string_view, E>>;

// The written shape by which alternatives are told apart. A word is any scalar that is neither true/false nor a number;
// where no other scalar form is offered it takes every scalar. A notation is a word that no name could be: it has other
// signs than lower-case letters, digits and '-'.
enum class Form : std::uint8_t { flag, number, word, notation, list, map };

// A text with a syntax of its own.
struct Notation {
  std::string_view pattern;  // ECMA 262, of what it is written with
  std::string_view example;
};

struct Alternative {
  Form form;
  std::function<void(Value&)> describe;
};

struct ListAccess {
  std::size_t size;
  std::function<void(std::size_t)> resize;
  std::function<void(std::size_t, Value&)> visit;
};
struct MapAccess {
  std::vector<std::string> keys;
  std::function<void()> clear;
  std::function<void(const std::string&, Value&)> visit;
};

// The kinds that a value may be of, told apart by a word.
struct KindAccess {
  std::vector<std::string_view> words;
  std::size_t current;
  std::function<void(std::size_t)> become;  // of a kind, with its keys at their defaults
  // Describes the keys of a kind: of the value where it is of that kind, else of one that lives as long as the call.
  std::function<void(std::size_t, Fields&)> visit;
};

using WhyNot = std::function<std::string(std::string_view)>;

// What one key (or list item) may hold.
class Value {
 public:
  virtual ~Value() = default;

  void flag(bool& x) { visit_flag(x); }
  // Any integer type; the rule is narrowed to what the type can hold.
  template <class Integer>
  void count(Integer& x, CountRule rule = {});
  void number(double& x, NumberRule rule = {}) { visit_number(x, rule); }
  void text(std::string& x) { visit_text(x); }
  // Its pattern is for other readers of the schema: who reads the text says what is wrong with it.
  void notation(std::string& x, const Notation& notation) { visit_notation(x, notation); }
  template <class Q>
  void quantity(Q& x, NumberRule rule = {});
  // A quantity that has no type of its own: '4 Mi tokens' as a double.
  void quantity(double& x, Dimension dimension, NumberRule rule = {}) { visit_quantity(x, dimension, rule); }
  template <class E>
  void choice(E& x, const Choices<std::type_identity_t<E>>& choices);
  // A text that must be one of `names`.
  void name(std::string& x, const std::vector<std::string>& names) { visit_name(x, names); }
  // Likewise, where some other texts are known, but not for this: `why_not` says why, nothing of all the rest.
  void name(std::string& x, const std::vector<std::string>& names, const WhyNot& why_not) {
    visit_name_or(x, names, why_not);
  }
  // A map described by describe(Fields&, T&).
  template <class T>
  void object(T& x) {
    visit_object([&x](Fields& fields) { describe(fields, x); });
  }
  void object(const std::function<void(Fields&)>& description) { visit_object(description); }
  template <class T, class Body>
  void list(std::vector<T>& xs, ListRule rule, Body body);
  template <class Integer>
  void counts(std::vector<Integer>& xs, CountRule each = {}, ListRule rule = {}) {
    list(xs, rule, [each](Value& v, Integer& x) { v.count(x, each); });
  }
  void numbers(std::vector<double>& xs, NumberRule each = {}, ListRule rule = {}) {
    list(xs, rule, [each](Value& v, double& x) { v.number(x, each); });
  }
  void texts(std::vector<std::string>& xs, ListRule rule = {}) {
    list(xs, rule, [](Value& v, std::string& x) { v.text(x); });
  }
  template <class T>
  void objects(std::vector<T>& xs, ListRule rule = {}) {
    list(xs, rule, [](Value& v, T& x) { v.object(x); });
  }
  // Name -> T in the order written.
  template <class T, class Body>
  void map(std::vector<std::pair<std::string, T>>& xs, Body body);
  // The raw tree, for what another module reads later.
  void node(Node& x) { visit_node(x); }
  // Several forms; `current` is the one the value holds now (used when writing).
  void one_of(std::size_t current, const std::vector<Alternative>& alternatives) {
    visit_one_of(current, alternatives);
  }
  // A scalar that stands for a map: written back as the map.
  template <class T>
  void shorthand(Form form, T& x, std::function<void(Value&)> scalar) {
    one_of(1, {{form, std::move(scalar)}, {Form::map, [&x](Value& v) { v.object(x); }}});
  }

 protected:
  virtual void visit_flag(bool& x) = 0;
  virtual void visit_count(std::int64_t& x, const CountRule& rule) = 0;
  virtual void visit_number(double& x, const NumberRule& rule) = 0;
  virtual void visit_text(std::string& x) = 0;
  virtual void visit_notation(std::string& x, const Notation& /*notation*/) { visit_text(x); }
  virtual void visit_quantity(double& x, Dimension dimension, const NumberRule& rule) = 0;
  virtual void visit_choice(std::size_t& index, const std::vector<std::string_view>& names) = 0;
  virtual void visit_name(std::string& x, const std::vector<std::string>& names) = 0;
  virtual void visit_name_or(std::string& x, const std::vector<std::string>& names, const WhyNot& /*why_not*/) {
    visit_name(x, names);
  }
  virtual void visit_object(const std::function<void(Fields&)>& description) = 0;
  virtual void visit_list(const ListAccess& access, const ListRule& rule) = 0;
  virtual void visit_map(const MapAccess& access) = 0;
  virtual void visit_node(Node& x) = 0;
  virtual void visit_one_of(std::size_t current, const std::vector<Alternative>& alternatives) = 0;
};

// The keys of one map. Keys that no call names are errors, unless open() was called.
class Fields {
 public:
  virtual ~Fields() = default;

  template <class T>
  void flag(std::string_view key, T& x, Rule rule = {}) {
    member(key, x, rule, [](Value& v, bool& y) { v.flag(y); });
  }
  template <class T>
  void count(std::string_view key, T& x, CountRule rule = {}) {
    member(key, x, rule, [&rule](Value& v, auto& y) { v.count(y, rule); });
  }
  template <class T>
  void number(std::string_view key, T& x, NumberRule rule = {}) {
    member(key, x, rule, [&rule](Value& v, double& y) { v.number(y, rule); });
  }
  template <class T>
  void text(std::string_view key, T& x, Rule rule = {}) {
    member(key, x, rule, [](Value& v, std::string& y) { v.text(y); });
  }
  template <class T>
  void quantity(std::string_view key, T& x, NumberRule rule = {}) {
    member(key, x, rule, [&rule](Value& v, auto& y) { v.quantity(y, rule); });
  }
  template <class E>
  void choice(std::string_view key, E& x, const Choices<std::type_identity_t<E>>& choices, Rule rule = {}) {
    member(key, x, rule, [&choices](Value& v, E& y) { v.choice(y, choices); });
  }
  template <class E>
  void choice(std::string_view key, std::optional<E>& x, const Choices<std::type_identity_t<E>>& choices,
              Rule rule = {}) {
    member(key, x, rule, [&choices](Value& v, E& y) { v.choice(y, choices); });
  }
  template <class T>
  void name(std::string_view key, T& x, const std::vector<std::string>& names, Rule rule = {}) {
    member(key, x, rule, [&names](Value& v, std::string& y) { v.name(y, names); });
  }
  template <class T>
  void name(std::string_view key, T& x, const std::vector<std::string>& names, const WhyNot& why_not, Rule rule) {
    member(key, x, rule, [&](Value& v, std::string& y) { v.name(y, names, why_not); });
  }
  // A map: describe(Fields&, T&).
  template <class T>
  void object(std::string_view key, T& x, Rule rule = {}) {
    member(key, x, rule, [](Value& v, auto& y) { v.object(y); });
  }
  // A value with a form of its own: describe(Value&, T&).
  template <class T>
  void value(std::string_view key, T& x, Rule rule = {}) {
    member(key, x, rule, [](Value& v, auto& y) { describe(v, y); });
  }
  // Any form, described in place: body(Value&, T&).
  template <class T, class Body>
  void value(std::string_view key, T& x, Rule rule, Body body) {
    member(key, x, rule, body);
  }
  template <class T>
  void counts(std::string_view key, T& xs, CountRule each = {}, ListRule rule = {}) {
    member(key, xs, each, [&](Value& v, auto& y) { v.counts(y, each, rule); });
  }
  template <class T>
  void numbers(std::string_view key, T& xs, NumberRule each = {}, ListRule rule = {}) {
    member(key, xs, each, [&](Value& v, auto& y) { v.numbers(y, each, rule); });
  }
  template <class T>
  void texts(std::string_view key, T& xs, ListRule rule = {}) {
    member(key, xs, rule, [&](Value& v, auto& y) { v.texts(y, rule); });
  }
  template <class T>
  void objects(std::string_view key, T& xs, ListRule rule = {}) {
    member(key, xs, rule, [&](Value& v, auto& y) { v.objects(y, rule); });
  }
  // A list whose items body(Value&, T&) describes.
  template <class T, class Body>
  void list(std::string_view key, std::vector<T>& xs, ListRule rule, Body body) {
    member(key, xs, rule, [&](Value& v, std::vector<T>& y) { v.list(y, rule, body); });
  }
  // Name -> T, where body(Value&, T&) describes T.
  template <class T, class Body>
  void map(std::string_view key, std::vector<std::pair<std::string, T>>& xs, Rule rule, Body body) {
    member(key, xs, rule, [&](Value& v, auto& y) { v.map(y, body); });
  }
  void node(std::string_view key, Node& x, Rule rule = {}) {
    visit(key, rule, !x.is_null(), [&x](Value& v) { v.node(x); });
  }
  // The word that says of which kind `x` is: KindAccess kind_access(T&).
  template <class T>
  void kind(std::string_view key, T& x, Rule rule = {});
  // The keys that only its kind has, once kind() has named the word at `key`.
  template <class T>
  void keys_of_kind(std::string_view key, T& x) {
    visit_kind(key, kind_access(x));
  }

  // Unknown keys are let pass and a null counts as absent: for files of others, such as Hugging Face config.json.
  virtual void open() {}
  // An error at `key` unless holds(). Asked only when parsing, and only when this map has had no error so far: the
  // condition may rely on every rule above it.
  template <class Condition>
  void check(std::string_view key, Condition holds, std::string_view message, std::string_view hint = {}) {
    if (checks() && !holds()) refuse(key, message, hint);
  }

 protected:
  virtual void visit(std::string_view key, const Rule& rule, bool has_value,
                     const std::function<void(Value&)>& body) = 0;
  // `key` is that of the word.
  virtual void visit_kind(std::string_view /*key*/, const KindAccess& kinds) { kinds.visit(kinds.current, *this); }
  virtual bool checks() const { return false; }
  virtual void refuse(std::string_view /*key*/, std::string_view /*message*/, std::string_view /*hint*/) {}

 private:
  template <class T, class AnyRule, class Body>
  void member(std::string_view key, T& x, const AnyRule& rule, Body body) {
    visit(key, Rule{.doc = rule.doc, .required = rule.required}, true, [&](Value& v) { body(v, x); });
  }
  template <class T, class AnyRule, class Body>
  void member(std::string_view key, std::optional<T>& x, const AnyRule& rule, Body body) {
    visit(key, Rule{.doc = rule.doc, .required = rule.required}, x.has_value(), [&](Value& v) {
      if (!x) x.emplace();
      body(v, *x);
    });
  }
};

template <class T>
void Fields::kind(std::string_view key, T& x, Rule rule) {
  const KindAccess kinds = kind_access(x);
  Choices<std::size_t> choices;
  for (const std::string_view word : kinds.words) choices.emplace_back(word, choices.size());
  std::size_t index = kinds.current;
  visit(key, rule, true, [&](Value& v) { v.choice(index, choices); });
  if (index != kinds.current) kinds.become(index);
}

template <class Integer>
void Value::count(Integer& x, CountRule rule) {
  static_assert(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>);
  if (std::cmp_less(rule.minimum, std::numeric_limits<Integer>::min())) {
    rule.minimum = static_cast<std::int64_t>(std::numeric_limits<Integer>::min());
  }
  if (std::cmp_greater(rule.maximum, std::numeric_limits<Integer>::max())) {
    rule.maximum = static_cast<std::int64_t>(std::numeric_limits<Integer>::max());
  }
  std::int64_t wide = static_cast<std::int64_t>(x);
  visit_count(wide, rule);
  x = static_cast<Integer>(wide);
}

template <class Q>
void Value::quantity(Q& x, NumberRule rule) {
  static_assert(k_has_dimension<Q>, "not a core::Quantity");
  double base = x.base();
  visit_quantity(base, k_dimension_of<Q>, rule);
  x = Q::from_base(base);
}

template <class E>
void Value::choice(E& x, const Choices<std::type_identity_t<E>>& choices) {
  std::vector<std::string_view> names;
  std::size_t index = choices.size();
  for (const auto& [name, value] : choices) {
    if (value == x && index == choices.size()) index = names.size();
    names.push_back(name);
  }
  visit_choice(index, names);
  if (index < choices.size()) x = choices[index].second;
}

template <class T, class Body>
void Value::list(std::vector<T>& xs, ListRule rule, Body body) {
  visit_list(ListAccess{.size = xs.size(),
                        .resize = [&xs](std::size_t size) { xs.assign(size, T{}); },
                        .visit = [&xs, &body](std::size_t i, Value& v) { body(v, xs[i]); }},
             rule);
}

template <class T, class Body>
void Value::map(std::vector<std::pair<std::string, T>>& xs, Body body) {
  MapAccess access{.keys = {},
                   .clear = [&xs] { xs.clear(); },
                   .visit =
                       [&xs, &body](const std::string& key, Value& v) {
                         for (auto& [name, x] : xs) {
                           if (name == key) return body(v, x);
                         }
                         body(v, xs.emplace_back(key, T{}).second);
                       }};
  for (const auto& [name, x] : xs) access.keys.push_back(name);
  visit_map(access);
}

}  // namespace cairn::config
