// The bytes of a trace, inflated where they are compressed, and the place that reading has come to.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <streambuf>
#include <string>
#include <vector>

#include "cairn/core/diagnostics.h"

namespace cairn::profile {

// One error of a file; line 0: of all of it.
[[noreturn]] void refuse_at(const std::string& file, int line, int column, std::string message, std::string hint);

class TraceBytes : public std::streambuf {
 public:
  struct Place {
    int line = 1;
    int column = 1;
  };

  TraceBytes(std::string name, const std::filesystem::path& file,
             std::function<void(std::size_t, std::size_t)> progress);
  ~TraceBytes() override;
  TraceBytes(const TraceBytes&) = delete;
  TraceBytes& operator=(const TraceBytes&) = delete;

  const std::string& name() const { return name_; }
  // Of the character read last.
  Place place();
  // Something was understood: a text that goes on for long without that is refused, and so does not fill the memory.
  void understood() { understood_ = consumed(); }

 protected:
  int_type underflow() override;

 private:
  struct Source;
  std::size_t consumed() const { return before_ + static_cast<std::size_t>(gptr() - eback()); }
  void count_lines();

  std::string name_;
  std::unique_ptr<Source> source_;
  std::function<void(std::size_t, std::size_t)> progress_;
  std::vector<char> buffer_;
  std::size_t before_ = 0;  // bytes of the buffers before this one
  std::size_t understood_ = 0;
  std::size_t counted_ = 0;     // bytes whose lines are counted
  std::size_t line_begin_ = 0;  // where the current line begins
  int line_ = 1;
};

}  // namespace cairn::profile
