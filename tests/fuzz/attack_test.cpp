// Inputs against every surface: seeds, what was found before, and a few hundred changed ones. The program `attack` goes
// on for as long as one likes; see tests/README.md.
#include <set>

#include "catch.h"
#include "fuzz/attack/attack.h"
#include "fuzz/attack/call.h"
#include "fuzz/attack/judge.h"

namespace cairn::attack {
namespace {

constexpr std::uint64_t k_inputs = 200;  // of a surface
constexpr double k_seconds = 0.3;        // of a surface: slow builds try fewer

}  // namespace

TEST_CASE("what was found stays mended", "[fuzz]") {
  for (const Surface& surface : surfaces())
    for (const std::filesystem::path& file : corpus_of(surface)) {
      INFO(file);
      for (const Optional optional : {Optional::none, Optional::all}) {
        const std::string wrong = complaint_about(surface, read_whole(file), optional);
        if (!is_known(wrong)) CHECK(wrong == "");
      }
    }
}

TEST_CASE("a seed of every surface is accepted", "[fuzz]") {
  for (const Surface& surface : surfaces()) {
    INFO(surface.name);
    bool accepted = false;
    const Scratch scratch;
    std::string refusals;
    for (const std::string& seed : seeds_of(surface)) {
      const Answer answer = call_here(scratch.command(surface, seed));
      accepted = accepted || answer.code <= 1;
      if (accepted) break;
      refusals += answer.err;
    }
    INFO(refusals);
    CHECK(accepted);
  }
}

TEST_CASE("changed inputs are answered or refused in words", "[fuzz]") {
  std::uint64_t accepted = 0, refused = 0;
  for (const Surface& surface : surfaces()) {
    const Tally tally =
        attack(surface, mutator_of(surface), {.seed = 20261122, .inputs = k_inputs, .seconds = k_seconds});
    INFO(surface.name);
    CHECK(tally.inputs > 0);
    for (const Finding& each : tally.findings) FAIL_CHECK(surface.name << " " << each.index << ": " << each.complaint);
    accepted += tally.codes[0] + tally.codes[1];
    refused += tally.codes[2];
  }
  // The changes must be neither all harmless nor all fatal.
  CHECK(accepted > (accepted + refused) / 20);
  CHECK(refused > (accepted + refused) / 4);
}

TEST_CASE("the same number gives the same input", "[fuzz]") {
  const Scratch scratch;
  const Mutator mutator = mutator_of(*find_surface("experiment"));
  std::set<std::string> inputs;
  for (std::uint64_t index = 0; index < k_inputs; ++index) {
    CHECK(mutator.input(1, index) == mutator.input(1, index));
    inputs.insert(mutator.input(1, index));
  }
  CHECK(inputs.size() > k_inputs * 9 / 10);
}

}  // namespace cairn::attack
