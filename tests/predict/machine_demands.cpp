// What work takes of a real machine's units, by hand.
#include "cairn/predict/price/machine_demands.h"

#include <algorithm>
#include <memory>

#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"
#include "cairn/hardware/files.h"
#include "catch.h"
#include "support/shipped.h"

namespace cairn::predict {
namespace {

constexpr core::Picoseconds k_millisecond = 1'000'000'000;

using cairn::testing::shipped;

class SharedMachine {
 public:
  explicit SharedMachine(const std::string& cluster, SharingRules rules = {.contention = true, .interference = true})
      : calibration_(cost::load_calibration(shipped(), "h100-sxm5-80gb")) {
    core::Diagnostics diagnostics;
    const config::Node node = config::parse_text(cluster, config::Syntax::yaml, "test.yaml", diagnostics);
    machine_ = hardware::read_machine(shipped(), node, {}, diagnostics);
    diagnostics.raise_if_errors();
    pricer_ = std::make_unique<CostPricer>(calibration_, machine_.accelerator.value, machine_.network, host_,
                                           machine_.cluster.value.host);
    demands_ = std::make_unique<MachineDemands>(*pricer_, calibration_.communication, machine_.accelerator.value,
                                                machine_.network, machine_.cluster.value.host, rules);
  }

  const SharedUnit* unit(const std::string& name) const {
    const auto& all = demands_->units();
    const auto found = std::find_if(all.begin(), all.end(), [&](const SharedUnit& u) { return u.name == name; });
    return found == all.end() ? nullptr : &*found;
  }
  // 0 where the unit is not taken.
  double share(const std::string& name, const program::Work& work, bool at_receiver = false) {
    for (const UnitDemand& demand : demands_->of(work, k_millisecond))
      if (demands_->units()[demand.unit].name == name && demand.at_receiver == at_receiver) return demand.amount;
    return 0.0;
  }

 private:
  hardware::Machine machine_;
  cost::Calibration calibration_;
  hardware::HostTimes host_{};
  std::unique_ptr<CostPricer> pricer_;
  std::unique_ptr<MachineDemands> demands_;
};

program::Transfer over(program::Collective collective, std::int64_t ranks, std::int64_t stride, double bytes) {
  return {.collective = collective,
          .group = {.axis = program::Axis::data, .size = ranks, .stride = stride},
          .bytes = bytes};
}

}  // namespace

TEST_CASE("Shares of links: bytes over price and stated bandwidth", "[predict][sharing]") {
  SharedMachine dgx("{file: dgx-h100, nodes: 16}");
  // Inside: 7/8 of 400 MB in 1 ms are 350 GB/s of 450, both ways, and no adapter.
  const program::Transfer inside = over(program::Collective::all_gather, 8, 1, 400e6);
  CHECK(dgx.share("intra out", inside) == Approx(350.0 / 450));
  CHECK(dgx.share("intra in", inside) == Approx(350.0 / 450));
  CHECK(dgx.share("inter out", inside) == 0.0);
  // One rank in each of 16 nodes: 2 x 15/16 of 16 MB are 30 GB/s of its own adapter's 50.
  const program::Transfer across = over(program::Collective::all_reduce, 16, 8, 16e6);
  REQUIRE(dgx.unit("inter out") != nullptr);
  CHECK(dgx.unit("inter out")->ranks == 1);
  CHECK(dgx.unit("inter out")->capacity == Approx(50e9));
  CHECK(dgx.share("inter out", across) == Approx(0.6));
  CHECK(dgx.share("intra out", across) == 0.0);
  // Over whole nodes: of 128 ranks 8 in each, the adapters carry an eighth: 2 x 15/16 x 80 MB / 8 = 18.75 MB; the ports
  // inside the rest of 2 x 127/128 x 80 MB.
  const program::Transfer both = over(program::Collective::all_reduce, 128, 1, 80e6);
  CHECK(dgx.share("inter in", both) == Approx(18.75 / 50));
  CHECK(dgx.share("intra in", both) == Approx((2.0 * 127 / 128 * 80 - 18.75) / 450));
  // A price that beat the link would still take no more than all of it.
  CHECK(dgx.share("intra out", over(program::Collective::all_gather, 8, 1, 4e9)) == 1.0);
}

TEST_CASE("Four adapters for eight ranks: one for every two", "[predict][sharing]") {
  SharedMachine four("{file: dgx-h100, nodes: 2, inter: {nics_per_node: 4}}");
  REQUIRE(four.unit("inter out") != nullptr);
  CHECK(four.unit("inter out")->ranks == 2);
  CHECK(four.unit("inter out")->capacity == Approx(50e9));
  // 2 x 1/2 of 20 MB are 20 of 50 GB/s; a rank never counts on more than its half.
  CHECK(four.share("inter out", over(program::Collective::all_reduce, 2, 8, 20e6)) == Approx(0.4));
  CHECK(four.share("inter out", over(program::Collective::all_reduce, 2, 8, 40e6)) == Approx(0.5));
  // Three for eight have no even split: all ranks share all three. Tapered to a half, so do the adapters.
  SharedMachine three("{file: dgx-h100, nodes: 2, inter: {nics_per_node: 3, oversubscription: 2}}");
  CHECK(three.unit("inter out")->ranks == 8);
  CHECK(three.unit("inter out")->capacity == Approx(3 * 50e9 / 2));
}

TEST_CASE("Nodes of one accelerator share nothing but their adapters", "[predict][sharing]") {
  SharedMachine nodes(
      "{name: t, accelerator: h100-sxm5-80gb, gpus_per_node: 1, nodes: 4, "
      "inter: {kind: fat-tree, leaf: 2, oversubscription: 2, bandwidth: 50 GB/s, latency: 5 us}}");
  REQUIRE(nodes.unit("inter out") != nullptr);
  CHECK(nodes.unit("inter out")->ranks == 1);
  CHECK(nodes.unit("inter out")->capacity == Approx(25e9));
  // 2 x 3/4 of 10 MB in 1 ms are 15 GB/s; nothing is added in a switch on the way.
  CHECK(nodes.share("inter out", over(program::Collective::all_reduce, 4, 1, 10e6)) == Approx(0.6));
}

TEST_CASE("A message leaves at one end and arrives at the other", "[predict][sharing]") {
  SharedMachine dgx("{file: dgx-h100, nodes: 2}");
  // 25 MB in 1 ms: half an adapter. Memory: read here, written there, 25 GB/s of 3.35 TB/s. 2 of 132 multiprocessors.
  const program::Transfer message = over(program::Collective::send, 2, 8, 25e6);
  CHECK(dgx.share("inter out", message) == Approx(0.5));
  CHECK(dgx.share("inter out", message, true) == 0.0);
  CHECK(dgx.share("inter in", message, true) == Approx(0.5));
  CHECK(dgx.share("inter in", message) == 0.0);
  for (const bool at_receiver : {false, true}) {
    CHECK(dgx.share("memory bandwidth", message, at_receiver) ==
          Approx(25.0 / dgx.unit("memory bandwidth")->capacity * 1e9));
    CHECK(dgx.share("multiprocessors", message, at_receiver) == Approx(2.0 / 132));
  }
  // A collective holds 16 and passes what it sends twice through memory.
  const program::Transfer inside = over(program::Collective::all_gather, 8, 1, 400e6);
  CHECK(dgx.share("multiprocessors", inside) == Approx(16.0 / 132));
  CHECK(dgx.share("memory bandwidth", inside) == Approx(2 * 350e9 / dgx.unit("memory bandwidth")->capacity));
}

TEST_CASE("Copies take the host link, and memory on both sides", "[predict][sharing]") {
  SharedMachine dgx("{file: dgx-h100, nodes: 2}");
  const SharedUnit* link = dgx.unit("host link out");
  REQUIRE(link != nullptr);
  REQUIRE(link->ranks == 1);
  // 11 MB in 1 ms.
  const program::Copy away{.lane = program::Lane::to_host, .bytes = 11e6};
  CHECK(dgx.share("host link out", away) == Approx(11e9 / link->capacity));
  CHECK(dgx.share("host link in", away) == 0.0);
  CHECK(dgx.share("memory bandwidth", away) == Approx(11e9 / dgx.unit("memory bandwidth")->capacity));
  CHECK(dgx.share("host memory", away) == Approx(11e9 / dgx.unit("host memory")->capacity));
  CHECK(dgx.share("multiprocessors", away) == 0.0);
}

TEST_CASE("Cards under two PCIe switches share what leads out of their switch", "[predict][sharing]") {
  // Four cards of 25 GB/s under each switch, whose link to the root complex is like a card's. Gathering 16 MB in 1 ms:
  // 14 GB/s through a card's port; of the other switch's half a card brings in a quarter, 2 GB/s of the 25.
  SharedMachine cards("{file: pcie-8x-l20}");
  REQUIRE(cards.unit("intra switch in") != nullptr);
  CHECK(cards.unit("intra switch in")->ranks == 4);
  const program::Transfer all = over(program::Collective::all_gather, 8, 1, 16e6);
  CHECK(cards.share("intra in", all) == Approx(14.0 / 25));
  CHECK(cards.share("intra switch in", all) == Approx(2.0 / 25));
  // Around a ring of all eight one card of four sends out of its switch: 8 MB in 1 ms are 8 GB/s of the 25, a quarter of
  // it for each. Of two rings two do.
  const auto around = [](std::int64_t size, std::int64_t stride) {
    return program::Transfer{
        .collective = program::Collective::send, .group = {.size = size, .stride = stride}, .bytes = 8e6, .reach = 1};
  };
  CHECK(cards.share("intra switch out", around(8, 1)) == Approx(8.0 / 25 / 4));
  CHECK(cards.share("intra switch out", around(4, 2)) == Approx(8.0 / 25 / 2));
  CHECK(cards.share("intra switch out", around(4, 1)) == 0.0);
  // Of two adapters ranks 4 to 7 have the second: of two rings 6 and 7 send over it, 8 GB/s each of 50, of four all.
  SharedMachine few("{file: dgx-h100, nodes: 2, inter: {nics_per_node: 2, bandwidth: 50 GB/s, latency: 5 us}}");
  CHECK(few.share("inter out", around(8, 2)) == Approx(2 * 8.0 / 50 / 4));
  CHECK(few.share("inter out", around(4, 4)) == Approx(8.0 / 50));
  // Who sends receives as well, from the rank before: in that direction as much, and nothing at another's side.
  CHECK(few.share("inter in", around(8, 2)) == Approx(2 * 8.0 / 50 / 4));
  CHECK(few.share("inter in", around(8, 2), true) == 0.0);
  CHECK(few.share("multiprocessors", around(8, 2)) == Approx(2 * 2.0 / 132));
  CHECK(few.share("multiprocessors", around(8, 2), true) == 0.0);
  CHECK(few.share("memory bandwidth", around(8, 2)) == Approx(2 * 8e9 / few.unit("memory bandwidth")->capacity));
  CHECK(few.share("memory bandwidth", around(8, 2), true) == 0.0);
  // Most go inside the nodes, at 8 of 450 GB/s; of eight rings of a rank in each node none does.
  CHECK(few.share("intra out", around(8, 2)) == Approx(8.0 / 450));
  CHECK(few.share("intra in", around(8, 2)) == Approx(8.0 / 450));
  CHECK(few.share("intra out", around(2, 8)) == 0.0);
  // Under one switch nothing leaves it.
  CHECK(cards.share("intra switch in", over(program::Collective::all_gather, 4, 1, 16e6)) == 0.0);
  // Copies to the host share its link among the four: 5 GB/s of 25.
  CHECK(cards.unit("host link out")->ranks == 4);
  CHECK(cards.share("host link out", program::Copy{.lane = program::Lane::to_host, .bytes = 5e6}) == Approx(0.2));
}

TEST_CASE("Each kind of sharing alone", "[predict][sharing]") {
  const program::Transfer inside = over(program::Collective::all_gather, 8, 1, 400e6);
  SharedMachine links("{file: dgx-h100, nodes: 2}", {.contention = true, .interference = false});
  CHECK(links.unit("memory bandwidth") == nullptr);
  CHECK(links.share("intra out", inside) > 0.0);
  SharedMachine device("{file: dgx-h100, nodes: 2}", {.contention = false, .interference = true});
  CHECK(device.unit("intra out") == nullptr);
  CHECK(device.share("memory bandwidth", inside) > 0.0);
}

}  // namespace cairn::predict
