// What YAML libraries let pass and this layer does not, with exact positions.
#include <string>

#include <fmt/format.h>

#include "catch.h"
#include "described.h"

using namespace described;

TEST_CASE("duplicate keys are errors") {
  CHECK(complaints("nodes: 1\nname: a\nnodes: 2\n") ==
        "x.yaml:3:1: error: nodes: duplicate key (first given in line 1; keep one)");
  CHECK(complaints("intra: {bandwidth: 1 B/s, bandwidth: 2 B/s}") ==
        "x.yaml:1:27: error: intra.bandwidth: duplicate key (first given in line 1; keep one)");
  CHECK(complaints("levels:\n  - bandwidth: 1 B/s\n  - bandwidth: 1 B/s\n    'bandwidth': 2 B/s\n") ==
        "x.yaml:4:5: error: levels[1].bandwidth: duplicate key (first given in line 3; keep one)");
}

TEST_CASE("a merge key is not a key") {
  CHECK(complaints("intra: {<<: {bandwidth: 1 B/s}, bandwidth: 2 B/s}") ==
        "x.yaml:1:9: error: intra.<<: merge keys are not read (repeat the keys, or move them to a file named by "
        "'extends')");
}

TEST_CASE("only true and false are booleans") {
  for (const char* word : {"no", "off", "yes", "on", "n", "True", "FALSE", "0", "1", "'true'", "\"false\""}) {
    INFO(word);
    CHECK(complaints(std::string("flag: ") + word).find("x.yaml:1:7: error: flag: expected true or false, found ") ==
          0);
  }
  CHECK(complaints("flag: false") == "");
}

TEST_CASE("counts are plain decimal integers in range") {
  CHECK(complaints("nodes: 010") ==
        "x.yaml:1:8: error: nodes: '010' has a leading zero (some read it as octal: write it without)");
  for (const char* text : {"0x10", "1_000", "1,000", "1.0", "1e3", "'8'", "\"8\"", "true", "~8", "eight", "[8]",
                           "{a: 8}", ".inf", ".nan"}) {
    INFO(text);
    CHECK(complaints(std::string("nodes: ") + text).find("x.yaml:1:8: error: nodes: expected an integer, found ") == 0);
  }
  CHECK(complaints("nodes: 0") == "x.yaml:1:8: error: nodes: 0 is out of range (from 1 to 100000 is due)");
  CHECK(complaints("nodes: -1") == "x.yaml:1:8: error: nodes: -1 is out of range (from 1 to 100000 is due)");
  CHECK(complaints("nodes: 9223372036854775808") ==
        "x.yaml:1:8: error: nodes: '9223372036854775808' is too large (from 1 to 100000 is due)");
  CHECK(complaints("nodes: +8") == "");
}

TEST_CASE("numbers are finite") {
  for (const char* text : {".nan", ".inf", "-.inf", "nan", "inf", "1e999", "0x1p3", "01.5", "'1'", "one"}) {
    INFO(text);
    CHECK(complaints(std::string("ratio: ") + text).find("x.yaml:1:8: error: ratio: expected a ") == 0);
  }
  CHECK(complaints("ratio: 10.5") == "x.yaml:1:8: error: ratio: 10.5 is out of range (at most 10 is due)");
  CHECK(complaints("ratio: -0.5") == "x.yaml:1:8: error: ratio: -0.5 is out of range (at least 0 is due)");
}

TEST_CASE("quantities in a file name their place") {
  CHECK(complaints("memory: 80") ==
        "x.yaml:1:9: error: memory: '80': the unit is missing: an amount of data is due (for example '80 GiB' or '40 "
        "MB')");
  CHECK(complaints("intra: {bandwidth: 0 GB/s}") ==
        "x.yaml:1:20: error: intra.bandwidth: '0 GB/s' is out of range (more than 0 is due)");
  CHECK(complaints("memory: -1 GiB") == "x.yaml:1:9: error: memory: '-1 GiB' is out of range (at least 0 B is due)");
  CHECK(complaints("memory: .nan") ==
        "x.yaml:1:9: error: memory: '.nan': expected an amount of data, a number with a unit (for example '80 GiB' or "
        "'40 MB')");
  CHECK(complaints("memory: [80 GiB]") ==
        "x.yaml:1:9: error: memory: expected an amount of data, found a list (for example '80 GiB' or '40 MB')");
}

TEST_CASE("a key in the wrong place is told where it belongs") {
  CHECK(complaints("latency: 3 us").find("latency: unknown key (did you mean intra.latency?)") != std::string::npos);
}

TEST_CASE("a wrong form is told what to write") {
  CHECK(complaints("nodes: [1]") ==
        "x.yaml:1:8: error: nodes: expected an integer, found a list (how many, for example nodes: 1)");
  CHECK(complaints("nodes: 8k") ==
        "x.yaml:1:8: error: nodes: expected an integer, found '8k' (write it out: 8000, or 8192 for 8Ki)");
  CHECK(complaints("nodes: 8 Ki") ==
        "x.yaml:1:8: error: nodes: expected an integer, found '8 Ki' (write it out: 8192)");
  CHECK(complaints("nodes: 1e3") == "x.yaml:1:8: error: nodes: expected an integer, found '1e3' (write it out: 1000)");
}

TEST_CASE("unknown keys and values name the nearest") {
  CHECK(complaints("intra: {bandwidth: 1 B/s, latncy: 1 us}") ==
        "x.yaml:1:27: error: intra.latncy: unknown key (did you mean 'latency'?)");
  CHECK(complaints("intra: {bandwidth: 1 B/s, zzz: 1 us}") ==
        "x.yaml:1:27: error: intra.zzz: unknown key (one of: kind, bandwidth, latency)");
  CHECK(complaints("intra: {bandwidth: 1 B/s, kind: fat-tre}") ==
        "x.yaml:1:33: error: intra.kind: unknown value 'fat-tre' (did you mean 'fat-tree'?)");
  CHECK(complaints("stages: odd-one-out") ==
        "x.yaml:1:9: error: stages: unknown value 'odd-one-out' (one of: even, balanced)");
  CHECK(complaints("stages: {a: 1}") ==
        "x.yaml:1:9: error: stages: expected a name or a list, found a map (for example stages: even or [a, b, ...])");
  CHECK(complaints("zero: two") ==
        "x.yaml:1:7: error: zero: expected an integer, found 'two' (for example zero: 1 or {stage: ..., shard: ...})");
  CHECK(complaints("zero: 4") == "x.yaml:1:7: error: zero: 4 is out of range (from 0 to 3 is due)");
  CHECK(complaints("zero: {stage: 4}") == "x.yaml:1:15: error: zero.stage: 4 is out of range (from 0 to 3 is due)");
  CHECK(complaints("intra: {kind: star}") ==
        "x.yaml:1:8: error: intra.bandwidth: missing (required: per GPU, per direction)");
}

TEST_CASE("all errors of a file come at once, in the order of its lines") {
  CHECK(complaints("noodes: 3\n"
                   "ratio: .nan\n"
                   "levels:\n"
                   "  - bandwidth: 3\n"
                   "  - {kind: ring,\n"
                   "     bandwidth: 1 W}\n"
                   "nodes: 0\n") ==
        "x.yaml:1:1: error: noodes: unknown key (did you mean 'nodes'?)\n"
        "x.yaml:2:8: error: ratio: expected a finite decimal number, found '.nan' (for example ratio: 1)\n"
        "x.yaml:4:16: error: levels[0].bandwidth: '3': the unit is missing: a bandwidth is due (for example '450 GB/s' "
        "or '400 Gb/s')\n"
        "x.yaml:5:12: error: levels[1].kind: unknown value 'ring' (one of: nvswitch, star, fat-tree)\n"
        "x.yaml:6:17: error: levels[1].bandwidth: '1 W': 'W' is the unit of a power, but a bandwidth is due (for "
        "example '450 GB/s' or '400 Gb/s')\n"
        "x.yaml:7:8: error: nodes: 0 is out of range (from 1 to 100000 is due)");
}

TEST_CASE("checks across keys run when the keys are sound") {
  CHECK(complaints("nodes: 14") == "x.yaml:1:8: error: nodes: a multiple of 7 (take another)");
  // With another error in the same map the condition could rest on a value that was never set.
  CHECK(complaints("nodes: 14\nflag: 3") ==
        "x.yaml:2:7: error: flag: expected true or false, found '3' (write true or false, without quotes)");
}

TEST_CASE("odd documents") {
  CHECK(complaints("") == "x.yaml: error: empty value (give a value)");
  CHECK(complaints("# only a comment\n") == "x.yaml: error: empty value (give a value)");
  CHECK(complaints("- 1") ==
        "x.yaml:1:1: error: expected a map, found a list (for example {flag: ..., nodes: ..., ratio: ..., ...})");
  CHECK(complaints("hello") ==
        "x.yaml:1:1: error: expected a map, found 'hello' (for example {flag: ..., nodes: ..., ratio: ..., ...})");
  CHECK(complaints("nodes:\nflag: true\n") == "x.yaml:1:1: error: nodes: empty value (give a value or remove the key)");
  CHECK(complaints("nodes: ~") == "x.yaml:1:1: error: nodes: empty value (give a value or remove the key)");
  CHECK(complaints("weights: [1, ~]").find(" error: weights[1]: empty value") != std::string::npos);
  CHECK(complaints("---\nnodes: 1\n---\nnodes: 2\n") ==
        "x.yaml:4:1: error: a second document in one file (remove the line '---' and what follows)");
  CHECK(complaints("? [a]\n: 1\n").find("x.yaml:1:3: error: a key must be plain text") == 0);
  CHECK(complaints("nodes: !!int '3'").find("x.yaml:1:8: error: tag 'tag:yaml.org,2002:int' is not read (remove it)") ==
        0);
  CHECK(complaints("nodes: [1\n").find("x.yaml:2:1: error: not YAML: ") == 0);
  CHECK(complaints("name: a: b\n").find("x.yaml:1:8: error: not YAML: ") == 0);
}

TEST_CASE("aliases are copies, within limits") {
  Everything e;
  CHECK(complaints("intra: &link {bandwidth: 1 GB/s}\nlevels: [*link, *link]\n", config::Syntax::yaml, &e) == "");
  REQUIRE(e.levels.size() == 2);
  CHECK(e.levels[1].bandwidth.base() == 1e9);
  CHECK(complaints("weights: &a [*a]").find("x.yaml:1:14: error: an alias inside the value it names") == 0);
}

TEST_CASE("an alias bomb is refused at once") {
  // Nine levels of nine references each: 9^9 = 387 million values if expanded.
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string from = fmt::format("*a{}", i - 1);
    bomb += fmt::format("a{}: &a{} [{}", i, i, from);
    for (int k = 1; k < 9; ++k) bomb.append(", ").append(from);
    bomb += "]\n";
  }
  CHECK(complaints(bomb).find(
            "error: more than 1000000 values, aliases expanded (write less, or use fewer aliases (*name))") !=
        std::string::npos);
  // One long text, named often.
  std::string long_text = fmt::format("name: &n {}\norder: [*n", std::string(1 << 20, 'x'));
  for (int i = 0; i < 5000; ++i) long_text += ", *n";
  CHECK(complaints(long_text + "]").find("error: more than 1000000 values") != std::string::npos);
}

TEST_CASE("depth is limited") {
  const auto nested = [](std::size_t depth) {
    return fmt::format("extra: {}{}", std::string(depth, '['), std::string(depth, ']'));
  };
  CHECK(complaints(nested(std::size_t{config::k_depth_limit} - 1)) == "");
  CHECK(complaints(nested(std::size_t{config::k_depth_limit}))
            .find("error: more than 64 maps and lists within each other") != std::string::npos);
  CHECK(complaints(nested(100000)).find("error: more than 64 maps and lists within each other") != std::string::npos);
  const std::string json = fmt::format("{{\"extra\": {}", std::string(100000, '['));
  CHECK(complaints(json, config::Syntax::json).find("error: more than 64 maps and lists within each other") !=
        std::string::npos);
}

TEST_CASE("a value may carry its source") {
  Everything e;
  config::Origins origins;
  REQUIRE(complaints("nodes: {value: 8, source: assumed}\n"
                     "intra:\n"
                     "  bandwidth: {value: 450 GB/s, source: datasheet, ref: \"NVLink 4\"}\n"
                     "zero: {value: 2, source: fitted}\n",
                     config::Syntax::yaml, &e, &origins) == "");
  CHECK(e.nodes == 8);
  CHECK(e.zero.stage == 2);
  CHECK(e.intra.bandwidth.base() == 450e9);
  const config::Origin* origin = origins.find("intra.bandwidth");
  REQUIRE(origin != nullptr);
  CHECK(origin->source == config::Source::datasheet);
  CHECK(origin->reference == "NVLink 4");
  CHECK(origin->to_string() == "x.yaml:3");
  CHECK(origins.find("nodes")->source == config::Source::assumed);
  CHECK(origins.find("intra.kind")->is_default());
  CHECK(origins.find("zero.stage")->source == config::Source::fitted);  // the nearest key above
  CHECK(complaints("nodes: {value: 8, source: guessed}") ==
        "x.yaml:1:27: error: nodes.source: unknown source 'guessed' (one of: datasheet, measured, fitted, assumed)");
  CHECK(complaints("nodes: {value: 8, sorce: fitted}") ==
        "x.yaml:1:19: error: nodes.sorce: unknown key (did you mean 'source'?)");
  CHECK(complaints("nodes: {value: eight}") ==
        "x.yaml:1:16: error: nodes: expected an integer, found 'eight' (how many, for example nodes: 1)");
  CHECK(complaints("nodes: {value: ~}").find("error: nodes") != std::string::npos);
}

TEST_CASE("errors found after reading still name their line") {
  Everything e;
  config::Origins origins;
  REQUIRE(complaints("name: x\nnodes: 3\n", config::Syntax::yaml, &e, &origins) == "");
  CHECK(origins.error("nodes", "does not divide", "take 4").to_string() ==
        "x.yaml:2:8: error: nodes: does not divide (take 4)");
  CHECK(origins.error("ratio", "too small", "").to_string() ==
        "x.yaml:1:1: error: ratio: too small");  // absent: of its map
}
