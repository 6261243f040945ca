// JSON files take the same way, with line and column.
#include "catch.h"
#include "described.h"

using namespace described;

namespace {
std::string json(const std::string& text, Everything* into = nullptr) {
  return complaints(text, config::Syntax::json, into);
}
}  // namespace

TEST_CASE("a JSON file is read like YAML") {
  Everything e;
  REQUIRE(json("{\"nodes\": 8, \"flag\": true, \"ratio\": 1.5e0, \"name\": \"a\\u00e9\\n\\ud83d\\ude00\",\n"
               "  \"stages\": [7, 8], \"intra\": {\"bandwidth\": \"400 Gb/s\"}}\n",
               &e) == "");
  CHECK(e.nodes == 8);
  CHECK(e.flag);
  CHECK(e.ratio == 1.5);
  CHECK(e.name == "a\u00e9\n\U0001f600");
  CHECK(e.stages.sizes == std::vector<int>{7, 8});
  CHECK(e.intra.bandwidth.base() == 5e10);
}

TEST_CASE("JSON positions are exact") {
  CHECK(json("{\n \"nodes\": \"3\",\n \"ratio\" : \"x\" ,\"zero\":-1}") ==
        "x.yaml:2:11: error: nodes: expected an integer, found the text '3' (write it without quotes)\n"
        "x.yaml:3:12: error: ratio: expected a number, found the text 'x' (write it without quotes)\n"
        "x.yaml:3:24: error: zero: -1 is out of range (from 0 to 3 is due)");
  CHECK(json("{\"name\": \"a\\\"b,{\",\n\t\"noodes\":\n   [1, {\"a\": 2}]}") ==
        "x.yaml:2:2: error: noodes: unknown key (did you mean 'nodes'?)");
  // Columns count characters in both syntaxes.
  CHECK(json("{\"name\": \"\u00e9\", \"noodes\": 1}") ==
        "x.yaml:1:15: error: noodes: unknown key (did you mean 'nodes'?)");
  CHECK(complaints("{name: \u00e9, noodes: 1}") == "x.yaml:1:12: error: noodes: unknown key (did you mean 'nodes'?)");
  CHECK(json("{\"levels\": [{\"bandwidth\": \"1 B/s\"},\n {\"bandwidth\": 1}]}")
            .find("x.yaml:2:16: error: levels[1].bandwidth: ") == 0);
}

TEST_CASE("the last of duplicate JSON keys does not win") {
  CHECK(json("{\"nodes\": 1,\n \"nodes\": 2}") ==
        "x.yaml:2:2: error: nodes: duplicate key (first given in line 1; keep one)");
}

TEST_CASE("what is not JSON says where") {
  CHECK(json("{\"nodes\": 01}").find("x.yaml:1:13: error: not JSON") == 0);
  CHECK(json("{\"nodes\": 3,}").find("x.yaml:1:13: error: not JSON") == 0);
  CHECK(json("{\"nodes\": 3} x").find("x.yaml:1:14: error: not JSON") == 0);
  for (const char* text : {"", " ", "{", "[1, 2", "{\"ratio\": NaN}", "{\"ratio\": Infinity}", "{\"ratio\": 1e400}",
                           "{'nodes': 3}", "\"\\ud800\"", "{\"a\" 1}"}) {
    INFO(text);
    CHECK(json(text).find("error: not JSON") != std::string::npos);
  }
}

TEST_CASE("open maps let foreign keys and nulls pass") {
  struct Foreign {
    int hidden = 5;
    std::optional<int> heads = {};
  };
  core::Diagnostics diagnostics;
  Foreign x;
  const auto description = [&x](config::Fields& f) {
    f.open();
    f.count("hidden_size", x.hidden);
    f.count("num_heads", x.heads);
  };
  const config::Node node = config::parse_text("{\"hidden_size\": 8, \"num_heads\": null, \"whatever\": {}}",
                                               config::Syntax::json, "config.json", diagnostics);
  config::read_fields(node, description, diagnostics);
  CHECK_FALSE(diagnostics.has_errors());
  CHECK(x.hidden == 8);
  CHECK_FALSE(x.heads);
}
