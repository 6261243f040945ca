// What is too large to be counted, simulated, listed or read is refused in words that name the setting or the file.
#include <algorithm>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;

TEST_CASE("Files that never end, or hold nothing but errors, are refused") {
  refused({"topology", "star-8", "--flows", "/dev/zero"}, {"/dev/zero", "256 MiB"});
  refused({"bound", "--cdag", "/dev/zero", "--fast", "3"}, {"/dev/zero", "256 MiB"});
  std::string twice;
  for (int i = 0; i < 100; ++i) twice += "v a in\n";
  const Outcome outcome = run({"bound", "--cdag", write_file("twice.cdag", twice), "--fast", "3"});
  CHECK(outcome.code == 2);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 20);
}

TEST_CASE("A dragonfly of a thousand million routers is answered in closed form") {
  CHECK(run({"topology", "dragonfly-1024", "--set", "routers_per_group=1073741824"}).code == 0);
}

TEST_CASE("Long schedules are listed in time proportional to their length") {
  for (const char* kind : {"gnn-pipe", "gpipe", "2bp-gpipe", "modular"}) {
    INFO(kind);
    CHECK(run({"schedule", kind, "--stages", "3", "--micro-batches", "262144"}).code == 0);
  }
  refused({"schedule", "v-min", "--stages", "8", "--micro-batches", "20000"}, {"micro-batches", "--no-reorder"});
}
