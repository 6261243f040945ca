// A program's execution as a trace of the values it moves, and the CDAG that it computes.
//
// Text, one event per line, '#' starts a comment; an address is a whole number, decimal or hexadecimal after 0x:
//   r ADDR      the operation reads the value last written there
//   w ADDR      the operation writes its result there; an operation's reads come before its writes
//   op          ends the operation (the last one ends with the file)
// An operation without reads places inputs: every address it writes holds one from then on. Any other operation makes
// one new value, which all its writes name.
//
// Binary twin: the 8 bytes "CAIRNTR1", then one little-endian 64-bit word per event, its kind in the two top bits
// (0 read, 1 write, 2 op), the address below.
//
// Worked example, a = x + y: "w 0 / w 8 / op / r 0 / r 8 / w 16" is a graph of two inputs and one vertex that reads
// both.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "cairn/pebble/cdag.h"

namespace cairn::pebble {

using Address = std::uint64_t;
inline constexpr Address k_max_address = (Address{1} << 62) - 1;

// Operations in execution order, their reads and writes one after the other.
class Trace {
 public:
  Trace() = default;
  explicit Trace(std::string file) : file_(std::move(file)) {}

  std::size_t operations() const { return read_end_.size(); }
  std::span<const Address> reads(std::size_t operation) const { return slice(reads_, read_end_, operation); }
  std::span<const Address> writes(std::size_t operation) const { return slice(writes_, write_end_, operation); }

  // Where it was read from; empty and 0: from no file. A line of a binary trace is one event.
  const std::string& file() const { return file_; }
  int line_of_read(std::size_t operation, std::size_t read) const {
    return lines_[(operation == 0 ? 0 : read_end_[operation - 1]) + read];
  }

  void read(Address address, int line = 0) {
    reads_.push_back(address);
    lines_.push_back(line);
  }
  void write(Address address) { writes_.push_back(address); }
  // Does nothing when nothing was read or written since the last.
  void end_operation();

 private:
  static std::span<const Address> slice(const std::vector<Address>& all, const std::vector<std::uint64_t>& end,
                                        std::size_t i) {
    const std::uint64_t begin = i == 0 ? 0 : end[i - 1];
    return std::span(all).subspan(begin, end[i] - begin);
  }
  std::string file_;
  std::vector<Address> reads_, writes_;
  std::vector<int> lines_;  // of the reads
  std::vector<std::uint64_t> read_end_, write_end_;
};

// Errors (core::ConfigurationError, file:line or event): unknown events, addresses that are none, a read after a write
// within one operation, reads without a write, a file that is empty or cut short.
Trace read_trace(std::istream& stream, const std::string& file);
Trace read_binary_trace(std::istream& stream, const std::string& file);
void write_trace(const Trace& trace, std::ostream& stream);
void write_binary_trace(const Trace& trace, std::ostream& stream);

// One vertex per input placed and per computing operation, in execution order; outputs: what the written addresses hold
// at the end, inputs that nobody overwrote not among them. Errors (core::ConfigurationError, file:line or event where
// the trace was read from one): a read of an address that nothing was written to, more than 2^32 values.
Cdag cdag_of(const Trace& trace);

}  // namespace cairn::pebble
