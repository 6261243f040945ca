// Every label of a result is a word that the glossary explains.
#include "cairn/report/glossary.h"

#include <algorithm>
#include <cctype>
#include <string>

#include <nlohmann/json.hpp>

#include "cairn/program/mesh.h"
#include "cairn/report/schema.h"
#include "cairn/report/search.h"
#include "catch.h"

namespace cairn::report {
namespace {

void all_explained(const nlohmann::json& properties) {
  for (const auto& [label, schema] : properties.items()) {
    if (schema.value("type", "") != "number") continue;
    INFO(label);
    CHECK(explained(label) != nullptr);
  }
}

TEST_CASE("Labels of times, memory and communication are explained") {
  const auto result = nlohmann::json::parse(run_schema())["properties"]["result"]["properties"];
  REQUIRE(result["time_s"]["properties"].size() >= 14);
  all_explained(result["time_s"]["properties"]);
  all_explained(result["bubble_s"]["properties"]);
  all_explained(result["memory_bytes"]["properties"]);
  for (std::size_t i = 0; i < program::k_axes; ++i)
    CHECK(explained(program::label(static_cast<program::Axis>(i))) != nullptr);
  const auto space = nlohmann::json::parse(search_schema())["properties"]["space"]["properties"];
  for (const char* kind : {"evaluated", "pruned", "unfit", "illegal", "excluded"}) {
    INFO(kind);
    CHECK(space.contains(kind));
    CHECK(explained(kind) != nullptr);
  }
  CHECK(explained("offload") != nullptr);
  CHECK(explained("storage") != nullptr);
}

TEST_CASE("A word is found as documents, reports and people write it") {
  const Term* term = explained("tp_exposed");
  REQUIRE(term != nullptr);
  CHECK(explained("TP exposed") == term);
  CHECK(explained("tp-exposed") == term);
  CHECK(explained("tp") != term);
  CHECK(explained("") == nullptr);
}

TEST_CASE("The glossary is in order, one plain sentence a word") {
  const auto folded = [](std::string_view word) {
    std::string text(word);
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return c == '_' || c == '-' ? ' ' : std::tolower(c); });
    return text;
  };
  const auto terms = glossary();
  CHECK(terms.size() >= 40);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    INFO(terms[i].word);
    CHECK(terms[i].meaning.ends_with('.'));
    CHECK(terms[i].meaning.find(". ") == std::string_view::npos);
    if (i > 0) CHECK(folded(terms[i - 1].word) < folded(terms[i].word));
  }
}

}  // namespace
}  // namespace cairn::report
