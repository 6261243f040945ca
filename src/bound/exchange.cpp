#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "cairn/bound/exchanges.h"
#include "cairn/collective/algorithms.h"
#include "cairn/collective/folds.h"
#include "cairn/collective/least.h"
#include "cairn/core/diagnostics.h"
#include "parts.h"

namespace cairn::bound {
namespace {

using collective::Collective;

constexpr double k_most_counted = 1e18;  // words at all devices

constexpr std::array k_exchanges{Collective::all_gather,    Collective::all_reduce, Collective::all_to_all,
                                 Collective::broadcast,     Collective::gather,     Collective::reduce,
                                 Collective::reduce_scatter};

// What the bound of an exchange counts.
std::string counted_by(Collective exchange) {
  const std::string name(collective::name(exchange));
  switch (exchange) {
    case Collective::broadcast:
      return name + ", received";
    case Collective::gather:
      return name + ", received by the root";
    case Collective::reduce:
      return name + ", sent";
    default:
      return name;
  }
}

struct KnownAlgorithm {
  Collective collective = Collective::none;
  std::string_view algorithm;  // of collective/algorithms.h
  std::string_view shown;
  std::string_view outside = {};  // why the bound does not hold for it, if so
};

constexpr KnownAlgorithm k_known[] = {
    {Collective::all_reduce, "ring", "ring"},
    {Collective::all_reduce, "recursive-doubling", "recursive doubling"},
    {Collective::all_reduce, "switch-to-all", "switches add", "reduces in the network, where the bound has none"},
    {Collective::all_gather, "ring", "ring"},
    {Collective::reduce_scatter, "ring", "ring"},
    {Collective::broadcast, "ring", "chain, piece by piece"},
    {Collective::broadcast, "binomial-tree", "binomial tree"},
    {Collective::reduce, "ring", "chain, piece by piece"},
    {Collective::reduce, "binomial-tree", "binomial tree"},
    {Collective::all_to_all, "direct", "direct"},
    {Collective::all_to_all, "hypercube", "in rounds of halves"},
    {Collective::gather, "direct", "direct"}};

// Words of the vector, which bytes need not fill.
double words_of(const ExchangeRequest& request, double bytes_per_word) {
  if (const auto* words = std::get_if<pebble::Words>(&request.amount)) return static_cast<double>(*words);
  return std::get<core::Bytes>(request.amount).base() / bytes_per_word;
}

void check(const ExchangeRequest& request, double words) {
  if (std::find(k_exchanges.begin(), k_exchanges.end(), request.collective) == k_exchanges.end())
    throw core::ConfigurationError("request.collective",
                                   fmt::format("{} is no exchange", collective::name(request.collective)),
                                   "give one of exchanges()");
  require_devices(request.devices);
  if (!(words > 0.0 && words * static_cast<double>(request.devices) < k_most_counted))
    throw core::ConfigurationError(
        "request.amount",
        fmt::format("{:.3g} words over {} devices are no amount that can be counted", words, request.devices),
        "give more than none, and less than 1e18 at all devices");
  if (request.links && request.devices > request.links->network.gpus())
    throw core::ConfigurationError(
        "request.links", fmt::format("{} has {} accelerators", request.links->name, request.links->network.gpus()),
        "exchange between fewer, or set more nodes");
}

}  // namespace

std::span<const Collective> exchanges() { return k_exchanges; }

Answer answer(const ExchangeRequest& request) {
  Answer answer;
  answer.format = std::string(numerics::name(request.format));
  answer.bytes_per_word = numerics::bytes_per_element(request.format);
  const double words = words_of(request, answer.bytes_per_word);
  check(request, words);
  answer.what = request.what.empty() ? std::string(collective::name(request.collective)) : request.what;
  const double least = collective::least_bytes(request.collective, request.devices, words);
  const std::string method = counted_by(request.collective), premise = "no reduction in the network";
  answer.lower.push_back({.words = static_cast<pebble::Words>(std::ceil(least)),
                          .games = pebble::GameSet::all(),
                          .method = method,
                          .assumptions = {premise, "one copy of the data at the start"},
                          .parts = {}});
  DevicesRow row{.devices = static_cast<double>(request.devices),
                 .counted = DevicesRow::Counted::each_way,
                 .words = least,
                 .total = collective::least_total_bytes(request.collective, request.devices, words),
                 .method = method,
                 .premise = premise,
                 .algorithms = {}};
  for (const KnownAlgorithm& each : k_known) {
    if (each.collective != request.collective) continue;
    if (const auto list = collective::algorithm(each.algorithm).list(each.collective, {.ranks = request.devices}))
      row.algorithms.push_back({.name = std::string(each.shown),
                                .words = collective::busiest(*list).bytes(words),
                                .left_out = std::string(each.outside)});
  }
  answer.devices = std::move(row);
  if (request.links) add_network(answer, *request.links);
  return answer;
}

}  // namespace cairn::bound
