// Where results go. Every write is checked: a result that did not arrive is an error, never an exit code 0. Nothing that
// is not printable leaves here: it is escaped (core/printable.h), so that names from files move no terminal and break no
// document. A character must not be split between two writes.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace cairn::cli {

class Output {
 public:
  // Standard output when `file` is empty. Throws core::InputOutputError when the file cannot be written.
  explicit Output(const std::string& file);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view text);
  void flush();
  // Everything written has arrived. Throws core::InputOutputError otherwise.
  void finish();

  bool is_terminal() const;
  // Lets the colours of reports pass from now on.
  void pass_colours() { colours_ = true; }

 private:
  [[noreturn]] void fail() const;
  std::string name_;
  std::FILE* stream_;
  bool colours_ = false;
};

// The whole of `text` as a file.
void write_file(const std::string& file, std::string_view text);

}  // namespace cairn::cli
