#include "output.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <unistd.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"
#include "cairn/report/colours.h"

namespace cairn::cli {

Output::Output(const std::string& file) : name_(file), stream_(file.empty() ? stdout : std::fopen(file.c_str(), "wb")) {
  if (stream_ == nullptr) fail();
}

Output::~Output() {
  if (stream_ != nullptr && stream_ != stdout) std::fclose(stream_);
}

void Output::write(std::string_view text) {
  std::string shown;
  if (!core::is_printable(text)) {
    shown = core::printable_lines(text, colours_ ? report::colours() : std::span<const std::string_view>());
    text = shown;
  }
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) fail();
}

void Output::flush() {
  if (std::fflush(stream_) != 0) fail();
}

void Output::finish() {
  flush();
  if (stream_ == stdout) return;
  std::FILE* closing = std::exchange(stream_, nullptr);
  if (std::fclose(closing) != 0) fail();
}

bool Output::is_terminal() const { return stream_ != nullptr && isatty(fileno(stream_)) == 1; }

void Output::fail() const {
  const std::string reason = std::strerror(errno);
  throw core::InputOutputError((name_.empty() ? "standard output" : name_) + ": cannot be written: " + reason);
}

void write_file(const std::string& file, std::string_view text) {
  Output output(file);
  output.write(text);
  output.finish();
}

}  // namespace cairn::cli
