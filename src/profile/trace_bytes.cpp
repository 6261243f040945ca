#include "trace_bytes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#define ZLIB_CONST  // inflate() does not write to what it reads
#include <zlib.h>

namespace cairn::profile {
namespace {

constexpr std::size_t k_block = std::size_t{1} << 18;
constexpr int k_gzip_window = 15 + 16;  // the largest window, and the header of gzip: inflateInit2 in zlib.h
constexpr std::size_t k_longest_value = std::size_t{8} << 20;  // bytes of one name or number
constexpr std::string_view k_gzip_sign = "\x1f\x8b";

}  // namespace

void refuse_at(const std::string& file, int line, int column, std::string message, std::string hint) {
  core::Diagnostic wrong;
  wrong.file = file;
  wrong.line = line;
  wrong.column = column;
  wrong.message = std::move(message);
  wrong.hint = std::move(hint);
  throw core::ConfigurationError(std::vector<core::Diagnostic>{std::move(wrong)});
}

// Blocks of the file as it is, or inflated.
struct TraceBytes::Source {
  explicit Source(const std::string& file_name) : name(file_name) {}
  ~Source() {
    if (inflating) inflateEnd(&stream);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // The next bytes of the file itself.
  std::string_view raw() {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    if (file.bad()) throw core::InputOutputError(name + ": reading stopped half-way");
    done += static_cast<std::size_t>(file.gcount());
    return {block.data(), static_cast<std::size_t>(file.gcount())};
  }

  std::size_t read(std::vector<char>& into) {
    if (first) {
      pending = raw();
      first = false;
      if (pending.starts_with(k_gzip_sign)) begin_inflating();
    }
    if (inflating) return inflate_block(into);
    if (pending.empty()) pending = raw();
    const std::size_t taken = std::min(pending.size(), into.size());
    std::copy_n(pending.data(), taken, into.data());
    pending.remove_prefix(taken);
    return taken;
  }

  void begin_inflating() {
    if (inflateInit2(&stream, k_gzip_window) != Z_OK) throw std::bad_alloc();
    inflating = true;
  }

  std::size_t inflate_block(std::vector<char>& into) {
    stream.next_out = reinterpret_cast<Bytef*>(into.data());
    stream.avail_out = static_cast<uInt>(into.size());
    while (stream.avail_out > 0) {
      if (pending.empty()) pending = raw();
      if (pending.empty()) {
        if (!ended) refuse_at(name, 0, 0, "the compressed file is cut off", "copy it again, whole");
        break;
      }
      if (ended) {  // a file may hold several streams, one after the other
        if (inflateReset(&stream) != Z_OK) throw std::bad_alloc();
        ended = false;
      }
      const std::size_t given = std::min<std::size_t>(pending.size(), std::numeric_limits<uInt>::max());
      stream.next_in = reinterpret_cast<const Bytef*>(pending.data());
      stream.avail_in = static_cast<uInt>(given);
      const int result = inflate(&stream, Z_NO_FLUSH);
      pending.remove_prefix(given - stream.avail_in);
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      if (result == Z_STREAM_END)
        ended = true;
      else if (result != Z_OK)
        refuse_at(name, 0, 0, "the compressed file is damaged", "copy it again, or write the trace anew");
    }
    return into.size() - stream.avail_out;
  }

  std::string name;
  std::ifstream file;
  std::size_t done = 0, of = 0;  // bytes of the file
  std::vector<char> block;
  std::string_view pending;
  bool first = true, inflating = false, ended = false;
  z_stream stream{};
};

TraceBytes::TraceBytes(std::string name, const std::filesystem::path& file,
                       std::function<void(std::size_t, std::size_t)> progress)
    : name_(std::move(name)),
      source_(std::make_unique<Source>(name_)),
      progress_(std::move(progress)),
      buffer_(k_block) {
  std::error_code problem;
  const char* const remedy = "name a trace that torch.profiler wrote: NAME.pt.trace.json or .json.gz";
  if (std::filesystem::is_directory(file, problem)) refuse_at(name_, 0, 0, "is a directory", remedy);
  source_->file.open(file, std::ios::binary);
  if (!source_->file) refuse_at(name_, 0, 0, fmt::format("cannot be read: {}", std::strerror(errno)), remedy);
  const std::uintmax_t size = std::filesystem::file_size(file, problem);
  source_->of = problem ? 0 : static_cast<std::size_t>(size);
  source_->block.resize(k_block);
}

TraceBytes::~TraceBytes() = default;

void TraceBytes::count_lines() {
  const char* const begin = eback();
  const std::size_t to = consumed();
  while (counted_ < to) {
    const char* const from = begin + (counted_ - before_);
    const void* const found = std::memchr(from, '\n', to - counted_);
    if (found == nullptr) {
      counted_ = to;
      break;
    }
    counted_ += static_cast<std::size_t>(static_cast<const char*>(found) - from) + 1;
    // A line ends behind its break: what is read last is the break itself.
    if (counted_ > to) break;
    ++line_;
    line_begin_ = counted_;
  }
}

TraceBytes::Place TraceBytes::place() {
  count_lines();
  constexpr std::size_t k_most = std::numeric_limits<int>::max();
  const std::size_t at = consumed();
  return {.line = line_, .column = static_cast<int>(std::min(k_most, at > line_begin_ ? at - line_begin_ : 1))};
}

TraceBytes::int_type TraceBytes::underflow() {
  count_lines();
  before_ = consumed();
  setg(buffer_.data(), buffer_.data(), buffer_.data());
  if (before_ - understood_ > k_longest_value) {
    const Place at = place();
    refuse_at(name_, at.line, at.column, fmt::format("a value of more than {} MiB", k_longest_value >> 20),
              "no trace of torch.profiler has one");
  }
  const std::size_t got = source_->read(buffer_);
  if (progress_ && source_->of > 0) progress_(source_->done >> 20, source_->of >> 20);
  if (got == 0) return traits_type::eof();
  setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
  return traits_type::to_int_type(*gptr());
}

}  // namespace cairn::profile
