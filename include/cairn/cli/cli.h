// The command line: the one place that reads arguments and the environment, writes to the standard streams and decides
// how the program ends.
//
//   0 ok    1 ran, the answer is negative    2 usage or configuration    3 reading or writing stopped half-way
//   4 this build or machine lacks something  70 a bug of Cairn           130 interrupted
// The result goes to standard output, everything else to standard error.
#pragma once

namespace cairn::cli {

int run(int argc, const char* const* argv);

}  // namespace cairn::cli
