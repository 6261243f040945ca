// A structure that uses every kind of field, for the tests.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/config/read.h"

namespace described {

namespace config = cairn::config;
namespace core = cairn::core;

enum class Kind { nvswitch, star, fat_tree };

struct Link {
  Kind kind = Kind::nvswitch;
  core::BytesPerSecond bandwidth = {};
  std::optional<core::Seconds> latency = {};
};
inline void describe(config::Fields& f, Link& link) {
  f.choice("kind", link.kind, {{"nvswitch", Kind::nvswitch}, {"star", Kind::star}, {"fat-tree", Kind::fat_tree}},
           {.doc = "shape"});
  f.quantity("bandwidth", link.bandwidth, {.doc = "per GPU, per direction", .required = true, .positive = true});
  f.quantity("latency", link.latency, {.doc = "one-way"});
}

struct Zero {
  int stage = 0;
  std::optional<int> shard = {};
};
inline void describe(config::Fields& f, Zero& zero) {
  f.count("stage", zero.stage, {.maximum = 3});
  f.count("shard", zero.shard, {.minimum = 1});
}
inline void describe(config::Value& v, Zero& zero) {
  v.shorthand(config::Form::number, zero, [&](config::Value& scalar) { scalar.count(zero.stage, {.maximum = 3}); });
}

enum class StageRule { even, balanced };
struct Stages {
  StageRule rule = StageRule::even;
  std::vector<int> sizes = {};
};
inline void describe(config::Value& v, Stages& stages) {
  v.one_of(stages.sizes.empty() ? 0 : 1,
           {{config::Form::word,
             [&](config::Value& w) {
               w.choice(stages.rule, {{"even", StageRule::even}, {"balanced", StageRule::balanced}});
             }},
            {config::Form::list, [&](config::Value& w) { w.counts(stages.sizes, {.minimum = 1}); }}});
}

struct Everything {
  bool flag = false;
  std::int64_t nodes = 1;
  double ratio = 1.0;
  std::string name = {};
  core::Bytes memory = {};
  core::Flops work = {};
  core::FlopsPerSecond peak = {};
  core::Hertz clock = {};
  core::Watts power = {};
  core::Dollars price = {};
  std::vector<double> weights = {};
  std::vector<std::string> order = {};
  Link intra = {.bandwidth = cairn::core::k_gigabyte_per_second};
  std::vector<Link> levels = {};
  std::vector<std::pair<std::string, Link>> named = {};
  Zero zero = {};
  Stages stages = {};
  config::Node extra = {};
};
inline void describe(config::Fields& f, Everything& e) {
  f.flag("flag", e.flag);
  f.count("nodes", e.nodes, {.doc = "how many", .minimum = 1, .maximum = 100000});
  f.number("ratio", e.ratio, {.maximum = 10.0});
  f.text("name", e.name);
  f.quantity("memory", e.memory);
  f.quantity("work", e.work);
  f.quantity("peak", e.peak);
  f.quantity("clock", e.clock);
  f.quantity("power", e.power);
  f.quantity("price", e.price);
  f.numbers("weights", e.weights);
  f.texts("order", e.order);
  f.object("intra", e.intra);
  f.objects("levels", e.levels);
  f.map("named", e.named, {}, [](config::Value& v, Link& link) { v.object(link); });
  f.value("zero", e.zero);
  f.value("stages", e.stages);
  f.node("extra", e.extra);
  f.check(
      "nodes", [&] { return e.nodes % 7 != 0; }, "a multiple of 7", "take another");
}

// What reading `text` into Everything complains about, one line each; empty when nothing.
inline std::string complaints(const std::string& text, config::Syntax syntax = config::Syntax::yaml,
                              Everything* into = nullptr, config::Origins* origins = nullptr) {
  core::Diagnostics diagnostics;
  Everything scratch;
  const config::Node node = config::parse_text(text, syntax, "x.yaml", diagnostics);
  config::Origins read = config::read(node, into != nullptr ? *into : scratch, diagnostics);
  if (origins != nullptr) *origins = std::move(read);
  std::string lines;
  for (const core::Diagnostic& diagnostic : diagnostics.all()) {
    if (!lines.empty()) lines += '\n';
    lines += diagnostic.to_string();
  }
  return lines;
}

}  // namespace described
