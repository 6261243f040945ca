#include "megatron_patterns.h"

#include <charconv>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace cairn::launch {
namespace {

constexpr std::size_t k_most_items = std::size_t{1} << 16;
constexpr int k_pattern_depth = 16;

class Patterns {
 public:
  explicit Patterns(std::string_view text) : text_(text) {}

  std::optional<std::vector<std::int64_t>> whole() {
    std::vector<std::int64_t> result = sum(0);
    blanks();
    if (wrong_ || !text_.empty()) return std::nullopt;
    return result;
  }

 private:
  using List = std::vector<std::int64_t>;

  void blanks() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
  }
  bool skip(char sign) {
    blanks();
    if (text_.empty() || text_.front() != sign) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::int64_t number() {
    blanks();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) {
      wrong_ = true;
      return 0;
    }
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }
  List sum(int depth) {
    List result = product(depth);
    while (!wrong_ && skip('+')) {
      const List more = product(depth);
      result.insert(result.end(), more.begin(), more.end());
      wrong_ = wrong_ || result.size() > k_most_items;
    }
    return result;
  }
  List product(int depth) {
    List result = list(depth);
    while (!wrong_ && skip('*')) {
      const std::int64_t times = number();
      if (wrong_ || (!result.empty() && times > static_cast<std::int64_t>(k_most_items / result.size()))) {
        wrong_ = true;
        return {};
      }
      const List once = std::exchange(result, {});
      for (std::int64_t i = 0; i < times; ++i) result.insert(result.end(), once.begin(), once.end());
    }
    return result;
  }
  List list(int depth) {
    if (skip('(') && depth < k_pattern_depth) {
      List result = sum(depth + 1);
      wrong_ = wrong_ || !skip(')');
      return result;
    }
    if (!skip('[')) {
      wrong_ = true;
      return {};
    }
    List result{number()};
    while (!wrong_ && skip(',')) result.push_back(number());
    wrong_ = wrong_ || !skip(']') || result.size() > k_most_items;
    return result;
  }

  std::string_view text_;
  bool wrong_ = false;
};

}  // namespace

std::optional<std::vector<std::int64_t>> layer_pattern(std::string_view text) { return Patterns(text).whole(); }

std::string pattern_text(const std::vector<std::int64_t>& pattern) {
  std::string text;
  for (std::size_t begin = 0; begin < pattern.size();) {
    std::size_t end = begin;
    while (end < pattern.size() && pattern[end] == pattern[begin]) ++end;
    text += fmt::format("{}[{}]*{}", text.empty() ? "" : "+", pattern[begin], end - begin);
    begin = end;
  }
  return text;
}

}  // namespace cairn::launch
