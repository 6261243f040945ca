#include "batch_lines.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "cairn/core/diagnostics.h"

namespace cairn::cli {
namespace {

constexpr std::size_t k_piece = std::size_t{64} << 10;  // bytes
constexpr int k_patience_ms = 100;                      // between two looks at `stop`

}  // namespace

BatchLines::BatchLines(const std::string& file)
    : file_(file), descriptor_(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)) {
  bool found = false;
  try {
    found = descriptor_ >= 0 && read_more();
  } catch (const core::InputOutputError&) {  // a directory opens, and cannot be read
  }
  if (found) return;
  if (descriptor_ >= 0) close(descriptor_);
  throw core::ConfigurationError("--batch", fmt::format("'{}' cannot be read, or holds nothing", file),
                                 "name a file of JSON objects, one a line");
}

BatchLines::~BatchLines() { close(descriptor_); }

std::optional<BatchLines::Line> BatchLines::next(const std::function<bool()>& stop) {
  std::size_t looked_at = begin_;
  while (true) {
    const std::size_t end = read_.find('\n', looked_at);
    if (end == std::string::npos && !at_end_) {
      looked_at = read_.size() - begin_;
      read_.erase(0, begin_);
      begin_ = 0;
      if (!wait(stop)) return {};
      read_more();
      continue;
    }
    const std::size_t stops = std::min(end, read_.size());
    if (stops == begin_ && end == std::string::npos) return {};
    Line line{.text = read_.substr(begin_, stops - begin_), .number = ++number_};
    begin_ = looked_at = end == std::string::npos ? stops : end + 1;
    if (line.text.find_first_not_of(" \t\r") != std::string::npos) return line;
  }
}

bool BatchLines::read_more() {
  const std::size_t before = read_.size();
  read_.resize(before + k_piece);
  ssize_t got = 0;
  do got = read(descriptor_, read_.data() + before, k_piece);
  while (got < 0 && errno == EINTR);
  read_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) throw core::InputOutputError(fmt::format("{}: reading stopped at line {}", file_, number_ + 1));
  at_end_ = got == 0;
  return got > 0;
}

bool BatchLines::wait(const std::function<bool()>& stop) const {
  pollfd watched{.fd = descriptor_, .events = POLLIN, .revents = 0};
  while (!stop()) {
    const int ready = poll(&watched, 1, k_patience_ms);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;  // what is wrong is found by reading
  }
  return false;
}

}  // namespace cairn::cli
