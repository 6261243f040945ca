#include "html/page.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "cairn/core/json_text.h"
#include "cairn/core/printable.h"
#include "cairn/core/sha256.h"
#include "cairn/report/glossary.h"
#include "html/style.h"
#include "picture_text.h"

namespace cairn::report::html {
namespace {

constexpr std::string_view k_bar_start = "<svg class=\"bar\"";
constexpr double k_bar_length = 100.0;  // of 1
constexpr double k_bar_least = 0.4;     // of what is more than nothing

// Base64 of the bytes that pairs of hexadecimal digits are (RFC 4648).
std::string base64(std::string_view hexadecimal) {
  constexpr std::string_view k_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint32_t> bytes;
  for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
    bytes.push_back(static_cast<std::uint32_t>(std::stoul(std::string(hexadecimal.substr(i, 2)), nullptr, 16)));
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) group = group << 8U | (i + j < bytes.size() ? bytes[i + j] : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j > bytes.size() ? '=' : k_letters[group >> (18U - 6U * static_cast<std::uint32_t>(j)) & 63U];
  }
  return text;
}

// The document inside a script element: no text in it ends the element, and XML takes nothing of it for markup.
std::string embedded(const Json& document) {
  std::string text;
  for (const char c : core::printable_lines(core::json_text(document)))
    text += c == '<' ? std::string("\\u003c") : c == '>' ? "\\u003e" : c == '&' ? "\\u0026" : std::string(1, c);
  return text;
}

double bar_part(double share) { return share > 0.0 ? std::max(k_bar_least, k_bar_length * std::min(share, 1.0)) : 0.0; }

}  // namespace

Page::Page(const Document& document, std::string_view command, std::string_view title) : document_(document) {
  head(title);
  add("<body>\n<header>\n<p class=\"made\">{}</p>\n<h1>{}</h1>\n", xml_text(command), xml_text(title));
}

void Page::head(std::string_view title) {
  add("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
      "charset=\"utf-8\"/>\n");
  // Nothing is fetched, and the page's own script alone runs.
  add("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\"/>\n",
      base64(core::sha256(page_script())));
  add("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<meta name=\"generator\" content=\"cairn {}\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n",
      document_.text("/tool/version"), xml_text(title), page_style());
}

void Page::section(std::string_view id, std::string_view heading) {
  add("{}<section id=\"{}\" aria-labelledby=\"{}-heading\">\n<h2 id=\"{}-heading\">{}</h2>\n",
      in_section_ ? "</section>\n" : "</header>\n<main>\n", id, id, id, xml_text(heading));
  in_section_ = true;
}

void Page::paragraph(std::string_view markup, std::string_view kind) { add("<p class=\"{}\">{}</p>\n", kind, markup); }

void Page::tiles(const std::vector<Tile>& all) {
  out_ += "<div class=\"tiles\">\n";
  for (const Tile& tile : all) {
    add("<dl class=\"tile\"><dt>{}</dt><dd class=\"figure{}{}\">{}</dd>", tile.name, tile.mood.empty() ? "" : " ",
        tile.mood, tile.figure);
    for (const std::string& remark : tile.remarks) add("<dd>{}</dd>", remark);
    out_ += "</dl>\n";
  }
  out_ += "</div>\n";
}

void Page::list(const std::vector<std::string>& texts) {
  out_ += "<ul class=\"texts\">\n";
  for (const std::string& text : texts) add("<li>{}</li>\n", xml_text(text));
  out_ += "</ul>\n";
}

void Page::table(const Table& table) {
  const std::string caption = xml_text(table.caption);
  add("<p class=\"caption\">{}</p>\n", caption);
  // What may be wider than the screen is scrolled, by keys, too.
  add("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\"><table aria-label=\"{0}\">\n<thead><tr>",
      caption);
  for (const Column& column : table.columns)
    if (column.name.empty())
      out_ += "<td></td>";
    else
      add("<th scope=\"col\"{}>{}</th>", column.number ? " class=\"n\"" : "", column.name);
  out_ += "</tr></thead>\n<tbody>\n";
  for (const TableRow& row : table.rows) {
    add("<tr{}{}>", row.id.empty() ? std::string() : fmt::format(" id=\"{}\"", row.id),
        row.marked ? " class=\"best\"" : "");
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const Column& column = table.columns[i];
      const char kind = column.number ? 'n' : column.narrow ? 'w' : row.cells[i].starts_with(k_bar_start) ? 'b' : 't';
      if (i == 0)
        add("<th scope=\"row\" class=\"{}\">{}</th>", kind, row.cells[i]);
      else
        add("<td class=\"{}\">{}</td>", kind, row.cells[i]);
    }
    out_ += "</tr>\n";
  }
  out_ += "</tbody></table></div>\n";
}

void Page::figure(std::string_view svg, std::string_view caption) {
  add("<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", svg, caption);
}

void Page::open_details(std::string_view summary) { add("<details><summary>{}</summary>\n", xml_text(summary)); }

std::string Page::finish() && {
  add("{}</main>\n<footer>\n<p>Made by cairn {} ({}) from a document {}, which this page holds whole, in the element "
      "“result”. Figures of the document are rounded here; each names its place in it.</p>\n</footer>\n",
      in_section_ ? "</section>\n" : "</header>\n<main>\n", document_.text("/tool/version"),
      document_.text("/tool/build"), document_.text("/schema"));
  add("<script type=\"application/json\" id=\"result\">{}</script>\n<script>{}</script>\n</body>\n</html>\n",
      embedded(document_.root()), page_script());
  return std::move(out_);
}

std::string bar(double share, std::string_view fill) {
  return fmt::format(
      "{} viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"idle\" "
      "width=\"100\" height=\"10\"/><rect width=\"{:.2f}\" height=\"10\" fill=\"{}\"/></svg>",
      k_bar_start, bar_part(share), fill);
}

std::string stacked_bar(const std::vector<BarPart>& parts, std::string_view title) {
  std::string out = fmt::format(
      "<svg class=\"stack\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\"><rect "
      "class=\"idle\" width=\"100\" height=\"10\"/>",
      xml_text(title));
  double from = 0.0;
  for (const BarPart& part : parts) {
    const double share = std::min(part.share, 1.0 - from);  // parts of more than the whole end with it
    if (!(share > 0.0)) continue;
    out += fmt::format("<rect x=\"{:.3f}\" width=\"{:.3f}\" height=\"10\" fill=\"{}\"><title>{}</title></rect>",
                       k_bar_length * from, k_bar_length * share, part.fill, xml_text(part.title));
    from += share;
  }
  return out + "</svg>\n";
}

std::string legend(const std::vector<std::pair<std::string, std::string>>& names_and_fills) {
  std::string out = "<ul class=\"legend\">";
  for (const auto& [name, fill] : names_and_fills)
    out += fmt::format(
        "<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect width=\"10\" height=\"10\" "
        "fill=\"{}\"/></svg>{}</li>",
        fill, xml_text(name));
  return out + "</ul>\n";
}

std::string key_words(std::string_view key) {
  std::string words;
  for (std::size_t from = 0; from < key.size();) {
    const std::size_t end = std::min(key.find_first_of("._", from), key.size() - 1) + 1;
    words += xml_text(key.substr(from, end - from)) + (end < key.size() ? "<wbr/>" : "");
    from = end;
  }
  return words;
}

std::string plain_label(std::string_view label) {
  std::string words(label);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}
std::string label_words(std::string_view label) { return xml_text(plain_label(label)); }

std::string label_meaning(std::string_view label) {
  const Term* term = explained(label);
  return term == nullptr ? std::string() : xml_text(term->meaning);
}

}  // namespace cairn::report::html
