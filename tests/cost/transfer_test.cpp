#include "cairn/cost/transfer.h"

#include <cmath>

#include "catch.h"

namespace cairn::cost {
namespace {

constexpr double k_mebibyte = 1048576.0;

DomainFit fit(Collective collective, std::int64_t ranks, ProtocolLine a, ProtocolLine b, ProtocolLine c,
              double alpha_us, double gamma_ns, double bandwidth_gb) {
  return {.collective = collective,
          .ranks = ranks,
          .protocols = {a, b, c},
          .alpha_s = alpha_us * 1e-6,
          .gamma = gamma_ns * 1e-9,
          .bandwidth = bandwidth_gb * 1e9};
}
ProtocolLine protocol(double us, double gb) { return {.latency_s = us * 1e-6, .bandwidth = gb * 1e9}; }

// Fitted lines of an eight-way node with 450 GB/s links, and its network of one 50 GB/s adapter per rank.
TransferLaws laws() {
  const Collective ar = Collective::all_reduce;
  return {
      .domain = {.link_bandwidth = 450e9,
                 .ring_bandwidth = 365e9,
                 .switch_bandwidth = 306e9,
                 .fits = {fit(ar, 2, protocol(6.2, 9.3), protocol(7.0, 115), protocol(20.8, 294), 6.1, 6.2, 334),
                          fit(ar, 8, protocol(15.5, 16.8), protocol(18.7, 246), protocol(50.1, 396), 15.6, 6.4, 433)},
                 .assumed_efficiency = 0.8},
      .fabric = {.efficiency = 0.84, .step_s = 8e-6, .peer_s = 0.4e-6}};
}
TransferLinks links() {
  return {.intra = {.bandwidth = 450e9, .latency = 0.6e-6}, .inter = {.bandwidth = 50e9, .latency = 5e-6}};
}

}  // namespace

TEST_CASE("worked values of the all-reduce laws, to the printed digits", "[cost][transfer]") {
  TransferLaws measured = laws();
  const GroupBinding node{.size = 8, .ranks_per_domain = 8};
  // x = 7/4 x 64 MiB = 117.44 MB: 50.1 us + x/396 GB/s; 15.6 us + 6.4 ns sqrt(x) + x/433 GB/s.
  const TransferTime full = transfer_time(Collective::all_reduce, 64 * k_mebibyte, node, links(), measured);
  CHECK(std::round(full.total_s * 1e8) / 100 == Approx(346.67).epsilon(1e-12));
  CHECK(full.latency_s == Approx(50.1e-6));
  CHECK(full.basis == Basis::measured);
  measured.form = TransferForm::short_form;
  const TransferTime brief = transfer_time(Collective::all_reduce, 64 * k_mebibyte, node, links(), measured);
  CHECK(std::round(brief.total_s * 1e8) / 100 == Approx(356.18).epsilon(1e-12));
  CHECK(brief.latency_s + brief.ramp_s + brief.bandwidth_s == Approx(brief.total_s).epsilon(1e-14));
}

TEST_CASE("wire bytes and steps", "[cost][transfer]") {
  CHECK(wire_bytes(Collective::all_reduce, 800, 8) == 1400);     // 2 x 7/8
  CHECK(wire_bytes(Collective::all_gather, 800, 8) == 700);      // 7/8
  CHECK(wire_bytes(Collective::reduce_scatter, 800, 4) == 600);  // 3/4
  CHECK(wire_bytes(Collective::all_to_all, 800, 2) == 400);      // 1/2
  CHECK(wire_bytes(Collective::broadcast, 800, 8) == 800);
  CHECK(wire_bytes(Collective::send, 800, 2) == 800);
}

TEST_CASE("other rank counts interpolate parameters, not times", "[cost][transfer]") {
  // n = 4: steps 6 between 2 and 14: a3 = 20.8 + 4/12 x 29.3 = 30.5667 us; 1/n = 1/4 between 1/2 and 1/8:
  // 1/B3 = 1/294 + 2/3 (1/396 - 1/294), B3 = 355.08 GB/s. x = 1.5 GiB.
  const TransferTime time =
      transfer_time(Collective::all_reduce, 1024 * k_mebibyte, {.size = 4, .ranks_per_domain = 8}, links(), laws());
  const double bandwidth = 1e9 / (1.0 / 294 + 2.0 / 3.0 * (1.0 / 396 - 1.0 / 294));
  CHECK(time.latency_s == Approx((20.8 + 29.3 / 3.0) * 1e-6).epsilon(1e-12));
  CHECK(time.bandwidth_s == Approx(1.5 * 1024 * k_mebibyte / bandwidth).epsilon(1e-12));
  CHECK(time.basis == Basis::interpolated);
}

TEST_CASE("more ranks than measured: latencies go on, the switch sets the rate", "[cost][transfer]") {
  // n = 32: 62 steps: a3 = 20.8 + 60/12 x 29.3 = 167.3 us. busbw of the switch 2 x 31/33 x 306 against 2 x 7/9 x 306:
  // rate 396 x (31/33)/(7/9) = 478.3 GB/s.
  const TransferTime time =
      transfer_time(Collective::all_reduce, 4096 * k_mebibyte, {.size = 32, .ranks_per_domain = 72}, links(), laws());
  CHECK(time.latency_s == Approx(167.3e-6).epsilon(1e-12));
  const double wire = 2.0 * 31.0 / 32.0 * 4096 * k_mebibyte;
  CHECK(time.bandwidth_s == Approx(wire / (396e9 * (31.0 / 33.0) / (7.0 / 9.0))).epsilon(1e-12));
  CHECK(time.basis == Basis::extrapolated);
  CHECK(time.algorithm == Algorithm::in_switch);
}

TEST_CASE("in-switch reduction overtakes the ring at five ranks", "[cost][transfer]") {
  // 2 (n-1)/(n+1) 306: n = 4: 367 against 365 is a tie in practice; n = 3: 306 < 365.
  CHECK(in_switch_bus_bandwidth(4, 306e9) == Approx(367.2e9));
  const auto algorithm = [](std::int64_t n) {
    return transfer_time(Collective::all_reduce, k_mebibyte, {.size = n, .ranks_per_domain = 8}, links(), laws())
        .algorithm;
  };
  CHECK(algorithm(3) == Algorithm::ring);
  CHECK(algorithm(5) == Algorithm::in_switch);
}

TEST_CASE("slower links of the same kind scale the measured rates", "[cost][transfer]") {
  TransferLinks half = links();
  half.intra.bandwidth = 225e9;
  const GroupBinding node{.size = 8, .ranks_per_domain = 8};
  const TransferTime time = transfer_time(Collective::all_reduce, 1024 * k_mebibyte, node, half, laws());
  CHECK(time.bandwidth_s == Approx(1.75 * 1024 * k_mebibyte / 198e9).epsilon(1e-12));
  CHECK(time.basis == Basis::extrapolated);
}

TEST_CASE("without measurements a ring over the stated links", "[cost][transfer]") {
  // Four ranks, 25 GB/s, 2 us, 80 %: 6 steps x 2 us + 1.5 x 100 MB/20 GB/s = 12 us + 7.5 ms.
  TransferLaws assumed{.domain = {.assumed_efficiency = 0.8}};
  TransferLinks pcie;
  pcie.intra = {.bandwidth = 25e9, .latency = 2e-6};
  const TransferTime time =
      transfer_time(Collective::all_reduce, 100e6, {.size = 4, .ranks_per_domain = 4}, pcie, assumed);
  CHECK(time.total_s == Approx(12e-6 + 7.5e-3).epsilon(1e-12));
  CHECK(time.algorithm == Algorithm::ring);
  CHECK(time.basis == Basis::assumed);
  // A message: one step.
  CHECK(transfer_time(Collective::send, 20e6, {.size = 2, .ranks_per_domain = 4}, pcie, assumed).total_s ==
        Approx(2e-6 + 1e-3).epsilon(1e-12));
}

TEST_CASE("one accelerator per node: everything crosses the network", "[cost][transfer]") {
  // 16 nodes, 10 GB/s, 1 us one-way, no software cost, 80 %: an all-reduce of 80 MB is a ring, 2 x 15 steps, 2 x 15/16
  // of it at 8 GB/s; by trees it would be 8 steps and twice the whole, 20 ms. One of 1 MB takes the trees: 30 us more
  // steps cost more than the sixteenth of 2 MB, 15.6 us.
  TransferLaws assumed{.domain = {.assumed_efficiency = 0.8}, .fabric = {.efficiency = 0.8}};
  TransferLinks network;
  network.inter = {.bandwidth = 10e9, .latency = 1e-6};
  const GroupBinding group{.size = 16, .ranks_per_domain = 1};
  CHECK(transfer_time(Collective::all_reduce, 80e6, group, network, assumed).total_s ==
        Approx(30e-6 + 18.75e-3).epsilon(1e-12));
  CHECK(transfer_time(Collective::all_reduce, 1e6, group, network, assumed).total_s ==
        Approx(8e-6 + 0.25e-3).epsilon(1e-12));
  CHECK(transfer_time(Collective::all_gather, 80e6, group, network, assumed).total_s ==
        Approx(15e-6 + 9.375e-3).epsilon(1e-12));
  CHECK(transfer_time(Collective::broadcast, 80e6, group, network, assumed).total_s ==
        Approx(4e-6 + 10e-3).epsilon(1e-12));
  CHECK(transfer_time(Collective::all_to_all, 80e6, group, network, assumed).total_s ==
        Approx(1e-6 + 9.375e-3).epsilon(1e-12));
}

TEST_CASE("a group over two nodes is ruled by the slower of links and network", "[cost][transfer]") {
  // 16 ranks, 2 nodes of 8, 50 GB/s per rank: of two trees each rank sends S/8 at 0.84 x 50 GB/s. With a node total of 400
  // GB/s, busbw = 1.875/(1/(0.84 x 400)) = 630 GB/s is above what the node does inside: the inside rules.
  const double s = 4096 * k_mebibyte;
  const GroupBinding group{.size = 16, .ranks_per_domain = 8};
  const TransferTime fast = transfer_time(Collective::all_reduce, s, group, links(), laws());
  const TransferTime inside = transfer_time(Collective::all_reduce, s, {8, 8}, links(), laws());
  CHECK(fast.bandwidth_s == Approx(inside.total_s - 15.5e-6).epsilon(1e-12));
  CHECK(fast.latency_s == Approx(15.5e-6 + 2 * 13e-6).epsilon(1e-12));
  CHECK(fast.algorithm == Algorithm::tree);
  // With 50 GB/s per node the network rules: busbw = 1.875 x 0.84 x 50 = 78.75 GB/s; 78.3 was measured at 2 GiB.
  TransferLinks slow = links();
  slow.inter.bandwidth = 50e9 / 8;
  const TransferTime network = transfer_time(Collective::all_reduce, s, group, slow, laws());
  CHECK(wire_bytes(Collective::all_reduce, s, 16) / network.bandwidth_s == Approx(78.75e9).epsilon(1e-12));
}

// 384 MiB over 16 A100 in two nodes, four adapters of 25 GB/s to each: a rank has W = 12.5 GB/s. The ring sends
// 1.875 x 48 MiB = 94.37 MB per rank at 0.92 W, 8.206 ms; the trees 48 MiB at no more than half a channel, 23.6/2/2 = 5.9 GB/s,
// 8.531 ms. With adapters of 12.5 GB/s, one to a rank, it has a channel to itself: 23.6/2 = 11.8 GB/s is
// above 0.92 W, 4.377 ms.
TEST_CASE("two nodes: channels of a tree that are narrower than the adapters leave it to the ring",
          "[cost][transfer]") {
  TransferLaws channels{.domain = {.assumed_efficiency = 0.8, .tree_channel = {.two = 23.6e9, .more = 17.8e9}},
                        .fabric = {.efficiency = 0.92}};
  TransferLinks two{.intra = {.bandwidth = 300e9}, .inter = {.bandwidth = 12.5e9}, .adapters = 0.5};
  const double s = 384 * k_mebibyte;
  const GroupBinding nodes{.size = 16, .ranks_per_domain = 8};
  const TransferTime wide = transfer_time(Collective::all_reduce, s, nodes, two, channels);
  CHECK(wide.algorithm == Algorithm::ring);
  CHECK(wide.total_s == Approx(1.875 * s / 8 / (0.92 * 12.5e9)).epsilon(1e-12));
  CHECK(std::round(wide.total_s * 1e6) == 8206);
  two.adapters = 1.0;
  const TransferTime narrow = transfer_time(Collective::all_reduce, s, nodes, two, channels);
  CHECK(narrow.algorithm == Algorithm::tree);
  CHECK(std::round(narrow.total_s * 1e6) == 4377);
  // Four nodes: a tree sends 2 x 48 MiB, at no more than 17.8/2 GB/s; the ring 2 x 31/32.
  two.adapters = 0.5;
  const TransferTime four =
      transfer_time(Collective::all_reduce, s, {.size = 32, .ranks_per_domain = 8}, two, channels);
  CHECK(four.total_s == Approx(2.0 * 31 / 32 * s / 8 / (0.92 * 12.5e9)).epsilon(1e-12));
  // Gathers and scattering reductions are rings whatever a tree could do.
  for (const Collective ring : {Collective::all_gather, Collective::reduce_scatter})
    CHECK(transfer_time(ring, s, nodes, two, channels).total_s ==
          Approx(15.0 / 16 * s / 8 / (0.92 * 12.5e9)).epsilon(1e-12));
}

// One adapter of 50 GB/s to a rank. Two nodes: 1.875 S/8 in two directions at once, at no more than 57.7/2 =
// 28.85 GB/s, so busbw = 8 x 57.7 = 461.6 GB/s; the ring has 8 x 42 = 336, a tree S/8 at 41.4/2 GB/s, busbw 310.5.
TEST_CASE("two nodes whose switches reduce: a tree over the switches", "[cost][transfer]") {
  TransferLaws switched{.domain = {.switch_bandwidth = 306e9,
                                   .assumed_efficiency = 1.0,
                                   .tree_channel = {.two = 41.4e9, .more = 36e9},
                                   .switch_tree_channel = {.two = 57.7e9, .more = 45.5e9}},
                        .fabric = {.efficiency = 0.84}};
  TransferLinks node{.intra = {.bandwidth = 900e9}, .inter = {.bandwidth = 50e9}, .adapters = 1.0};
  const TransferTime time =
      transfer_time(Collective::all_reduce, 1e9, {.size = 16, .ranks_per_domain = 8}, node, switched);
  CHECK(time.algorithm == Algorithm::switch_tree);
  CHECK(1.875e9 / time.total_s == Approx(461.6e9).epsilon(1e-12));
  // Over more nodes its channels are below the adapters, 45.5 of 50, but above what the fabric lets through.
  const TransferTime eight =
      transfer_time(Collective::all_reduce, 1e9, {.size = 64, .ranks_per_domain = 8}, node, switched);
  CHECK(2.0 * 63 / 64 * 1e9 / eight.total_s == Approx(336e9).epsilon(1e-12));
}

TEST_CASE("an all-to-all over nodes keeps the inside share inside", "[cost][transfer]") {
  // 16 ranks on 2 nodes: half of each rank's 160 MB buffer goes out at 42 GB/s: 1.905 ms; inside, 8 ranks exchange 80
  // MB: 7/8 x 80 MB/(0.8 x 450 GB/s) = 0.194 ms and 7 x 0.6 us; outside latency 5 + 8 us and 8 peers x 0.4 us.
  TransferLaws assumed = laws();
  assumed.domain.fits.clear();
  const TransferTime time =
      transfer_time(Collective::all_to_all, 160e6, {.size = 16, .ranks_per_domain = 8}, links(), assumed);
  CHECK(time.bandwidth_s == Approx(80e6 / 42e9).epsilon(1e-12));
  CHECK(time.latency_s == Approx(7 * 0.6e-6 + 13e-6 + 8 * 0.4e-6).epsilon(1e-12));
}

TEST_CASE("a fabric may start slowly", "[cost][transfer]") {
  // 2 domains of 1, all-gather of 200 MB: 100 MB across, ramp 1 us per sqrt(B): 1 us x 10,000 = 10 ms; 100 MB/(0.5 x 50
  // GB/s) = 4 ms.
  TransferLaws slow{.domain = {.assumed_efficiency = 0.8}, .fabric = {.efficiency = 0.5, .ramp = 1e-6}};
  const TransferTime time = transfer_time(Collective::all_gather, 200e6, {2, 1}, links(), slow);
  CHECK(time.ramp_s == Approx(10e-3).epsilon(1e-12));
  CHECK(time.total_s == Approx(14e-3 + 5e-6).epsilon(1e-12));
}

// 16 ranks, 8 in each of two domains: 15 messages over every link between them, one of which is the hierarchical step
// of latency 5 us + 8 us; the other 14 take 40 us each = 560 us. 32 ranks in four domains: 31 - 3 = 28 of them = 1120
// us.
TEST_CASE("a ring over several domains launches a message for each of its steps", "[cost][transfer]") {
  TransferLaws launching = laws();
  launching.fabric.message_s = 40e-6;
  const auto more = [&](Collective collective, const GroupBinding& group) {
    return transfer_time(collective, k_mebibyte, group, links(), launching).total_s -
           transfer_time(collective, k_mebibyte, group, links(), laws()).total_s;
  };
  const GroupBinding two{.size = 16, .ranks_per_domain = 8};
  const GroupBinding four{.size = 32, .ranks_per_domain = 8};
  for (const Collective ring : {Collective::all_gather, Collective::reduce_scatter}) {
    CHECK(more(ring, two) == Approx(560e-6));
    CHECK(more(ring, four) == Approx(1120e-6));
    // One rank in each: every message is a step, and none inside a domain crosses.
    CHECK(more(ring, {.size = 4, .ranks_per_domain = 1}) == 0.0);
    CHECK(more(ring, {.size = 8, .ranks_per_domain = 8}) == 0.0);
  }
  CHECK(more(Collective::all_reduce, two) == 0.0);  // trees
  CHECK(more(Collective::all_to_all, two) == 0.0);
}

TEST_CASE("transfers are monotone and never beat the links", "[cost][transfer]") {
  TransferLaws brief = laws();
  brief.form = TransferForm::short_form;
  TransferLaws assumed = laws();
  assumed.domain.fits.clear();
  const TransferLaws all_laws[] = {laws(), brief, assumed};
  const Collective all[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                            Collective::all_to_all, Collective::broadcast,  Collective::send};
  for (const TransferLaws& law : all_laws) {
    for (const Collective collective : all) {
      for (const GroupBinding group : {GroupBinding{2, 8}, {6, 8}, {8, 8}, {24, 8}, {64, 1}, {40, 72}}) {
        double before = 0.0;
        for (double bytes = 1.0; bytes < 1e11; bytes *= 3.0) {
          const TransferTime time = transfer_time(collective, bytes, group, links(), law);
          CAPTURE(name(collective), group.size, group.ranks_per_domain, bytes);
          CHECK(time.total_s >= before);
          CHECK(time.latency_s + time.ramp_s + time.bandwidth_s == Approx(time.total_s).epsilon(1e-12));
          before = time.total_s;
          // Least traffic of any algorithm: a reduced or gathered tensor enters or leaves every rank almost once.
          const double share = collective == Collective::broadcast || collective == Collective::send
                                   ? 1.0
                                   : 1.0 - 1.0 / static_cast<double>(group.size);
          CHECK(time.total_s >= share * bytes / 450e9);
        }
      }
    }
  }
}

TEST_CASE("a group of one costs nothing", "[cost][transfer]") {
  const TransferTime time = transfer_time(Collective::all_reduce, 1e9, {1, 1}, links(), laws());
  CHECK(time.total_s == 0.0);
  CHECK(time.algorithm == Algorithm::none);
}

TEST_CASE("protocols blend around their crossing, and the last one ramps up", "[cost][transfer]") {
  // x = 1 MB of wire bytes. Two protocols of 20 us, the third far away: 20 x 2^(-1/10) = 18.6607 us, from half latency
  // and half bytes (10 + 10), or three quarters and one (15 + 5) for the equal second.
  const GroupBinding pair{.size = 2, .ranks_per_domain = 2};
  TransferLaws law{.domain = {.link_bandwidth = 1e12,
                              .fits = {fit(Collective::all_gather, 2, protocol(10, 100), protocol(15, 200),
                                           protocol(1e6, 300), 1, 1, 1)},
                              .crossover_exponent = 10.0}};
  const TransferLinks fast{.intra = {.bandwidth = 1e12}};
  const TransferTime blended = transfer_time(Collective::all_gather, 2e6, pair, fast, law);
  CHECK(blended.total_s * 1e6 == Approx(18.6607).epsilon(1e-5));
  CHECK(blended.latency_s + blended.bandwidth_s == Approx(blended.total_s));
  CHECK(blended.latency_s * 1e6 == Approx(9.33033).epsilon(1e-5));
  law.domain.crossover_exponent = 0.0;
  CHECK(transfer_time(Collective::all_gather, 2e6, pair, fast, law).total_s * 1e6 == Approx(20.0));

  // 10 us + 5 ns sqrt(1e6) + 1e6 B at 100 GB/s = 10 + 5 + 10.
  law.domain.fits = {fit(Collective::all_gather, 2, protocol(1e6, 1), protocol(1e6, 1), protocol(10, 100), 1, 1, 1)};
  law.domain.fits[0].ramp = 5e-9;
  const TransferTime ramped = transfer_time(Collective::all_gather, 2e6, pair, fast, law);
  CHECK(ramped.total_s * 1e6 == Approx(25.0));
  CHECK(ramped.ramp_s * 1e6 == Approx(5.0));
}

TEST_CASE("the protocol that is fastest behind the link to the root complex", "[cost][transfer]") {
  // Four of eight ranks under each of two switches, 10 GB/s of the link to the root complex for each of them.
  const GroupBinding tree{.size = 8, .ranks_per_domain = 8, .ranks_per_switch = 4};
  TransferLinks behind = links();
  behind.uplink = 10e9;
  // 64 MiB: each rank's 2 x 1/2 x 64 MiB / 4 across at 8 GB/s are 2097.152 us, whatever the protocol; 117.44 MB take
  // the first 6990 us, the second 18.7 + 477 and the third 50.1 + 297 us. Behind the link the second is the fastest.
  const TransferTime time = transfer_time(Collective::all_reduce, 64 * k_mebibyte, tree, behind, laws());
  CHECK(time.total_s == Approx(18.7e-6 + 2097.152e-6));
  CHECK(time.basis == Basis::assumed);
  // Wide enough, the link is not waited for.
  TransferLinks wide = links();
  wide.uplink = 200e9;
  const TransferTime measured = transfer_time(Collective::all_reduce, 64 * k_mebibyte, tree, wide, laws());
  CHECK(measured.total_s ==
        transfer_time(Collective::all_reduce, 64 * k_mebibyte, {.size = 8, .ranks_per_domain = 8}, links(), laws())
            .total_s);
  CHECK(measured.basis == Basis::measured);
  // More bandwidth of either link is never slower; blended protocols are no faster than what crosses.
  TransferLaws blended = laws();
  blended.domain.crossover_exponent = 1.0;
  for (const TransferLaws& each : {laws(), blended})
    for (double bytes = 1024.0; bytes < 1e10; bytes *= 1.5)
      for (const double uplink : {1e9, 8e9, 50e9}) {
        TransferLinks plain = links(), faster = links(), closer = links();
        plain.uplink = faster.uplink = uplink;
        faster.intra.bandwidth *= 2.0;
        closer.uplink = 2.0 * uplink;
        const double total_s = transfer_time(Collective::all_reduce, bytes, tree, plain, each).total_s;
        CHECK(transfer_time(Collective::all_reduce, bytes, tree, faster, each).total_s <= total_s);
        CHECK(transfer_time(Collective::all_reduce, bytes, tree, closer, each).total_s <= total_s);
        CHECK(total_s >= bytes / 4.0 / (0.8 * uplink));
      }
}

TEST_CASE("of a measured latency the links' own share follows their latency", "[cost][transfer]") {
  TransferLaws measured = laws();
  measured.domain.link_latency_s = 0.6e-6;
  const GroupBinding node{.size = 8, .ranks_per_domain = 8};
  const auto empty_message_us = [&](Collective collective, const GroupBinding& group, double latency_us) {
    TransferLinks other = links();
    other.intra.latency = latency_us * 1e-6;
    return transfer_time(collective, 0.0, group, other, measured).total_s * 1e6;
  };
  // The fastest of three protocols at a hard minimum. 14 steps of 0.6 us are 8.4 of the 15.5 us that 8 ranks take.
  CHECK(empty_message_us(Collective::all_reduce, node, 0.6) == Approx(15.5));
  CHECK(empty_message_us(Collective::all_reduce, node, 0.3) == Approx(15.5 - 4.2));
  CHECK(empty_message_us(Collective::all_reduce, node, 0.0) == Approx(15.5 - 8.4));
  CHECK(empty_message_us(Collective::all_reduce, node, 6.0) == Approx(15.5 + 14 * 5.4));
  // Two ranks: 2 steps.
  CHECK(empty_message_us(Collective::all_reduce, {.size = 2, .ranks_per_domain = 2}, 1.6) == Approx(6.2 + 2 * 1.0));
}

}  // namespace cairn::cost
