// JSON events to Nodes. nlohmann's own tree keeps the last of duplicate keys and no positions; its event stream shows
// the keys, and the input iterator tells how far the reader is when an event arrives, which is the end of the token.
#include <charconv>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reader.h"
#include "tree_builder.h"

namespace cairn::config {

namespace {

// Reads the text and notes how far it got, across the copies that the parser makes.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

class JsonEvents {
 public:
  using Json = nlohmann::json;

  JsonEvents(std::string_view text, std::shared_ptr<const std::string> file, TreeBuilder& builder,
             core::Diagnostics& diagnostics)
      : text_(text), file_(std::move(file)), builder_(builder), diagnostics_(diagnostics), furthest_(text.data()) {}

  const char** furthest() { return &furthest_; }

  bool null() { return locate(), builder_.null(line_, column_), true; }
  bool boolean(bool value) { return plain(value ? "true" : "false"); }
  bool number_integer(Json::number_integer_t value) { return plain(fmt::format("{}", value)); }
  bool number_unsigned(Json::number_unsigned_t value) { return plain(fmt::format("{}", value)); }
  bool number_float(Json::number_float_t, const Json::string_t& text) { return plain(text); }
  bool string(Json::string_t& value) { return quoted(value); }
  bool binary(Json::binary_t&) { return false; }  // not part of JSON text
  bool key(Json::string_t& value) { return quoted(value); }
  bool start_object(std::size_t) { return locate(), builder_.start_map(line_, column_), true; }
  bool start_array(std::size_t) { return locate(), builder_.start_list(line_, column_), true; }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception&) {
    walk(text_.data() + (position > 0 ? std::min(position - 1, text_.size()) : 0));
    diagnostics_.add(error_at(Place{.file = file_, .line = line_, .column = column_}, {},
                              fmt::format("not JSON, near {}", quote(token)),
                              "look at commas, quotes and brackets; numbers are finite, without leading zeros"));
    return false;
  }

 private:
  bool plain(std::string_view text) { return locate(), builder_.scalar(line_, column_, text, false), true; }
  bool quoted(std::string_view text) { return locate(), builder_.scalar(line_, column_, text, true), true; }
  bool close() {
    walk(furthest_);
    builder_.end();
    return true;
  }
  // Moves to the start of the token that just ended, notes its line and column, and goes on to its end.
  void locate() {
    while (at_ < text_.size() && std::string_view(" \t\r\n,:").find(text_[at_]) != std::string_view::npos) step();
    line_ = next_line_;
    column_ = next_column_;
    const std::size_t end = static_cast<std::size_t>(furthest_ - text_.data());
    while (at_ < end) step();
  }
  void walk(const char* to) {
    while (at_ < text_.size() && text_.data() + at_ < to) step();
    line_ = next_line_;
    column_ = next_column_;
  }
  void step() {
    if (text_[at_] == '\n') {
      ++next_line_;
      next_column_ = 1;
    } else if ((static_cast<unsigned char>(text_[at_]) & 0xC0) != 0x80) {
      ++next_column_;  // characters, as the YAML reader counts, not bytes
    }
    ++at_;
  }

  std::string_view text_;
  std::shared_ptr<const std::string> file_;
  TreeBuilder& builder_;
  core::Diagnostics& diagnostics_;
  const char* furthest_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
  int next_line_ = 1, next_column_ = 1;
};

}  // namespace

Node read_json(std::string_view text, const std::shared_ptr<const std::string>& file, core::Diagnostics& diagnostics) {
  TreeBuilder builder(file, diagnostics);
  JsonEvents events(text, file, builder, diagnostics);
  const char* const end = text.data() + text.size();
  try {
    if (!nlohmann::json::sax_parse(CountingIterator(text.data(), events.furthest()),
                                   CountingIterator(end, events.furthest()), &events))
      return {};
  } catch (const TreeLimit& limit) {
    diagnostics.add(error_at(limit.place, {}, limit.message, limit.hint));
    return {};
  }
  return builder.take_root();
}

}  // namespace cairn::config
