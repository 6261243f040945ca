#include "cairn/topology/nccl.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <sstream>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>

#include "cairn/config/read.h"
#include "cairn/config/yaml.h"
#include "cairn/core/read_file.h"

namespace cairn::topology {
namespace {

using Tree = boost::property_tree::ptree;

constexpr std::size_t k_deepest = 64;                       // elements within each other
constexpr std::size_t k_largest = std::size_t{4} << 20;     // bytes; real files have some 10 kB
constexpr std::string_view k_switch_class = "0x068000";     // a PCI class, as all below
constexpr std::string_view k_processor_class = "0x068001";  // of IBM's
constexpr std::string_view k_gpu_class = "0x03";            // its beginning
constexpr const char* k_nvswitch = "nvswitch";

std::string attribute(const Tree& node, const std::string& name) {
  return node.get<std::string>("<xmlattr>." + name, "");
}

// Decimal, or hexadecimal after 0x; 0 where it is neither.
std::int64_t number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

// 0000:0f:00.0 as written in any case, without the function: parts of one device share its link.
std::string device(std::string busid) {
  std::transform(busid.begin(), busid.end(), busid.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  const std::size_t dot = busid.rfind('.');
  return dot == std::string::npos ? busid : busid.substr(0, dot);
}

class Importer {
 public:
  Importer(const NcclSpeeds& speeds, std::string file) : speeds_(speeds), file_(std::move(file)) {}

  GraphFile read(const Tree& root) {
    const auto system = root.find("system");
    if (system == root.not_found()) fail("no <system>: not NCCL's topology", "export it with NCCL_TOPO_DUMP_FILE");
    graph_.name = "imported by Cairn from " + file_;
    for (const auto& [name, node] : system->second)
      if (name == "cpu") add_processor(node);
    std::sort(gpus_.begin(), gpus_.end());
    for (const Gpu& gpu : gpus_) graph_.endpoints.push_back(gpu.name);
    if (gpus_.size() < 2)
      fail(std::to_string(gpus_.size()) + " GPUs make no network", "export the topology on the whole machine");
    for (std::size_t i = 1; i < gpus_.size(); ++i)
      if (gpus_[i].dev == gpus_[i - 1].dev)
        fail("two GPUs are dev " + std::to_string(gpus_[i].dev), "number them differently");
    join_processors();
    for (const Gpu& gpu : gpus_) add_nvlinks(gpu);
    return std::move(graph_);
  }

 private:
  struct Processor {
    std::string name;
    core::BytesPerSecond bandwidth;
  };
  struct Gpu {
    std::int64_t dev = 0;
    std::string name = {};
    const Tree* node = nullptr;
    bool operator<(const Gpu& other) const { return dev < other.dev; }
  };

  [[noreturn]] void fail(std::string message, std::string hint) const {
    throw core::ConfigurationError({core::Diagnostic::at_line(file_, 1, std::move(message), std::move(hint))});
  }

  core::BytesPerSecond pci(const Tree& node) const {
    constexpr double k_lanes = 16.0, k_gen3 = 8.0;  // GT/s
    // Each generation carries twice the one before; 2.5 and 5 GT/s are half and a quarter of the third despite their
    // rate.
    constexpr std::array<std::pair<double, double>, 2> k_old{{{2.5, 0.25}, {5.0, 0.5}}};
    const std::string width = attribute(node, "link_width");
    const double lanes = number(width) > 0 ? static_cast<double>(number(width)) : k_lanes;
    std::istringstream text(attribute(node, "link_speed"));
    double rate = 0.0;
    text >> rate;
    constexpr double k_fastest = 1024.0;  // GT/s, eight times that of PCIe 7.0
    if (rate > k_fastest)
      fail("a link_speed beyond 1024 GT/s", "export it with NCCL_TOPO_DUMP_FILE; PCIe 7.0 has 128 GT/s");
    double share = rate >= k_gen3 ? rate / k_gen3 : 1.0;
    for (const auto& [old, old_share] : k_old)
      if (rate == old) share = old_share;
    return speeds_.pci_gen3_x16 * (share * lanes / k_lanes);
  }
  core::BytesPerSecond between(const Tree& processor) const {
    for (const CpuSpeed& speed : speeds_.cpus) {
      const bool fits = speed.arch == attribute(processor, "arch") &&
                        (speed.vendor.empty() || speed.vendor == attribute(processor, "vendor")) &&
                        number(attribute(processor, "modelid")) >= speed.model;
      if (fits) return speed.bandwidth;
    }
    fail("processors of architecture '" + attribute(processor, "arch") + "' are not known",
         "add their speed to configs/imports/nccl.yaml");
  }

  std::string declare(const std::string& name) {
    // The same device twice gets a number.
    std::string unique = name;
    for (int i = 2; std::find(graph_.switches.begin(), graph_.switches.end(), unique) != graph_.switches.end(); ++i)
      unique = name + "-" + std::to_string(i);
    graph_.switches.push_back(unique);
    return unique;
  }
  void link(const std::string& from, const std::string& to, core::BytesPerSecond bandwidth) {
    graph_.links.push_back({.from = from, .to = to, .bandwidth = bandwidth, .latency = {}});
  }

  void add_processor(const Tree& node) {
    const std::string name = declare("cpu" + attribute(node, "numaid"));
    processors_.push_back({name, between(node)});
    for (const auto& [kind, child] : node)
      if (kind == "pci") add_pci(child, name);
  }
  void add_pci(const Tree& node, const std::string& above) {
    const std::string busid = device(attribute(node, "busid"));
    const auto gpu = node.find("gpu");
    if (gpu != node.not_found()) {
      const std::int64_t dev = number(attribute(gpu->second, "dev"));
      const std::string name = "gpu" + std::to_string(dev);
      gpus_.push_back({dev, name, &gpu->second});
      by_device_[busid] = name;
      link(name, above, pci(node));
      return;
    }
    const std::string kind = attribute(node, "class");
    if (kind.starts_with(k_gpu_class)) return;  // one that the job does not use
    const std::string name = declare((node.count("nic") > 0 ? "nic " : "pci ") + busid);
    link(name, above, pci(node));
    for (const auto& [child_kind, child] : node)
      if (child_kind == "pci") add_pci(child, name);
  }
  void join_processors() {
    for (std::size_t i = 0; i < processors_.size(); ++i)
      for (std::size_t j = i + 1; j < processors_.size(); ++j)
        link(processors_[i].name, processors_[j].name, processors_[i].bandwidth);
  }

  core::BytesPerSecond nvlink(std::int64_t sm) const {
    core::BytesPerSecond bandwidth;
    for (const NvlinkSpeed& speed : speeds_.nvlinks)
      if (sm >= speed.sm) bandwidth = speed.bandwidth;
    return bandwidth;
  }
  void add_nvlinks(const Gpu& gpu) {
    const core::BytesPerSecond one = nvlink(number(attribute(*gpu.node, "sm")));
    for (const auto& [kind, node] : *gpu.node) {
      if (kind != "nvlink") continue;
      const double count = static_cast<double>(std::max<std::int64_t>(1, number(attribute(node, "count"))));
      if (one.base() <= 0.0)
        fail(gpu.name + " has NVLinks, but its sm is '" + attribute(*gpu.node, "sm") + "'",
             "give the compute capability x 10");
      const std::string target_class = attribute(node, "tclass");
      if (target_class.starts_with(k_switch_class)) {
        if (std::find(graph_.switches.begin(), graph_.switches.end(), k_nvswitch) == graph_.switches.end())
          declare(k_nvswitch);
        link(gpu.name, k_nvswitch, one * count);
      } else if (target_class.starts_with(k_processor_class)) {
        if (!processors_.empty()) link(gpu.name, processors_.front().name, one * count);
      } else {
        const auto other = by_device_.find(device(attribute(node, "target")));
        if (other == by_device_.end())
          fail(gpu.name + " has NVLinks to '" + attribute(node, "target") + "', which is no GPU here",
               "export the topology on the whole machine");
        // Both ends list the link: each gives its own direction.
        link(gpu.name, other->second, one * count);
        graph_.links.back().one_way = true;
      }
    }
  }

  const NcclSpeeds& speeds_;
  std::string file_;
  GraphFile graph_;
  std::vector<Processor> processors_;
  std::vector<Gpu> gpus_;
  std::map<std::string, std::string> by_device_;
};

// What the library's parser does not look at: that every element ends by its own name, and how deep they lie within
// each other, as it descends once for each. `refuse(offset, message)` raises.
template <class Refuse>
void check_nesting(std::string_view text, const Refuse& refuse) {
  std::vector<std::string_view> open;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at)) {
    if (text.substr(at).starts_with("<!--")) {
      at = std::min(text.find("-->", at), text.size() - 1);
      continue;
    }
    std::size_t end = at + 1;
    for (char quote = 0; end < text.size() && (quote != 0 || text[end] != '>'); ++end) {
      if (quote != 0)
        quote = text[end] == quote ? '\0' : quote;
      else if (text[end] == '"' || text[end] == '\'')
        quote = text[end];
    }
    if (end >= text.size()) refuse(at, "an element that does not end");
    const std::string_view inside = text.substr(at + 1, end - at - 1);
    const bool ends = inside.starts_with('/');
    const std::string_view rest = inside.substr(ends ? 1 : 0);
    const std::string_view name = rest.substr(0, rest.find_first_of(" \t\r\n/"));
    if (ends) {
      if (open.empty() || open.back() != name) refuse(at, "</" + std::string(name) + "> ends what did not begin");
      open.pop_back();
    } else if (!inside.starts_with('!') && !inside.starts_with('?') && !inside.ends_with('/')) {
      open.push_back(name);
      if (open.size() > k_deepest) refuse(at, "more than " + std::to_string(k_deepest) + " elements within each other");
    }
    at = end;
  }
  if (!open.empty()) refuse(text.size(), "<" + std::string(open.back()) + "> does not end");
}

}  // namespace

void describe(config::Fields& fields, NvlinkSpeed& speed) {
  fields.count("sm", speed.sm,
               {.doc = "least compute capability x 10", .required = true, .minimum = 1, .maximum = 1000});
  fields.quantity("bandwidth", speed.bandwidth,
                  {.doc = "of one link, per direction", .required = true, .positive = true});
}
void describe(config::Fields& fields, CpuSpeed& speed) {
  fields.text("arch", speed.arch, {.required = true});
  fields.text("vendor", speed.vendor, {.doc = "default: any"});
  fields.count("model", speed.model, {.doc = "least model number"});
  fields.quantity("bandwidth", speed.bandwidth, {.doc = "between two processors", .required = true, .positive = true});
}
void describe(config::Fields& fields, NcclSpeeds& speeds) {
  std::int64_t version = 1;
  fields.count("version", version, {.minimum = 1, .maximum = 1});
  fields.quantity("pci_gen3_x16", speeds.pci_gen3_x16, {.required = true, .positive = true});
  fields.objects("nvlinks", speeds.nvlinks, {.doc = "by rising sm", .minimum_size = 1});
  fields.objects("cpus", speeds.cpus, {.doc = "the first that fits", .minimum_size = 1});
}

NcclSpeeds load_nccl_speeds(const config::Loader& loader) {
  core::Diagnostics diagnostics;
  const config::Node node = loader.load_named("nccl", "imports", diagnostics);
  diagnostics.raise_if_errors();
  return config::read<NcclSpeeds>(node);
}

GraphFile parse_nccl(const std::string& text, const std::string& file_name, const NcclSpeeds& speeds) {
  const auto refuse = [&](int line, std::string message, std::string hint) {
    throw core::ConfigurationError({core::Diagnostic::at_line(file_name, line, std::move(message), std::move(hint))});
  };
  if (text.size() > k_largest) refuse(1, "larger than 4 MiB", "NCCL's topologies have some 10 kB");
  check_nesting(text, [&](std::size_t offset, const std::string& message) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
    refuse(static_cast<int>(line), "not XML: " + message, "export it with NCCL_TOPO_DUMP_FILE");
  });
  Tree tree;
  try {
    std::istringstream stream(text);
    boost::property_tree::read_xml(stream, tree, boost::property_tree::xml_parser::no_comments);
  } catch (const boost::property_tree::xml_parser_error& error) {
    refuse(std::max<int>(1, static_cast<int>(error.line())), "not XML: " + error.message(),
           "export it with NCCL_TOPO_DUMP_FILE");
  }
  return Importer(speeds, file_name).read(tree);
}

GraphFile read_nccl(const std::filesystem::path& file, const NcclSpeeds& speeds) {
  return parse_nccl(core::read_file(file, k_largest, "an XML file"), file.filename().string(), speeds);
}

std::string graph_text(const GraphFile& graph) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(config::to_json(graph), config::Syntax::json, graph.name, diagnostics);
  diagnostics.raise_if_errors();
  return config::to_yaml(node);
}

}  // namespace cairn::topology
