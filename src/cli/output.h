// Where results go. Every write is checked: a result that did not arrive is an error, never an exit code 0. Nothing
// that is not printable leaves here: it is escaped (core/printable.h), so that names from files move no terminal and
// break no document. A character must not be split between two writes.
//
// A file is written beside its name and takes the name when it is whole: at any moment, however the program ends, the
// name holds the old file or the new one.
//
//   links followed -> a nameless file in the target's folder -> its bytes -> fsync -> linked as NAME.tmp.PROCESS
//   -> renamed
//
// A file whose name ends in .gz is compressed.
//
// Where the file system has no nameless files it is NAME.tmp.PROCESS from the start. A new file has the permissions
// that any program's would have, one that replaces another those of the other. Pipes, devices and the file that
// standard output already is are written directly. A file that the command reads is never written: see also
// check_outputs().
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/sources.h"
#include "gzip.h"

namespace cairn::cli {

inline constexpr const char* k_standard_output = "/dev/stdout";  // what - is where a file is written

// What becomes of a file that does not get finished.
enum class Unfinished : std::uint8_t {
  vanishes,
  stays,  // as NAME.tmp.PROCESS: many answers, worth having when the rest is cut off
};

class Output {
 public:
  // Standard output when `file` is empty. Throws core::InputOutputError when the file cannot be written.
  explicit Output(const std::string& file) : Output(file, nullptr, Unfinished::vanishes) {}
  // A file among those that were read when it is opened, or are when it is finished, is refused: throws
  // core::ConfigurationError.
  Output(const std::string& file, const config::Sources& read, Unfinished unfinished = Unfinished::vanishes)
      : Output(file, &read, unfinished) {}
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view text);
  void flush();
  // Everything written has arrived, under its name. Throws core::InputOutputError otherwise.
  void finish();

  bool is_terminal() const;
  // Lets the colours of reports pass from now on.
  void pass_colours() { colours_ = true; }
  // Where what was written so far lies while it has not got its name: NAME.tmp.PROCESS, or empty.
  std::string unfinished_file() const { return beside_.string(); }

 private:
  Output(const std::string& file, const config::Sources* read, Unfinished unfinished);
  void open();
  int open_beside();
  void put(std::string_view bytes);
  void keep_off_what_was_read() const;
  void take_name();
  [[noreturn]] void fail() const;

  std::string name_;
  std::filesystem::path target_;  // behind links; empty: written directly
  std::filesystem::path beside_;  // its name until then; empty: none yet
  const config::Sources* read_ = nullptr;
  Unfinished unfinished_ = Unfinished::vanishes;
  bool written_ = false;
  bool colours_ = false;
  std::FILE* stream_ = nullptr;
  std::unique_ptr<Gzip> gzip_;
};

// The whole of `text` as a file.
void write_file(const std::string& file, std::string_view text, const config::Sources& read);

// Files that the command line names.
struct NamedFiles {
  std::vector<std::string> read;  // a value that is the name of no file does no harm
  std::vector<std::string> written;
};

// No file, by whatever name or link, is read and written or written twice: throws core::ConfigurationError otherwise.
void check_outputs(const NamedFiles& files);

}  // namespace cairn::cli
