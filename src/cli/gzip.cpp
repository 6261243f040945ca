#include "gzip.h"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

#define ZLIB_CONST  // deflate() does not write to what it reads
#include <zlib.h>

#include "cairn/core/assert.h"

namespace cairn::cli {
namespace {

constexpr int k_gzip_window = 15 + 16;  // the largest window, and the header of gzip: deflateInit2 in zlib.h
constexpr int k_memory_level = 8;       // zlib's default
constexpr std::size_t k_buffer = std::size_t{1} << 16;

}  // namespace

struct Gzip::State {
  z_stream stream{};
  std::array<char, k_buffer> buffer{};
};

Gzip::Gzip(Sink sink) : state_(std::make_unique<State>()), sink_(std::move(sink)) {
  if (deflateInit2(&state_->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, k_gzip_window, k_memory_level,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
}

Gzip::~Gzip() { deflateEnd(&state_->stream); }

void Gzip::write(std::string_view text) { deflate_all(text, Z_NO_FLUSH); }
void Gzip::flush() { deflate_all({}, Z_SYNC_FLUSH); }
void Gzip::finish() { deflate_all({}, Z_FINISH); }

void Gzip::deflate_all(std::string_view text, int how) {
  z_stream& stream = state_->stream;
  do {
    const std::size_t taken = std::min<std::size_t>(text.size(), std::numeric_limits<uInt>::max());
    stream.next_in = reinterpret_cast<const Bytef*>(text.data());
    stream.avail_in = static_cast<uInt>(taken);
    text.remove_prefix(taken);
    do {
      stream.next_out = reinterpret_cast<Bytef*>(state_->buffer.data());
      stream.avail_out = static_cast<uInt>(state_->buffer.size());
      [[maybe_unused]] const int result = deflate(&stream, how);
      CAIRN_ASSERT(result != Z_STREAM_ERROR);
      const std::size_t made = state_->buffer.size() - stream.avail_out;
      if (made > 0) sink_({state_->buffer.data(), made});
    } while (stream.avail_out == 0);
  } while (!text.empty());
}

}  // namespace cairn::cli
