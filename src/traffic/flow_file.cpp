#include "cairn/traffic/flow_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>

#include "cairn/config/node.h"
#include "cairn/config/units.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/read_file.h"

namespace cairn::traffic {
namespace {

enum Column : std::size_t { k_src, k_dst, k_bytes, k_start, k_after, k_columns };
constexpr std::array<std::string_view, k_columns> k_names{"src", "dst", "bytes", "start_s", "after"};
constexpr std::string_view k_byte_order_mark = "\xEF\xBB\xBF";
constexpr std::size_t k_absent = std::numeric_limits<std::size_t>::max();
constexpr double k_longest_s = 2e6;  // a little less than what simulated time reaches

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

class Reader {
 public:
  Reader(std::string_view text, std::string file, const EndpointNames& names) : text_(text), names_(names) {
    for (std::size_t i = 0; i < names.size(); ++i) numbers_.emplace(names[i], static_cast<std::int64_t>(i));
    result_.file = std::move(file);
    columns_.fill(k_absent);
    if (text_.starts_with(k_byte_order_mark)) text_.remove_prefix(k_byte_order_mark.size());
  }

  FlowFile read() {
    read_header();
    diagnostics_.raise_if_errors();
    while (!enough() && next_line()) read_row();
    if (result_.rows.empty() && !diagnostics_.has_errors())
      error(text_.substr(text_.size()), "no flows", "give a line for each flow below the header");
    number_rows();
    diagnostics_.raise_if_errors();
    return std::move(result_);
  }

 private:
  bool enough() const { return diagnostics_.error_count() >= core::k_shown_errors; }

  // At the column where `field` begins, in the line just read.
  void error(std::string_view field, std::string message, std::string hint) {
    core::Diagnostic found =
        core::Diagnostic::at_line(result_.file, std::max(1, line_), std::move(message), std::move(hint));
    if (field.data() >= current_.data() && field.data() <= current_.data() + current_.size())
      found.column = 1 + static_cast<int>(field.data() - current_.data());
    diagnostics_.add(std::move(found));
  }

  // The next line that holds something, and its fields.
  bool next_line() {
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      current_ = text_.substr(at_, end - at_);
      at_ = end + 1;
      ++line_;
      if (trimmed(current_).empty()) continue;
      fields_.clear();
      for (std::string_view rest = current_;;) {
        const std::size_t cut = rest.find(',');
        fields_.push_back(trimmed(rest.substr(0, cut)));
        if (cut == std::string_view::npos) break;
        rest.remove_prefix(cut + 1);
      }
      return true;
    }
    return false;
  }

  void read_header() {
    if (!next_line())
      return error(text_, "empty: no header line", "the first line names the columns: src,dst,bytes,start_s,after");
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const auto* found = std::find(k_names.begin(), k_names.end(), fields_[i]);
      if (found == k_names.end()) {
        error(fields_[i], "unknown column " + config::quote(fields_[i]),
              "the columns are src, dst, bytes, start_s and after");
        continue;
      }
      std::size_t& column = columns_[static_cast<std::size_t>(found - k_names.begin())];
      if (column != k_absent)
        error(fields_[i], "column " + std::string(*found) + " appears twice", "remove one of the two");
      column = i;
    }
    for (const Column needed : {k_src, k_dst, k_bytes})
      if (columns_[needed] == k_absent)
        error(current_, "no column " + std::string(k_names[needed]), "add it to the header");
    width_ = fields_.size();
  }

  std::string_view field(Column column) const {
    return columns_[column] == k_absent ? std::string_view() : fields_[columns_[column]];
  }
  std::int64_t whole(std::string_view text, Column column) {
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem == std::errc() && end == text.data() + text.size() && value >= 0) return value;
    error(text, std::string(k_names[column]) + ": expected a whole number, found " + config::quote(text),
          column == k_after ? "rows, separated by ';'" : "the number of an endpoint");
    return -1;
  }
  // By its name, else by its number; a name that is the number of another endpoint says neither.
  std::int64_t endpoint(Column column) {
    const std::string_view text = field(column);
    const auto named = numbers_.find(text);
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    if (named == numbers_.end()) {
      if (names_.empty() || digits) return whole(text, column);
      const std::string near = core::nearest(std::string(text), names_);
      error(text, std::string(k_names[column]) + ": no endpoint is called " + config::quote(text),
            near.empty() ? "name an endpoint of the network, or give its number" : "did you mean '" + near + "'?");
      return -1;
    }
    const auto number = digits ? config::parse_number(text) : std::nullopt;
    if (!digits || (number && *number == static_cast<double>(named->second)) ||
        (number && *number >= static_cast<double>(names_.size())))
      return named->second;
    error(text,
          std::string(k_names[column]) + ": " + config::quote(text) +
              " is the name of one endpoint and the number of another",
          "rename the endpoints of the network");
    return -1;
  }
  // A bare number in base units, or one with a unit.
  double number(Column column, config::Dimension dimension, double most) {
    const std::string_view text = field(column);
    std::optional<double> value = config::parse_number(text);
    if (!value) value = config::parse_quantity(text, dimension).base;
    if (value && *value >= 0.0 && *value <= most) return *value;
    if (value && *value > most)
      error(text, std::string(k_names[column]) + ": " + config::quote(text) + " is later than simulated time reaches",
            "flows start within 2e6 s");
    else
      error(text, std::string(k_names[column]) + ": expected a number >= 0, found " + config::quote(text),
            column == k_bytes ? "bytes, as in 1e6 or 2GB" : "seconds, as in 0.5 or 5ms");
    return 0.0;
  }

  void read_row() {
    if (fields_.size() != width_)
      return error(current_, std::to_string(fields_.size()) + " fields where the header has " + std::to_string(width_),
                   "leave a field empty rather than out");
    FlowRow row{.line = line_};
    row.from = endpoint(k_src);
    row.to = endpoint(k_dst);
    if (row.from == row.to && row.from >= 0)
      error(field(k_dst), "a flow from endpoint " + std::to_string(row.from) + " to itself",
            "it needs no network: leave it out");
    row.bytes = number(k_bytes, config::Dimension::bytes, std::numeric_limits<double>::max());
    if (!field(k_start).empty()) row.start_s = number(k_start, config::Dimension::seconds, k_longest_s);
    earlier_.clear();
    for (std::string_view after = field(k_after); !after.empty();) {
      const std::size_t cut = std::min(after.find(';'), after.size());
      const std::int64_t named = whole(trimmed(after.substr(0, cut)), k_after);
      if (named > std::numeric_limits<std::int32_t>::max())
        error(after, "after: there is no row " + std::to_string(named), "rows are counted from 1");
      else if (named >= 0)
        earlier_.push_back(static_cast<std::uint32_t>(named));
      result_.counts_from_zero = result_.counts_from_zero || named == 0;
      after.remove_prefix(std::min(cut + 1, after.size()));
    }
    result_.add(row, earlier_);
  }

  // Rows from 0, whichever way the file counts.
  void number_rows() {
    if (!result_.counts_from_zero)
      for (std::uint32_t& named : result_.after) --named;
    const std::string hint = result_.counts_from_zero ? "rows count from 0 here, as one of them names row 0"
                                                      : "rows count from 1, the header not counted";
    for (std::size_t i = 0; i < result_.rows.size() && !enough(); ++i) {
      for (const std::uint32_t named : result_.after_of(i)) {
        if (named < result_.rows.size() && named != i) continue;
        const std::string message =
            named == i ? "the flow waits for itself"
                       : "there is no row " + std::to_string(named + (result_.counts_from_zero ? 0U : 1U));
        diagnostics_.add(core::Diagnostic::at_line(result_.file, result_.rows[i].line, "after: " + message, hint));
      }
    }
  }

  std::string_view text_;
  const EndpointNames& names_;
  std::unordered_map<std::string_view, std::int64_t> numbers_;  // by name; looked up only
  std::size_t at_ = 0;
  int line_ = 0;
  std::string_view current_;
  std::vector<std::string_view> fields_;
  std::size_t width_ = 0;
  std::array<std::size_t, k_columns> columns_{};
  std::vector<std::uint32_t> earlier_;
  FlowFile result_;
  core::Diagnostics diagnostics_;
};

}  // namespace

FlowFile parse_flows(std::string_view text, const std::string& file_name, const EndpointNames& names) {
  return Reader(text, file_name, names).read();
}

FlowFile read_flows(const std::filesystem::path& file, const EndpointNames& names) {
  return parse_flows(core::read_file(file, core::k_most_listed_bytes, "a CSV file of flows"), file.filename().string(),
                     names);
}

}  // namespace cairn::traffic
