// One call of the program with one input.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "surface.h"

namespace cairn::attack {

struct Answer {
  int code = 0;  // exit code; -signal when a signal ended it
  std::string out;
  std::string err;
  std::string written;  // files of the command, one after the other
};

// The words of a command in brackets: some, decided by the input; none; all.
enum class Optional : std::uint8_t { by_input, none, all };

// A folder for one surface, removed at the end: the fixtures, the input, what is written. It is the working folder and
// the first folder of configurations (CAIRN_CONFIGS) as long as it lives.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Writes the input and gives the command's words, the program's name first.
  std::vector<std::string> command(const Surface& surface, const std::string& input,
                                   Optional optional = Optional::by_input) const;
  // The files that the last command wrote; they are removed.
  std::string take_written(const std::vector<std::string>& command) const;

 private:
  std::filesystem::path folder_;
};

// Longest that one input may take [s of CPU time], most memory [bytes]. Sanitized builds, which take several times as
// long, get so many times the seconds; calls of the program that ships hold it to them.
inline constexpr unsigned k_most_seconds = 20;
inline constexpr unsigned k_sanitized_times = 4;
inline constexpr std::size_t k_most_memory = std::size_t{4} << 30;

// The command in this process, which runs one thread. An input that takes longer than that ends the process with
// SIGPROF; sanitized builds end it above k_most_memory.
Answer call_here(const std::vector<std::string>& command);
// The command as a process of its own, `program` in place of its first word, with the limits on its time and memory.
Answer call_program(const std::string& program, const std::vector<std::string>& command);

// Where reports of sanitizers go from now on: standard error is caught. A Scratch sends them to where it went at first.
void send_reports_to(int descriptor);

}  // namespace cairn::attack
