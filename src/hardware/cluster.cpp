#include "cairn/hardware/cluster.h"

namespace cairn::hardware {

void describe(config::Fields& fields, LevelSpec& level) {
  const config::CountRule positive{.minimum = 1, .maximum = std::int64_t{1} << 30};
  const auto count = [&](std::string_view key, std::optional<std::int64_t>& x, std::string_view doc) {
    config::CountRule rule = positive;
    rule.doc = doc;
    fields.count(key, x, rule);
  };
  fields.text("name", level.name, {.doc = "label of a level of the general form"});
  fields.kind("kind", level.shape, {.doc = "shape of the network", .required = true});
  count("size", level.size, "units of the level below that one domain joins");
  fields.quantity(
      "bandwidth", level.bandwidth,
      {.doc = "per direction, of one accelerator (innermost level) or one NIC", .required = true, .positive = true});
  fields.quantity(
      "latency", level.latency,
      {.doc =
           "one way, endpoint to endpoint, of a zero-byte send; usual: 0.6 us over NVLink, 1.9 us over PCIe, 5 us over "
           "InfiniBand or RoCE (hardware latencies of NCCL's tuning model, 2024), 15 us over EFA (as reported 2022 to "
           "2024)"});
  fields.quantity("hop_latency", level.hop_latency, {.doc = "per link, summed over the route; in place of latency"});
  fields.check(
      "latency", [&] { return level.latency.has_value() != level.hop_latency.has_value(); },
      level.latency ? "given beside hop_latency" : "missing",
      level.latency
          ? "give either latency or hop_latency"
          : "give either latency or hop_latency; usual latencies: 0.6 us over NVLink, 1.9 us over PCIe, 5 us over "
            "InfiniBand");
  count("nics_per_node", level.nics_per_node, "NICs of one unit of the level below; default one per accelerator");
  fields.text("fabric", level.fabric, {.doc = "its entry among the calibrated fabrics"});
  fields.keys_of_kind("kind", level.shape);
}

void describe(config::Fields& fields, HostLink& link) {
  fields.text("kind", link.kind, {.doc = "a label, such as pcie5-x16"});
  fields.quantity("bandwidth", link.bandwidth, {.doc = "per direction", .required = true, .positive = true});
  fields.quantity("latency", link.latency, {.doc = "of one copy"});
  fields.count("shared_by", link.shared_by, {.doc = "accelerators on one link", .minimum = 1, .maximum = 1 << 20});
}

void describe(config::Fields& fields, Nvme& nvme) {
  fields.quantity("bandwidth", nvme.bandwidth,
                  {.doc = "of all drives of a node, reading", .required = true, .positive = true});
  fields.quantity("write", nvme.write, {.doc = "writing; default: as reading", .positive = true});
  fields.quantity("capacity", nvme.capacity, {.doc = "of all drives of a node; default: unlimited", .positive = true});
}

void describe(config::Fields& fields, Host& host) {
  fields.quantity("memory", host.memory, {.doc = "of a node", .required = true, .positive = true});
  fields.quantity("memory_bandwidth", host.memory_bandwidth, {.doc = "of a node", .required = true, .positive = true});
  fields.quantity("flops", host.flops,
                  {.doc = "of a node's processors, fp32; default: memory limits them", .positive = true});
  fields.object("link", host.link, {.doc = "between accelerator and host", .required = true});
  fields.object("nvme", host.nvme, {.doc = "drives, to which state can be offloaded"});
}

void describe(config::Fields& fields, Price& price) {
  fields.quantity("accelerator_hour", price.accelerator_hour,
                  {.doc = "one accelerator for one hour; default: the accelerator's own price"});
}

void describe(config::Fields& fields, Power& power) {
  fields.quantity("accelerator", power.accelerator,
                  {.doc = "that one draws; default: the accelerator's own limit", .positive = true});
  fields.quantity("node_overhead", power.node_overhead, {.doc = "of a node beside its accelerators"});
  fields.number("pue", power.pue, {.doc = "total over computing power of the site", .minimum = 1.0});
}

void describe(config::Fields& fields, Cluster& cluster) {
  const auto short_form = [&cluster] { return cluster.intra || cluster.inter; };
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  fields.text("name", cluster.name, {.doc = "shown in reports", .required = true});
  fields.node("accelerator", cluster.accelerator,
              {.doc = "a name, {file: name, overriding keys} or a whole block", .required = true});
  fields.count("nodes", cluster.nodes, {.doc = "how many nodes; default 1", .minimum = 1, .maximum = 1 << 24});
  fields.count("gpus_per_node", cluster.gpus_per_node,
               {.doc = "accelerators that share a host", .minimum = 1, .maximum = 1 << 20});
  fields.object("intra", cluster.intra, {.doc = "the network inside a node"});
  fields.object("inter", cluster.inter, {.doc = "the network between nodes"});
  fields.objects("levels", cluster.levels, {.doc = "general form: networks, inner to outer", .maximum_size = 8});
  fields.node("groups", cluster.groups,
              {.doc = "mixed clusters: [{count, accelerator}, ...], for cairn search --method cephalo alone"});
  fields.object("host", cluster.host, {.doc = "memory, processors and drives of a node: for what is offloaded"});
  fields.object("price", cluster.price, {.doc = "what an hour costs: for the cost of a step"});
  fields.object("power", cluster.power, {.doc = "what a node draws: for the energy of a step"});
  fields.check(
      "groups", [&] { return cluster.groups.is_null(); }, "a mixed cluster runs no single plan",
      "describe one kind of accelerator, or share sequences and state out: cairn search --method cephalo");
  fields.check(
      "levels", [&] { return short_form() == cluster.levels.empty(); },
      short_form() ? "given beside intra or inter" : "no network", "give either intra and inter, or levels");
  fields.check(
      "gpus_per_node", [&] { return !short_form() || cluster.gpus_per_node.has_value(); }, "missing",
      "give the accelerators of a node");
}

}  // namespace cairn::hardware
