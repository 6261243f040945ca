// Many inputs against one surface, each in a process that may die of it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "call.h"
#include "mutator.h"
#include "surface.h"

namespace cairn::attack {

struct Plan {
  std::uint64_t seed = 1;
  std::uint64_t first = 0;  // input, counted from 0
  std::uint64_t inputs = 0;
  double seconds = 0.0;             // ends earlier after this long; 0: never
  std::string program = {};         // called as a process; empty: in this one
  std::filesystem::path save = {};  // where inputs that are complained about go; empty: nowhere
};

struct Finding {
  std::uint64_t index = 0;
  std::string complaint;
};

struct Tally {
  std::uint64_t inputs = 0;
  std::uint64_t known = 0;               // complaints of known.def
  std::array<std::uint64_t, 5> codes{};  // by exit code
  std::vector<Finding> findings;         // the first of each complaint
};

// Every text of the folder of seeds, and the shipped ones that the table names, by name.
std::vector<std::string> seeds_of(const Surface& surface);
// Those of the folder alone, with their paths.
std::vector<std::filesystem::path> corpus_of(const Surface& surface);
std::string read_whole(const std::filesystem::path& file);
// Seeds and the tokens of its schemas.
Mutator mutator_of(const Surface& surface);

Tally attack(const Surface& surface, const Mutator& mutator, const Plan& plan);

// One input in this process, or in one of its own, so that a sanitizer's report is a complaint.
std::string complaint_here(const Surface& surface, const std::string& input, Optional optional = Optional::by_input);
std::string complaint_about(const Surface& surface, const std::string& input, Optional optional = Optional::by_input);

}  // namespace cairn::attack
