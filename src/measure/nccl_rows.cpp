#include "nccl_rows.h"

#include <algorithm>
#include <cctype>

#include "reading.h"

namespace cairn::measure {
namespace {

// Not checked for wrong values, nccl-tests prints N/A in place of their number.
bool is_figure(std::string_view word) { return word == "N/A" || amount(word).has_value(); }

// "10:00:00"
bool is_clock(std::string_view word) { return std::count(word.begin(), word.end(), ':') == 2; }

// The number at the end of a word, behind a prefix that no space divides from it: "[1,0]<stdout>:137438953472".
std::string_view behind_prefix(std::string_view word) {
  const std::size_t colon = word.rfind(':');
  return colon == std::string_view::npos ? word : word.substr(colon + 1);
}

}  // namespace

std::size_t row_start(const std::vector<std::string_view>& words) {
  for (std::size_t at = 0; at + 2 < words.size(); ++at) {
    if (count(behind_prefix(words[at])) && count(words[at + 1]) &&
        std::isalpha(static_cast<unsigned char>(words[at + 2].front())) != 0)
      return at;
  }
  return std::string_view::npos;
}

NcclRows::NcclRows(std::vector<std::string> columns) : columns_(std::move(columns)) {
  is_stamped_ = columns_.back() == "timestamp";
  if (is_stamped_) columns_.pop_back();
  const auto first = std::find(columns_.begin(), columns_.end(), "time");
  const auto second = std::find(first == columns_.end() ? first : first + 1, columns_.end(), "time");
  opening_ = static_cast<std::size_t>(first - columns_.begin());
  run_ = static_cast<std::size_t>(second - first);
}

bool NcclRows::fits(std::size_t figures) const {
  return figures == opening_ || figures == opening_ + run_ || figures == columns_.size();
}

std::vector<NcclRow> NcclRows::take(const std::vector<std::string_view>& words, int line) {
  std::vector<NcclRow> ended;
  std::size_t last = words.size();
  if (is_stamped_ && last >= 2 && is_clock(words.back())) last -= 2;  // with the date before it
  if (const std::size_t start = row_start(words); start != std::string_view::npos) {
    if (auto broken = rest()) ended.push_back(std::move(*broken));
    open_ = NcclRow{.line = line};
    open_->figures.emplace_back(behind_prefix(words[start]));
    for (std::size_t at = start + 1; at < last; ++at) open_->figures.emplace_back(words[at]);
  } else if (open_) {
    std::size_t first = last;
    while (first > 0 && is_figure(words[first - 1])) --first;
    const std::size_t more = last - first;
    if (more == 0 || !fits(open_->figures.size() + more)) return ended;
    for (std::size_t at = first; at < last; ++at) open_->figures.emplace_back(words[at]);
  }
  if (open_ && (is_whole(*open_) || !fits(open_->figures.size()))) ended.push_back(*rest());
  return ended;
}

std::optional<NcclRow> NcclRows::rest() {
  std::optional<NcclRow> row = std::move(open_);
  open_.reset();
  return row;
}

}  // namespace cairn::measure
