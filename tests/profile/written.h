// Traces written by hand, as files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "cairn/profile/kineto.h"

namespace cairn::profile_tests {

inline std::string event(const std::string& category, const std::string& name, const std::string& start,
                         const std::string& duration, const std::string& arguments = "{}") {
  return fmt::format(R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 0, "tid": 7, "ts": {}, "dur": {}, "args": {}}})",
                     category, name, start, duration, arguments);
}
inline std::string kernel(const std::string& name, const std::string& start, const std::string& duration,
                          int stream = 7, int correlation = 0) {
  return event("kernel", name, start, duration,
               fmt::format(R"({{"device": 0, "stream": {}, "correlation": {}}})", stream, correlation));
}
inline std::string call(const std::string& start, int correlation) {
  return event("cuda_runtime", "cudaLaunchKernel", start, "4", fmt::format(R"({{"correlation": {}}})", correlation));
}
inline std::string step(int number, const std::string& start, const std::string& duration) {
  return event("user_annotation", fmt::format("ProfilerStep#{}", number), start, duration);
}
// One event a line, the first on line 2.
template <class... Events>
std::string trace(const Events&... events) {
  std::string all;
  ((all += (all.empty() ? "" : ",\n") + events), ...);
  return R"({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}, "traceEvents": [)"
         "\n" +
         all + "\n]}\n";
}

// A file of this process, gone at the end.
class File {
 public:
  explicit File(const std::string& text, const std::string& name = "trace.json")
      : folder_(std::filesystem::temp_directory_path() / fmt::format("cairn-profile-{}", getpid())),
        path_(folder_ / name) {
    std::filesystem::create_directories(folder_);
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~File() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path folder_, path_;
};

inline profile::Trace read(const std::string& text) { return profile::read_kineto(File(text).path()); }

}  // namespace cairn::profile_tests
