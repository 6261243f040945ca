// What a command answers as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"

namespace cairn::cli_tests {

inline nlohmann::json asked(const std::string& command, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), command);
  arguments.emplace_back("--json");
  const Outcome outcome = run(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return nlohmann::json::parse(outcome.out);
}

// The plan that a search or a run with --json answers; the exit code says whether it fits.
inline nlohmann::json found(const std::vector<std::string>& words) {
  const Outcome outcome = run(words);
  INFO(outcome.err);
  REQUIRE(outcome.code <= 1);
  const nlohmann::json document = nlohmann::json::parse(outcome.out);
  CHECK(document["fits"] == (outcome.code == 0));
  return document;
}

}  // namespace cairn::cli_tests
