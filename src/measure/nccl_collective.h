// Which collective a table of nccl-tests timed: from what stands around it, narrowed by how the test counts.
//
//   busbw / algbw over n ranks    all_reduce 2(n-1)/n
//                                 all_gather, reduce_scatter, alltoall, gather, scatter (n-1)/n
//                                 broadcast, reduce, sendrecv, hypercube 1
// So the ratio alone says all_reduce over three ranks and more, and nothing else; over two ranks it is 1 like that of a
// broadcast. Releases before June 2020 print 1 for the second group.
//
// Source: nccl-tests 2.19 src/*.cu (the GetBw functions) and doc/PERFORMANCE.md; issue 45 (2020-06-19) for the older
// ones.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reading.h"

namespace cairn::measure {

enum class BusTraffic : std::uint8_t { both_ways, others_share, whole };

struct NcclTest {
  std::string_view name;  // as Measurement::kind
  BusTraffic traffic;
  bool is_priced;  // there is a law for it
};

// all_reduce, alltoall, AllReduce, ./build/all_reduce_perf_mpi ...; null for what is no test known here.
const NcclTest* nccl_test(std::string_view word);

// Tests that words of `text` name, and those that it names as programs: ./build/all_reduce_perf.
std::set<const NcclTest*> tests_named_in(std::string_view text);
std::set<const NcclTest*> programs_named_in(std::string_view text);

struct Interval {
  double least = 0.0;
  double largest = std::numeric_limits<double>::infinity();
};
// What `text`, a decimal number >= 0, may have been before it was rounded to its last digit.
std::optional<Interval> before_rounding(std::string_view text);
// busbw / algbw of numbers as printed; everything where either is none.
Interval printed_ratio(std::string_view busbw, std::string_view algbw);

// What names the collective, the strongest first.
struct CollectiveClues {
  std::string program = {};                 // as the test names itself
  std::string option = {};                  // what the user says
  std::set<const NcclTest*> commands = {};  // in the log since the table before
  const NcclTest* file = nullptr;           // in the name of the file
};

// The rows of one table, all but their kind.
struct NcclTable {
  struct Row {
    Measurement measured = {};
    Interval busbw_to_algbw = {};
  };
  int line = 0;  // where the table is named
  std::int64_t ranks = 0;
  bool may_be_old = false;  // of a release before June 2020
  std::vector<Row> rows = {};
};
// Gives the rows their collective and hands them to `reading`; those of tests that no law prices are skipped. What
// speaks against the collective, or leaves it open, is an error.
void settle_collective(NcclTable table, const CollectiveClues& clues, Reading& reading);

}  // namespace cairn::measure
