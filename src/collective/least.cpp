#include "cairn/collective/least.h"

#include "cairn/core/assert.h"

namespace cairn::collective {

double least_bytes(Collective collective, std::int64_t ranks, double bytes) {
  CAIRN_ASSERT(ranks >= 1);
  const auto n = static_cast<double>(ranks);
  const double others = (n - 1.0) / n;
  switch (collective) {
    case Collective::none:
      return 0.0;
    case Collective::all_reduce:
      return 2.0 * bytes * others;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
    case Collective::gather:
      return bytes * others;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::send:
      break;
  }
  return ranks > 1 ? bytes : 0.0;
}

double least_total_bytes(Collective collective, std::int64_t ranks, double bytes) {
  CAIRN_ASSERT(ranks >= 1);
  const auto n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::none:
      return 0.0;
    case Collective::all_reduce:
      return 2.0 * bytes * (n - 1.0);
    case Collective::gather:
      return bytes * (n - 1.0) / n;
    case Collective::send:
      return ranks > 1 ? bytes : 0.0;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
    case Collective::broadcast:
    case Collective::reduce:
      break;
  }
  return bytes * (n - 1.0);
}

}  // namespace cairn::collective
