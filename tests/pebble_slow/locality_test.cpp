#include "cairn/pebble/locality.h"

#include "cairn/pebble/schedule.h"
#include "catch.h"
#include "pebble/programs.h"

using namespace cairn::pebble;

TEST_CASE("locality: ten million operations, each program moves fewer words after than before") {
  struct Program {
    const char* name;
    Trace (*record)();
    Words memory;
  };
  const Program programs[] = {
      {"Jacobi 2-d, 500 x 500, 40 steps", [] { return testing::jacobi2d_trace(500, 40); }, 32768},
      {"Floyd-Warshall, 215", [] { return testing::floyd_warshall_trace(215); }, 8192},
      {"LU, 310", [] { return testing::lu_trace(310); }, 8192}};
  for (const Program& program : programs) {
    INFO(program.name);
    const Trace trace = program.record();
    CHECK(trace.operations() > 9'900'000);
    const Cdag graph = cdag_of(trace);
    const Replay before = replay(graph, graph.order());
    const Replay after = replay(graph, convex_partition_order(graph, program.memory));
    CHECK(after.fingerprint == before.fingerprint);
    CHECK(after.profile.traffic(program.memory) < before.profile.traffic(program.memory));
  }
}
