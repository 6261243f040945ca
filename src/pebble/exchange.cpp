#include <cmath>

#include "cairn/pebble/parallel_bounds.h"

namespace cairn::pebble {
namespace {

bool power_of_two(double devices) { return std::exp2(std::round(std::log2(devices))) == devices; }

}  // namespace

double exchange_total_words(Exchange exchange, double n, double devices) {
  switch (exchange) {
    case Exchange::all_reduce:
      return 2.0 * n * (devices - 1.0);
    case Exchange::gather:
      return n * (devices - 1.0) / devices;
    case Exchange::all_gather:
    case Exchange::reduce_scatter:
    case Exchange::broadcast:
    case Exchange::reduce:
    case Exchange::all_to_all:
      break;
  }
  return n * (devices - 1.0);
}

std::vector<ExchangeAlgorithm> exchange_algorithms(Exchange exchange, double n, double devices) {
  const double others = (devices - 1.0) / devices, rounds = std::ceil(std::log2(devices));
  const bool even = power_of_two(devices);
  std::vector<ExchangeAlgorithm> known;
  switch (exchange) {
    case Exchange::all_reduce:
      known.push_back({.name = "ring", .words = 2.0 * n * others});
      if (even) known.push_back({.name = "recursive doubling", .words = n * rounds});
      known.push_back({.name = "switches add",
                       .words = devices > 1.0 ? n : 0.0,
                       .outside = "reduces in the network, where the bound has none"});
      break;
    case Exchange::all_gather:
    case Exchange::reduce_scatter:
      known.push_back({.name = "ring", .words = n * others});
      break;
    case Exchange::broadcast:
    case Exchange::reduce:
      known.push_back({.name = "chain, piece by piece", .words = devices > 1.0 ? n : 0.0});
      known.push_back({.name = "binomial tree", .words = n * rounds});
      break;
    case Exchange::all_to_all:
      known.push_back({.name = "direct", .words = n * others});
      if (even) known.push_back({.name = "in rounds of halves", .words = n / 2.0 * rounds});
      break;
    case Exchange::gather:
      known.push_back({.name = "direct", .words = n * others});
      break;
  }
  return known;
}

const std::vector<ExchangeKind>& exchange_kinds() {
  static const std::vector<ExchangeKind> kinds{{"all-gather", Exchange::all_gather},
                                               {"all-reduce", Exchange::all_reduce},
                                               {"all-to-all", Exchange::all_to_all},
                                               {"broadcast", Exchange::broadcast},
                                               {"gather", Exchange::gather},
                                               {"reduce", Exchange::reduce},
                                               {"reduce-scatter", Exchange::reduce_scatter}};
  return kinds;
}

}  // namespace cairn::pebble
