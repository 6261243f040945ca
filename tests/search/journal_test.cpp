// A search that is cut off and goes on, against one that is not.
#include "cairn/search/journal.h"

#include "catch.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "search/small_search.h"

using namespace cairn;
using namespace cairn::search_tests;

TEST_CASE("A search that is cut off again and again ends with the answer of one that is not") {
  SmallSearch search;
  const search::Answer whole = search.run(k_never, false);
  REQUIRE(whole.complete);
  search.text.clear();
  std::size_t cuts = 0;
  std::size_t looks = 20;
  for (search::Answer answer = search.run(looks); !answer.complete; answer = search.run(looks)) {
    ++cuts;
    looks += 20;
    if (cuts % 3 == 0) search.text.resize(search.text.size() - 7);  // killed while it wrote
  }
  CHECK(cuts > 3);
  const std::string kept = search.text;
  same(search.run(k_never), whole);
  CHECK(search.text == kept);  // all was known
  same(search.run(k_never, true, 3), whole);
  search.text.clear();
  same(search.run(k_never), whole);
}

TEST_CASE("A journal of another search, or of none, is refused with what differs") {
  const auto refused = [](const std::string& text, const std::string& words) {
    try {
      const search::Journal journal(k_of, text, "some.journal", [](std::string_view) {});
    } catch (const core::ConfigurationError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find("some.journal:") != std::string::npos);
      CHECK(std::string(error.what()).find(words) != std::string::npos);
      return;
    }
    FAIL("accepted: " << text);
  };
  refused("nonsense\n", "no journal");
  refused("nonsense", "no journal");
  refused("[1, 2]\n", "no journal");
  refused(R"({"journal": 7, "of": {}})"
          "\n",
          "no journal");
  refused(R"({"journal": "cairn search 2", "of": {"experiment": "mine"}})"
          "\n",
          "another version");
  refused(R"({"journal": "cairn search 3", "of": {"experiment": "yours"}})"
          "\n",
          "experiment");
  const std::string head = R"({"journal": "cairn search 3", "of": {"experiment": "mine"}})"
                           "\n";
  refused(head + "{\"box\": 3}\n", "this line");
  refused(head + "nonsense\n", "this line");
}

TEST_CASE("What is broken in a journal is told with its line; a cut line counts as absent") {
  SmallSearch search;
  search.run(k_never);
  const std::string whole = search.text;
  const std::size_t second = whole.find('\n') + 1;
  const std::size_t third = whole.find('\n', second) + 1;
  const auto box = [](const std::string& boxes, const std::string& cells) {
    return R"({"box": [0, 0], "boxes": )" + boxes + R"(, "cells": )" + cells +
           R"(, "computed": [], "too_large": [], "refusals": []})";
  };
  for (const std::string& line : {std::string(R"({"box": [0, 0]})"), box("4", "[]"), box("[[9, 0, 1, 0, []]]", "[]"),
                                  box("[]", "[[99999999, 1, 0, 0]]")}) {
    INFO(line);
    search.text = whole.substr(0, second) + line + "\n";
    try {
      search.run(k_never);
      FAIL("accepted");
    } catch (const core::ConfigurationError& error) {
      CHECK(std::string(error.what()).find("journal:2") != std::string::npos);
    }
  }
  search.text = whole.substr(0, third - 4);
  const search::Journal cut(k_of, search.text, "journal", [](std::string_view) {});
  CHECK(cut.boxes() == 0);
  CHECK(cut.whole_bytes() == second);
}

TEST_CASE("A journal with bytes changed, lost or doubled is refused or used, and nothing else happens") {
  SmallSearch search;
  search.run(k_never);
  const std::string whole = search.text;
  core::Random random(1);
  int refused = 0, used = 0;
  for (int trial = 0; trial < 400; ++trial) {
    INFO("trial " << trial);
    search.text = whole;
    for (std::uint64_t change = random.below(3) + 1; change > 0; --change) {
      const std::size_t at = random.below(search.text.size());
      const std::size_t length = std::min<std::size_t>(random.below(12) + 1, search.text.size() - at);
      switch (random.below(3)) {
        case 0:
          search.text[at] = static_cast<char>("0123456789,[]-"[random.below(14)]);
          break;
        case 1:
          search.text.erase(at, length);
          break;
        default:
          search.text.insert(at, search.text.substr(at, length));
      }
    }
    try {
      search.run(k_never);
      ++used;
    } catch (const core::ConfigurationError&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
  CHECK(used > 0);
}
