#include "mutator.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "tree_changes.h"

namespace cairn::attack {
namespace {

constexpr std::array<std::string_view, 44> k_edges{"0",
                                                   "-0",
                                                   "-1",
                                                   "1",
                                                   "2",
                                                   "3",
                                                   "7",
                                                   "16",
                                                   "64",
                                                   "255",
                                                   "256",
                                                   "1000",
                                                   "65535",
                                                   "65536",
                                                   "1048576",
                                                   "2147483647",
                                                   "2147483648",
                                                   "-2147483649",
                                                   "4294967296",
                                                   "9007199254740993",
                                                   "9223372036854775807",
                                                   "9223372036854775808",
                                                   "-9223372036854775809",
                                                   "18446744073709551616",
                                                   "99999999999999999999999999",
                                                   "0.5",
                                                   "1e-9",
                                                   "1e18",
                                                   "1e308",
                                                   "-1e308",
                                                   "1e309",
                                                   "1e-308",
                                                   "5e-324",
                                                   "nan",
                                                   ".nan",
                                                   "inf",
                                                   "-.inf",
                                                   "0x10",
                                                   "010",
                                                   "1_000",
                                                   "2/3",
                                                   "1/0",
                                                   "null",
                                                   "true"};

// What a byte is replaced by when any will not do: ends of texts, quotes, brackets, bytes that no UTF-8 text holds,
// controls of a terminal, a character that turns the direction of writing.
constexpr std::array<std::string_view, 24> k_pieces{std::string_view("\0", 1),
                                                    "\n",
                                                    "\r",
                                                    "\t",
                                                    "\x1b[31m",
                                                    "\x07",
                                                    "\x7f",
                                                    "\x80",
                                                    "\xff",
                                                    "\xc3\xa9",
                                                    "\xc2\x9b",
                                                    "\xe2\x80\xae",
                                                    "\"",
                                                    "'",
                                                    "{",
                                                    "}",
                                                    "[",
                                                    "]",
                                                    ":",
                                                    ",",
                                                    "#",
                                                    "\\",
                                                    " ",
                                                    "="};

constexpr std::size_t k_longest = std::size_t{1} << 16;  // bytes of an input; longer ones are cut
constexpr std::size_t k_long_word = 5000;

std::size_t pick(core::Random& random, std::size_t bound) { return static_cast<std::size_t>(random.below(bound)); }

template <class List>
const auto& any_of(const List& list, core::Random& random) {
  return list[pick(random, std::size(list))];
}

bool in_token(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '+' || c == '-';
}

struct Range {
  std::size_t begin, size;
};

std::vector<Range> tokens_of(std::string_view text) {
  std::vector<Range> found;
  for (std::size_t i = 0; i < text.size();) {
    if (!in_token(text[i])) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < text.size() && in_token(text[i])) ++i;
    found.push_back({begin, i - begin});
  }
  return found;
}

std::string changed_bytes(std::string text, core::Random& random) {
  if (text.empty()) return std::string(any_of(k_pieces, random));
  const std::size_t at = pick(random, text.size());
  const std::size_t count = 1 + pick(random, 16);
  switch (random.below(6)) {
    case 0:
      text[at] = static_cast<char>(random.below(256));
      break;
    case 1:
      text.erase(at, count);
      break;
    case 2:
      text.insert(at, any_of(k_pieces, random));
      break;
    case 3:
      text.insert(pick(random, text.size()), text.substr(at, count * count));
      break;
    case 4:
      text.resize(at);
      break;
    default:
      text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << random.below(8)));
  }
  return text;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (separators.find(c) != std::string_view::npos)
      parts.emplace_back(1, c);  // a part begins with what parts it
    else
      parts.back() += c;
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

// Leaves out, doubles, swaps, repeats or takes over a part.
void change_parts(std::vector<std::string>& parts, const std::vector<std::string>& others, core::Random& random) {
  const std::size_t at = pick(random, parts.size());
  const auto place = parts.begin() + static_cast<std::ptrdiff_t>(at);
  constexpr std::size_t k_repetitions = 40;
  switch (random.below(6)) {
    case 0:
      parts.erase(place);
      break;
    case 1: {
      const std::string copy = *place;
      parts.insert(place, copy);
      break;
    }
    case 2:
      std::swap(*place, parts[pick(random, parts.size())]);
      break;
    case 3: {
      const std::string copy = *place;
      if (random.below(8) == 0) parts.insert(place, k_repetitions, copy);
      break;
    }
    default: {
      const std::string taken = any_of(others, random);
      if (random.below(2) == 0)
        *place = taken;
      else
        parts.insert(place, taken);
    }
  }
}

}  // namespace

std::span<const std::string_view> edge_values() { return k_edges; }

Mutator::Mutator(Grammar grammar, std::vector<std::string> seeds, std::vector<std::string> tokens)
    : grammar_(grammar), seeds_(std::move(seeds)), tokens_(std::move(tokens)) {
  for (const std::string& seed : seeds_)
    for (const Range& range : tokens_of(seed)) tokens_.push_back(seed.substr(range.begin, range.size));
  std::sort(tokens_.begin(), tokens_.end());
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end()), tokens_.end());
}

std::string Mutator::input(std::uint64_t seed, std::uint64_t index) const {
  core::Random random(seed ^ (index * 0x9E3779B97F4A7C15ULL));
  return changed(any_of(seeds_, random), random);
}

std::string Mutator::changed(std::string text, core::Random& random) const {
  do {
    const std::uint64_t level = random.below(8);
    if (level == 0)
      text = changed_bytes(std::move(text), random);
    else if (level < 4)
      text = changed_tokens(std::move(text), random);
    else
      text = changed_structure(std::move(text), random);
    if (text.size() > k_longest) text.resize(k_longest);
  } while (random.below(2) == 0);
  return text;
}

std::string Mutator::token(core::Random& random) const {
  if (random.below(64) == 0) return std::string(k_long_word, 'x');
  if (tokens_.empty() || random.below(2) == 0) return std::string(any_of(k_edges, random));
  return any_of(tokens_, random);
}

std::string Mutator::changed_tokens(std::string text, core::Random& random) const {
  std::vector<Range> found = tokens_of(text);
  if (found.empty()) return text + token(random);
  // Numbers half the time: they decide sizes.
  if (random.below(2) == 0) {
    std::vector<Range> numbers;
    for (const Range& range : found)
      if (std::isdigit(static_cast<unsigned char>(text[range.begin])) != 0) numbers.push_back(range);
    if (!numbers.empty()) found = std::move(numbers);
  }
  const Range& range = any_of(found, random);
  const bool number = std::isdigit(static_cast<unsigned char>(text[range.begin])) != 0;
  switch (random.below(5)) {
    case 0:
      return text.erase(range.begin, range.size);
    case 1:
      return text.insert(range.begin, token(random) + " ");
    case 2: {
      const Range& other = any_of(found, random);
      return text.replace(range.begin, range.size, text.substr(other.begin, other.size));
    }
    default:
      return text.replace(range.begin, range.size,
                          number && random.below(4) > 0 ? std::string(any_of(k_edges, random)) : token(random));
  }
}

std::string Mutator::changed_structure(std::string text, core::Random& random) const {
  return grammar_ == Grammar::tree ? changed_tree(text, random) : changed_records(text, random);
}

std::string Mutator::changed_tree(const std::string& text, core::Random& random) const {
  // One object a line: one of them changes.
  std::vector<std::string> rows = split(text, "\n");
  const bool objects = rows.size() > 1 && std::all_of(rows.begin(), rows.end(), [](const std::string& row) {
                         const std::size_t first = row.find_first_not_of("\n ");
                         return first == std::string::npos || (row[first] == '{' && row.back() == '}');
                       });
  const TreeChange change{.donor = any_of(seeds_, random), .token = token(random)};
  if (!objects) return changed_tree_text(text, change, random);
  std::string& row = rows[pick(random, rows.size())];
  row = (row.starts_with('\n') ? "\n" : "") + changed_tree_text(row, change, random);
  std::string flat = joined(rows);
  return flat;
}

std::string Mutator::changed_records(const std::string& text, core::Random& random) const {
  std::vector<std::string> records = split(text, "\n");
  if (random.below(2) == 0 || grammar_ == Grammar::words) {
    change_parts(records, split(any_of(seeds_, random), "\n"), random);
    return joined(records);
  }
  const std::string_view separators = grammar_ == Grammar::table ? "," : grammar_ == Grammar::markup ? "<>= \"" : " \t";
  std::string& record =
      any_of(records, random) == records.front() ? records.front() : records[pick(random, records.size())];
  std::vector<std::string> cells = split(record, separators);
  if (random.below(2) == 0) {
    std::string& cell = cells[pick(random, cells.size())];
    cell = (cell.empty() ? std::string() : cell.substr(0, 1)) + token(random);
  } else {
    change_parts(cells, cells, random);
  }
  record = joined(cells);
  return joined(records);
}

}  // namespace cairn::attack
