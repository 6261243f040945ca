#include "catch.h"
#include "described.h"

using namespace described;

TEST_CASE("a structure is read from YAML with every kind of field") {
  Everything e;
  REQUIRE(complaints("flag: true\n"
                     "nodes: 64\n"
                     "ratio: 0.5\n"
                     "name: a b\n"
                     "memory: 80 GiB\n"
                     "work: 2 TFLOP\n"
                     "peak: 989 TFLOP/s\n"
                     "clock: 1.41GHz\n"
                     "power: 700 W\n"
                     "price: 2.5 USD\n"
                     "weights: [1, 2.5]\n"
                     "order: [tp, dp]\n"
                     "intra: {kind: star, bandwidth: 400 Gb/s, latency: 3.5 us}\n"
                     "levels:\n"
                     "  - {bandwidth: 450 GB/s}\n"
                     "  - bandwidth: {value: 50 GB/s, source: measured, ref: table 2}\n"
                     "named: {b: {bandwidth: 1 B/s}, a: {bandwidth: 8 b/s}}\n"
                     "zero: {stage: 2, shard: 8}\n"
                     "stages: [7, 8]\n"
                     "extra: {any: [1]}\n",
                     config::Syntax::yaml, &e) == "");
  CHECK(e.flag);
  CHECK(e.nodes == 64);
  CHECK(e.ratio == 0.5);
  CHECK(e.name == "a b");
  CHECK(e.memory.base() == 80.0 * 1024 * 1024 * 1024);
  CHECK(e.work.base() == 2e12);
  CHECK(e.peak.base() == 989e12);
  CHECK(e.clock.base() == 1.41e9);
  CHECK(e.power.base() == 700.0);
  CHECK(e.price.base() == 2.5);
  CHECK(e.weights == std::vector<double>{1.0, 2.5});
  CHECK(e.order == std::vector<std::string>{"tp", "dp"});
  CHECK(e.intra.kind == Kind::star);
  CHECK(e.intra.bandwidth.base() == 50e9);  // 400e9 / 8
  CHECK(e.intra.latency->base() == 3.5e-6);
  REQUIRE(e.levels.size() == 2);
  CHECK(e.levels[1].bandwidth.base() == 50e9);
  REQUIRE(e.named.size() == 2);
  CHECK(e.named[0].first == "b");
  CHECK(e.named[1].second.bandwidth.base() == 1.0);
  CHECK(e.zero.stage == 2);
  CHECK(e.zero.shard == 8);
  CHECK(e.stages.sizes == std::vector<int>{7, 8});
  CHECK(e.extra.find("any")->items[0].text == "1");
}
