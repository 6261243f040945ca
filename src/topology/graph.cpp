#include "cairn/topology/graph.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "graph_cuts.h"

namespace cairn::topology {
namespace {

class Graph final : public Topology {
 public:
  Graph(std::vector<std::string> names, std::int64_t endpoints, std::vector<Link> links)
      : Topology(endpoints, static_cast<std::int64_t>(names.size()) - endpoints,
                 static_cast<std::int64_t>(links.size())),
        names_(std::move(names)),
        list_(std::move(links)),
        in_(names_.size()),
        out_(names_.size()) {
    for (LinkId id = 0; id < this->links(); ++id) {
      in_[static_cast<std::size_t>(at(id).to)].push_back(id);
      out_[static_cast<std::size_t>(at(id).from)].push_back(id);
    }
  }

  Link link(LinkId id) const override { return at(id); }
  void route(NodeId from, NodeId to, std::vector<LinkId>& out) const override {
    const std::lock_guard lock(mutex_);
    if (tree_.destination != to) tree_ = tree(to);
    std::vector<LinkId> next;
    for (NodeId node = from; node != to; node = at(out.back()).to) {
      onward(tree_, node, next);
      CAIRN_ASSERT(!next.empty());
      out.push_back(next[static_cast<std::size_t>(to) % next.size()]);
    }
  }
  Limits limits(std::int64_t /*group*/) const override;
  std::string node_name(NodeId node) const override { return names_[static_cast<std::size_t>(node)]; }

  // An endpoint that cannot reach `to`; -1 when all do.
  NodeId cut_off_from(NodeId to) const {
    const Tree tree = this->tree(to);
    for (NodeId node = 0; node < endpoints(); ++node)
      if (tree.distance[static_cast<std::size_t>(node)] < 0) return node;
    return -1;
  }
  // An endpoint that `from` cannot reach; -1 when it reaches all.
  NodeId out_of_reach_of(NodeId from) const {
    std::vector<bool> reached(names_.size(), false);
    std::vector<NodeId> ends{from};
    reached[static_cast<std::size_t>(from)] = true;
    while (!ends.empty()) {
      const NodeId node = ends.back();
      ends.pop_back();
      for (const LinkId id : out_[static_cast<std::size_t>(node)]) {
        const auto to = static_cast<std::size_t>(at(id).to);
        if (reached[to]) continue;
        reached[to] = true;
        ends.push_back(at(id).to);
      }
    }
    for (NodeId node = 0; node < endpoints(); ++node)
      if (!reached[static_cast<std::size_t>(node)]) return node;
    return -1;
  }

 private:
  // Links from every node to one destination; -1: no way. `order`: nodes that have one, by distance.
  struct Tree {
    NodeId destination = -1;
    std::vector<std::int64_t> distance;
    std::vector<NodeId> order;
  };
  const Link& at(LinkId id) const { return list_[static_cast<std::size_t>(id)]; }

  Tree tree(NodeId destination) const {
    Tree tree{
        .destination = destination, .distance = std::vector<std::int64_t>(names_.size(), -1), .order = {destination}};
    tree.distance[static_cast<std::size_t>(destination)] = 0;
    for (std::size_t i = 0; i < tree.order.size(); ++i) {
      for (const LinkId id : in_[static_cast<std::size_t>(tree.order[i])]) {
        std::int64_t& distance = tree.distance[static_cast<std::size_t>(at(id).from)];
        if (distance >= 0) continue;
        distance = tree.distance[static_cast<std::size_t>(tree.order[i])] + 1;
        tree.order.push_back(at(id).from);
      }
    }
    return tree;
  }

  // The widest links from `node` that come nearer to the destination, in the order written.
  void onward(const Tree& tree, NodeId node, std::vector<LinkId>& out) const {
    out.clear();
    const std::int64_t nearer = tree.distance[static_cast<std::size_t>(node)] - 1;
    for (const LinkId id : out_[static_cast<std::size_t>(node)]) {
      if (tree.distance[static_cast<std::size_t>(at(id).to)] != nearer) continue;
      if (!out.empty() && at(id).bandwidth > at(out.front()).bandwidth) out.clear();
      if (out.empty() || at(id).bandwidth == at(out.front()).bandwidth) out.push_back(id);
    }
  }

  std::vector<std::string> names_;
  std::vector<Link> list_;
  std::vector<std::vector<LinkId>> in_;
  std::vector<std::vector<LinkId>> out_;
  mutable std::mutex mutex_;
  mutable Tree tree_;  // of the destination asked for last
};

Limits Graph::limits(std::int64_t /*group*/) const {
  if (endpoints() > k_graph_limit)
    throw core::ConfigurationError(
        "endpoints", std::to_string(endpoints()) + " endpoints; the limits of a graph need all pairs",
        "describe at most " + std::to_string(k_graph_limit) + ", or a kind with a closed form");
  Limits limits;
  std::vector<double> pairs(list_.size(), 0.0);
  std::vector<double> passing(names_.size());
  std::vector<LinkId> next;
  for (NodeId to = 0; to < endpoints(); ++to) {
    const Tree tree = this->tree(to);
    std::fill(passing.begin(), passing.end(), 0.0);
    for (std::size_t i = tree.order.size(); i-- > 1;) {
      const auto node = static_cast<std::size_t>(tree.order[i]);
      if (tree.order[i] < endpoints()) {
        passing[node] += 1.0;
        limits.diameter = std::max(limits.diameter, tree.distance[node]);
      }
      onward(tree, tree.order[i], next);
      for (const LinkId id : next) {
        const double part = passing[node] / static_cast<double>(next.size());
        pairs[static_cast<std::size_t>(id)] += part;
        passing[static_cast<std::size_t>(at(id).to)] += part;
      }
    }
  }
  std::vector<double> out(names_.size(), 0.0);
  for (std::size_t i = 0; i < list_.size(); ++i) {
    limits.alltoall_load = std::max(limits.alltoall_load, pairs[i] / list_[i].bandwidth);
    out[static_cast<std::size_t>(list_[i].from)] += list_[i].bandwidth;
  }
  limits.injection = *std::max_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(endpoints()));
  const GraphCuts cuts(nodes(), endpoints(), list_);
  const std::int64_t half = endpoints() / 2;
  limits.bisection_fraction = std::min(1.0, cuts.bisection() / (static_cast<double>(half) * limits.injection));
  limits.narrowest_cut = cuts.narrowest();
  return limits;
}

class Reader {
 public:
  explicit Reader(const GraphFile& file) : file_(file) {}

  std::unique_ptr<Topology> read() {
    if (file_.endpoints.size() < 2)
      error("endpoints", std::to_string(file_.endpoints.size()) + " endpoints make no network", "name at least two");
    declare("endpoints", file_.endpoints);
    declare("switches", file_.switches);
    for (std::size_t i = 0; i < file_.links.size(); ++i) add(file_.links[i], "links[" + std::to_string(i) + "]");
    diagnostics_.raise_if_errors();
    auto graph = std::make_unique<Graph>(names_, static_cast<std::int64_t>(file_.endpoints.size()), std::move(links_));
    // To the first endpoint and from it means between any two.
    if (const NodeId lost = graph->cut_off_from(0); lost >= 0) disconnected(*graph, lost, 0);
    if (const NodeId lost = graph->out_of_reach_of(0); lost >= 0) disconnected(*graph, 0, lost);
    return graph;
  }

 private:
  [[noreturn]] static void disconnected(const Graph& graph, NodeId from, NodeId to) {
    throw core::ConfigurationError("links",
                                   "no way leads from '" + graph.node_name(from) + "' to '" + graph.node_name(to) + "'",
                                   "link them, directly or through switches; one_way links carry no answers");
  }
  void error(std::string key, std::string message, std::string hint) {
    diagnostics_.add({.severity = core::Severity::error,
                      .file = {},
                      .line = 0,
                      .column = 0,
                      .key_path = std::move(key),
                      .message = std::move(message),
                      .hint = std::move(hint)});
  }
  void declare(const std::string& key, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!ids_.emplace(names[i], static_cast<NodeId>(names_.size())).second)
        error(key + "[" + std::to_string(i) + "]", "'" + names[i] + "' is declared twice", "rename one of the two");
      names_.push_back(names[i]);
    }
  }
  NodeId find(const std::string& name, const std::string& key) {
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    const std::string near = core::nearest(name, names_);
    error(key, "no node is called '" + name + "'",
          near.empty() ? "declare it among endpoints or switches" : "did you mean '" + near + "'?");
    return -1;
  }
  void add(const GraphLink& link, const std::string& key) {
    const NodeId from = find(link.from, key + ".from"), to = find(link.to, key + ".to");
    if (from < 0 || to < 0) return;
    if (from == to) return error(key, "a link from '" + link.from + "' to itself", "remove it");
    const Link there{.from = from, .to = to, .bandwidth = link.bandwidth.base(), .latency = link.latency.base()};
    links_.push_back(there);
    if (!link.one_way) {
      links_.push_back(there);
      std::swap(links_.back().from, links_.back().to);
    }
  }

  const GraphFile& file_;
  std::vector<std::string> names_;
  std::map<std::string, NodeId> ids_;
  std::vector<Link> links_;
  core::Diagnostics diagnostics_;
};

}  // namespace

void describe(config::Fields& fields, GraphLink& link) {
  fields.text("from", link.from, {.doc = "an endpoint or switch", .required = true});
  fields.text("to", link.to, {.doc = "another endpoint or switch", .required = true});
  fields.quantity("bandwidth", link.bandwidth, {.doc = "per direction", .required = true, .positive = true});
  fields.quantity("latency", link.latency, {.doc = "of the link"});
  fields.flag("one_way", link.one_way, {.doc = "no link back"});
}

void describe(config::Fields& fields, GraphFile& graph) {
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  fields.text("name", graph.name, {.doc = "shown in reports", .required = true});
  fields.texts("endpoints", graph.endpoints, {.doc = "accelerators, by the numbers they get", .minimum_size = 2});
  fields.texts("switches", graph.switches, {.doc = "what else links meet at"});
  fields.objects("links", graph.links, {.doc = "cables between them"});
}

std::unique_ptr<Topology> make_graph(const GraphFile& graph) { return Reader(graph).read(); }

}  // namespace cairn::topology
