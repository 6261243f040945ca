#include "cairn/pebble/trace.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <istream>
#include <limits>
#include <ostream>
#include <unordered_map>

#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"

namespace cairn::pebble {

namespace {

constexpr std::string_view k_magic = "CAIRNTR1";
constexpr int k_kind_shift = 62;
constexpr std::uint64_t k_read = 0, k_write = 1, k_operation = 2;

int shown(std::int64_t line) { return static_cast<int>(std::min<std::int64_t>(line, std::numeric_limits<int>::max())); }

[[noreturn]] void refuse(const std::string& file, std::int64_t line, std::string message, std::string hint) {
  throw core::ConfigurationError({core::Diagnostic::at_line(file, shown(line), std::move(message), std::move(hint))});
}

// Builds a trace event by event and says what is wrong with the sequence.
class Recorder {
 public:
  explicit Recorder(const std::string& file) : file_(file), trace_(file) {}

  void read(Address address, std::int64_t line) {
    if (writes_ > 0)
      refuse(file_, line, "a read after a write of the same operation",
             "a line 'op' ends an operation: put one between them; an operation is its reads, then its writes");
    ++reads_;
    trace_.read(address, shown(line));
  }

  void write(Address address) {
    ++writes_;
    trace_.write(address);
  }

  void end_operation(std::int64_t line) {
    if (reads_ > 0 && writes_ == 0)
      refuse(file_, line, "an operation that reads and writes nothing", "give it a 'w ADDR' for its result");
    reads_ = writes_ = 0;
    trace_.end_operation();
  }

  Trace finish(std::int64_t line) {
    end_operation(line);
    if (trace_.operations() == 0) refuse(file_, line, "the trace has no operations", "record at least one");
    return std::move(trace_);
  }

 private:
  std::string file_;
  Trace trace_;
  std::size_t reads_ = 0, writes_ = 0;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

Address parse_address(std::string_view text, const std::string& file, std::int64_t line) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = hexadecimal ? text.substr(2) : text;
  Address address = 0;
  const auto [end, status] =
      std::from_chars(digits.data(), digits.data() + digits.size(), address, hexadecimal ? 16 : 10);
  if (status != std::errc() || end != digits.data() + digits.size() || address > k_max_address) {
    refuse(file, line, core::quoted(text) + " is no address", "write a whole number below 2^62, decimal or after 0x");
  }
  return address;
}

}  // namespace

void Trace::end_operation() {
  const std::uint64_t reads = read_end_.empty() ? 0 : read_end_.back(),
                      writes = write_end_.empty() ? 0 : write_end_.back();
  if (reads_.size() == reads && writes_.size() == writes) return;
  read_end_.push_back(reads_.size());
  write_end_.push_back(writes_.size());
}

Trace read_trace(std::istream& stream, const std::string& file) {
  Recorder recorder(file);
  std::string text;
  std::int64_t line = 0;
  while (std::getline(stream, text)) {
    ++line;
    const std::string_view event = trimmed(std::string_view(text).substr(0, text.find('#')));
    if (event.empty()) continue;
    if (event == "op") {
      recorder.end_operation(line);
    } else if (event.starts_with("r ")) {
      recorder.read(parse_address(trimmed(event.substr(2)), file, line), line);
    } else if (event.starts_with("w ")) {
      recorder.write(parse_address(trimmed(event.substr(2)), file, line));
    } else {
      refuse(file, line, "unknown event " + core::quoted(event),
             "events are 'r ADDR', 'w ADDR' and 'op'; a binary trace begins with CAIRNTR1");
    }
  }
  if (stream.bad()) throw core::InputOutputError(file + ": reading stopped after line " + std::to_string(line));
  return recorder.finish(line);
}

Trace read_binary_trace(std::istream& stream, const std::string& file) {
  std::array<char, 8> bytes{};
  if (!stream.read(bytes.data(), bytes.size()) || std::string_view(bytes.data(), bytes.size()) != k_magic) {
    refuse(file, 0, "this is no binary trace", "it begins with " + std::string(k_magic));
  }
  Recorder recorder(file);
  std::int64_t event = 0;
  while (stream.read(bytes.data(), bytes.size())) {
    ++event;
    std::uint64_t word = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[i]);
    const Address address = word & k_max_address;
    const std::uint64_t kind = word >> k_kind_shift;
    if (kind == k_read)
      recorder.read(address, event);
    else if (kind == k_write)
      recorder.write(address);
    else if (kind == k_operation)
      recorder.end_operation(event);
    else
      refuse(file, event, "unknown kind of event " + std::to_string(kind), "kinds are 0, 1 and 2");
  }
  if (stream.gcount() != 0) refuse(file, event + 1, "the trace ends within an event", "events are 8 bytes each");
  return recorder.finish(event);
}

void write_trace(const Trace& trace, std::ostream& stream) {
  for (std::size_t i = 0; i < trace.operations(); ++i) {
    for (Address address : trace.reads(i)) stream << "r " << address << '\n';
    for (Address address : trace.writes(i)) stream << "w " << address << '\n';
    stream << "op\n";
  }
}

void write_binary_trace(const Trace& trace, std::ostream& stream) {
  const auto put = [&](std::uint64_t kind, Address address) {
    const std::uint64_t word = kind << k_kind_shift | address;
    std::array<char, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(word >> 8 * i & 0xff);
    stream.write(bytes.data(), bytes.size());
  };
  stream.write(k_magic.data(), static_cast<std::streamsize>(k_magic.size()));
  for (std::size_t i = 0; i < trace.operations(); ++i) {
    for (Address address : trace.reads(i)) put(k_read, address);
    for (Address address : trace.writes(i)) put(k_write, address);
    put(k_operation, 0);
  }
}

Cdag cdag_of(const Trace& trace) {
  std::unordered_map<Address, Vertex> holds;
  CdagBuilder builder;
  std::vector<Vertex> reads;
  for (std::size_t i = 0; i < trace.operations(); ++i) {
    if (builder.size() + trace.writes(i).size() >= std::numeric_limits<Vertex>::max()) {
      refuse(trace.file(), 0, "more than 2^32 values", "record a shorter stretch of the program");
    }
    if (trace.reads(i).empty()) {
      for (Address address : trace.writes(i)) holds[address] = builder.input();
      continue;
    }
    reads.clear();
    for (std::size_t read = 0; read < trace.reads(i).size(); ++read) {
      const Address address = trace.reads(i)[read];
      const auto value = holds.find(address);
      if (value == holds.end()) {
        refuse(trace.file(), trace.line_of_read(i, read),
               "operation " + std::to_string(i + 1) + " reads address " + std::to_string(address) +
                   ", which nothing was written to",
               "what is read before it is computed is an input: place it first, by lines 'w " +
                   std::to_string(address) + "' and 'op'");
      }
      reads.push_back(value->second);
    }
    const Vertex made = builder.compute(reads);
    for (Address address : trace.writes(i)) holds[address] = made;
  }
  for (const auto& [address, vertex] : holds) {
    if (!builder.is_labelled_input(vertex)) builder.label_output(vertex);
  }
  return builder.build();
}

}  // namespace cairn::pebble
