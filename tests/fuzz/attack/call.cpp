#include "call.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cairn/cli/cli.h"
#include "support/source_dir.h"

#if defined(__SANITIZE_ADDRESS__)
#define CAIRN_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CAIRN_SANITIZED 1
#endif
#endif

#ifdef CAIRN_SANITIZED
extern "C" void __sanitizer_set_report_fd(void* descriptor);
// Memory above 4 GiB ends the process with a report, as a crash does; freed memory is kept back in small amounts, so
// that it does not count as used.
extern "C" const char* __asan_default_options() {
  return "hard_rss_limit_mb=4096:quarantine_size_mb=32:detect_leaks=0:malloc_context_size=1:handle_sigfpe=1:allocator_"
         "may_return_null=0";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
#endif

namespace cairn::attack {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

std::vector<std::string> words_of(std::string_view text, char separator) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin || separator == '\n') words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Of every text, one way or the other.
bool chosen(const std::string& input, std::size_t option) {
  std::uint64_t hash = 0xCBF29CE484222325ULL + option;  // FNV-1a
  for (const char c : input) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return ((hash >> 32) & 1U) != 0;
}

// A stream of this process that goes into memory for a while.
class Caught {
 public:
  Caught(int descriptor, std::FILE* stream)
      : descriptor_(descriptor), stream_(stream), memory_(memfd_create("caught", MFD_CLOEXEC)) {
    if (memory_ < 0) fail("memfd_create");
  }
  void begin() {
    std::fflush(stream_);
    empty();  // a process that shared this memory may have ended before it took its text
    saved_ = dup(descriptor_);
    if (saved_ < 0 || dup2(memory_, descriptor_) < 0) fail("dup2");
  }
  std::string end() {
    std::fflush(stream_);
    std::clearerr(stream_);
    std::string text(static_cast<std::size_t>(lseek(memory_, 0, SEEK_END)), '\0');
    if (pread(memory_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) fail("pread");
    empty();
    dup2(saved_, descriptor_);
    close(saved_);
    return text;
  }

 private:
  void empty() const {
    if (ftruncate(memory_, 0) != 0 || lseek(memory_, 0, SEEK_SET) != 0) fail("ftruncate");
  }

  int descriptor_;
  std::FILE* stream_;
  int memory_;
  int saved_ = -1;
};

#ifdef CAIRN_SANITIZED
constexpr unsigned k_seconds_here = k_sanitized_times * k_most_seconds;
#else
constexpr unsigned k_seconds_here = k_most_seconds;
#endif

void limit_time(unsigned seconds) {
  const itimerval timer{.it_interval = {.tv_sec = 0, .tv_usec = 0},
                        .it_value = {.tv_sec = static_cast<time_t>(seconds), .tv_usec = 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

std::string content(int descriptor) {
  std::string text;
  std::array<char, 1 << 16> block{};
  for (ssize_t count = pread(descriptor, block.data(), block.size(), 0); count > 0;
       count = pread(descriptor, block.data(), block.size(), static_cast<off_t>(text.size())))
    text.append(block.data(), static_cast<std::size_t>(count));
  return text;
}

// Standard error as it was at first.
void keep_reports_visible() {
  static const int visible = dup(STDERR_FILENO);
  send_reports_to(visible);
}

std::vector<char*> pointers(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  return words;
}

}  // namespace

void send_reports_to([[maybe_unused]] int descriptor) {
#ifdef CAIRN_SANITIZED
  __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)));
#endif
}

Scratch::Scratch() {
  keep_reports_visible();
  std::string name =
      (fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) / "cairn-attack-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) fail("mkdtemp");
  folder_ = name;
  fs::copy(cairn::testing::source_dir() + "/tests/fuzz/fixtures", folder_, fs::copy_options::recursive);
  fs::current_path(folder_);
  setenv("CAIRN_CONFIGS", folder_.c_str(), 1);
  unsetenv("CAIRN_DATA");  // thousands of measured runs take longer than an input may
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::current_path("/", ignored);
  fs::remove_all(folder_, ignored);
}

std::vector<std::string> Scratch::command(const Surface& surface, const std::string& input, Optional optional) const {
  const fs::path place = folder_ / surface.place;
  if (!surface.place.empty()) {
    fs::create_directories(place.parent_path());
    std::ofstream(place, std::ios::binary) << input;
  }
  std::vector<std::string> command{"cairn"};
  std::size_t option = 0;
  for (std::string word : words_of(surface.command, ' ')) {
    if (word.front() == '[') {
      if (optional == Optional::none || (optional == Optional::by_input && !chosen(input, option++))) continue;
      word = word.substr(1, word.size() - 2);
    }
    if (word == "*") {
      for (const std::string& each : words_of(input, '\n')) command.push_back(each.substr(0, each.find('\0')));
      continue;
    }
    if (const std::size_t at = word.find('@'); at != std::string::npos) word.replace(at, 1, place.string());
    if (const std::size_t at = word.find('$'); at != std::string::npos) word.replace(at, 1, folder_.string() + "/");
    command.push_back(std::move(word));
  }
  return command;
}

std::string Scratch::take_written(const std::vector<std::string>& command) const {
  std::string text;
  for (const std::string& word : command) {
    if (!word.starts_with(folder_.string() + "/out.")) continue;
    std::error_code ignored;
    const std::uintmax_t size = fs::file_size(word, ignored);
    if (std::ifstream file(word, std::ios::binary); file && !ignored) {
      const std::size_t before = text.size();
      text.resize(before + size);
      file.read(text.data() + before, static_cast<std::streamsize>(size));
      text.resize(before + static_cast<std::size_t>(file.gcount()));
    }
    fs::remove(word, ignored);
  }
  return text;
}

Answer call_here(const std::vector<std::string>& command) {
  static Caught out(STDOUT_FILENO, stdout);
  static Caught err(STDERR_FILENO, stderr);
  const std::vector<char*> words = pointers(command);
  out.begin();
  err.begin();
  limit_time(k_seconds_here);
  Answer answer;
  answer.code = cli::run(static_cast<int>(command.size()), words.data());
  limit_time(0);
  answer.err = err.end();
  answer.out = out.end();
  return answer;
}

Answer call_program(const std::string& program, const std::vector<std::string>& command) {
  const int out = memfd_create("out", 0);
  const int err = memfd_create("err", 0);
  const std::vector<char*> words = pointers(command);
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    const rlimit time{.rlim_cur = k_most_seconds, .rlim_max = k_most_seconds + 1};
    const rlimit memory{.rlim_cur = k_most_memory, .rlim_max = k_most_memory};
    const rlimit core{.rlim_cur = 0, .rlim_max = 0};
    const int nothing = open("/dev/null", O_RDONLY);
    const bool ready = setrlimit(RLIMIT_CPU, &time) == 0 && setrlimit(RLIMIT_AS, &memory) == 0 &&
                       setrlimit(RLIMIT_CORE, &core) == 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
                       dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0;
    if (ready) execv(program.c_str(), words.data());
    _exit(127);  // as a shell says that there is no such program
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  Answer answer;
  answer.code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  answer.out = content(out);
  answer.err = content(err);
  close(out);
  close(err);
  return answer;
}

}  // namespace cairn::attack
