// The computation whose data movement is bounded: a directed acyclic graph of values (CDAG, Hong and Kung, STOC 1981),
// with the flexible labels of Elango et al. (arXiv 1411.2286): being an input or an output is a label, not a degree.
//   input   lies in slow memory at the start; only a vertex without predecessors may carry the label
//   output  must lie in slow memory at the end; any vertex may carry the label
// A source that is no input is computed out of nothing; a sink that is no output is never stored. That freedom is what
// lets a graph be cut into parts whose bounds add up.
// Worked example, y = a * b + c with one rounding per operation: a, b, c inputs; p <- (a, b); y <- (p, c), y output.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cairn::pebble {

using Vertex = std::uint32_t;
using Words = std::int64_t;  // amount of data; a vertex weighs one word unless told otherwise

class Cdag {
 public:
  std::size_t size() const { return weights_.size(); }
  std::size_t edge_count() const { return predecessors_.size(); }
  std::span<const Vertex> predecessors(Vertex v) const { return slice(predecessors_, predecessor_begin_, v); }
  std::span<const Vertex> successors(Vertex v) const { return slice(successors_, successor_begin_, v); }
  bool is_input(Vertex v) const { return (labels_[v] & k_input) != 0; }
  bool is_output(Vertex v) const { return (labels_[v] & k_output) != 0; }
  Words weight(Vertex v) const { return weights_[v]; }
  bool has_unit_weights() const { return unit_weights_; }

  // Every vertex after its predecessors; among the vertices that are ready the smallest id comes first, so that a graph
  // numbered in the order of execution keeps that order.
  const std::vector<Vertex>& order() const { return order_; }

  std::size_t input_count() const { return input_count_; }
  std::size_t output_count() const { return output_count_; }
  std::size_t max_in_degree() const;

  // Sum of the weights of all inputs, and of all outputs that are no inputs. In the red-blue-white game no play costs
  // less than the sum of the two.
  Words input_words() const { return input_words_; }
  Words stored_output_words() const { return stored_output_words_; }

 private:
  friend class CdagBuilder;
  static constexpr std::uint8_t k_input = 1;
  static constexpr std::uint8_t k_output = 2;
  static std::span<const Vertex> slice(const std::vector<Vertex>& all, const std::vector<std::size_t>& begin,
                                       Vertex v) {
    return std::span(all).subspan(begin[v], begin[v + 1] - begin[v]);
  }

  std::vector<Vertex> predecessors_, successors_;
  std::vector<std::size_t> predecessor_begin_, successor_begin_;
  std::vector<std::uint8_t> labels_;
  std::vector<Words> weights_;
  std::vector<Vertex> order_;
  std::size_t input_count_ = 0;
  std::size_t output_count_ = 0;
  Words input_words_ = 0;
  Words stored_output_words_ = 0;
  bool unit_weights_ = true;
};

// Vertices get the ids 0, 1, 2, ... in the order they are added.
class CdagBuilder {
 public:
  Vertex input(Words weight = 1);
  // A computed vertex; repeated predecessors count once.
  Vertex compute(std::span<const Vertex> predecessors, Words weight = 1);
  Vertex compute(std::initializer_list<Vertex> predecessors, Words weight = 1) {
    return compute(std::span(predecessors.begin(), predecessors.size()), weight);
  }
  // A vertex without edges or labels as yet, and the pieces to complete it: for readers of files and for relabelling.
  Vertex vertex(Words weight = 1);
  void edge(Vertex from, Vertex to);
  void label_input(Vertex v);
  void label_output(Vertex v);
  bool is_labelled_input(Vertex v) const { return (labels_[v] & Cdag::k_input) != 0; }
  std::size_t size() const { return weights_.size(); }

  // Errors (core::ConfigurationError): an empty graph, a cycle (its vertices are named), an input with predecessors, a
  // weight below one word, a total weight beyond 2^62 words. `names` by vertex, for the messages; ids when empty.
  Cdag build(std::span<const std::string> names = {}) const;

 private:
  void check_labels_and_weights(std::span<const std::string> names) const;

  struct Edge {
    Vertex from, to;
  };
  void connect(Cdag& graph) const;
  void sort_topologically(Cdag& graph, std::span<const std::string> names) const;

  std::vector<Edge> edges_;  // in the order given; repeated ones are dropped when building
  std::vector<std::uint8_t> labels_;
  std::vector<Words> weights_;
};

// The part of `graph` induced by `vertices` (increasing ids): labels are inherited, edges that cross the cut are
// dropped, so the values that enter become sources without a load cost (the decomposition theorem: the optima of
// disjoint parts, each played with the whole fast memory, never add up to more than the optimum of the whole, in every
// game of game.h).
Cdag induced_part(const Cdag& graph, std::span<const Vertex> vertices);

// The same graph with the input label set on (sources) or removed from vertices, and the output label likewise.
struct Relabelling {
  std::vector<Vertex> add_inputs, remove_inputs, add_outputs, remove_outputs;
};
Cdag relabelled(const Cdag& graph, const Relabelling& change);

// The same graph with vertex v renamed to names[v]; names is a permutation.
Cdag renumbered(const Cdag& graph, std::span<const Vertex> names);

}  // namespace cairn::pebble
