// A stream in the gzip format (RFC 1952), whose header names neither a file nor a time: the same text gives the same
// bytes.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace cairn::cli {

class Gzip {
 public:
  using Sink = std::function<void(std::string_view)>;
  explicit Gzip(Sink sink);
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void write(std::string_view text);
  void flush();   // what was written so far can be read
  void finish();  // nothing is written afterwards

 private:
  struct State;
  void deflate_all(std::string_view text, int how);
  std::unique_ptr<State> state_;
  Sink sink_;
};

}  // namespace cairn::cli
