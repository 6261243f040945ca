#include "journal_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/read_file.h"

namespace cairn::cli {
namespace {

constexpr std::size_t k_most_bytes = std::size_t{4} << 30;
constexpr const char* k_option = "--resume";
constexpr int k_permissions = 0666;  // less the user's mask

[[noreturn]] void fail(const std::string& file) {
  throw core::InputOutputError(fmt::format("'{}' cannot be written: {}", file, std::strerror(errno)));
}

}  // namespace

JournalFile::JournalFile(const std::string& file, const std::string& of) : file_(file) {
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, k_permissions);
  if (descriptor_ < 0) fail(file);
  try {
    struct stat status = {};
    if (::fstat(descriptor_, &status) != 0) fail(file);
    if (!S_ISREG(status.st_mode))
      throw core::ConfigurationError(k_option, fmt::format("'{}' is no file that a search could go on from", file),
                                     "name one, or one that does not exist yet");
    // Where the file system knows no locks, whoever starts two searches on one journal has to know.
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      throw core::ConfigurationError(k_option, fmt::format("another search adds to '{}'", file),
                                     "wait for it, or name another file");
    journal_ = std::make_unique<search::Journal>(of, core::read_file(file, k_most_bytes, "the journal of a search"),
                                                 file, [this](std::string_view line) { append(line); });
    whole_ = static_cast<off_t>(journal_->whole_bytes());
    if (::ftruncate(descriptor_, whole_) != 0) fail(file);
    journal_->begin();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

JournalFile::~JournalFile() { ::close(descriptor_); }

// A line that does not arrive whole leaves nothing behind.
void JournalFile::append(std::string_view line) {
  const auto bytes = static_cast<off_t>(line.size());
  while (!line.empty()) {
    const ssize_t written = ::write(descriptor_, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      [[maybe_unused]] const int cut = ::ftruncate(descriptor_, whole_);  // it cannot be told twice
      errno = reason;
      fail(file_);
    }
    line.remove_prefix(static_cast<std::size_t>(written));
  }
  whole_ += bytes;
}

}  // namespace cairn::cli
