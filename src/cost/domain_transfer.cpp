#include "domain_transfer.h"

#include <algorithm>
#include <cmath>

#include "cairn/collective/folds.h"
#include "cairn/core/assert.h"

namespace cairn::cost {
namespace {

// The two measured rank counts whose line gives the parameters at n: those around n, else the nearest two.
struct Bracket {
  const DomainFit* low = nullptr;  // null: the collective was not measured
  const DomainFit* high = nullptr;
};

Bracket bracket(const DomainLaws& laws, Collective collective, std::int64_t ranks) {
  Bracket found;
  for (const DomainFit& fit : laws.fits) {
    if (fit.collective != collective) continue;
    if (found.low == nullptr) {
      found = {&fit, &fit};
    } else if (found.low == found.high || found.high->ranks < ranks) {
      found = {found.high, &fit};
    }
  }
  return found;
}

// Linear in `at` between two supports; the same line continues outside.
double line(double at, double at_low, double low, double at_high, double high) {
  return at_low == at_high ? low : low + (at - at_low) / (at_high - at_low) * (high - low);
}

double steps(Collective collective, std::int64_t ranks) {
  return static_cast<double>(collective::flat_steps(collective, ranks));
}

// The number of steps of a collective at the two measured rank counts, and at the one that is asked for.
struct Steps {
  double low = 0.0, at = 0.0, high = 0.0;
};

double latency_at(const Steps& steps, double low, double high) {
  // Never below the smallest measured latency: a falling line would turn negative.
  return std::max(line(steps.at, steps.low, low, steps.high, high), std::min(low, high));
}

// 1/n of the rank count, kept within the measured counts: the bandwidth of slow protocols would pass infinity beyond
// them.
double inverse_ranks(const Bracket& fits, std::int64_t ranks) {
  return 1.0 / static_cast<double>(std::clamp(ranks, fits.low->ranks, fits.high->ranks));
}

double bandwidth_at(const Bracket& fits, std::int64_t ranks, double low, double high) {
  return 1.0 / line(inverse_ranks(fits, ranks), inverse_ranks(fits, fits.low->ranks), 1.0 / low,
                    inverse_ranks(fits, fits.high->ranks), 1.0 / high);
}

DomainFit parameters_at(const Bracket& fits, Collective collective, std::int64_t ranks) {
  const DomainFit& low = *fits.low;
  const DomainFit& high = *fits.high;
  if (low.ranks == ranks) return low;
  if (high.ranks == ranks) return high;
  const Steps taken{
      .low = steps(collective, low.ranks), .at = steps(collective, ranks), .high = steps(collective, high.ranks)};
  DomainFit result{.collective = collective, .ranks = ranks};
  for (std::size_t i = 0; i < result.protocols.size(); ++i) {
    result.protocols[i].latency_s = latency_at(taken, low.protocols[i].latency_s, high.protocols[i].latency_s);
    result.protocols[i].bandwidth = bandwidth_at(fits, ranks, low.protocols[i].bandwidth, high.protocols[i].bandwidth);
  }
  result.alpha_s = latency_at(taken, low.alpha_s, high.alpha_s);
  const auto ramp_at = [&](double at_low, double at_high) {
    return line(inverse_ranks(fits, ranks), inverse_ranks(fits, low.ranks), at_low, inverse_ranks(fits, high.ranks),
                at_high);
  };
  result.ramp = ramp_at(low.ramp, high.ramp);
  result.gamma = ramp_at(low.gamma, high.gamma);
  result.bandwidth = bandwidth_at(fits, ranks, low.bandwidth, high.bandwidth);
  return result;
}

// Of a measured latency the links' own share follows their latency; the rest is software and stays.
void follow_links(DomainFit& fit, const LinkLevel& link, const DomainLaws& laws) {
  if (laws.link_latency_s <= 0.0 || link.latency == laws.link_latency_s) return;
  const double links_s = steps(fit.collective, fit.ranks) * laws.link_latency_s;
  const double change = link.latency / laws.link_latency_s - 1.0;
  for (ProtocolLine& line : fit.protocols) line.latency_s += std::min(links_s, line.latency_s) * change;
  fit.alpha_s += std::min(links_s, fit.alpha_s) * change;
}

bool reduces_in_switch(const DomainLaws& laws, Collective collective, std::int64_t ranks) {
  return collective == Collective::all_reduce && laws.switch_bandwidth > 0.0 &&
         in_switch_bus_bandwidth(ranks, laws.switch_bandwidth) > laws.ring_bandwidth;
}

double bus_limit(const DomainLaws& laws, std::int64_t ranks) {
  return std::max(laws.ring_bandwidth, in_switch_bus_bandwidth(ranks, laws.switch_bandwidth));
}

Algorithm flat_algorithm(const DomainLaws& laws, Collective collective, std::int64_t ranks) {
  if (collective == Collective::send) return Algorithm::point_to_point;
  if (collective == Collective::all_to_all) return Algorithm::pairwise;
  return reduces_in_switch(laws, collective, ranks) ? Algorithm::in_switch : Algorithm::ring;
}

// What a protocol has to carry, at `scale` times its measured bandwidth.
struct Load {
  double wire = 0.0;
  double scale = 1.0;
  double crossing_s = 0.0;

  double ramp_s(double per_root_byte) const { return per_root_byte * std::sqrt(wire); }
  TransferTime by(double latency_s, double ramp_s, double bandwidth) const {
    const double links_s = wire / (bandwidth * scale);
    TransferTime time{.latency_s = latency_s,
                      .ramp_s = ramp_s,
                      .bandwidth_s = std::max(links_s, crossing_s),
                      .basis = crossing_s > links_s ? Basis::assumed : Basis::measured};
    time.total_s = time.latency_s + time.ramp_s + time.bandwidth_s;
    return time;
  }
};

// The fastest protocol's parts, scaled to the blend of the three.
TransferTime three_protocol_time(const DomainFit& fit, const Load& load, double crossover) {
  TransferTime best;
  double blend = 0.0;  // sum of (best/t)^k, rescaled whenever a faster protocol is met
  for (std::size_t i = 0; i < fit.protocols.size(); ++i) {
    const bool large = i + 1 == fit.protocols.size();
    const ProtocolLine& line = fit.protocols[i];
    const TransferTime time = load.by(line.latency_s, large ? load.ramp_s(fit.ramp) : 0.0, line.bandwidth);
    if (i == 0 || time.total_s < best.total_s) {
      blend = 1.0 + (i == 0 ? 0.0 : blend * std::pow(time.total_s / best.total_s, crossover));
      best = time;
    } else {
      blend += std::pow(best.total_s / time.total_s, crossover);
    }
  }
  if (crossover <= 0.0) return best;
  const double share = std::pow(blend, -1.0 / crossover);
  best.latency_s *= share;
  best.ramp_s *= share;
  best.bandwidth_s *= share;
  best.total_s = best.latency_s + best.ramp_s + best.bandwidth_s;
  return best;
}

}  // namespace

// A message behaves as one direction of a two-rank exchange; a broadcast as a ring that passes the whole tensor on.
Collective fitted_as(Collective collective) {
  if (collective == Collective::send) return Collective::all_to_all;
  return collective == Collective::broadcast ? Collective::all_gather : collective;
}

TransferTime domain_transfer_time(Collective collective, double bytes, std::int64_t ranks, const DomainLinks& links,
                                  const DomainLaws& laws, TransferForm form) {
  const LinkLevel& link = links.link;
  const double wire = wire_bytes(collective, bytes, ranks);
  const Collective measured = fitted_as(collective);
  const Bracket fits = bracket(laws, measured, ranks);
  TransferTime time;
  if (fits.low == nullptr) {
    CAIRN_ASSERT(laws.assumed_efficiency > 0.0);
    const Load load{.wire = wire, .crossing_s = links.crossing_s};
    time = load.by(steps(collective, ranks) * link.latency, 0.0, laws.assumed_efficiency * link.bandwidth);
    time.algorithm = flat_algorithm({}, collective, ranks);
    time.basis = Basis::assumed;
  } else {
    double scale = link.bandwidth / laws.link_bandwidth;
    time.algorithm = flat_algorithm(laws, collective, ranks);
    if (ranks > fits.high->ranks && time.algorithm == Algorithm::in_switch) {
      scale *= bus_limit(laws, ranks) / bus_limit(laws, fits.high->ranks);
    }
    const Algorithm algorithm = time.algorithm;
    DomainFit fit = parameters_at(fits, measured, ranks);
    follow_links(fit, link, laws);
    const Load load{.wire = wire, .scale = scale, .crossing_s = links.crossing_s};
    time = form == TransferForm::short_form ? load.by(fit.alpha_s, load.ramp_s(fit.gamma), fit.bandwidth)
                                            : three_protocol_time(fit, load, laws.crossover_exponent);
    time.algorithm = algorithm;
    const bool exact = fits.low->ranks == ranks || fits.high->ranks == ranks;
    const bool inside = fits.low->ranks <= ranks && ranks <= fits.high->ranks;
    Basis basis = exact ? Basis::measured : inside ? Basis::interpolated : Basis::extrapolated;
    const bool other_latency = laws.link_latency_s > 0.0 && link.latency != laws.link_latency_s;
    if (link.bandwidth != laws.link_bandwidth || other_latency) basis = Basis::extrapolated;
    time.basis = std::max(time.basis, basis);
  }
  // What the algorithm moves, at the stated link bandwidth, and what crosses: no price may be below these.
  const double moved = time.algorithm == Algorithm::in_switch ? collective::in_switch_share(ranks).bytes(bytes) : wire;
  const double floor_s = std::max(std::min(moved, wire) / link.bandwidth, links.crossing_s);
  if (time.total_s < floor_s) {
    time.bandwidth_s += floor_s - time.total_s;
    time.total_s = floor_s;
  }
  return time;
}

}  // namespace cairn::cost
