#include "cairn/pebble/locality.h"

#include <algorithm>
#include <list>
#include <sstream>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/pebble/schedule.h"
#include "catch.h"
#include "pebble/programs.h"
#include "support/complaints.h"

using namespace cairn;
using namespace cairn::pebble;

namespace {

struct Touched {
  std::uint32_t word;
  MissProfiler::Touch kind;
};

// The same memory, word by word: a list in order of last use, dirty marks, write-back on eviction and at the end.
std::pair<std::int64_t, std::int64_t> simulate_lru(const std::vector<Touched>& touches, std::size_t memory) {
  std::list<std::pair<std::uint32_t, bool>> lines;
  std::int64_t misses = 0, write_backs = 0;
  for (const Touched& touch : touches) {
    const auto line =
        std::find_if(lines.begin(), lines.end(), [&](const auto& held) { return held.first == touch.word; });
    bool dirty = touch.kind == MissProfiler::Touch::write;
    if (line != lines.end()) {
      dirty = dirty || line->second;
      lines.erase(line);
    } else if (touch.kind == MissProfiler::Touch::read) {
      ++misses;
    }
    lines.emplace_front(touch.word, dirty);
    if (lines.size() > memory) {
      write_backs += lines.back().second ? 1 : 0;
      lines.pop_back();
    }
  }
  for (const auto& line : lines) write_backs += line.second ? 1 : 0;
  return {misses, write_backs};
}

std::string complaint(const std::string& text) {
  std::istringstream stream(text);
  try {
    cdag_of(read_trace(stream, "p.trace"));
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("locality: the profile equals a simulated memory at every size") {
  core::Random random(51);
  for (int i = 0; i < 20; ++i) {
    const std::uint32_t words = 2 + static_cast<std::uint32_t>(random.below(40));
    MissProfiler profile(words);
    std::vector<Touched> touches;
    for (int t = 0; t < 3000; ++t) {  // more touches than the profiler has positions, so that it renumbers
      const std::uint32_t word = static_cast<std::uint32_t>(std::min(random.below(words), random.below(words)));
      touches.push_back(
          {.word = word, .kind = random.below(3) == 0 ? MissProfiler::Touch::write : MissProfiler::Touch::read});
      profile.touch(touches.back().word, touches.back().kind);
    }
    for (std::size_t memory = 1; memory <= words; ++memory) {
      const auto [misses, write_backs] = simulate_lru(touches, memory);
      REQUIRE(profile.reads_that_miss(static_cast<Words>(memory)) == misses);
      REQUIRE(profile.write_backs(static_cast<Words>(memory)) == write_backs);
    }
  }
}

TEST_CASE("locality: reordering moves fewer words and computes the same bits") {
  struct Program {
    const char* name;
    Trace trace;
    Words memory;  // between one row and the whole array, as a second-level cache is
  };
  const Program programs[] = {{"Jacobi 2-d", testing::jacobi2d_trace(48, 24), 512},
                              {"Floyd-Warshall", testing::floyd_warshall_trace(40), 256},
                              {"LU", testing::lu_trace(48), 256}};
  for (const Program& program : programs) {
    INFO(program.name);
    const Cdag graph = cdag_of(program.trace);
    const Replay before = replay(graph, graph.order());
    const Replay after = replay(graph, convex_partition_order(graph, program.memory));
    CHECK(after.fingerprint == before.fingerprint);
    CHECK(after.profile.traffic(program.memory) < before.profile.traffic(program.memory));
  }
}

TEST_CASE("locality: a wrong order is noticed in the results") {
  // x0 + x1 and x1 * x2 in swapped words: exchanging two inputs' roles changes the fingerprint.
  std::istringstream first("w 0\nw 1\nw 2\nop\nr 0\nr 1\nw 3\nop\nr 1\nr 2\nw 4\n"),
      second("w 0\nw 1\nw 2\nop\nr 0\nr 1\nw 3\nop\nr 2\nr 1\nw 4\n");
  const Cdag a = cdag_of(read_trace(first, "a")), b = cdag_of(read_trace(second, "b"));
  CHECK(replay(a, a.order()).fingerprint != replay(b, b.order()).fingerprint);
}

TEST_CASE("trace: the worked example is a graph of two inputs and a sum") {
  std::istringstream stream("w 0  # x\nw 0x8\nop\nr 0\nr 8\nw 16\n");
  const Cdag graph = cdag_of(read_trace(stream, "t"));
  CHECK(graph.size() == 3);
  CHECK(graph.input_count() == 2);
  CHECK(graph.output_count() == 1);
  CHECK(graph.predecessors(2).size() == 2);
}

TEST_CASE("trace: an overwritten value is a new vertex, the last one the output") {
  std::istringstream stream("w 0\nop\nr 0\nw 0\nop\nr 0\nw 0\nop\n");
  const Cdag graph = cdag_of(read_trace(stream, "t"));
  CHECK(graph.size() == 3);
  CHECK_FALSE(graph.is_output(1));
  CHECK(graph.is_output(2));
}

TEST_CASE("trace: text and binary forms round-trip") {
  const Trace trace = testing::lu_trace(5);
  std::stringstream text, binary, again;
  write_trace(trace, text);
  const std::string written = text.str();
  write_binary_trace(trace, binary);
  write_trace(read_binary_trace(binary, "t"), again);
  CHECK(again.str() == written);
  std::stringstream once_more;
  write_trace(read_trace(text, "t"), once_more);
  CHECK(once_more.str() == written);
}

TEST_CASE("trace: what is wrong is said, with its line") {
  CHECK(cairn::test::contains(complaint("# inputs\nw 0\nop\nr 0\nr 1\nw 2\n"),
                              "p.trace:5:1: error: operation 2 reads address 1, which nothing was written to"));
  CHECK(cairn::test::contains(complaint("w 0\nop\nx 1\n"), "p.trace:3:1: error: unknown event 'x 1'"));
  CHECK(cairn::test::contains(complaint("w zero\n"), "p.trace:1:1: error: 'zero' is no address"));
  CHECK(cairn::test::contains(complaint("w 0\nr 0\n"), "p.trace:2:1: error: a read after a write"));
  CHECK(cairn::test::contains(complaint("w 0\nop\nr 0\nop\n"),
                              "p.trace:4:1: error: an operation that reads and writes nothing"));
  CHECK(cairn::test::contains(complaint("# nothing\n"), "has no operations"));
  std::istringstream wrong("CAIRNXXX"), cut(std::string("CAIRNTR1") + "abc");
  CHECK_THROWS_AS(read_binary_trace(wrong, "t"), core::ConfigurationError);
  CHECK_THROWS_AS(read_binary_trace(cut, "t"), core::ConfigurationError);
  // Of a binary trace the event stands for the line; a trace from no file has neither.
  std::istringstream text("w 0\nop\nr 0\nr 1\nw 2\n");
  std::stringstream binary;
  write_binary_trace(read_trace(text, "p.trace"), binary);
  CHECK_THROWS_WITH(cdag_of(read_binary_trace(binary, "p.bin")),
                    Catch::Matchers::Contains("p.bin:4:1: error: operation 2 reads address 1"));
  Trace made;
  made.read(1);
  made.write(2);
  made.end_operation();
  CHECK_THROWS_WITH(cdag_of(made), Catch::Matchers::StartsWith("error: operation 1 reads address 1"));
}
