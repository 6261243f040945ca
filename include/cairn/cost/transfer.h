// Time of a collective or a message alone on its links.
//
// Sizes: `bytes` is S of collective/collective.h. Wire bytes per rank x and steps are those of the flat list of messages
// (collective/algorithms.h): x = 2(n-1)/n S in 2(n-1) steps of an all_reduce, (n-1)/n S in n-1 steps of an all_gather,
// reduce_scatter, all_to_all, else S.
//
// Fields by their letters:
//   DomainFit      a1 to a3, B1 to B3: protocols;  g3: ramp;  alpha: alpha_s;  gamma;  B: bandwidth
//   DomainLaws     k: crossover_exponent;  L: link_latency_s;  B_sw: switch_bandwidth;  c: tree_channel;
//                  c_s: switch_tree_channel;  efficiency of what was not measured: assumed_efficiency
//   FabricLaws     e: efficiency;  ramp, step_s, peer_s, message_s
//   TransferLinks  L': intra.latency;  W: inter.bandwidth;  latency (of the table): inter.latency;  U: uplink
// Across domains the letters k and a mean other things, which are said below the table.
//
// Inside a domain (ranks joined by the fast links), two measured forms:
//   three protocols  T = (t1^-k + t2^-k + t3^-k)^(-1/k)                 k = infinity: min(t1, t2, t3)
//                    t1 = a1 + x/B1, t2 = a2 + x/B2, t3 = a3 + g3 sqrt(x) + x/B3    a1 < a2 < a3, B1 < B2 < B3
//                    g3: chunks fill the pipeline of the protocol for large messages; k = 10: the library changes
//                    channels and protocol in steps around the crossing
//   short form       T = alpha + gamma sqrt(x) + x/B                  safest to extrapolate
// measured at some rank counts. For others the parameters are interpolated, never the times: latencies linearly in the
// steps, 1/B and gamma linearly in 1/n; above the largest measured count latencies go on, bandwidths stay, except that
// an all-reduce in the switch follows busbw(n) = 2(n-1)/(n+1) B_sw (a rank moves S(1 + 1/n): S reduced in the switch,
// S/n multicast). Without measurements: T = steps latency + x/(efficiency bandwidth), a ring over the links as the
// cluster file states them.
// On links of latency L' in place of those measured, L:  a' = a + min(steps L, a) (L'/L - 1), alpha likewise: what is
// not the links' own is software and stays. A price is never below its wire bytes over the link's stated bandwidth.
// Under several PCIe switches, r of the n ranks under each, what leaves a switch shares its one link to the root
// complex:
//   bandwidth term = max(that of the domain, b / (assumed_efficiency U)), b = the bytes across per rank below with m =
//   n/r and this r, U = the rank's share of the link, all accelerators under the switch taken to send at once, but
//   around a ring those alone whose next rank lies outside (program::Group::hops_out). Every protocol has this term:
//   the fastest is found with it.
//
// Across m domains with r ranks in each, n = m r: inside and across are pipelined, so latencies add and the slower rate
// rules.
//   T = L_in + L_out + ramp sqrt(b) + max(T_in - L_in, b/rate),  L_in = the inner price of an empty message
// with b = what crosses per rank, W = the rank's share of its node's network links, e = efficiency of the fabric:
//                b             rate                    steps, each latency + step_s
//   ring         x(n)/r        e W                     m-1, of an all_reduce twice as many
//   tree         2 S/(r k)     min(e W, a c/k)         2 ceil(log2 m)
//   switch tree  2 S/(r k)     min(e W, a c_s/k n/(n-1))       2 ceil(log2 m); c_s counts x(n), not 2 S
//   exchange     (m-1)/m S     e W                     1, and peer_s per outside peer
//   broadcast    S/r           e W                     ceil(log2 m)
// A ring over all n ranks passes every domain whole: over few domains that is up to twice what must cross, (m-1)/m S/r.
// It also launches a message for each of its steps; those beyond the ones counted cost message_s each. The trees are
// double binary ones over the domains: a domain passes S up and S down, but of two (in the table k = 2, else k = 1)
// each is only the root of one and a leaf of the other. A channel of a tree moves no more than c, of one with reduction
// in the switch no more than c_s; a = the channels of a rank, its share of the node's adapters and at most 1. Trees
// reduce: an all_gather or reduce_scatter is a ring, an all_reduce what is fastest of ring, tree and, where the switch
// reduces, switch tree. All sibling groups are taken to communicate at once, as ranks of one program do.
//
// Source: NCCL 2.30 src/graph/tuning.cc ncclTopoTuneModel (algorithms, bytes, k, limits of channels; its factors for
// trees of medium size are left out), ncclTopoGetAlgoTime (the fastest is taken), search.cc (channels; over two nodes a
// tree may use twice an adapter's width inside); fits of 2026-11 to public nccl-tests style samples (NCCL 2.27-2.29);
// Thakur, Rabenseifner, Gropp 2005 for the step counts; Sanders, Speck, Traeff 2009 for the trees.
//
// Valid: 512 B to 512 MiB, 2 to 8 ranks inside a domain.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cairn/collective/collective.h"
#include "cairn/cost/fit_record.h"
#include "cairn/cost/number.h"

namespace cairn::cost {

using collective::Collective;

// What can be measured and fitted.
inline constexpr std::array k_measured{Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                       Collective::all_to_all, Collective::broadcast,  Collective::send};
// As calibrations call it: "send-recv" for a message, else its name.
std::string_view measured_name(Collective collective);

enum class Algorithm : std::uint8_t {
  none,
  ring,
  in_switch,
  pairwise,
  point_to_point,
  hierarchical,
  tree,
  switch_tree
};
// What a price rests on, best first.
enum class Basis : std::uint8_t { measured, interpolated, extrapolated, assumed };
enum class TransferForm : std::uint8_t { three_protocols, short_form };

std::string_view name(Algorithm algorithm);
std::string_view name(Basis basis);

// Where the ranks of a group sit: up to `ranks_per_domain` of them share a domain. A group of size 1 has price 0.
struct GroupBinding {
  std::int64_t size = 1;
  std::int64_t ranks_per_domain = 1;
  std::int64_t ranks_per_switch = 0;  // of those in a domain, under one of several PCIe switches; 0: all under one
  // all-to-all: share of the bytes for other domains that crosses to them (program::Transfer::across). Below 1 data for
  // several ranks of a domain cross once and are forwarded inside, so that all of them pass the inner links.
  double across = 1.0;

  std::int64_t domains() const { return (size + ranks_per_domain - 1) / ranks_per_domain; }
};

// Per rank and direction: [B/s], one-way time of an empty message [s].
struct LinkLevel {
  double bandwidth = 0.0;
  double latency = 0.0;
};

struct TransferLinks {
  LinkLevel intra{};      // within a domain
  LinkLevel inter{};      // between domains: the rank's share of its node's network links
  double adapters = 1.0;  // network links of a node for each of its ranks
  // The rank's share of its PCIe switch's link to the root complex [B/s]; 0: one switch. Of a message around a ring that
  // of the ranks that send out of the switch at once.
  double uplink = 0.0;
};

struct ProtocolLine {
  double latency_s = 0.0;  // a
  double bandwidth = 0.0;  // B [B/s of wire bytes]
};

inline constexpr auto k_protocol_line_numbers =
    std::to_array<Number<ProtocolLine>>({{.key = "latency",
                                          .member = &ProtocolLine::latency_s,
                                          .dimension = Dimension::seconds,
                                          .rule = {.doc = "a", .required = true}},
                                         {.key = "bandwidth",
                                          .member = &ProtocolLine::bandwidth,
                                          .dimension = Dimension::bytes_per_second,
                                          .rule = {.doc = "B, of wire bytes", .required = true, .positive = true}}});

struct DomainFit {
  Collective collective = Collective::all_reduce;
  std::int64_t ranks = 0;
  std::array<ProtocolLine, 3> protocols{};
  double ramp = 0.0;  // g3 [s per sqrt(B)]
  double alpha_s = 0.0;
  double gamma = 0.0;      // [s per sqrt(B)]
  double bandwidth = 0.0;  // B of the short form
  std::optional<FitRecord> fit{};
};

// The lines of the three protocols are fitted by their ratios (calibrate/collective_fit.cpp).
inline constexpr auto k_protocol_form_numbers =
    std::to_array<Number<DomainFit>>({{.key = "simple_ramp",
                                       .member = &DomainFit::ramp,
                                       .dimension = Dimension::seconds,
                                       .rule = {.doc = "ns per square root of a byte"},
                                       .per_root_byte = true,
                                       .free = {.when = FreeWhen::protocol_form,
                                                .start = k_ns,
                                                .low = 0.01 * k_ns,
                                                .high = 100 * k_ns,
                                                .prior = 0.4,
                                                .relative_to = RelativeTo::root_of_link}}});
inline constexpr auto k_short_form_numbers = std::to_array<Number<DomainFit>>(
    {{.key = "latency",
      .member = &DomainFit::alpha_s,
      .dimension = Dimension::seconds,
      .rule = {.doc = "alpha", .required = true},
      .free = {.when = FreeWhen::short_form, .start = 10 * k_us, .low = 0.5 * k_us, .high = 200 * k_us, .prior = 1.0}},
     {.key = "ramp",
      .member = &DomainFit::gamma,
      .dimension = Dimension::seconds,
      .rule = {.doc = "ns per square root of a byte", .required = true},
      .per_root_byte = true,
      .free = {.when = FreeWhen::short_form, .start = 6 * k_ns, .low = 0.05 * k_ns, .high = 200 * k_ns, .prior = 1.0}},
     {.key = "bandwidth",
      .member = &DomainFit::bandwidth,
      .dimension = Dimension::bytes_per_second,
      .rule = {.doc = "B, of wire bytes", .required = true, .positive = true},
      .free = {.when = FreeWhen::short_form,
               .start = 0.75,
               .low = 0.02,
               .high = 2.0,
               .prior = 1.0,
               .relative_to = RelativeTo::link}}});

// Most that one channel of a tree between domains moves [B/s]; 0: not limited.
struct TreeChannel {
  double two = 0.0;   // over two domains
  double more = 0.0;  // over more

  double over(std::int64_t domains) const { return domains == 2 ? two : more; }
};

inline constexpr auto k_tree_channel_numbers =
    std::to_array<Number<TreeChannel>>({{.key = "two",
                                         .member = &TreeChannel::two,
                                         .dimension = Dimension::bytes_per_second,
                                         .rule = {.doc = "over two domains; absent: no limit", .positive = true},
                                         .zero_is_absent = true},
                                        {.key = "more",
                                         .member = &TreeChannel::more,
                                         .dimension = Dimension::bytes_per_second,
                                         .rule = {.doc = "over more domains; absent: no limit", .positive = true},
                                         .zero_is_absent = true}});

struct DomainLaws {
  // The links on which the fits were measured. On other links bandwidths scale in proportion, and of a latency only the
  // part that the links themselves cause.
  double link_bandwidth = 0.0;
  double link_latency_s = 0.0;        // one way; 0: not known, latencies stay as measured
  double ring_bandwidth = 0.0;        // busbw limit of the ring all-reduce; 0: unknown
  double switch_bandwidth = 0.0;      // B_sw; 0: the switch does not reduce
  std::vector<DomainFit> fits{};      // ascending ranks per collective; empty: alpha-beta
  double crossover_exponent = 0.0;    // k; 0: a hard minimum
  double assumed_efficiency = 0.0;    // of the stated link bandwidth where nothing was measured
  TreeChannel tree_channel{};         // c
  TreeChannel switch_tree_channel{};  // c_s
};

inline constexpr auto k_domain_numbers = std::to_array<Number<DomainLaws>>(
    {{.key = "link_bandwidth",
      .member = &DomainLaws::link_bandwidth,
      .dimension = Dimension::bytes_per_second,
      .rule = {.doc = "of the links measured, per rank and direction", .positive = true},
      .zero_is_absent = true},
     {.key = "link_latency",
      .member = &DomainLaws::link_latency_s,
      .dimension = Dimension::seconds,
      .rule = {.doc = "one way, of the links measured; absent: latencies do not follow links"}},
     {.key = "ring_bandwidth",
      .member = &DomainLaws::ring_bandwidth,
      .dimension = Dimension::bytes_per_second,
      .rule = {.doc = "busbw limit of the ring all-reduce", .positive = true},
      .zero_is_absent = true},
     {.key = "switch_bandwidth",
      .member = &DomainLaws::switch_bandwidth,
      .dimension = Dimension::bytes_per_second,
      .rule = {.doc = "B_sw of in-switch reduction", .positive = true},
      .zero_is_absent = true},
     {.key = "assumed_efficiency",
      .member = &DomainLaws::assumed_efficiency,
      .rule = {.doc = "of stated bandwidth, where nothing was measured",
               .required = true,
               .maximum = 1.0,
               .positive = true}}});

struct FabricLaws {
  bool fitted = false;      // to transfers over such a network; else assumed
  double efficiency = 0.0;  // achieved over stated bandwidth between domains
  double step_s = 0.0;      // software cost of one step over the network
  double ramp = 0.0;        // slow start of messages [s per square root of a byte across]
  double peer_s = 0.0;      // per peer of an all-to-all
  double message_s = 0.0;   // per further message of a ring over the same network link
};

inline constexpr auto k_fabric_numbers =
    std::to_array<Number<FabricLaws>>({{.key = "efficiency",
                                        .member = &FabricLaws::efficiency,
                                        .rule = {.required = true, .maximum = 1.0, .positive = true}},
                                       {.key = "step",
                                        .member = &FabricLaws::step_s,
                                        .dimension = Dimension::seconds,
                                        .rule = {.doc = "software cost of one step", .required = true}},
                                       {.key = "ramp",
                                        .member = &FabricLaws::ramp,
                                        .dimension = Dimension::seconds,
                                        .rule = {.doc = "ns per square root of a byte"},
                                        .per_root_byte = true},
                                       {.key = "peer",
                                        .member = &FabricLaws::peer_s,
                                        .dimension = Dimension::seconds,
                                        .rule = {.doc = "per peer of an all-to-all", .required = true}},
                                       {.key = "message",
                                        .member = &FabricLaws::message_s,
                                        .dimension = Dimension::seconds,
                                        .rule = {.doc = "per further message of a ring over one network link"}}});

struct TransferLaws {
  DomainLaws domain{};
  FabricLaws fabric{};
  TransferForm form = TransferForm::three_protocols;
};

// total_s = latency_s + ramp_s + bandwidth_s. ramp_s: the square-root terms, 0 where there are none.
struct TransferTime {
  double total_s = 0.0;
  double latency_s = 0.0;
  double ramp_s = 0.0;
  double bandwidth_s = 0.0;
  Algorithm algorithm = Algorithm::none;
  Basis basis = Basis::assumed;
};

// x [B]: what one rank puts on the wire for a buffer of `bytes`, S of collective/collective.h, in a flat group of
// n >= 1. collective::bytes_sent says the same of the whole tensor, which for an all-to-all is n S.
double wire_bytes(Collective collective, double bytes, std::int64_t ranks);

// busbw of an all-reduce done in the switch [B/s]; n >= 2.
double in_switch_bus_bandwidth(std::int64_t ranks, double switch_bandwidth);

// The part of a buffer of `bytes` that ranks of one domain exchange among themselves [B]: all of it, except for an
// all-to-all, where it is the share of the peers inside.
double bytes_inside(Collective collective, double bytes, const GroupBinding& group);

// The price, by the model at the top of this file. Monotone in bytes; bytes >= 0.
TransferTime transfer_time(Collective collective, double bytes, const GroupBinding& group, const TransferLinks& links,
                           const TransferLaws& laws);

}  // namespace cairn::cost
