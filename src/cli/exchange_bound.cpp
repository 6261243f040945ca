#include "exchange_bound.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "cairn/collective/algorithms.h"
#include "cairn/collective/folds.h"
#include "cairn/collective/least.h"
#include "cairn/config/units.h"
#include "cairn/core/diagnostics.h"
#include "cairn/pebble/operation_text.h"
#include "exchange_words.h"

namespace cairn::cli {
namespace {

constexpr std::string_view k_where = "bound";
constexpr double k_most_counted = 1e18;

const Exchange* exchange_of(const BoundArguments& arguments) {
  const std::string name = pebble::split_name(arguments.operation_text()).name;
  const auto known = exchanges();
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const Exchange& each) { return collective::name(each.collective) == name; });
  return found == known.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_exchange(const std::string& kind, std::string problem) {
  throw core::ConfigurationError(fmt::format("{}.{}", k_where, kind), std::move(problem),
                                 fmt::format("write for example '{} p=16 n=1GiB': p devices, n bytes or words", kind));
}

std::map<std::string, std::string> exchange_sizes(const std::string& text) {
  const auto [kind, rest] = pebble::split_name(text);
  auto sizes = pebble::parse_values(rest);
  for (const auto& [name, value] : sizes)
    if (name != "p" && name != "n") refuse_exchange(kind, fmt::format("'{}' is no size of an exchange", name));
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

bool names_exchange(const BoundArguments& arguments) { return exchange_of(arguments) != nullptr; }

void bound_exchange(report::BoundAnswer& answer, const BoundArguments& arguments) {
  const Exchange& exchange = *exchange_of(arguments);
  const std::string kind(collective::name(exchange.collective));
  refuse_options_of_memory(arguments);
  answer.what = arguments.operation_text();
  const auto sizes = exchange_sizes(answer.what);
  const auto whole = pebble::whole_number(sizes.at("p"));
  if (!whole || *whole < 1 || *whole > collective::k_most_paired)
    refuse_exchange(kind, fmt::format("p={} is no number of devices", sizes.at("p")));
  const auto devices = static_cast<double>(*whole);
  const auto words = pebble::whole_number(sizes.at("n"));
  const double n = words
                       ? static_cast<double>(*words)
                       : config::require_quantity(sizes.at("n"), config::Dimension::bytes, "n") / answer.bytes_per_word;
  if (!(n > 0.0 && n * devices < k_most_counted))
    refuse_exchange(kind, fmt::format("n={} over p={} is no amount that can be counted", sizes.at("n"), sizes.at("p")));

  const double least = collective::least_bytes(exchange.collective, *whole, n);
  const std::string method(exchange.counted), premise = "no reduction in the network";
  answer.lower.push_back({.words = static_cast<pebble::Words>(std::ceil(least)),
                          .games = pebble::GameSet::all(),
                          .method = method,
                          .assumptions = {premise, "one copy of the data at the start"},
                          .parts = {}});
  report::DevicesRow row{.devices = devices,
                         .counted = report::DevicesRow::Counted::each_way,
                         .words = least,
                         .total = collective::least_total_bytes(exchange.collective, *whole, n),
                         .method = method,
                         .premise = premise,
                         .algorithms = {}};
  for (const KnownAlgorithm& each : known_algorithms()) {
    if (each.collective != exchange.collective) continue;
    if (const auto list = collective::algorithm(each.algorithm).list(each.collective, {.ranks = *whole}))
      row.algorithms.push_back({.name = std::string(each.shown),
                                .words = collective::busiest(*list).bytes(n),
                                .left_out = std::string(each.outside)});
  }
  answer.devices = std::move(row);
}

}  // namespace cairn::cli
