#include "cairn/config/yaml.h"

#include "cairn/config/loader.h"
#include "cairn/config/read.h"
#include "catch.h"

namespace cairn::config {
namespace {

Node parsed(const std::string& text, Syntax syntax) {
  core::Diagnostics diagnostics;
  Node node = parse_text(text, syntax, "x", diagnostics);
  diagnostics.raise_if_errors();
  return node;
}

}  // namespace

TEST_CASE("trees as YAML read back to themselves", "[config][yaml]") {
  const std::string json =
      R"({"version": 1, "name": "A: \"quoted\" # no comment", "flag": true, "word": "yes", "number": "12", "empty": {},
          "short": {"a": "3.5 us", "b": [1, 2]},
          "list": [{"type": "bf16", "inner": {"x": {"from": 128, "to": 8192}}, "long":
          {"first key of a long map": "a value of thirty characters..", "second key of a long map": "and another one here"}},
          {"type": "fp8"}]})";
  const Node node = parsed(json, Syntax::json);
  const std::string yaml = to_yaml(node);
  CHECK(to_json(parsed(yaml, Syntax::yaml)) == to_json(node));
  // Short maps in one line, the others in a block.
  CHECK(yaml.find("short:\n  a: 3.5 us\n  b: [1, 2]\n") != std::string::npos);
  CHECK(yaml.find("list:\n  - type: bf16\n    inner: {x: {from: 128, to: 8192}}\n    long: {") == std::string::npos);
  CHECK(yaml.find("  - {type: fp8}\n") != std::string::npos);
  CHECK(yaml.find("word: \"yes\"") != std::string::npos);
}

}  // namespace cairn::config
