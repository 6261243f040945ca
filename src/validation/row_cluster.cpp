// A row's cluster: widths from the row, everything else from the reference cluster of its accelerator. Where that one
// is written as levels - racks whose GPUs share a switch, and a fabric between them - the row says how many GPUs there
// are and not how they lie: a job that fits fills one rack, a larger one fills `racks` GPUs of each.
#include <filesystem>

#include "cairn/core/diagnostics.h"
#include "row.h"

namespace cairn::validation {
namespace {

// The reference cluster's levels, inner to outer, without what holds for one job; empty where it has none.
std::vector<config::Node> levels_of(const Row& row, const std::string& reference) {
  core::Diagnostics diagnostics;
  const std::filesystem::path file = row.files.loader.find_shipped(reference, "clusters");
  if (file.empty()) return {};
  const config::Node cluster = row.files.loader.load(file, diagnostics, "clusters");
  const config::Node* levels = diagnostics.has_errors() ? nullptr : cluster.find("levels");
  return levels == nullptr || !levels->is_list() ? std::vector<config::Node>{} : levels->items;
}

std::optional<std::int64_t> size_of(const config::Node& level) {
  const config::Node* size = level.find("size");
  if (size != nullptr && size->is_sourced()) size = size->find("value");
  if (size == nullptr || !size->is_scalar()) return std::nullopt;
  const auto count = parsed<std::int64_t>(size->text);
  return count && *count > 0 ? count : std::nullopt;
}

// GPUs of each rack that `gpus` fill, whole nodes all: all in one where they fit, else `usual` where that divides them,
// else whole racks, else as many as divide them.
std::int64_t per_rack(std::int64_t gpus, std::int64_t per_node, std::int64_t size, std::int64_t usual) {
  if (gpus <= size) return gpus;
  if (usual <= size && gpus % usual == 0 && usual % per_node == 0) return usual;
  std::int64_t filled = size / per_node * per_node;
  while (filled > per_node && gpus % filled != 0) filled -= per_node;
  return filled;
}

void put_racks(Row& row, config::Node& node, std::vector<config::Node> levels, const std::string& reference,
               std::int64_t gpus, std::int64_t per_node) {
  const std::int64_t size = size_of(levels.front()).value_or(per_node);
  const std::int64_t* usual = meaning(row.families.racks, reference);
  const std::int64_t filled = per_rack(gpus, per_node, size, usual == nullptr ? size : *usual);
  levels.front().put("size", row.number(filled));
  levels.front().put("bandwidth", row.quoted(fmt::format("{} GB/s", row.record.need_number("nvlink_gb_s"))));
  if (filled == gpus) {
    levels.resize(1);
    if (gpus > per_node) row.remark(fmt::format("all {} GPUs in one rack of {}, where they fit", gpus, size));
  } else {
    config::Node& fabric = levels[1];
    fabric.put("nics_per_node", row.number(row.record.need_count("nics_per_node") * filled / per_node));
    fabric.put("bandwidth", row.quoted(fmt::format("{} Gb/s", row.record.need_number("nic_gbit_s"))));
    row.remark(fmt::format("{} GPUs of each rack of {}, which the row does not say", filled, size));
  }
  config::Node list = config::make_node(config::NodeKind::list, row.record.place());
  list.items = std::move(levels);
  node.put("levels", std::move(list));
}

void put_widths(Row& row, config::Node& node, std::int64_t gpus, std::int64_t per_node) {
  config::Node intra = row.map();
  intra.put("bandwidth", row.quoted(fmt::format("{} GB/s", row.record.need_number("nvlink_gb_s"))));
  node.put("intra", intra);
  if (gpus <= per_node) return;
  config::Node inter = row.map();
  inter.put("nics_per_node", row.number(row.record.need_count("nics_per_node")));
  inter.put("bandwidth", row.quoted(fmt::format("{} Gb/s", row.record.need_number("nic_gbit_s"))));
  node.put("inter", inter);
}

}  // namespace

config::Node cluster_of(Row& row, std::int64_t gpus) {
  const std::string accelerator(row.record.need_text("accelerator"));
  const std::int64_t per_node = row.record.need_count("gpus_per_node");
  config::Node node = row.map();
  std::string reference = row.family.cluster;
  if (const std::string* usual = meaning(row.families.clusters, accelerator); usual != nullptr && reference.empty())
    reference = *usual;
  if (!reference.empty())
    node.put("file", row.plain(reference));
  else if (!accelerator.empty())
    row.because(fmt::format("no reference cluster for accelerator {}", accelerator));
  const bool whole = gpus <= per_node || per_node == 0 || gpus % per_node == 0;
  if (!whole) row.because(fmt::format("{} GPUs do not fill nodes of {}", gpus, per_node));
  node.put("accelerator", row.plain(accelerator));
  const std::int64_t in_node = std::min(gpus, per_node);
  node.put("gpus_per_node", row.number(in_node));
  node.put("nodes", row.number(per_node > 0 ? std::max<std::int64_t>(1, gpus / per_node) : 1));
  std::vector<config::Node> levels = reference.empty() ? std::vector<config::Node>{} : levels_of(row, reference);
  if (levels.size() == 2 && in_node > 0 && whole)
    put_racks(row, node, std::move(levels), reference, gpus, in_node);
  else
    put_widths(row, node, gpus, per_node);
  return node;
}

}  // namespace cairn::validation
