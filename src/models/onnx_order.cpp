// The nodes of an ONNX graph in an order in which they can be run.
#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <boost/graph/topological_sort.hpp>

#include "cairn/core/printable.h"
#include "onnx_importer.h"

namespace cairn::models {
namespace {

using NodeGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

class OnnxOrder {
 public:
  OnnxOrder(const OnnxGraph& graph, const std::filesystem::path& file)
      : graph_(graph), file_(file), edges_(graph.nodes.size()) {}

  std::vector<std::size_t> read() {
    find_makers();
    connect();
    for (const OnnxValue& output : graph_.outputs)
      if (!makers_.contains(output.name) && !given_.contains(output.name))
        refuse_onnx(file_, fmt::format("nothing makes the output {}", core::quoted(output.name)),
                    "give a file that onnx.checker accepts");
    const std::vector<std::size_t> order = sorted();
    const std::vector<char> wanted = wanted_nodes();
    std::vector<std::size_t> result;
    std::copy_if(order.begin(), order.end(), std::back_inserter(result),
                 [&](std::size_t node) { return wanted[node] != 0; });
    return result;
  }

 private:
  void find_makers() {
    for (const OnnxValue& input : graph_.inputs) given_.insert(input.name);
    for (const OnnxTensor& tensor : graph_.initializers) given_.insert(tensor.name);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const std::string& output : graph_.nodes[i].outputs) {
        if (output.empty()) continue;
        if (given_.contains(output) || !makers_.emplace(output, i).second)
          refuse_onnx(file_, fmt::format("tensor {} is made twice", core::quoted(output)),
                      "give a file that onnx.checker accepts");
      }
  }

  void connect() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const std::string& input : graph_.nodes[i].inputs) {
        if (input.empty()) continue;
        const auto maker = makers_.find(input);
        if (maker != makers_.end()) {
          boost::add_edge(maker->second, i, edges_);
          in_order_ = in_order_ && maker->second < i;
        } else if (!given_.contains(input)) {
          refuse_onnx(file_,
                      fmt::format("node {} reads {}, which nothing makes", core::quoted(graph_.nodes[i].name),
                                  core::quoted(input)),
                      "give a file that onnx.checker accepts");
        }
      }
  }

  std::vector<std::size_t> sorted() const {
    std::vector<std::size_t> order;
    if (in_order_) {
      for (std::size_t i = 0; i < graph_.nodes.size(); ++i) order.push_back(i);
      return order;
    }
    try {
      boost::topological_sort(edges_, std::back_inserter(order));
    } catch (const boost::not_a_dag&) {
      refuse_cycle();
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  [[noreturn]] void refuse_cycle() const {
    constexpr std::size_t k_named = 8;
    std::vector<std::size_t> component(graph_.nodes.size());
    boost::strong_components(edges_,
                             boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, edges_)));
    std::vector<std::size_t> members(graph_.nodes.size(), 0);
    for (const std::size_t each : component) ++members[each];
    // A node that reads what it makes is a cycle by itself.
    std::size_t cycle = graph_.nodes.size();
    for (std::size_t i = 0; i < graph_.nodes.size() && cycle == graph_.nodes.size(); ++i)
      if (members[component[i]] > 1 || boost::edge(i, i, edges_).second) cycle = component[i];
    std::vector<std::string> names;
    std::size_t others = 0;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (component[i] != cycle) continue;
      if (names.size() < k_named)
        names.push_back(core::quoted(graph_.nodes[i].name));
      else
        ++others;
    }
    refuse_onnx(file_,
                fmt::format("nodes depend on each other in a cycle: {}{}", fmt::join(names, ", "),
                            others > 0 ? fmt::format(" and {} more", others) : ""),
                "give a file that onnx.checker accepts");
  }

  std::vector<char> wanted_nodes() const {
    std::vector<char> wanted(graph_.nodes.size(), 0);
    std::vector<std::size_t> open;
    const auto want = [&](const std::string& name) {
      const auto maker = makers_.find(name);
      if (maker == makers_.end() || wanted[maker->second] != 0) return;
      wanted[maker->second] = 1;
      open.push_back(maker->second);
    };
    for (const OnnxValue& output : graph_.outputs) want(output.name);
    while (!open.empty()) {
      const std::size_t node = open.back();
      open.pop_back();
      for (const std::string& input : graph_.nodes[node].inputs) want(input);
    }
    return wanted;
  }

  const OnnxGraph& graph_;
  const std::filesystem::path& file_;
  NodeGraph edges_;
  bool in_order_ = true;
  std::unordered_set<std::string> given_;
  std::unordered_map<std::string, std::size_t> makers_;
};

}  // namespace

std::vector<std::size_t> onnx_order(const OnnxGraph& graph, const std::filesystem::path& file) {
  return OnnxOrder(graph, file).read();
}

}  // namespace cairn::models
