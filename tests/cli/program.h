// Runs the program as a shell would, and keeps what it said.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cairn::cli_tests {

struct Outcome {
  int code = 0;  // exit code; -signal when a signal ended it
  std::string out;
  std::string err;
};

struct Invocation {
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to the test's own
  std::string out_file = {};                                          // where standard output goes; empty: kept
  std::string folder = {};                                            // working folder
};

Outcome run(const Invocation& invocation);
inline Outcome run(const std::vector<std::string>& arguments) { return run(Invocation{.arguments = arguments}); }

// Starts the program, with standard output in `out` and what it says discarded; wait_for() gives its exit code as
// Outcome::code.
int start(const std::vector<std::string>& arguments, const std::string& out = "/dev/null");
int wait_for(int process);

// Runs it expecting bad input: exit code 2, nothing on standard output, and each of `words` in what it says.
void refused(const std::vector<std::string>& arguments, const std::vector<std::string>& words);

// A folder of this process, removed at its end.
const std::string& scratch();
// Writes a file into it; gives its path.
std::string write_file(const std::string& name, const std::string& text);
std::string content(const std::string& path);

}  // namespace cairn::cli_tests
