#include "pebble/properties.h"

#include "catch.h"

using namespace cairn;
using cairn::pebble::testing::Properties;

TEST_CASE("properties: 100,000 random graphs, every one solved twice") {
  core::Random random(32);
  for (int i = 0; i < 100'000; ++i) {
    const auto wrong = Properties().check(random, 7);
    if (wrong) FAIL("graph " << i << ": " << *wrong);
  }
}

TEST_CASE("properties: larger random graphs, without the literal solver") {
  core::Random random(33);
  for (int i = 0; i < 3'000; ++i) {
    const auto wrong = Properties().check(random, 13);
    if (wrong) FAIL("graph " << i << ": " << *wrong);
  }
}
