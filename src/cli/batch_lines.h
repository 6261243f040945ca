// The lines of a file or a pipe, one after the other.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace cairn::cli {

class BatchLines {
 public:
  struct Line {
    std::string text;
    int number = 0;  // the first is 1
  };

  // Throws core::ConfigurationError when `file` cannot be read or holds nothing: it is found so before anything is
  // opened for writing.
  explicit BatchLines(const std::string& file);
  ~BatchLines();
  BatchLines(const BatchLines&) = delete;
  BatchLines& operator=(const BatchLines&) = delete;

  // The next that is not blank. Empty at the end, and where `stop` says so while a pipe is waited for. Throws
  // core::InputOutputError.
  std::optional<Line> next(const std::function<bool()>& stop);

 private:
  // Whether there is more.
  bool read_more();
  // Whether there is something to read, or the end.
  bool wait(const std::function<bool()>& stop) const;

  std::string file_;
  int descriptor_ = -1;
  std::string read_;  // and not yet given away, from `begin_` on
  std::size_t begin_ = 0;
  int number_ = 0;  // of the line given away last
  bool at_end_ = false;
};

}  // namespace cairn::cli
