#include "catch.h"
#include "described.h"

using namespace described;

namespace {

constexpr const char* k_keys[] = {"flag",  "nodes",   "ratio", "name",  "memory", "work",  "peak", "clock", "power",
                                  "price", "weights", "order", "intra", "levels", "named", "zero", "stages"};

config::Node parsed(const std::string& json) {
  core::Diagnostics diagnostics;
  config::Node node = config::parse_text(json, config::Syntax::json, "export.json", diagnostics);
  for (const core::Diagnostic& diagnostic : diagnostics.all()) FAIL_CHECK(diagnostic.to_string());
  return node;
}

const config::Node& at(const config::Node& node, const std::string& key) {
  const config::Node* found = node.find(key);
  INFO(key);
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace

TEST_CASE("the schema is JSON and names every key") {
  const config::Node schema = parsed(config::json_schema<Everything>("everything"));
  CHECK(at(schema, "$schema").text == "https://json-schema.org/draft/2020-12/schema");
  CHECK(at(schema, "title").text == "everything");
  CHECK(at(schema, "additionalProperties").text == "false");
  const config::Node& properties = at(schema, "properties");
  for (const char* key : k_keys) CHECK(properties.find(key) != nullptr);
  CHECK(properties.find("extends") != nullptr);
}

TEST_CASE("the schema holds documentation, defaults, ranges, choices, what is required and the other forms") {
  const config::Node schema = parsed(config::json_schema<Everything>("everything"));
  const config::Node& properties = at(schema, "properties");
  const config::Node& nodes = at(properties, "nodes");
  CHECK(at(nodes, "description").text == "how many");
  CHECK(at(nodes, "default").text == "1");
  const config::Node& plain = at(nodes, "anyOf").items.at(0);
  CHECK(at(plain, "type").text == "integer");
  CHECK(at(plain, "minimum").text == "1");
  CHECK(at(plain, "maximum").text == "100000");
  CHECK(at(at(nodes, "anyOf").items.at(1), "$ref").text == "#/$defs/sourced");
  CHECK(schema.find("$defs")->find("sourced")->find("properties")->find("ref") != nullptr);

  const config::Node& intra = at(properties, "intra");
  CHECK(at(intra, "required").items.at(0).text == "bandwidth");
  CHECK(at(intra, "required").items.size() == 1);
  const config::Node& kinds = at(at(at(intra, "properties"), "kind").find("anyOf")->items.at(0), "enum");
  REQUIRE(kinds.items.size() == 3);
  CHECK(kinds.items[2].text == "fat-tree");
  CHECK(at(at(at(properties, "levels"), "items"), "type").text == "object");
  CHECK(at(at(at(properties, "named"), "additionalProperties"), "type").text == "object");

  const config::Node& zero = at(at(properties, "zero"), "anyOf");
  REQUIRE(zero.items.size() == 2);
  CHECK(at(zero.items[0], "type").text == "integer");
  CHECK(at(zero.items[1], "type").text == "object");
  const config::Node& stages = at(at(properties, "stages"), "anyOf");
  REQUIRE(stages.items.size() == 2);
  CHECK(stages.items[0].find("enum") != nullptr);
  CHECK(at(stages.items[1], "type").text == "array");
}

TEST_CASE("resolved values read back to themselves") {
  const std::string written =
      "{\"flag\": true, \"nodes\": 3, \"ratio\": 0.1, \"memory\": \"80 GiB\", \"peak\": \"312.7 TFLOP/s\", "
      "\"weights\": [0.1, 2.0],\n"
      " \"intra\": {\"kind\": \"star\", \"bandwidth\": \"123.456 Gb/s\", \"latency\": \"1.7 us\"}, \"levels\": "
      "[{\"bandwidth\": \"1 B/s\"}],\n"
      " \"named\": {\"z\": {\"bandwidth\": \"2 B/s\"}, \"a\": {\"bandwidth\": \"3 B/s\"}}, \"zero\": 2, \"stages\": "
      "[3, 4], \"extra\": {\"k\": [1, \"x\"]}}";
  const Everything first = config::read<Everything>(parsed(written));
  const std::string exported = config::to_json(first);
  const Everything second = config::read<Everything>(parsed(exported));
  CHECK(config::to_json(second) == exported);
  CHECK(second.intra.bandwidth == first.intra.bandwidth);
  CHECK(second.intra.latency == first.intra.latency);
  CHECK(second.peak.base() == 312.7e12);
  CHECK(second.zero.stage == 2);
  CHECK(second.stages.sizes == std::vector<int>{3, 4});
  CHECK(second.named.at(0).first == "z");

  const config::Node node = parsed(exported);
  // Keys in the order described; the shorthand as its map; units as text; absent optionals left out.
  for (std::size_t i = 0; i < std::size(k_keys); ++i) CHECK(node.entries.at(i).key == k_keys[i]);
  CHECK(at(at(node, "zero"), "stage").text == "2");
  CHECK(at(node, "zero").find("shard") == nullptr);
  CHECK(at(node, "memory").text == "80 GiB");
  CHECK(at(at(node, "intra"), "bandwidth").text == "15.432 GB/s");  // 123.456 / 8
}

TEST_CASE("every resolved key knows where it came from") {
  core::Diagnostics diagnostics;
  config::Node node =
      config::parse_text("nodes: 3\nintra:\n  bandwidth: {value: 1 GB/s, source: measured}\nextra:\n  deep: 5\n",
                         config::Syntax::yaml, "a.yaml", diagnostics);
  config::apply_override(node, "zero.stage=2", diagnostics);
  Everything e;
  const config::Origins origins = config::read(node, e, diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  std::string lines;
  for (const config::ResolvedKey& key : config::resolved_keys(e, origins)) {
    for (const char* wanted :
         {"flag", "nodes", "intra.kind", "intra.bandwidth", "zero.stage", "extra.deep", "weights"}) {
      if (key.key_path == wanted)
        lines += key.key_path + ": " + key.value + " # " + key.origin.to_string() + " " +
                 std::string(name(key.origin.source)) + "\n";
    }
  }
  CHECK(lines ==
        "flag: false # default unstated\n"
        "nodes: 3 # a.yaml:1 unstated\n"
        "weights: [] # default unstated\n"
        "intra.kind: \"nvswitch\" # default unstated\n"
        "intra.bandwidth: \"1 GB/s\" # a.yaml:3 measured\n"
        "zero.stage: 2 # --set unstated\n"
        "extra.deep: 5 # a.yaml:5 unstated\n");
}
