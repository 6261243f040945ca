#include "stage_layout.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"

namespace cairn::experiment {
namespace {

constexpr std::string_view k_signs = "EtmL|";
constexpr std::size_t k_most_signs = std::size_t{1} << 20;  // more than any model has layers

core::ConfigurationError layout_error(std::string message, std::string hint) {
  return core::ConfigurationError("strategy.stages", std::move(message), std::move(hint));
}

// One sign of a layout, repetitions written out.
struct Sign {
  char sign = '|';
  std::size_t place = 0;  // in the text, from 1
};

class LayoutReader {
 public:
  explicit LayoutReader(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] != ',') text_.push_back({text[i], i + 1});
  }

  std::vector<Sign> read() {
    while (at_ < text_.size())
      if (text_[at_].sign == '(')
        group();
      else
        single();
    return std::move(signs_);
  }

 private:
  bool next_is(char sign) const { return at_ < text_.size() && text_[at_].sign == sign; }

  // The whole of what may be more than one byte of UTF-8.
  std::string character() const {
    const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; };
    std::string bytes(1, text_[at_].sign);
    for (std::size_t next = at_ + 1; next < text_.size() && continues(text_[next].sign); ++next)
      bytes += text_[next].sign;
    return bytes;
  }

  void single() {
    const Sign& read = text_[at_];
    if (k_signs.find(read.sign) == std::string_view::npos)
      throw layout_error(fmt::format("{} at {} is no part of a layout", core::quoted(character()), read.place),
                         "write E, t, m, L and |, and *n behind one of them or behind parentheses");
    ++at_;
    repeat({read}, next_is('*') ? times() : 1);
  }

  void group() {
    const std::size_t opening = at_++;
    const Sign open = text_[opening];
    const std::size_t before = signs_.size();
    while (at_ < text_.size() && text_[at_].sign != ')') {
      if (next_is('('))
        throw layout_error(fmt::format("'(' at {} stands inside those at {}", text_[at_].place, open.place),
                           "write out one of the two: parentheses hold no others");
      single();
    }
    if (!next_is(')')) throw layout_error(fmt::format("'(' at {} is not closed", open.place), "write (...)*n");
    const std::size_t close = text_[at_].place;
    if (at_++ == opening + 1) throw layout_error(fmt::format("'()' at {} holds nothing", open.place), "leave it out");
    std::vector<Sign> held(signs_.begin() + static_cast<std::ptrdiff_t>(before), signs_.end());
    signs_.resize(before);
    if (!next_is('*'))
      throw layout_error(fmt::format("')' at {} is followed by no repetition", close),
                         "write (...)*n, or leave the parentheses out");
    repeat(held, times());
  }

  // Reads *n.
  std::size_t times() {
    const std::size_t star = text_[at_++].place;
    std::size_t count = 0;
    const std::size_t first = at_;
    for (; at_ < text_.size() && text_[at_].sign >= '0' && text_[at_].sign <= '9'; ++at_)
      count = std::min(10 * count + static_cast<std::size_t>(text_[at_].sign - '0'), k_most_signs + 1);
    if (at_ == first)
      throw layout_error(fmt::format("'*' at {} is followed by no number", star), "write x*3 or (...)*3");
    if (next_is('*'))
      throw layout_error(fmt::format("'*' at {} repeats a repetition", text_[at_].place), "write their product");
    return count;
  }

  void repeat(const std::vector<Sign>& what, std::size_t times) {
    if (what.empty()) return;
    if (times > (k_most_signs - signs_.size()) / what.size())
      throw layout_error(fmt::format("the repetition of '{}' at {} makes more than {} layers and stages",
                                     what.front().sign, what.front().place, k_most_signs),
                         "use fewer");
    for (std::size_t i = 0; i < times; ++i) signs_.insert(signs_.end(), what.begin(), what.end());
  }

  std::vector<Sign> text_;  // without commas
  std::size_t at_ = 0;
  std::vector<Sign> signs_;
};

using Signs = std::vector<Sign>;

// The one place of a sign that stands once.
Signs::const_iterator only(const Signs& signs, char sign, const char* what, const char* where) {
  const auto is = [sign](const Sign& each) { return each.sign == sign; };
  const auto found = std::find_if(signs.begin(), signs.end(), is);
  if (found == signs.end()) throw layout_error(fmt::format("the layout has no {}, the {}", sign, what), where);
  if (const auto second = std::find_if(found + 1, signs.end(), is); second != signs.end())
    throw layout_error(fmt::format("a second {}, at {}", sign, second->place), fmt::format("a model has one {}", what));
  return found;
}

void check_ends(const Signs& signs) {
  const auto first = only(signs, 'E', "embedding", "begin with E");
  if (first != signs.begin())
    throw layout_error(
        fmt::format("E at {} stands behind '{}' at {}", first->place, signs.front().sign, signs.front().place),
        "begin with E: the embedding is the first of all, in the first stage");
  const auto last = only(signs, 'L', "head with the loss", "end with L");
  if (last + 1 != signs.end())
    throw layout_error(
        fmt::format("L at {} stands before '{}' at {}", last->place, (last + 1)->sign, (last + 1)->place),
        "end with L: the head is the last of all, in the last stage");
}

// Modules for further tokens: behind the layers, and in the head's stage.
void check_further(const Signs& signs, std::int64_t further) {
  const auto first = std::find_if(signs.begin(), signs.end(), [](const Sign& each) { return each.sign == 'm'; });
  const std::int64_t count = std::count_if(first, signs.end(), [](const Sign& each) { return each.sign == 'm'; });
  if (count != further)
    throw layout_error(fmt::format("the layout has {} m, the model has {} modules for further tokens", count, further),
                       further > count ? "write them before L, as in mL, or set model.mtp: {depth: 0}"
                                       : "leave m out, or set model.mtp: {depth: ...}");
  const auto other =
      std::find_if(first, signs.end(), [](const Sign& each) { return each.sign == 't' || each.sign == '|'; });
  if (other != signs.end())
    throw layout_error(fmt::format("m at {} stands before '{}' at {}", first->place, other->sign, other->place),
                       "write it right before L: modules for further tokens are modelled in the head's stage");
}

}  // namespace

std::vector<std::int64_t> layers_of_layout(std::string_view layout, const Placed& model) {
  const Signs signs = LayoutReader(layout).read();
  check_ends(signs);
  check_further(signs, model.further);
  std::vector<std::int64_t> stages(1, 0);
  for (const Sign& each : signs) {
    if (each.sign == '|') stages.push_back(0);
    if (each.sign == 't') ++stages.back();
  }
  const std::int64_t layers =
      std::count_if(signs.begin(), signs.end(), [](const Sign& each) { return each.sign == 't'; });
  if (layers != model.layers)
    throw layout_error(fmt::format("the layout has {} t, the model has {} layers", layers, model.layers),
                       "write one t for each layer");
  return stages;
}

}  // namespace cairn::experiment
