#include "cairn/measure/csv.h"

#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "text_file.h"

namespace cairn::measure {
namespace {

constexpr std::string_view k_byte_order_mark = "\xEF\xBB\xBF";

class CsvParser {
 public:
  CsvParser(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
    if (text_.starts_with(k_byte_order_mark)) text_.remove_prefix(k_byte_order_mark.size());
  }

  CsvTable parse() {
    CsvTable table;
    table.file = file_;
    while (at_ < text_.size()) {
      CsvRecord record = read_record();
      if (record.fields.size() == 1 && record.fields.front().empty()) continue;
      if (table.header.empty()) {
        table.header = std::move(record.fields);
        check_header(table.header, record.line);
      } else if (record.fields.size() != table.header.size()) {
        const bool cut = record.fields.size() < table.header.size() && at_ >= text_.size();
        error(record.line, fmt::format("{} fields where the header has {}", record.fields.size(), table.header.size()),
              cut ? "the last record: the file may have been cut off"
                  : "a comma inside a field needs double quotes around it");
      } else {
        table.records.push_back(std::move(record));
      }
    }
    if (table.header.empty()) error(1, "empty: no header line", "name the columns in the first line");
    diagnostics_.raise_if_errors();
    return table;
  }

 private:
  void error(int line, std::string message, std::string hint) {
    diagnostics_.add(core::Diagnostic::at_line(file_, line, std::move(message), std::move(hint)));
  }

  void check_header(const std::vector<std::string>& header, int line) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (header[i].empty())
        error(line, fmt::format("column {} has no name", i + 1), "name every column");
      else if (std::find(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(i), header[i]) !=
               header.begin() + static_cast<std::ptrdiff_t>(i))
        error(line, fmt::format("column '{}' appears twice", header[i]), "remove one of the two");
    }
  }

  CsvRecord read_record() {
    CsvRecord record;
    record.line = line_;
    for (;;) {
      record.fields.push_back(peek() == '"' ? quoted_field() : plain_field());
      if (peek() == ',') {
        ++at_;
        continue;
      }
      end_of_line();
      return record;
    }
  }

  // NUL stands for the end as well: a text file holds none, and one that does is cut where the error is reported.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool at_line_end() const { return at_ >= text_.size() || text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n"; }

  void end_of_line() {
    if (peek() == '\r') ++at_;
    if (at_ < text_.size()) ++at_;
    ++line_;
  }

  std::string plain_field() {
    std::string field;
    while (!at_line_end() && text_[at_] != ',') {
      if (text_[at_] == '"')
        error(line_, "a double quote inside a field that does not start with one",
              "quote the whole field and double the quotes in it");
      if (text_[at_] == '\0') error(line_, "a NUL byte: not a text file", "save the table as UTF-8 text");
      field += text_[at_++];
    }
    return field;
  }

  std::string quoted_field() {
    const int started = line_;
    std::string field;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        if (text_.substr(at_, 2) != "\"\"") break;
        ++at_;
      }
      if (text_[at_] == '\n') ++line_;
      field += text_[at_];
    }
    if (at_ >= text_.size()) {
      error(started, "a double quote that is never closed", "close it, or double it inside a quoted field");
      return field;
    }
    ++at_;
    if (!at_line_end() && text_[at_] != ',') {
      error(line_, "text after a closing double quote", "quote the whole field and double the quotes in it");
      field += plain_field();
    }
    return field;
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  int line_ = 1;
  core::Diagnostics diagnostics_;
};

}  // namespace

CsvTable parse_csv(std::string_view text, const std::string& file_name) { return CsvParser(text, file_name).parse(); }

CsvTable read_csv(const std::filesystem::path& file) {
  return parse_csv(read_text(file, "a CSV file"), file.filename().string());
}

}  // namespace cairn::measure
