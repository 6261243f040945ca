#include "cairn/topology/composite.h"

#include <algorithm>

#include "cairn/core/assert.h"

namespace cairn::topology {

struct Composite::Counts {
  std::int64_t endpoints = 0, switches = 0, links = 0, shared_ports = 0;
  std::vector<Numbers> numbers;
};

Composite::Counts Composite::count(const std::vector<CompositeLevel>& levels) {
  CAIRN_ASSERT(!levels.empty());
  Counts counts;
  counts.endpoints = levels.back().domain;
  for (const CompositeLevel& level : levels) {
    const std::int64_t domains = counts.endpoints / level.domain;
    counts.numbers.push_back({.first_switch = counts.endpoints + counts.switches,
                              .first_port = counts.shared_ports,
                              .first_link = counts.links});
    counts.switches += domains * level.network->switches();
    counts.links += domains * level.network->links();
    if (!level.shares_ports()) continue;
    counts.shared_ports += counts.endpoints / level.unit * level.ports;
    counts.links += 2 * counts.endpoints;
  }
  for (Numbers& numbers : counts.numbers) numbers.first_port += counts.endpoints + counts.switches;
  return counts;
}

// By reference: which argument of the constructor below is evaluated first is the compiler's choice.
Composite::Composite(std::vector<CompositeLevel>&& levels, const Counts& counts)
    : Topology(counts.endpoints, counts.switches, counts.links, counts.shared_ports),
      levels_(std::move(levels)),
      numbers_(counts.numbers) {}

Composite::Composite(std::vector<CompositeLevel> levels) : Composite(std::move(levels), count(levels)) {}

NodeId Composite::node(std::size_t level, std::int64_t domain, NodeId inner) const {
  const CompositeLevel& at = levels_[level];
  const Topology& network = *at.network;
  if (inner >= network.endpoints())
    return numbers_[level].first_switch + domain * network.switches() + inner - network.endpoints();
  const std::int64_t port = domain * network.endpoints() + inner;
  return at.shares_ports() ? numbers_[level].first_port + port : port;
}

Link Composite::link(LinkId id) const {
  std::size_t i = levels_.size() - 1;
  while (numbers_[i].first_link > id) --i;
  const CompositeLevel& level = levels_[i];
  LinkId at = id - numbers_[i].first_link;
  if (level.shares_ports()) {
    if (at < 2 * endpoints()) {
      const bool out = at < endpoints();
      const NodeId accelerator = at % endpoints();
      const NodeId port = numbers_[i].first_port + accelerator / level.unit * level.ports + port_of(level, accelerator);
      return {.from = out ? accelerator : port,
              .to = out ? port : accelerator,
              .bandwidth = level.attach_bandwidth,
              .latency = 0.0};
    }
    at -= 2 * endpoints();
  }
  const std::int64_t domain = at / level.network->links();
  Link link = level.network->link(at % level.network->links());
  if (link.bandwidth <= 0.0) return {};
  link.from = node(i, domain, link.from);
  link.to = node(i, domain, link.to);
  return link;
}

void Composite::route(NodeId from, NodeId to, std::vector<LinkId>& out) const {
  route_below(levels_.size(), from, to, out);
}

void Composite::route_below(std::size_t levels, NodeId from, NodeId to, std::vector<LinkId>& out) const {
  if (from == to) return;
  std::size_t i = 0;
  while (from / levels_[i].domain != to / levels_[i].domain) ++i;
  CAIRN_ASSERT(i < levels);
  const CompositeLevel& level = levels_[i];
  if (level.is_rails() && port_of(level, from) != port_of(level, to)) {
    const NodeId via = from / level.unit * level.unit + to % level.unit;
    route_below(i, from, via, out);
    from = via;
  }
  LinkId first = numbers_[i].first_link;
  if (level.shares_ports()) {
    out.push_back(first + from);
    first += 2 * endpoints();
  }
  const std::int64_t domain = from / level.domain;
  first += domain * level.network->links();
  const auto port = [&](NodeId accelerator) {
    return accelerator % level.domain / level.unit * level.ports + port_of(level, accelerator);
  };
  const std::size_t start = out.size();
  level.network->route(port(from), port(to), out);
  for (std::size_t k = start; k < out.size(); ++k) out[k] += first;
  if (level.shares_ports()) out.push_back(numbers_[i].first_link + endpoints() + to);
}

Limits Composite::limits(std::int64_t /*group*/) const {
  const CompositeLevel& outer = levels_.back();
  Limits whole = levels_.front().network->limits(1);
  const double injection = whole.injection;
  std::int64_t inside = 0;  // longest route below
  whole.diameter = 0;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const CompositeLevel& level = levels_[i];
    const Limits own = level.network->limits(level.ports);
    const auto sharing = static_cast<double>(level.unit) / static_cast<double>(level.ports);
    double passed_on = 1.0;
    for (std::size_t k = i + 1; k < levels_.size(); ++k)
      if (const std::int64_t others = levels_[k].domain / levels_[k].unit - 1; levels_[k].is_rails())
        passed_on += static_cast<double>(others);
    whole.alltoall_load =
        std::max(i == 0 ? 0.0 : whole.alltoall_load, own.alltoall_load * sharing * sharing * passed_on);
    whole.narrowest_cut = std::min(whole.narrowest_cut, own.narrowest_cut);
    const std::int64_t route = own.diameter + (level.shares_ports() ? 2 : 0) + (level.is_rails() ? inside : 0);
    inside = std::max(inside, route);
    if (&level == &outer) {
      const double unit_share =
          level.port_bandwidth * static_cast<double>(level.ports) / (injection * static_cast<double>(level.unit));
      whole.bisection_fraction = std::min(1.0, own.bisection_fraction * unit_share);
    }
  }
  whole.diameter = inside;
  whole.injection = injection;
  return whole;
}

bool Composite::deadlock_free() const {
  return std::all_of(levels_.begin(), levels_.end(),
                     [](const CompositeLevel& level) { return level.network->deadlock_free(); });
}

bool Composite::minimal() const {
  return std::all_of(levels_.begin(), levels_.end(),
                     [](const CompositeLevel& level) { return level.network->minimal() && !level.is_rails(); });
}

std::vector<std::string> Composite::assumptions() const {
  std::vector<std::string> all;
  const auto note = [&all](std::string text) {
    if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(std::move(text));
  };
  for (const CompositeLevel& level : levels_) {
    if (const std::optional<Routing> routing = level.shape->routing(); routing && routing->seed)
      note(level.name + ": routes chosen by a hash of both ends with seed " + std::to_string(*routing->seed));
    if (level.is_rails()) note("traffic between rails changes its rail inside the sender's node");
    for (std::string& text : level.shape->assumptions(level.name, *level.network, levels_.size() == 1))
      note(std::move(text));
  }
  return all;
}

std::size_t Composite::tier(NodeId node) const {
  if (node < endpoints()) return 0;
  const bool is_port = node >= endpoints() + switches();
  for (std::size_t i = levels_.size(); i-- > 0;) {
    if (is_port && levels_[i].shares_ports() && node >= numbers_[i].first_port) return i;
    if (!is_port && node >= numbers_[i].first_switch) return i;
  }
  return 0;
}

std::string Composite::node_name(NodeId node) const {
  if (node < endpoints()) return levels_.size() == 1 ? levels_.front().network->node_name(node) : std::to_string(node);
  const std::size_t i = tier(node);
  const CompositeLevel& level = levels_[i];
  if (node >= endpoints() + switches()) {
    const std::int64_t port = node - numbers_[i].first_port;
    return level.name + " port " + std::to_string(port % level.ports) + " of " + std::to_string(port / level.ports);
  }
  const Topology& network = *level.network;
  const std::int64_t at = node - numbers_[i].first_switch;
  std::string name = network.node_name(network.endpoints() + at % network.switches());
  if (levels_.size() == 1) return name;
  return level.name + (domains(level) > 1 ? std::to_string(at / network.switches()) : "") + " " + name;
}

}  // namespace cairn::topology
