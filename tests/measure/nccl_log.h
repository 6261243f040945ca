// A model of nccl-tests: what it prints for a run, piece by piece, and what launchers and NCCL make of that in a log.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace cairn::measure::test {

struct LogRun {
  std::string program = "all_reduce_perf";
  double factor = 1.75;  // busbw / algbw
  int ranks = 8;
  int first_rank = 0;
  std::string device = "NVIDIA H100 80GB HBM3";
  double latency_us = 20.0;
  double bytes_per_us = 2e5;
  std::string wrong = "0";
};

inline std::vector<double> sizes_of_log() {
  return {8.0, 65536.0, 1048576.0, 33554432.0, 1073741824.0, 137438953472.0};
}

// As nccl-tests fits a number into `width`: two decimals, one, none.
inline std::string fitted_number(double value, int width) {
  char text[64];
  for (int decimals = 2; decimals >= 0; --decimals) {
    std::snprintf(text, sizeof text, "%*.*f", width, decimals, value);
    if (std::string(text).size() <= static_cast<std::size_t>(width)) break;
  }
  return text;
}

inline double microseconds_of(const LogRun& run, double bytes) { return run.latency_us + bytes / run.bytes_per_us; }

inline std::string figures_of(const LogRun& run, double bytes) {
  const double us = microseconds_of(run, bytes), algbw = bytes / us / 1e3;
  return "  " + fitted_number(us, 7) + "  " + fitted_number(algbw, 6) + "  " + fitted_number(run.factor * algbw, 6) +
         "       " + run.wrong;
}

inline std::string opening_of(double bytes) {
  char text[128];
  std::snprintf(text, sizeof text, "%12.0f  %12.0f  %8s  %6s  %6s", bytes, bytes / 4, "float", "sum", "-1");
  return text;
}

// What stands around and in between.
struct LogDecoration {
  std::string prefix = {};       // before each line of the first rank
  std::string indentation = {};  // before that
  std::string line_end = "\n";
  std::string colour = {}, plain = {};  // around the text of a line
  enum class Messages { none, between_rows, inside_rows } messages = Messages::none;
  std::string tail = {};     // after everything
  std::string command = {};  // before everything
  bool names_program = true;
};

class LogWriter {
 public:
  explicit LogWriter(LogDecoration decoration) : decoration_(std::move(decoration)) {}

  void print(const std::string& text) { line_ += text; }
  void end() {
    log_ += decoration_.indentation + decoration_.prefix + decoration_.colour + line_ + decoration_.plain +
            decoration_.line_end;
    line_.clear();
  }
  void line(const std::string& text) {
    print(text);
    end();
  }
  // NCCL writes to the stream of the test, in the middle of its line where it prints one.
  void message(const std::string& text) { line("host-0:6899:6921 [0] NCCL INFO " + text); }
  void bare(const std::string& text) { log_ += text + decoration_.line_end; }
  const std::string& log() const { return log_; }

 private:
  LogDecoration decoration_;
  std::string line_, log_;
};

inline std::string log_of(const LogRun& run, const LogDecoration& decoration) {
  LogWriter out(decoration);
  using Messages = LogDecoration::Messages;
  const bool chatty = decoration.messages != Messages::none;
  if (!decoration.command.empty()) out.bare(decoration.command);
  if (decoration.names_program) {
    out.line("# nccl-tests version 2.17.1 nccl-headers=22705 nccl-library=22705");
    out.line("# Collective test starting: " + run.program);
  }
  out.line(
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 137438953472 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
      "validation: 1 graph: 0");
  out.line("#");
  out.line("# Using devices");
  for (int rank = run.first_rank; rank < run.first_rank + run.ranks; ++rank)
    out.line("#  Rank " + std::to_string(rank) + " Group  0 Pid   6899 on     host-0 device  " + std::to_string(rank) +
             " [0x" + std::to_string(10 + rank) + "] " + run.device);
  if (chatty) {
    out.message("Bootstrap : Using eth0:10.11.13.106<0>");
    out.bare("[1,3]<stdout>:host-0:6902:6931 [3] NCCL INFO Channel 00/02 :    0   1");
    out.line("NCCL version 2.27.5+cuda12.9");
  }
  out.line("#");
  out.line(
      "#                                                              out-of-place                       in-place      "
      "    ");
  out.line(
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong");
  out.line(
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)   "
      "    ");
  for (const double bytes : sizes_of_log()) {
    if (chatty) out.message("AllReduce: opCount 1f sendbuff 0x7f 0 recvbuff 0x7f count 8 datatype 7 op 0 root 0");
    out.print(opening_of(bytes));
    if (decoration.messages == Messages::inside_rows) {
      out.message("8192 Bytes -> Algo 0 proto 0 time 25.874907");
      out.bare("[1,1]<stdout>:host-0:6900:6924 [1] NCCL INFO Connected all rings");
    }
    out.print(figures_of(run, bytes));
    if (decoration.messages == Messages::inside_rows) out.message("Launch mode Parallel");
    out.line(figures_of(run, bytes));
  }
  out.line("# Out of bounds values : 0 OK");
  out.line("# Avg bus bandwidth    : 100.5 ");
  out.line("#");
  if (decoration.names_program) out.line("# Collective test concluded: " + run.program);
  if (!decoration.tail.empty()) out.bare(decoration.tail);
  return out.log();
}

}  // namespace cairn::measure::test
