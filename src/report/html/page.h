// The shell of a page: head, sections, tables, and the document at the end.
#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "html/document.h"

namespace cairn::report::html {

struct Column {
  std::string name;  // as markup; empty: of bars, which have no heading
  bool number = true;
  bool narrow = false;  // cells have a word or two, and need no least width
};
struct TableRow {
  std::vector<std::string> cells;  // markup, one a column
  std::string id = {};             // that pictures point to
  bool marked = false;             // the best of them
};
struct Table {
  std::string caption;  // plain
  std::vector<Column> columns;
  std::vector<TableRow> rows = {};
};

// A figure in large letters, its name above, and what else there is to say of it below; markup.
struct Tile {
  std::string name;
  std::string figure;
  std::vector<std::string> remarks = {};
  std::string_view mood = {};  // good, bad or nothing
};

class Page {
 public:
  // `command`: what made the document; `title`: plain.
  Page(const Document& document, std::string_view command, std::string_view title);

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }
  // A paragraph under the title; markup.
  void subtitle(std::string_view markup) { add("<p class=\"what\">{}</p>\n", markup); }
  // From here on; ends the one before.
  void section(std::string_view id, std::string_view heading);
  void paragraph(std::string_view markup, std::string_view kind = "note");
  void tiles(const std::vector<Tile>& all);
  void list(const std::vector<std::string>& texts);  // plain
  void table(const Table& table);
  // A picture with what it shows in a line below.
  void figure(std::string_view svg, std::string_view caption);
  // Something that is of use to few, closed at first.
  void open_details(std::string_view summary);
  void close_details() { out_ += "</details>\n"; }

  // With the document.
  std::string finish() &&;

 private:
  void head(std::string_view title);

  const Document& document_;
  std::string out_;
  bool in_section_ = false;
};

// A bar of `share` (0 to 1) in a table, and several end to end.
struct BarPart {
  double share = 0.0;
  std::string fill;
  std::string title = {};  // plain
};
std::string bar(double share, std::string_view fill = "#5b84b1");
std::string stacked_bar(const std::vector<BarPart>& parts, std::string_view title);

// Names with their colours; plain.
std::string legend(const std::vector<std::pair<std::string, std::string>>& names_and_fills);

// A key path that lines may break behind its dots and underscores; markup of plain text.
std::string key_words(std::string_view key);

// "tp exposed" of tp_exposed, plain and as markup.
std::string plain_label(std::string_view label);
std::string label_words(std::string_view label);
// What the glossary says of a label; markup, empty where it says nothing.
std::string label_meaning(std::string_view label);

}  // namespace cairn::report::html
