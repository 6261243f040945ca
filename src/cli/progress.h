// How far long work has come.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "arguments.h"

namespace cairn::cli {

// "hagemann2023_30b ######.............. 110 of 361"
std::string progress_text(std::string_view what, std::size_t done, std::size_t of);

// One line on standard error, renewed some ten times a second and gone at the end; nothing where no terminal shows it,
// or with -q.
class ProgressLine {
 public:
  explicit ProgressLine(const CommonArguments& common);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  void show(std::string_view what, std::size_t done, std::size_t of);
  void clear();

 private:
  bool wanted_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_ = {};
};

}  // namespace cairn::cli
