// What is too large to be counted, simulated, listed or read is refused in words that name the setting or the file.
#include <algorithm>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;

TEST_CASE("Long schedules are listed in time proportional to their length") {
  for (const char* kind : {"gnn-pipe", "gpipe", "2bp-gpipe", "modular"}) {
    INFO(kind);
    CHECK(run({"schedule", kind, "--stages", "3", "--micro-batches", "262144"}).code == 0);
  }
  refused({"schedule", "v-min", "--stages", "8", "--micro-batches", "20000"}, {"micro-batches", "--no-reorder"});
}
