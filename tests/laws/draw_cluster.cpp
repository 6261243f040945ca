#include "random_experiments.h"

namespace cairn::laws {
namespace {

constexpr std::int64_t k_most_gpus = 48;

// Extents whose product is `size`.
std::vector<std::int64_t> extents(Draw& draw, std::int64_t size, std::size_t most) {
  std::vector<std::int64_t> result;
  while (result.size() + 1 < most && (size > 1 || result.empty())) {
    result.push_back(draw.divisor_of(size));
    size /= result.back();
  }
  result.push_back(size);
  return result;
}

void shape_pcie_tree(Draw& draw, Json& level, std::int64_t size, bool innermost) {
  const bool pairs = innermost && size % 2 == 0 && draw.chance(0.3);
  if (pairs) level["pairs"] = {{"bandwidth", draw.quantity(20, 300, "GB/s")}, {"latency", draw.quantity(0.3, 3, "us")}};
  const std::int64_t switches = draw.divisor_of(pairs ? size / 2 : size);
  if (switches == 1) return;
  level["switches"] = switches;
  if (draw.coin()) level["uplink"] = draw.quantity(5, 60, "GB/s");
}

void shape_fat_tree(Draw& draw, Json& level) {
  const std::int64_t form = draw.between(0, 2);
  if (form == 0) level["radix"] = draw.power_of_two(2, 6);
  if (form == 1) level["leaf"] = draw.power_of_two(1, 5);
  if (form == 2 || draw.coin()) level["levels"] = draw.between(1, 3);
}

// The keys of the kind.
void shape(Draw& draw, Json& level, std::int64_t size, bool innermost) {
  const std::string kind = level["kind"];
  const auto is = [&](std::initializer_list<const char*> kinds) {
    return std::any_of(kinds.begin(), kinds.end(), [&](const char* each) { return kind == each; });
  };
  if (is({"pcie-tree"})) shape_pcie_tree(draw, level, size, innermost);
  if (is({"fat-tree"})) shape_fat_tree(draw, level);
  if (is({"rail-optimized"}) && draw.coin()) level["pod"] = draw.power_of_two(0, 5);
  if (is({"fat-tree", "rail-optimized"}) && draw.coin()) level["oversubscription"] = draw.share(1, 4);
  if (is({"dragonfly"})) {
    level["routers_per_group"] = draw.between(1, 8);
    level["hosts_per_router"] = draw.between(1, 4);
    level["global_links"] = draw.between(1, 4);
  }
  if (is({"torus", "mesh", "hyperx"})) level["dims"] = extents(draw, size, 3);
  if (is({"hammingmesh"})) {
    const std::vector<std::int64_t> abx = extents(draw, size, 4);
    const char* keys[] = {"a", "b", "x", "y"};
    for (std::size_t i = 0; i < 4; ++i) level[keys[i]] = i < abx.size() ? abx[i] : 1;
  }
  if (is({"graph"})) level["file"] = draw.word({"cables", "more-cables"});
  const bool switched = is({"fat-tree", "rail-optimized", "dragonfly"});
  if ((switched || is({"star", "rail-only", "torus", "mesh", "hyperx", "hammingmesh"})) && draw.chance(0.3))
    level["planes"] = draw.between(1, 4);
  if (!switched) return;
  if (draw.coin())
    level["routing"] = is({"dragonfly"}) ? draw.word({"minimal", "valiant"}) : draw.word({"d-mod-k", "ecmp"});
  if (draw.coin()) level["seed"] = draw.between(0, 9);
}

Json draw_level(Draw& draw, const Shelf& shelf, std::int64_t size, std::int64_t unit) {
  const bool innermost = unit == 1;
  Json level;
  if (draw.chance(0.2)) level["name"] = draw.word({"inside", "between"});
  level["kind"] = innermost && draw.coin()
                      ? draw.word({"nvswitch", "pcie-tree"})
                      : draw.word({"nvswitch", "pcie-tree", "hybrid-cube-mesh", "star", "fat-tree", "rail-optimized",
                                   "rail-only", "dragonfly", "torus", "mesh", "hyperx", "hammingmesh", "graph"});
  level["bandwidth"] = innermost ? draw.quantity(20, 900, "GB/s") : draw.quantity(25, 800, "Gb/s");
  shape(draw, level, size, innermost);
  const bool no_closed_form = level["kind"] == "graph" || (level["kind"] == "fat-tree" && !level.contains("radix") &&
                                                           !level.contains("leaf") && !level.contains("levels"));
  const char* latency = no_closed_form || draw.coin() ? "latency" : "hop_latency";
  level[latency] = innermost ? draw.quantity(0.3, 5, "us") : draw.quantity(1, 30, "us");
  if (draw.chance(0.6)) level["nics_per_node"] = innermost ? draw.between(1, 2) : draw.divisor_of(unit);
  if (draw.chance(innermost ? 0.1 : 0.5)) level["fabric"] = draw.of(shelf.fabrics);
  return level;
}

Json draw_host(Draw& draw, bool& drives) {
  Json host{{"memory", draw.quantity(64, 4096, "GiB")}, {"memory_bandwidth", draw.quantity(50, 1000, "GB/s")}};
  if (draw.coin()) host["flops"] = draw.quantity(0.3, 10, "TFLOP/s");
  host["link"] = {{"bandwidth", draw.quantity(8, 450, "GB/s")}};
  if (draw.coin()) host["link"]["kind"] = draw.word({"pcie4-x16", "pcie5-x16"});
  if (draw.coin()) host["link"]["latency"] = draw.quantity(1, 20, "us");
  if (draw.coin()) host["link"]["shared_by"] = draw.power_of_two(0, 3);
  drives = draw.chance(0.7);
  if (!drives) return host;
  host["nvme"] = {{"bandwidth", draw.quantity(1, 50, "GB/s")}};
  if (draw.coin()) host["nvme"]["write"] = draw.quantity(1, 30, "GB/s");
  if (draw.coin()) host["nvme"]["capacity"] = draw.quantity(1, 60, "TB");
  return host;
}

// "989 TFLOP/s" times `factor`.
std::string times(const Json& quantity, double factor) {
  const std::string text = quantity;
  const std::size_t blank = text.find(' ');
  return fmt::format("{:.4g}{}", std::stod(text.substr(0, blank)) * factor, text.substr(blank));
}

// Keys of an accelerator with other values, all of them or some.
Json changed_accelerator(Draw& draw, const Json& block, double chance) {
  Json over = Json::object();
  const auto scaled = [&](const char* key) {
    if (draw.chance(chance)) over[key] = times(block[key], draw.log_between(0.5, 2));
  };
  for (const char* units : {"tensor", "vector"}) {
    if (!draw.chance(chance) || !block["peak"].contains(units)) continue;
    const double factor = draw.log_between(0.5, 2);
    for (const auto& [format, rate] : block["peak"][units].items()) over["peak"][units][format] = times(rate, factor);
  }
  if (draw.chance(chance)) over["multiprocessors"] = draw.between(16, 256);
  scaled("clock");
  if (draw.chance(chance)) over["exponentials_per_clock"] = draw.between(4, 64);
  if (draw.chance(chance)) over["architecture"] = draw.word({"ampere", "hopper", "later"});
  if (draw.chance(chance)) over["fp8_summed_innermost"] = draw.coin();
  if (draw.chance(chance)) {
    over["memory"] = block["memory"];
    for (Json& level : over["memory"]) {
      if (draw.coin()) level["capacity"] = times(level["capacity"], draw.log_between(0.7, 3));
      if (draw.coin() && level.contains("bandwidth"))
        level["bandwidth"] = times(level["bandwidth"], draw.log_between(0.5, 2));
    }
    if (draw.chance(0.2)) over["memory"].erase(over["memory"].size() - 1);  // the registers
  }
  if (draw.chance(chance)) {
    const auto gib = [&] { return draw.quantity(0.1, 2, "GiB"); };
    over["reserved_memory"] =
        draw.coin() ? Json(gib()) : Json{{"driver", gib()}, {"context", gib()}, {"communicators", gib()}};
  }
  scaled("power");
  scaled("launch_floor");
  if (draw.chance(chance)) over["name"] = draw.word({"a chip", "another chip"});
  return over;
}

Json draw_accelerator(Draw& draw, const Shelf& shelf, DrawnCluster& result) {
  const Json& block = shelf.accelerators.at(result.accelerator).block;
  const std::int64_t form = draw.between(0, 9);
  if (form < 5) return result.accelerator;
  if (form < 8) {
    Json over = changed_accelerator(draw, block, 0.2);
    over["file"] = result.accelerator;
    return over;
  }
  result.named = false;
  Json whole = block;
  whole["version"] = 1;
  const Json over = changed_accelerator(draw, block, 0.3);
  for (const auto& [key, value] : over.items())
    if (key == "peak")
      whole[key].update(value);
    else
      whole[key] = value;
  return whole;
}

void draw_surroundings(Draw& draw, Json& cluster) {
  if (draw.chance(0.3)) cluster["price"] = {{"accelerator_hour", draw.quantity(0.5, 10, "USD")}};
  if (!draw.chance(0.3)) return;
  Json& power = cluster["power"] = Json::object();
  if (draw.coin()) power["accelerator"] = draw.quantity(200, 1500, "W");
  if (draw.coin()) power["node_overhead"] = draw.quantity(0.2, 5, "kW");
  if (draw.coin()) power["pue"] = draw.share(1, 2);
}

DrawnCluster draw_shipped(Draw& draw, const Shelf& shelf) {
  const std::string name = draw.of(names_of(shelf.clusters));
  const Shelf::Cluster& shipped = shelf.clusters.at(name);
  DrawnCluster result{.cluster = name,
                      .accelerator = shipped.accelerator,
                      .gpus = shipped.gpus,
                      .host = shipped.host,
                      .drives = shipped.drives};
  if (draw.chance(0.3)) return result;
  result.cluster = {{"file", name}};
  if (shipped.inter && draw.coin()) {
    const std::int64_t nodes = draw.between(1, std::max<std::int64_t>(1, k_most_gpus / shipped.gpus_per_node / 2));
    result.cluster["nodes"] = nodes;
    result.gpus = nodes * shipped.gpus_per_node;
  }
  if (shipped.intra && draw.coin()) result.cluster["intra"] = {{"bandwidth", draw.quantity(20, 900, "GB/s")}};
  if (draw.chance(0.6)) result.cluster["accelerator"] = draw_accelerator(draw, shelf, result);
  draw_surroundings(draw, result.cluster);
  return result;
}

void draw_short_form(Draw& draw, const Shelf& shelf, DrawnCluster& result) {
  const std::int64_t inside = draw.one<std::int64_t>({1, 2, 4, 4, 8, 8, 6});
  const std::int64_t nodes = draw.one<std::int64_t>({1, 1, 2, 2, 4, 3, k_most_gpus / 8});
  Json& cluster = result.cluster;
  cluster["gpus_per_node"] = inside;
  if (nodes > 1 || draw.coin()) cluster["nodes"] = nodes;
  if (inside > 1 || nodes == 1 || draw.coin()) cluster["intra"] = draw_level(draw, shelf, inside, 1);
  if (nodes > 1 || draw.chance(0.2)) cluster["inter"] = draw_level(draw, shelf, nodes, inside);
  result.gpus = inside * nodes;
}

void draw_general_form(Draw& draw, const Shelf& shelf, DrawnCluster& result) {
  Json& cluster = result.cluster;
  const std::int64_t count = draw.between(1, 3);
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < count; ++i)
    if (const std::int64_t size = draw.one<std::int64_t>({2, 2, 4, 8, 3, 1}); result.gpus * size <= k_most_gpus) {
      sizes.push_back(size);
      result.gpus *= size;
    }
  if (sizes.empty()) sizes.push_back(result.gpus = 2);
  std::int64_t host = sizes.front();
  if (draw.coin()) cluster["gpus_per_node"] = host = draw.divisor_of(result.gpus);
  const bool by_nodes = draw.chance(0.4);
  if (by_nodes) cluster["nodes"] = result.gpus / host;
  std::int64_t unit = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Json level = draw_level(draw, shelf, sizes[i], unit);
    const bool follows = i + 1 == sizes.size() && by_nodes && (i > 0 || cluster.contains("gpus_per_node"));
    if (!follows || draw.coin()) level["size"] = sizes[i];
    cluster["levels"].push_back(std::move(level));
    unit *= sizes[i];
  }
}

// Some figures with their source.
void give_sources(Draw& draw, Json& map) {
  for (auto& [key, value] : map.items()) {
    if (value.is_object() && key != "accelerator") give_sources(draw, value);
    if (!value.is_primitive() || key == "file" || key == "accelerator" || !draw.chance(0.1)) continue;
    const Json figure = value;
    value = {{"value", figure}, {"source", draw.word({"datasheet", "measured", "fitted", "assumed"})}};
    if (draw.coin()) value["ref"] = "a sheet";
  }
}

}  // namespace

DrawnCluster draw_cluster(Draw& draw, const Shelf& shelf) {
  if (draw.chance(0.2)) return draw_shipped(draw, shelf);
  DrawnCluster result{.cluster = Json{{"version", 1}, {"name", draw.word({"a cluster", "another cluster"})}},
                      .accelerator = draw.of(names_of(shelf.accelerators))};
  result.cluster["accelerator"] = draw_accelerator(draw, shelf, result);
  if (draw.chance(0.65))
    draw_short_form(draw, shelf, result);
  else
    draw_general_form(draw, shelf, result);
  result.host = draw.chance(0.7);
  if (result.host) result.cluster["host"] = draw_host(draw, result.drives);
  draw_surroundings(draw, result.cluster);
  if (draw.chance(0.2)) give_sources(draw, result.cluster);
  return result;
}

}  // namespace cairn::laws
