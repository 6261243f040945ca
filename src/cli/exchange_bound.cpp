#include "exchange_bound.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "cairn/config/units.h"
#include "cairn/core/diagnostics.h"
#include "cairn/pebble/parallel_bounds.h"

namespace cairn::cli {
namespace {

constexpr std::string_view k_where = "bound";
constexpr double k_most_counted = 1e18;

std::string joined_words(const BoundArguments& arguments) {
  return fmt::format("{}", fmt::join(arguments.operation, " "));
}

const pebble::ExchangeKind* exchange_kind(const BoundArguments& arguments) {
  std::istringstream words(joined_words(arguments));
  std::string first;
  words >> first;
  const auto& kinds = pebble::exchange_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.name == first; });
  return found == kinds.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_exchange(const std::string& kind, std::string problem) {
  throw core::ConfigurationError(fmt::format("{}.{}", k_where, kind), std::move(problem),
                                 fmt::format("write for example '{} p=16 n=1GiB': p devices, n bytes or words", kind));
}

// A bare whole number, or empty.
std::optional<double> whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || stop != text.data() + text.size()) return {};
  return static_cast<double>(value);
}

std::map<std::string, std::string> exchange_sizes(const std::string& kind, std::string text) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream words(text);
  std::map<std::string, std::string> sizes;
  std::string word;
  words >> word;
  std::string last;
  while (words >> word) {
    const std::size_t equal = word.find('=');
    if (equal == std::string::npos && last == "n") {
      sizes[last] += " " + word;  // n=1 GiB
      continue;
    }
    last = word.substr(0, equal);
    if (equal == std::string::npos || (last != "p" && last != "n"))
      refuse_exchange(kind, fmt::format("'{}' is no size of an exchange", word));
    if (!sizes.emplace(last, word.substr(equal + 1)).second)
      refuse_exchange(kind, fmt::format("{} is given twice", last));
  }
  for (const char* key : {"p", "n"})
    if (!sizes.contains(key)) refuse_exchange(kind, fmt::format("{} is missing", key));
  return sizes;
}

void refuse_options_of_memory(const BoundArguments& arguments) {
  const auto needless = [](const char* option) {
    throw core::ConfigurationError(option, "an exchange between devices has no fast memory and no game",
                                   fmt::format("leave {} out", option));
  };
  if (!arguments.fast.empty()) needless("--fast");
  if (!arguments.accelerator.empty()) needless("--accelerator");
  if (arguments.exact) needless("--exact");
  if (arguments.slide) needless("--slide");
  if (arguments.rules != "rbw") needless("--game");
  if (arguments.devices > 0)
    throw core::ConfigurationError("--devices", "an exchange names its devices itself", "write p=N behind its name");
}

}  // namespace

bool names_exchange(const BoundArguments& arguments) { return exchange_kind(arguments) != nullptr; }

void bound_exchange(report::BoundAnswer& answer, const BoundArguments& arguments) {
  const pebble::ExchangeKind& kind = *exchange_kind(arguments);
  refuse_options_of_memory(arguments);
  answer.what = joined_words(arguments);
  const auto sizes = exchange_sizes(kind.name, answer.what);
  const auto devices = whole_number(sizes.at("p"));
  if (!devices || *devices < 1.0 || *devices > k_most_counted)
    refuse_exchange(kind.name, fmt::format("p={} is no number of devices", sizes.at("p")));
  const auto words = whole_number(sizes.at("n"));
  const double n =
      words ? *words : config::require_quantity(sizes.at("n"), config::Dimension::bytes, "n") / answer.bytes_per_word;
  if (!(n > 0.0 && n * *devices < k_most_counted))
    refuse_exchange(kind.name,
                    fmt::format("n={} over p={} is no amount that can be counted", sizes.at("n"), sizes.at("p")));

  const pebble::ParallelWords bound = pebble::exchange_words(kind.exchange, n, *devices);
  answer.lower.push_back({.words = static_cast<pebble::Words>(std::ceil(bound.words)),
                          .games = pebble::GameSet::all(),
                          .method = bound.method,
                          .assumptions = {bound.premise, "one copy of the data at the start"},
                          .parts = {}});
  report::DevicesRow row{.devices = *devices,
                         .words = bound.words,
                         .total = pebble::exchange_total_words(kind.exchange, n, *devices),
                         .method = bound.method,
                         .premise = bound.premise,
                         .algorithms = {}};
  for (const pebble::ExchangeAlgorithm& each : pebble::exchange_algorithms(kind.exchange, n, *devices))
    row.algorithms.emplace_back(each.name, each.words);
  answer.devices = std::move(row);
}

}  // namespace cairn::cli
