// Transfers on shipped clusters priced by hand: which links a group of ranks passes, and at which share of them.
#include <string_view>
#include <utility>

#include "cairn/config/loader.h"
#include "cairn/config/read.h"
#include "cairn/cost/calibration.h"
#include "cairn/hardware/files.h"
#include "cairn/predict/price/cost_pricer.h"
#include "catch.h"
#include "support/shipped.h"

namespace cairn::predict {
namespace {

constexpr double k_tensor = 100e6;  // bytes

using cairn::testing::shipped;

hardware::Machine machine(std::string_view cluster) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(cluster, config::Syntax::yaml, "test.yaml", diagnostics);
  hardware::Machine result = hardware::read_machine(shipped(), node, {}, diagnostics);
  diagnostics.raise_if_errors();
  return result;
}

class Priced {
 public:
  Priced(std::string_view cluster, std::string_view calibration)
      : machine_(machine(cluster)),
        calibration_(cost::load_calibration(shipped(), calibration)),
        pricer_(calibration_, machine_.accelerator.value, machine_.network, host_) {}

  double microseconds(program::Collective collective, std::int64_t size, std::int64_t stride, double bytes = k_tensor) {
    return 1e6 * pricer_.transfer_time(transfer(collective, size, stride, bytes)).total_s;
  }
  // A message from every rank of a ring to the one `reach` places on.
  static program::Transfer around(std::int64_t size, std::int64_t stride, std::int64_t reach = 1) {
    return {.collective = program::Collective::send,
            .group = {.size = size, .stride = stride},
            .bytes = k_tensor,
            .reach = reach};
  }
  double microseconds_around(std::int64_t size, std::int64_t stride, std::int64_t reach = 1) {
    return 1e6 * pricer_.transfer_time(around(size, stride, reach)).total_s;
  }
  CostPricer& pricer() { return pricer_; }
  static program::Transfer transfer(program::Collective collective, std::int64_t size, std::int64_t stride,
                                    double bytes) {
    return {.collective = collective, .group = {.size = size, .stride = stride}, .bytes = bytes};
  }

 private:
  hardware::Machine machine_;
  cost::Calibration calibration_;
  hardware::HostTimes host_{};
  CostPricer pricer_;
};

using program::Collective;

}  // namespace

TEST_CASE("eight cards under two PCIe switches", "[predict][routes]") {
  // Links of 25 GB/s at 0.8, 1.9 us a step. A switch has one such link to the root complex: 25/4 = 6.25 GB/s a card.
  Priced server("{file: pcie-8x-l20}", "l20-48gb");
  // Four ranks under one switch: 2 x 3/4 x 100 MB / 20 GB/s and 6 steps.
  CHECK(server.microseconds(Collective::all_reduce, 4, 1) == Approx(7500 + 6 * 1.9));
  // All eight: 2 x 7/8 x 100 MB / 20 GB/s in the ring; across, each rank's 2 x 1/2 x 100 MB / 4 = 25 MB at 0.8 x 6.25
  // GB/s take 5 ms beside it.
  CHECK(server.microseconds(Collective::all_reduce, 8, 1) == Approx(8750 + 14 * 1.9));
  // One rank under each switch, four such pairs at once: 2 x 1/2 x 100 MB at 0.8 x 6.25 GB/s, not the 5 ms of the
  // links.
  CHECK(server.microseconds(Collective::all_reduce, 2, 4) == Approx(20000 + 2 * 1.9));
  // All to all of 100 MB a rank: half of it crosses.
  CHECK(server.microseconds(Collective::all_to_all, 8, 1, 8 * k_tensor) == Approx(10000 + 7 * 1.9));
  // A message between stages on different switches, and within one.
  CHECK(server.microseconds(Collective::send, 2, 4) == Approx(20000 + 1.9));
  CHECK(server.microseconds(Collective::send, 2, 1) == Approx(5000 + 1.9));
  // A slower way between the switches, such as the link between two sockets.
  Priced sockets("{file: pcie-8x-l20, intra: {uplink: 12.5 GB/s}}", "l20-48gb");
  CHECK(sockets.microseconds(Collective::all_reduce, 2, 4) == Approx(40000 + 2 * 1.9));
  CHECK(sockets.microseconds(Collective::all_reduce, 4, 1) == Approx(7500 + 6 * 1.9));
  // No price is below its floor.
  for (const std::int64_t stride : {1, 2, 4}) {
    const program::Transfer pair = Priced::transfer(Collective::all_reduce, 2, stride, k_tensor);
    CHECK(server.pricer().transfer_time(pair).total_s >= server.pricer().transfer_floor_s(pair));
  }
}

TEST_CASE("rings over eight cards under two PCIe switches leave a switch once each", "[predict][routes]") {
  // Links of 25 GB/s at 0.8, 1.9 us; a switch has one such link to the root complex. In one ring of eight the rank 3 alone
  // sends out of the first switch, and rank 7 into it: 100 MB at 20 GB/s. In two rings of four, 0 2 4 6 and 1 3 5 7, ranks
  // 2 and 3 do, at 10 GB/s each. Four pairs 0 4, 1 5, 2 6, 3 7 all do, at 5 GB/s; pairs 0 1, 2 3, ... stay inside, and so
  // do rings of the four under a switch and pairs 0 2, 1 3.
  Priced server("{file: pcie-8x-l20}", "l20-48gb");
  CHECK(server.microseconds_around(8, 1) == Approx(5000 + 1.9));
  CHECK(server.microseconds_around(4, 2) == Approx(10000 + 1.9));
  CHECK(server.microseconds_around(2, 4) == Approx(20000 + 1.9));
  CHECK(server.microseconds_around(2, 1) == Approx(5000 + 1.9));
  CHECK(server.microseconds_around(4, 1) == Approx(5000 + 1.9));
  CHECK(server.microseconds_around(2, 2) == Approx(5000 + 1.9));
  // A link between sockets of half the width: 10 GB/s for the one message of a ring of eight, 5 GB/s for each of two.
  Priced sockets("{file: pcie-8x-l20, intra: {uplink: 12.5 GB/s}}", "l20-48gb");
  CHECK(sockets.microseconds_around(8, 1) == Approx(10000 + 1.9));
  CHECK(sockets.microseconds_around(4, 2) == Approx(20000 + 1.9));
  // A message between stages is none of a ring: all cards under a switch send as far.
  CHECK(server.microseconds(Collective::send, 2, 4) == Approx(20000 + 1.9));
  for (const auto& [size, stride] : {std::pair{8, 1}, std::pair{4, 2}, std::pair{2, 4}, std::pair{2, 1}})
    CHECK(server.pricer().transfer_time(Priced::around(size, stride)).total_s >=
          server.pricer().transfer_floor_s(Priced::around(size, stride)));
}

TEST_CASE("rings over nodes whose accelerators share adapters", "[predict][routes]") {
  // Two nodes of eight with two adapters of 50 GB/s, 0.92 of which is reached; 5 us and 8 us of software. Around all 16
  // ranks one message leaves each node, through one adapter: 46 GB/s. Of two rings (stride 2) ranks 6 and 7 leave it,
  // through the same adapter, which is the nearest to ranks 4 to 7: 50/2 GB/s each. Of four rings (stride 4) these
  // four: 50/4. Eight rings of a rank from each node (stride 8): 2 x 50/8, as all messages between stages.
  const std::string cluster =
      "{file: dgx-h100, nodes: 2, inter: {nics_per_node: 2, bandwidth: 50 GB/s, latency: 5 us}}";
  Priced few(cluster, "h100-sxm5-80gb");
  CHECK(few.microseconds_around(16, 1) == Approx(100e6 / 46e3 + 13.0));
  CHECK(few.microseconds_around(8, 2) == Approx(100e6 / (0.92 * 25e3) + 13.0));
  CHECK(few.microseconds_around(4, 4) == Approx(100e6 / (0.92 * 12.5e3) + 13.0));
  CHECK(few.microseconds_around(2, 8) == Approx(100e6 / (0.92 * 12.5e3) + 13.0));
  CHECK(few.microseconds(Collective::send, 2, 8) == Approx(100e6 / (0.92 * 12.5e3) + 13.0));
  for (const auto& [size, stride] : {std::pair{16, 1}, std::pair{4, 4}, std::pair{2, 8}})
    CHECK(few.pricer().transfer_time(Priced::around(size, stride)).total_s >=
          few.pricer().transfer_floor_s(Priced::around(size, stride)));
  // In one ring three places on, ranks 5, 6 and 7 send out; eight places on all do; fifteen places on is one back.
  CHECK(few.microseconds_around(16, 1, 3) == Approx(100e6 / (0.92 * 50e3 / 3) + 13.0));
  CHECK(few.microseconds_around(16, 1, 8) == Approx(100e6 / (0.92 * 12.5e3) + 13.0));
  CHECK(few.microseconds_around(16, 1, 15) == few.microseconds_around(16, 1));
  // An adapter for each accelerator: one message has one, however few leave the node.
  Priced each("{file: dgx-h100, nodes: 2}", "h100-sxm5-80gb");
  for (const auto& [size, stride] : {std::pair{16, 1}, std::pair{4, 4}, std::pair{2, 8}})
    CHECK(each.microseconds_around(size, stride) == Approx(each.microseconds(Collective::send, 2, 8)));
}

TEST_CASE("rings that do not fill nodes are as slow as their slowest hop", "[predict][routes]") {
  // Four nodes of six with one adapter, 0.92 of 50 GB/s, 13 us. Rings of four, 0-3, 4-7, 8-11: of the first node 5
  // sends to 6 alone, of the second 7 to 4. Rings of eight: 7 sends to 0 and 11 to 12 on the second node's adapter.
  Priced six(
      "{file: dgx-h100, nodes: 4, gpus_per_node: 6, inter: {nics_per_node: 1, bandwidth: 50 GB/s, latency: 5 us}}",
      "h100-sxm5-80gb");
  CHECK(six.microseconds_around(4, 1) == Approx(100e6 / 46e3 + 13.0));
  CHECK(six.microseconds_around(8, 1) == Approx(100e6 / 23e3 + 13.0));
  CHECK(six.microseconds_around(3, 1) < 1000.0);  // NVLink
  // Between these machines a message is faster than to a neighbour, or than across the sockets.
  Priced fast("{file: pcie-8x-l20, nodes: 2, inter: {kind: star, bandwidth: 200 GB/s, latency: 2 us}}", "l20-48gb");
  CHECK(fast.microseconds_around(16, 1) == Approx(5000 + 1.9));
  CHECK(fast.microseconds_around(16, 1) > fast.microseconds_around(2, 8));
  Priced sockets(
      "{file: pcie-8x-l20, nodes: 2, intra: {uplink: 12.5 GB/s}, inter: {kind: star, bandwidth: 200 GB/s, latency: 2 "
      "us}}",
      "l20-48gb");
  CHECK(sockets.microseconds_around(16, 1) == Approx(10000 + 1.9));
  for (Priced* machine : {&six, &fast, &sockets})
    for (const auto& [size, stride] : {std::pair{4, 1}, std::pair{8, 1}, std::pair{16, 1}, std::pair{4, 2}})
      for (const std::int64_t reach : {1, 2, 3})
        CHECK(machine->pricer().transfer_time(Priced::around(size, stride, reach)).total_s >=
              machine->pricer().transfer_floor_s(Priced::around(size, stride, reach)));
}

TEST_CASE("a ring takes the networks that join it, and no other", "[predict][routes]") {
  // 16 accelerators of four nodes in a rack at 50 GB/s and 5 us, racks joined at 10 GB/s and 9 us; 0.92 of each, and
  // 8 us of software.
  Priced racks(
      "{name: t, accelerator: h100-sxm5-80gb, gpus_per_node: 4, levels: "
      "[{kind: nvswitch, size: 4, bandwidth: 450 GB/s, latency: 0.6 us}, "
      "{kind: star, size: 4, bandwidth: 50 GB/s, latency: 5 us}, "
      "{kind: star, size: 2, bandwidth: 10 GB/s, latency: 9 us}]}",
      "h100-sxm5-80gb");
  CHECK(racks.microseconds_around(16, 1) == Approx(100e6 / 46e3 + 13.0));
  CHECK(racks.microseconds_around(32, 1) == Approx(100e6 / 9.2e3 + 17.0));
  CHECK(racks.microseconds_around(4, 1) < 1000.0);
}

TEST_CASE("an oversubscribed network slows a ring once more than its share leave a node", "[predict][routes]") {
  // Eight adapters of 50 GB/s a node, half of whose 400 GB/s go up: of four rings (stride 4) four messages have 50
  // each, of eight all eight 25.
  Priced tapered(
      "{name: t, accelerator: h100-sxm5-80gb, gpus_per_node: 8, nodes: 2, "
      "intra: {kind: nvswitch, bandwidth: 450 GB/s, latency: 0.6 us}, "
      "inter: {kind: fat-tree, leaf: 8, oversubscription: 2, bandwidth: 50 GB/s, latency: 5 us}}",
      "h100-sxm5-80gb");
  CHECK(tapered.microseconds_around(16, 1) == Approx(100e6 / 46e3 + 13.0));
  CHECK(tapered.microseconds_around(4, 4) == Approx(100e6 / 46e3 + 13.0));
  CHECK(tapered.microseconds_around(2, 8) == Approx(100e6 / 23e3 + 13.0));
  CHECK(tapered.microseconds(Collective::all_gather, 2, 8) == Approx(50e6 / 23e3 + 13.0));
}

TEST_CASE("a collective is as slow as the group that straddles domains", "[predict][routes]") {
  // Nodes of six: of groups of four, 4-7 have two ranks in each of two nodes, and so have all groups at stride 3.
  Priced six(
      "{file: dgx-h100, nodes: 4, gpus_per_node: 6, inter: {nics_per_node: 6, bandwidth: 50 GB/s, latency: 5 us}}",
      "h100-sxm5-80gb");
  // Groups of eight, 0-7: six and two. Two to a node as well at stride 3.
  for (const Collective each : {Collective::all_gather, Collective::all_reduce, Collective::all_to_all})
    for (const std::int64_t size : {4, 8}) {
      CAPTURE(collective::name(each), size);
      CHECK(six.microseconds(each, size, 1) == Approx(six.microseconds(each, size, 3)));
      const program::Transfer straddling = Priced::transfer(each, size, 1, k_tensor);
      CHECK(six.pricer().transfer_time(straddling).total_s >= six.pricer().transfer_floor_s(straddling));
      CHECK(six.pricer().least_bytes(straddling).across == 0.0);
    }
  CHECK(six.pricer().assumptions().contains("groups of 4 ranks do not fill whole domains of 6: priced with 2 in each"));
  // The first and the last of four stages of two ranks share a node of eight, whose ranks the four fill.
  Priced eight("{file: dgx-h100, nodes: 2}", "h100-sxm5-80gb");
  CHECK(eight.pricer().ranks_per_domain({.axis = program::Axis::data, .size = 2, .stride = 6}) == 1);
  CHECK(eight.pricer().ranks_per_domain({.axis = program::Axis::pipeline, .size = 2, .stride = 6}) == 2);
  // Groups of three fill nodes.
  CHECK(six.microseconds(Collective::all_gather, 3, 1) < six.microseconds(Collective::all_gather, 4, 1));
}

TEST_CASE("one rank in each of two NVLink domains", "[predict][routes]") {
  // InfiniBand: 0.92 of 50 GB/s per accelerator; a step is 5 us of latency and 8 us of software.
  // DGX B200, all-reduce over two nodes: 100 MB / 46 GB/s and two steps.
  Priced nodes("{file: dgx-b200, nodes: 2}", "b200-sxm-180gb");
  CHECK(nodes.microseconds(Collective::all_reduce, 2, 8) == Approx(100e6 / 46e3 + 2 * 13.0));
  // GB200 NVL72, all-gather over two racks of 18 trays: 50 MB / 46 GB/s and one step.
  Priced racks("{file: gb200-nvl72, nodes: 36}", "gb200-186gb");
  CHECK(racks.microseconds(Collective::all_gather, 2, 72) == Approx(50e6 / 46e3 + 13.0));
  // Trays of one rack share its NVLink domain.
  CHECK(racks.pricer().sent(Priced::transfer(Collective::all_gather, 18, 4, k_tensor)).scale_out == 0.0);
  CHECK(racks.pricer().sent(Priced::transfer(Collective::all_gather, 36, 4, k_tensor)).scale_out > 0.0);
}

TEST_CASE("nodes of one accelerator: their network is priced as one between nodes", "[predict][routes]") {
  // Aries: 0.8 of 10 GB/s; a step is 1.5 us of latency and 2 us of software. All-reduce over four nodes: 2 x 3/4 x
  // 100 MB and 2 x 3 steps of a ring (trees send 2 x 100 MB); a message.
  const std::string no_links = "{file: piz-daint, nodes: 4}";
  const std::string of_one = "{file: piz-daint, nodes: 4, intra: {kind: star, bandwidth: 1 GB/s, latency: 9 us}}";
  for (const std::string& cluster : {no_links, of_one}) {
    CAPTURE(cluster);
    Priced nodes(cluster, "p100-pcie-16gb");
    CHECK(nodes.microseconds(Collective::all_reduce, 4, 1) == Approx(150e6 / 8e3 + 6 * 3.5));
    CHECK(nodes.microseconds(Collective::send, 2, 1) == Approx(100e6 / 8e3 + 3.5));
    const program::Transfer gather = Priced::transfer(Collective::all_gather, 4, 1, k_tensor);
    CHECK(nodes.pricer().sent(gather).scale_up == 0.0);
    CHECK(nodes.pricer().sent(gather).scale_out == Approx(75e6));
  }
  // No other link helps an adapter: its 10 GB/s are the floor.
  Priced nodes(no_links, "p100-pcie-16gb");
  CHECK(nodes.pricer().transfer_floor_s(Priced::transfer(Collective::all_gather, 4, 1, k_tensor)) ==
        Approx(75e6 / 10e9));
  // Where NVLink was measured, it is not what joins the nodes: InfiniBand, 0.92 of 50 GB/s tapered to a half.
  Priced tapered(
      "{name: t, accelerator: h100-sxm5-80gb, gpus_per_node: 1, nodes: 2, "
      "inter: {kind: fat-tree, leaf: 1, oversubscription: 2, bandwidth: 50 GB/s, latency: 5 us}}",
      "h100-sxm5-80gb");
  CHECK(tapered.microseconds(Collective::all_gather, 2, 1) == Approx(50e6 / (0.92 * 25e3) + 13.0));
}

TEST_CASE("three networks: bridged pairs, the PCIe tree, the machines", "[predict][routes]") {
  Priced machines(
      "{file: workstation-4x-a100-pcie, nodes: 2, intra: {pairs: {bandwidth: 300 GB/s, latency: 0.6 us}}, "
      "inter: {kind: star, nics_per_node: 1, bandwidth: 100 Gb/s, latency: 5 us}}",
      "a100-pcie-80gb");
  // Between the pairs of one machine: 50 MB at 0.8 x 25 GB/s and 1.9 us.
  CHECK(machines.microseconds(Collective::all_gather, 2, 2) == Approx(2500 + 1.9));
  // Between machines: a quarter of 12.5 GB/s at 0.92 and 13 us.
  CHECK(machines.microseconds(Collective::all_gather, 2, 4) == Approx(50e6 / (0.92 * 3.125e3) + 13.0));
  // With two switches a pair that leaves its switch has a quarter of the link to the root complex.
  Priced bridged("{file: pcie-8x-l20, intra: {pairs: {bandwidth: 300 GB/s, latency: 0.6 us}}}", "l20-48gb");
  CHECK(bridged.microseconds(Collective::all_gather, 2, 2) == Approx(2500 + 1.9));
  CHECK(bridged.microseconds(Collective::all_gather, 2, 4) == Approx(10000 + 1.9));
  // Of groups of three 3-5 lies under both switches, as all groups at stride 2 do.
  Priced servers(
      "{file: pcie-8x-l20, nodes: 3, intra: {pairs: {bandwidth: 300 GB/s, latency: 0.6 us}}, "
      "inter: {kind: star, bandwidth: 200 GB/s, latency: 2 us}}",
      "l20-48gb");
  CHECK(servers.microseconds(Collective::all_gather, 3, 1) ==
        Approx(servers.microseconds(Collective::all_gather, 3, 2)));
}

}  // namespace cairn::predict
