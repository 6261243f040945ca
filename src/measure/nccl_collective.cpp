#include "nccl_collective.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/config/units.h"
#include "cairn/measure/read.h"
#include "reading.h"

namespace cairn::measure {
namespace {

// Programs of nccl-tests by their names without underscores.
constexpr std::array<std::pair<std::string_view, NcclTest>, 10> k_tests{
    {{"allreduce", {"all_reduce", BusTraffic::both_ways, true}},
     {"allgather", {"all_gather", BusTraffic::others_share, true}},
     {"reducescatter", {"reduce_scatter", BusTraffic::others_share, true}},
     {"alltoall", {"all_to_all", BusTraffic::others_share, true}},
     {"broadcast", {"broadcast", BusTraffic::whole, true}},
     {"sendrecv", {"send_recv", BusTraffic::whole, true}},
     {"reduce", {"reduce", BusTraffic::whole, false}},
     {"gather", {"gather", BusTraffic::others_share, false}},
     {"scatter", {"scatter", BusTraffic::others_share, false}},
     {"hypercube", {"hypercube", BusTraffic::whole, false}}}};
constexpr std::string_view k_program_end = "perf";

std::string letters_of(std::string_view word) {
  std::string result;
  for (const char c : word) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result.substr(0, result.find(k_program_end));
}

double bus_factor(BusTraffic traffic, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (traffic) {
    case BusTraffic::both_ways:
      return 2.0 * (n - 1.0) / n;
    case BusTraffic::others_share:
      return (n - 1.0) / n;
    case BusTraffic::whole:
      break;
  }
  return 1.0;
}

bool holds(const Interval& range, double x) {
  constexpr double k_slack = 1e-9;  // of the arithmetic here
  return x >= range.least * (1.0 - k_slack) && x <= range.largest * (1.0 + k_slack);
}

std::vector<std::string_view> words_of_letters(std::string_view text) {
  const auto inside = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::vector<std::string_view> words;
  for (const auto* at = text.begin(); (at = std::find_if(at, text.end(), inside)) != text.end();) {
    const auto* const begin = at;
    at = std::find_if_not(begin, text.end(), inside);
    words.emplace_back(begin, at);
  }
  return words;
}

std::set<const NcclTest*> named_by(const std::vector<std::string_view>& words) {
  std::set<const NcclTest*> tests;
  for (const std::string_view word : words)
    if (const NcclTest* test = nccl_test(word)) tests.insert(test);
  return tests;
}

struct Candidates {
  std::vector<const NcclTest*> tests = {};
  std::string_view who = {};  // names them; empty where nothing does
};

Candidates candidates_of(const CollectiveClues& clues) {
  if (!clues.program.empty()) return {.tests = {nccl_test(clues.program)}, .who = "the test's output"};
  if (!clues.option.empty()) return {.tests = {nccl_test(clues.option)}, .who = "--collective"};
  if (!clues.commands.empty())
    return {.tests = {clues.commands.begin(), clues.commands.end()}, .who = "the command line in the log"};
  if (clues.file != nullptr) return {.tests = {clues.file}, .who = "the name of the file"};
  Candidates all;
  for (const auto& [word, test] : k_tests) all.tests.push_back(&test);
  return all;
}

bool counts_as(const NcclTest& test, const NcclTable& table, const NcclTable::Row& row) {
  return holds(row.busbw_to_algbw, bus_factor(test.traffic, table.ranks)) ||
         (table.may_be_old && test.traffic == BusTraffic::others_share && holds(row.busbw_to_algbw, 1.0));
}

std::vector<const NcclTest*> narrowed(std::vector<const NcclTest*> tests, const NcclTable& table) {
  std::erase_if(tests, [&](const NcclTest* test) {
    return std::any_of(table.rows.begin(), table.rows.end(),
                       [&](const NcclTable::Row& row) { return !counts_as(*test, table, row); });
  });
  return tests;
}

std::string names_of(const std::vector<const NcclTest*>& tests) {
  std::vector<std::string_view> names;
  for (const NcclTest* test : tests) names.push_back(test->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void complain_of_ratio(const Candidates& named, const NcclTable& table, Reading& reading) {
  constexpr std::string_view k_hint =
      "it is another collective or another number of ranks: name the collective with --collective, and keep the lines "
      "'# Rank ...'";
  const NcclTest& test = *named.tests.front();
  const auto row = std::find_if(table.rows.begin(), table.rows.end(),
                                [&](const NcclTable::Row& each) { return !counts_as(test, table, each); });
  const Interval& ratio = row->busbw_to_algbw;
  constexpr double k_half = 0.5;
  reading.error(row->measured.line,
                named.who.empty()
                    ? fmt::format("no collective over {} ranks has a busbw of {:.4g} times its algbw", table.ranks,
                                  k_half * (ratio.least + ratio.largest))
                    : fmt::format("{} says {}, whose busbw over {} ranks is {:.4g} times its algbw; here it is {:.4g}",
                                  named.who, test.name, table.ranks, bus_factor(test.traffic, table.ranks),
                                  k_half * (ratio.least + ratio.largest)),
                std::string(k_hint));
}

}  // namespace

const NcclTest* nccl_test(std::string_view word) {
  const std::size_t folder = word.rfind('/');
  const std::string plain = letters_of(folder == std::string_view::npos ? word : word.substr(folder + 1));
  const auto* found =
      std::find_if(k_tests.begin(), k_tests.end(), [&](const auto& each) { return each.first == plain; });
  return found == k_tests.end() ? nullptr : &found->second;
}

std::string collective_kind(std::string_view name) {
  const NcclTest* test = nccl_test(name);
  return test != nullptr && test->is_priced ? std::string(test->name) : std::string();
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const auto& [word, test] : k_tests)
    if (test.is_priced) names.emplace_back(test.name);
  return names;
}

std::set<const NcclTest*> tests_named_in(std::string_view text) { return named_by(words_of_letters(text)); }

std::set<const NcclTest*> programs_named_in(std::string_view text) {
  std::vector<std::string_view> programs = words_of_letters(text);
  std::erase_if(programs, [](std::string_view word) { return word.find("_perf") == std::string_view::npos; });
  return named_by(programs);
}

std::optional<Interval> before_rounding(std::string_view text) {
  const std::optional<double> value = amount(text);
  if (!value) return std::nullopt;
  const std::size_t exponent_at = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, exponent_at);
  const std::size_t point = digits.find('.');
  const double decimals = point == std::string_view::npos ? 0.0 : static_cast<double>(digits.size() - point - 1);
  const auto exponent =
      exponent_at < text.size() ? config::parse_number(text.substr(exponent_at + 1)).value_or(0.0) : 0.0;
  constexpr double k_half = 0.5, k_base = 10.0;
  const double half_unit = k_half * std::pow(k_base, exponent - decimals);
  return Interval{.least = std::max(0.0, *value - half_unit), .largest = *value + half_unit};
}

Interval printed_ratio(std::string_view busbw, std::string_view algbw) {
  const auto bus = before_rounding(busbw), algorithm = before_rounding(algbw);
  if (!bus || !algorithm || algorithm->least <= 0.0) return {};
  return {.least = bus->least / algorithm->largest, .largest = bus->largest / algorithm->least};
}

void settle_collective(NcclTable table, const CollectiveClues& clues, Reading& reading) {
  const NcclTest* said = nccl_test(clues.program);
  if (!clues.program.empty() && said == nullptr)
    return reading.error(table.line,
                         fmt::format("the test {} is none that is known here", config::quote(clues.program)),
                         "leave this table out");
  if (said != nullptr && !clues.option.empty() && said != nccl_test(clues.option))
    return reading.error(table.line,
                         fmt::format("the test's output says {}, --collective {}", said->name, clues.option),
                         "the option is for output that does not say: leave it out, or give each collective a file");
  const Candidates named = candidates_of(clues);
  const std::vector<const NcclTest*> left = narrowed(named.tests, table);
  if (left.empty()) return complain_of_ratio(named, table, reading);
  if (left.size() > 1)
    return reading.error(
        table.line, fmt::format("which collective was run is not said: busbw over algbw is that of {}", names_of(left)),
        fmt::format("say it, as in --collective {}, or keep the command line in the log", left.front()->name));
  for (NcclTable::Row& row : table.rows) {
    row.measured.kind = left.front()->name;
    row.measured.ranks = table.ranks;
    if (left.front()->is_priced)
      reading.add(std::move(row.measured));
    else
      reading.skip(row.measured.line, fmt::format("no price rests on a {}", left.front()->name));
  }
}

}  // namespace cairn::measure
