#include "output.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"
#include "cairn/report/colours.h"

namespace cairn::cli {
namespace {

namespace fs = std::filesystem;

constexpr mode_t k_new_file = 0666;  // less what umask takes
constexpr mode_t k_permissions = 07777;
constexpr int k_most_links = 40;   // as many as Linux follows, path_resolution(7)
constexpr int k_most_tries = 100;  // files of the same name that dead processes of this number left

std::optional<struct stat> status_of(const fs::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// Whether both names lead to one regular file. Devices and pipes may be read and written at once.
bool same_file(const fs::path& a, const fs::path& b) {
  const auto first = status_of(a);
  const auto second = status_of(b);
  return first && second && S_ISREG(first->st_mode) && same(*first, *second);
}

// The name at the end of a chain of symbolic links, whether or not a file stands there.
fs::path behind_links(fs::path path) {
  std::error_code problem;
  for (int link = 0; link < k_most_links && fs::is_symlink(fs::symlink_status(path, problem)); ++link) {
    const fs::path to = fs::read_symlink(path, problem);
    path = to.is_absolute() ? to : path.parent_path() / to;
  }
  return path;
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

// A name beside `target` that `make` could give to a file; empty, with errno, when it could not.
template <class Make>
fs::path name_beside(const fs::path& target, Make make) {
  for (int i = 0; i < k_most_tries; ++i) {
    fs::path name = target;
    name += i == 0 ? fmt::format(".tmp.{}", getpid()) : fmt::format(".tmp.{}-{}", getpid(), i);
    if (make(name)) return name;
    if (errno != EEXIST) break;
  }
  return {};
}

std::string open_file(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

[[noreturn]] void refuse(const std::string& file, const std::string& message) {
  throw core::ConfigurationError(file, message, "write to another file");
}

constexpr const char* k_read = "this command reads it, and would overwrite it";

}  // namespace

Output::Output(const std::string& file, const config::Sources* read, Unfinished unfinished)
    : name_(file), read_(read), unfinished_(unfinished) {
  open();
  if (name_.ends_with(".gz")) gzip_ = std::make_unique<Gzip>([this](std::string_view bytes) { put(bytes); });
}

Output::~Output() {
  if (stream_ != nullptr && stream_ != stdout) std::fclose(stream_);
  if (!beside_.empty() && (unfinished_ == Unfinished::vanishes || !written_)) unlink(beside_.c_str());
}

void Output::open() {
  const auto present = name_.empty() ? std::nullopt : status_of(name_);
  const auto is_standard_output = [&] {
    struct stat out {};
    return fstat(STDOUT_FILENO, &out) == 0 && same(*present, out);
  };
  if (name_.empty() || (present && is_standard_output())) {
    stream_ = stdout;
    return;
  }
  if (present && !S_ISREG(present->st_mode)) {
    stream_ = std::fopen(name_.c_str(), "wb");
    if (stream_ == nullptr) fail();
    return;
  }
  if (present && access(name_.c_str(), W_OK) != 0) fail();
  target_ = behind_links(name_);
  keep_off_what_was_read();
  const int descriptor = open_beside();
  if (descriptor < 0) fail();
  if (present) {
    // Only root gives files away; whoever cannot keeps what is made.
    if (fchown(descriptor, present->st_uid, present->st_gid) != 0) errno = 0;
    if (fchmod(descriptor, present->st_mode & k_permissions) != 0) errno = 0;
  }
  stream_ = fdopen(descriptor, "wb");
  if (stream_ == nullptr) fail();
}

// A file in the target's folder: nameless where it shall vanish and the file system can.
int Output::open_beside() {
  if (unfinished_ == Unfinished::vanishes && status_of(open_file(STDERR_FILENO))) {
    const int nameless = ::open(folder_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, k_new_file);
    if (nameless >= 0) return nameless;
  }
  int descriptor = -1;
  beside_ = name_beside(target_, [&](const fs::path& name) {
    descriptor = ::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, k_new_file);
    return descriptor >= 0;
  });
  return descriptor;
}

void Output::keep_off_what_was_read() const {
  if (read_ == nullptr) return;
  for (const config::SourceFile& source : read_->all())
    if (same_file(source.file, target_)) refuse(name_, k_read);
}

void Output::write(std::string_view text) {
  written_ = true;
  std::string shown;
  if (!core::is_printable(text)) {
    shown = core::printable_lines(text, colours_ ? report::colours() : std::span<const std::string_view>());
    text = shown;
  }
  if (gzip_)
    gzip_->write(text);
  else
    put(text);
}

void Output::put(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stream_) != bytes.size()) fail();
}

void Output::flush() {
  if (gzip_) gzip_->flush();
  if (std::fflush(stream_) != 0) fail();
}

void Output::finish() {
  if (gzip_) std::exchange(gzip_, nullptr)->finish();
  flush();
  if (stream_ == stdout) return;
  if (!target_.empty()) take_name();
  std::FILE* closing = std::exchange(stream_, nullptr);
  if (std::fclose(closing) != 0) fail();
}

void Output::take_name() {
  keep_off_what_was_read();
  const int descriptor = fileno(stream_);
  if (fsync(descriptor) != 0) fail();
  if (beside_.empty()) {
    const std::string nameless = open_file(descriptor);
    beside_ = name_beside(target_, [&](const fs::path& name) {
      return linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    });
    if (beside_.empty()) fail();
  }
  if (rename(beside_.c_str(), target_.c_str()) != 0) fail();
  beside_.clear();
}

bool Output::is_terminal() const { return stream_ != nullptr && isatty(fileno(stream_)) == 1; }

void Output::fail() const {
  if (errno == EPIPE) {  // the reader has gone and wants no more: end as other programs do, without a word
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  std::string reason = std::strerror(errno);
  if (unfinished_ == Unfinished::stays && written_ && !beside_.empty())
    reason += fmt::format("; what was written before lies in {}", beside_.string());
  throw core::InputOutputError((name_.empty() ? "standard output" : name_) + ": cannot be written: " + reason);
}

void write_file(const std::string& file, std::string_view text, const config::Sources& read) {
  Output output(file, read);
  output.write(text);
  output.finish();
}

void check_outputs(const NamedFiles& files) {
  std::error_code problem;
  for (std::size_t i = 0; i < files.written.size(); ++i) {
    const std::string& written = files.written[i];
    for (const std::string& read : files.read) {
      const bool within = fs::is_directory(read, problem) && fs::exists(written, problem) &&
                          fs::equivalent(read, folder_of(behind_links(written)), problem);
      if (within || same_file(read, written)) refuse(written, k_read);
    }
    for (std::size_t j = 0; j < i; ++j) {
      const std::string& other = files.written[j];
      const bool one_name =
          fs::weakly_canonical(behind_links(written), problem) == fs::weakly_canonical(behind_links(other), problem);
      const auto present = status_of(written);
      const bool file = !present || S_ISREG(present->st_mode);
      if (file && (one_name || same_file(written, other))) refuse(written, "two results are to be written to it");
    }
  }
}

}  // namespace cairn::cli
