// A value of several kinds, each with keys of its own in the same map.
#include <variant>

#include "cairn/config/template.h"
#include "catch.h"
#include "described.h"

using namespace described;

namespace {

struct Point {};
struct Line {
  int length = 0;
  bool closed = false;
};
struct Field {
  int length = 0;
  std::optional<int> width = {};
};
struct Place {
  std::variant<Point, Line, Field> shape = {};
  core::Bytes memory = {};
};

config::KindAccess kind_access(std::variant<Point, Line, Field>& shape) {
  const auto keys = [](auto& value, config::Fields& f) {
    using Shape = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Shape, Line>) {
      f.count("length", value.length, {.doc = "from end to end", .required = true, .minimum = 1, .maximum = 9});
      f.flag("closed", value.closed, {.doc = "its ends meet"});
    }
    if constexpr (std::is_same_v<Shape, Field>) {
      f.count("length", value.length, {.doc = "north to south", .required = true, .minimum = 1, .maximum = 99});
      f.count("width", value.width, {.doc = "west to east", .minimum = 1});
      f.check(
          "width", [&] { return value.width.value_or(1) <= value.length; }, "wider than long", "turn it");
    }
  };
  const auto made = [](std::size_t kind) -> std::variant<Point, Line, Field> {
    if (kind == 0) return Point{};
    if (kind == 1) return Line{};
    return Field{};
  };
  return {.words = {"point", "line", "field"},
          .current = shape.index(),
          .become = [&shape, made](std::size_t kind) { shape = made(kind); },
          .visit =
              [&shape, made, keys](std::size_t kind, config::Fields& f) {
                auto other = made(kind);
                std::visit([&](auto& value) { keys(value, f); }, kind == shape.index() ? shape : other);
              }};
}
void describe(config::Fields& f, Place& place) {
  f.kind("kind", place.shape, {.doc = "its shape", .required = true});
  f.quantity("memory", place.memory, {.doc = "of it"});
  f.keys_of_kind("kind", place.shape);
}

std::string wrong(const std::string& text, Place& place) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "x.yaml", diagnostics);
  config::read(node, place, diagnostics);
  std::string all;
  for (const core::Diagnostic& each : diagnostics.all()) all += (all.empty() ? "" : "\n") + each.to_string();
  return all;
}
std::string wrong(const std::string& text) {
  Place place;
  return wrong(text, place);
}

config::Node schema() {
  core::Diagnostics diagnostics;
  config::Node node =
      config::parse_text(config::json_schema<Place>("place"), config::Syntax::json, "schema.json", diagnostics);
  diagnostics.raise_if_errors();
  return node;
}
std::string json_at(const config::Node& node, std::initializer_list<const char*> path) {
  const config::Node* at = &node;
  for (const char* key : path) {
    INFO(key);
    at = at->find(key);
    REQUIRE(at != nullptr);
  }
  return config::to_json(*at, -1);
}

}  // namespace

TEST_CASE("a word says which keys a map has") {
  Place place;
  CHECK(wrong("{kind: field, memory: 3 B, length: 7, width: 2}", place) == "");
  REQUIRE(std::holds_alternative<Field>(place.shape));
  CHECK(std::get<Field>(place.shape).length == 7);
  CHECK(std::get<Field>(place.shape).width == 2);
  CHECK(config::to_json(place, -1) == R"({"kind":"field","memory":"3 B","length":7,"width":2})");
  CHECK(wrong(config::to_json(place)) == "");

  CHECK(wrong("{kind: {value: line, source: assumed}, length: 7, closed: true}", place) == "");
  REQUIRE(std::holds_alternative<Line>(place.shape));
  CHECK(std::get<Line>(place.shape).closed);
  CHECK(wrong("kind: point") == "");
}

TEST_CASE("a key that is taken back belongs to no kind") {
  core::Diagnostics diagnostics;
  config::Node node =
      config::parse_text("{kind: field, length: 7, width: 2}", config::Syntax::yaml, "x.yaml", diagnostics);
  for (const char* assignment : {"kind=line", "width=null"}) config::apply_override(node, assignment, diagnostics);
  Place place;
  config::read(node, place, diagnostics);
  CHECK(diagnostics.error_count() == 0);
  CHECK(std::holds_alternative<Line>(place.shape));
}

TEST_CASE("keys of another kind, and keys that a kind needs, are said with it") {
  CHECK(wrong("{kind: line, length: 7, width: 2}") ==
        "x.yaml:1:32: error: width: kind 'line' has no such key (remove it, or choose another kind: it belongs to "
        "field)");
  CHECK(wrong("{kind: point, length: 7}") ==
        "x.yaml:1:23: error: length: kind 'point' has no such key (remove it, or choose another kind: it belongs to "
        "line, field)");
  CHECK(wrong("{kind: field, width: 2}") ==
        "x.yaml:1:1: error: length: kind 'field' needs this key (add it: north to south)");
  CHECK(wrong("{kind: line, length: 77}") == "x.yaml:1:22: error: length: 77 is out of range (from 1 to 9 is due)");
  CHECK(wrong("{kind: field, length: 2, width: 3}") == "x.yaml:1:33: error: width: wider than long (turn it)");
  CHECK(wrong("{kind: line, lenght: 2, length: 2}") ==
        "x.yaml:1:14: error: lenght: unknown key (did you mean 'length'?)");
  CHECK(wrong("{kind: point, lenght: 2}") ==
        "x.yaml:1:15: error: lenght: unknown key (did you mean 'length'? it belongs to line, field)");
  CHECK(wrong("{kind: line, length: 2, zork: 2}") ==
        "x.yaml:1:25: error: zork: unknown key (one of: kind, memory, length, closed)");
}

TEST_CASE("a wrong word hides nothing else that is wrong") {
  const std::string all = wrong("{kind: filed, memory: 3, width: two}");
  INFO(all);
  CHECK(all.find("x.yaml:1:8: error: kind: unknown value 'filed' (did you mean 'field'?)\n") == 0);
  CHECK(all.find("x.yaml:1:23: error: memory: ") != std::string::npos);
  CHECK(all.find("x.yaml:1:33: error: width: expected an integer") != std::string::npos);
  CHECK(wrong("{length: 7}") == "x.yaml:1:1: error: kind: missing (required: its shape)");
}

TEST_CASE("the schema ties keys to the words that have them") {
  const config::Node all = schema();
  CHECK(json_at(all, {"required"}) == R"(["kind"])");
  CHECK(json_at(all, {"properties", "width", "description"}) == R"("field: west to east")");
  CHECK(json_at(all, {"properties", "length", "description"}) == R"("line: from end to end; field: north to south")");
  CHECK(json_at(all, {"dependentSchemas", "closed"}) ==
        R"({"properties":{"kind":{"anyOf":[{"enum":["line"]},{"$ref":"#/$defs/sourced"}]}}})");
  // A key that means something else under each word has the form of that word.
  const std::string dependent = json_at(all, {"dependentSchemas", "length"});
  CHECK(dependent.find(R"({"enum":["line"]})") < dependent.find(R"("maximum":9})"));
  CHECK(dependent.find(R"("maximum":9})") < dependent.find(R"({"enum":["field"]})"));
  CHECK(dependent.find(R"({"enum":["field"]})") < dependent.find(R"("maximum":99})"));
  CHECK(dependent.find(R"("maximum":99})") != std::string::npos);
  CHECK(json_at(all, {"allOf"}) ==
        R"([{"if":{"properties":{"kind":{"const":"line"}},"required":["kind"]},"then":{"required":["length"]}},)"
        R"({"if":{"properties":{"kind":{"const":"field"}},"required":["kind"]},"then":{"required":["length"]}}])");
}

TEST_CASE("a template shows the keys of every kind") {
  Place place;
  place.shape = Line{.length = 7, .closed = true};
  const std::string text = config::template_of(place);
  INFO(text);
  CHECK(text.find("\nlength: 7 ") != std::string::npos);
  CHECK(text.find("\nclosed: true ") != std::string::npos);
  CHECK(text.find("\n# width: 1 ") != std::string::npos);
  CHECK(text.find("# field: west to east") != std::string::npos);
  CHECK(wrong(text) == "");
}
