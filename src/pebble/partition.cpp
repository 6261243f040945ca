#include "cairn/pebble/partition.h"

#include <algorithm>
#include <bit>
#include <string>

#include "cairn/core/diagnostics.h"

namespace cairn::pebble {

namespace {

using Mask = std::uint64_t;

// most[i][o]: the largest number of computed vertices with at most i values in and o values out.
class LargestParts {
 public:
  explicit LargestParts(const Cdag& graph) {
    for (Vertex v : graph.order()) {
      if (!graph.is_input(v)) computed_.push_back(v);
    }
    const std::size_t n = computed_.size();
    // Bits 0 .. n-1 are the computed vertices, the inputs follow.
    std::vector<std::size_t> bit_of(graph.size());
    std::size_t next_input = n;
    for (std::size_t i = 0; i < n; ++i) bit_of[computed_[i]] = i;
    for (Vertex v = 0; v < graph.size(); ++v) {
      if (graph.is_input(v)) bit_of[v] = next_input++;
    }
    words_per_set_ = next_input / 64 + 1;
    std::vector<std::vector<Mask>> reads(n, std::vector<Mask>(words_per_set_, 0));
    std::vector<Mask> readers(n, 0);
    std::vector<char> output(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      for (Vertex p : graph.predecessors(computed_[i])) reads[i][bit_of[p] / 64] |= Mask{1} << bit_of[p] % 64;
      for (Vertex s : graph.successors(computed_[i])) readers[i] |= Mask{1} << bit_of[s];
      output[i] = graph.is_output(computed_[i]) ? 1 : 0;
    }
    most_.assign((graph.size() + 1) * (n + 1), 0);
    columns_ = n + 1;
    std::vector<Mask> in(words_per_set_);
    for (Mask set = 1; set < Mask{1} << n; ++set) {
      std::fill(in.begin(), in.end(), Mask{0});
      std::size_t out = 0;
      for (Mask rest = set; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(rest));
        for (std::size_t w = 0; w < words_per_set_; ++w) in[w] |= reads[i][w];
        out += output[i] != 0 || (readers[i] & ~set) != 0 ? 1 : 0;
      }
      in[0] &= ~set;
      std::size_t ins = 0;
      for (Mask word : in) ins += static_cast<std::size_t>(std::popcount(word));
      Words& most = most_[ins * columns_ + out];
      most = std::max<Words>(most, std::popcount(set));
    }
    for (std::size_t i = 0; i < graph.size() + 1; ++i) {
      for (std::size_t o = 0; o < columns_; ++o) {
        Words& here = most_[i * columns_ + o];
        if (i > 0) here = std::max(here, most_[(i - 1) * columns_ + o]);
        if (o > 0) here = std::max(here, most_[i * columns_ + o - 1]);
      }
    }
    rows_ = graph.size() + 1;
  }

  Words computed() const { return static_cast<Words>(computed_.size()); }

  Words most(Words in, Words out) const {
    const std::size_t i = std::min(static_cast<std::size_t>(in), rows_ - 1),
                      o = std::min(static_cast<std::size_t>(out), columns_ - 1);
    return most_[i * columns_ + o];
  }

 private:
  std::vector<Vertex> computed_;
  std::size_t words_per_set_ = 0, rows_ = 0, columns_ = 0;
  std::vector<Words> most_;
};

void check(const Cdag& graph) {
  if (graph.size() - graph.input_count() > k_partition_max_computed || !graph.has_unit_weights()) {
    throw core::ConfigurationError("partition",
                                   "the largest part is sought among at most " +
                                       std::to_string(k_partition_max_computed) + " computed vertices of one word",
                                   "use the wavefront or projection bound for larger graphs");
  }
}

LowerBound stretches_bound(const LargestParts& parts, Words vertices, Words fast, Words most_transfers) {
  LowerBound bound;
  bound.games = GameSet::with_rules(Rules::red_blue_white);
  bound.method = "partition";
  for (Words transfers = 1; transfers <= most_transfers; ++transfers) {
    Words largest = 0;
    for (Words loads = 0; loads <= transfers; ++loads)
      largest = std::max(largest, parts.most(fast + loads, fast + transfers - loads));
    if (largest == 0 || largest >= vertices) continue;
    const Words stretches = (vertices + largest - 1) / largest;
    const Words words = transfers * (stretches - 1) + 1;
    if (words <= bound.words) continue;
    bound.words = words;
    bound.method = "partition, by what " + std::to_string(transfers) + " transfers in a row allow";
  }
  bound.parts = {{.what = "transfers of the full stretches and one more", .words = bound.words}};
  return bound;
}

}  // namespace

LowerBound partition_bound(const Cdag& graph, Words fast) {
  check(graph);
  const LargestParts parts(graph);
  return stretches_bound(parts, parts.computed(), fast, static_cast<Words>(graph.size()));
}

LowerBound partition_bound_of_share(const Cdag& graph, Words fast, Words share) {
  check(graph);
  const LargestParts parts(graph);
  if (share < 1 || share > parts.computed())
    throw core::ConfigurationError("partition",
                                   std::to_string(share) + " vertices of " + std::to_string(parts.computed()),
                                   "a share is at least one vertex and at most all");
  const auto all = static_cast<Words>(graph.size());
  LowerBound bound = stretches_bound(parts, share, fast, all);
  Words words = 2 * all;
  for (Words in = 0; in <= all; ++in)
    for (Words out = 0; out <= all; ++out)
      if (parts.most(in, out) >= share) words = std::min(words, in + out);
  if (words <= bound.words) return bound;
  bound.words = words;
  bound.method = "the cheapest set of " + std::to_string(share) + " values";
  bound.parts = {{.what = "values it reads from outside, and gives to it", .words = words}};
  return bound;
}

}  // namespace cairn::pebble
