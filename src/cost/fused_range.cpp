#include "fused_range.h"

#include <algorithm>
#include <limits>
#include <map>

#include <boost/pending/disjoint_sets.hpp>

namespace cairn::cost {
namespace {

// Dimensions of operators and of tensors that are one axis.
class Classes {
 public:
  explicit Classes(std::size_t count) : ranks_(count, 0), parents_(count), sets_(ranks_.data(), parents_.data()) {
    for (std::size_t i = 0; i < count; ++i) sets_.make_set(i);
  }
  std::size_t of(std::size_t i) { return sets_.find_set(i); }
  void join(std::size_t a, std::size_t b) { sets_.union_set(a, b); }

 private:
  std::vector<std::size_t> ranks_;
  std::vector<std::size_t> parents_;
  boost::disjoint_sets<std::size_t*, std::size_t*> sets_;
};

bool is_read(const ir::Access& access) { return access.mode == ir::Mode::read; }

}  // namespace

FusedLayer::FusedLayer(const ir::Graph& graph, const loopnest::Sizes& sizes, std::size_t count,
                       const std::vector<char>& kept)
    : graph_(graph), last_read_(graph.tensors().size(), 0), kept_(graph.tensors().size(), 0) {
  for (std::size_t i = 0; i < count; ++i) {
    boxes_.push_back(op(i).domain.box(sizes));
    uses_.push_back(uses_of({.op = &op(i), .graph = &graph, .box = boxes_.back()}));
    for (const ir::Access& access : op(i).accesses)
      if (is_read(access)) last_read_[static_cast<std::size_t>(storage(access.tensor))] = i + 1;
  }
  for (std::size_t t = 0; t < kept.size(); ++t)
    if (kept[t] != 0) kept_[static_cast<std::size_t>(storage(static_cast<ir::TensorId>(t)))] = 1;
}

ir::TensorId FusedLayer::storage(ir::TensorId id) const {
  while (graph_.tensor(id).alias_of != ir::k_no_tensor) id = graph_.tensor(id).alias_of;
  return id;
}

bool FusedLayer::wanted_after(ir::TensorId id, std::size_t i) const {
  const auto at = static_cast<std::size_t>(storage(id));
  return kept_[at] != 0 || last_read_[at] > i + 1;
}

double FusedLayer::two_passes(std::size_t i) const {
  double bytes = 0.0;
  const bool lookup = class_of(i) == OperatorClass::lookup;
  for (const auto& [id, use] : uses_[i])
    bytes += use.bytes * ((use.read_first ? lookup ? 1 : 2 : 0) + (use.written ? 1 : 0));
  return bytes;
}

FusedRange::FusedRange(const FusedLayer& layer, std::size_t begin, std::size_t end)
    : layer_(layer), begin_(begin), end_(end) {
  find_axes();
  find_tensors();
}

bool FusedRange::sums_over(std::size_t i, int dim) const {
  for (const ir::Access& access : layer_.op(i).accesses)
    if (!is_read(access) && !layer_.graph().tensor(access.tensor).statistic &&
        !uses(access.projection, static_cast<loopnest::DimId>(dim)))
      return true;
  return false;
}

void FusedRange::find_axes() {
  const ir::Graph& graph = layer_.graph();
  const std::size_t rank = ir::k_max_rank, dims = loopnest::k_max_dims;
  const std::size_t of_tensors = (end_ - begin_) * dims;
  Classes classes(of_tensors + graph.tensors().size() * rank);
  std::vector<char> broken(of_tensors + graph.tensors().size() * rank, 0);
  const auto dim_at = [&](std::size_t i, std::size_t dim) { return (i - begin_) * dims + dim; };
  std::vector<std::size_t> never;  // dimensions that an index couples or shifts
  const std::set<ir::TensorId> inner = written();
  for (std::size_t i = begin_; i < end_; ++i)
    for (const ir::Access& access : layer_.op(i).accesses)
      for (std::size_t p = 0; p < access.projection.size(); ++p) {
        const loopnest::Affine& form = access.projection[p];
        if (form.terms.empty()) continue;
        const bool plain = form.terms.size() == 1 && form.terms[0].stride == 1 && form.offset == 0;
        for (const loopnest::Term& term : form.terms) {
          if (!plain) never.push_back(dim_at(i, term.dim));
          if (!inner.contains(access.tensor)) continue;
          classes.join(dim_at(i, term.dim), of_tensors + static_cast<std::size_t>(access.tensor) * rank + p);
        }
      }
  for (const std::size_t each : never) broken[classes.of(each)] = 1;
  const auto& first = layer_.op(begin_).domain.dims();
  for (std::size_t d = 0; d < first.size(); ++d) {
    const std::size_t root = classes.of(dim_at(begin_, d));
    FusedAxis axis{.name = first[d].name, .extent = layer_.box(begin_)[d].extent(), .dims = {}};
    bool shared = broken[root] == 0 && axis.extent > 1;
    for (std::size_t i = begin_; shared && i < end_; ++i) {
      int found = -1;
      for (std::size_t e = 0; e < layer_.op(i).domain.dims().size(); ++e) {
        if (classes.of(dim_at(i, e)) != root) continue;
        shared = shared && found < 0 && layer_.box(i)[e].extent() == axis.extent;
        found = static_cast<int>(e);
      }
      shared = shared && found >= 0 && !sums_over(i, found);
      // A row that is normalised is held whole.
      if (shared && layer_.class_of(i) == OperatorClass::normalization) {
        for (const ir::Access& access : layer_.op(i).accesses)
          shared = shared && (layer_.graph().tensor(access.tensor).role == ir::Role::parameter ||
                              uses(access.projection, static_cast<loopnest::DimId>(found)));
      }
      axis.dims.push_back(found);
    }
    if (shared) axes_.push_back(std::move(axis));
  }
  std::stable_sort(axes_.begin(), axes_.end(), [](const auto& a, const auto& b) { return a.extent > b.extent; });
}

// Whether an access can be streamed slice by slice: operands of a product of which each step of the sum uses another
// part, and tensors of elementwise operators. `steps`: the number of slices of a tile.
bool FusedRange::may_pass(std::size_t i, const ir::Access& access, double& steps) const {
  const OperatorClass kind = layer_.class_of(i);
  if (kind == OperatorClass::normalization) return false;
  if (kind != OperatorClass::contraction) {
    steps = std::numeric_limits<double>::infinity();
    return true;
  }
  if (!is_read(access)) return false;
  steps = 1.0;
  for (std::size_t d = 0; d < layer_.op(i).domain.dims().size(); ++d) {
    if (!sums_over(i, static_cast<int>(d)) || layer_.box(i)[d].extent() == 1) continue;
    if (!uses(access.projection, static_cast<loopnest::DimId>(d))) return false;
    steps *= static_cast<double>(layer_.box(i)[d].extent());
  }
  return true;
}

std::set<ir::TensorId> FusedRange::written() const {
  std::set<ir::TensorId> ids;
  for (std::size_t i = begin_; i < end_; ++i)
    for (const auto& [id, use] : layer_.uses(i))
      if (use.written) ids.insert(id);
  return ids;
}

// A key for the part of a tensor that an access reads: different parts count as tensors of their own, unless the range
// writes the tensor.
std::vector<std::int64_t> FusedRange::part_of(std::size_t i, const ir::Access& access) const {
  std::vector<std::int64_t> part;
  for (const loopnest::Affine& form : access.projection) {
    part.push_back(form.offset);
    for (const loopnest::Term& term : form.terms) part.push_back(layer_.box(i)[term.dim].extent());
  }
  return part;
}

void FusedRange::find_tensors() {
  std::map<std::pair<ir::TensorId, std::vector<std::int64_t>>, std::size_t> at;
  const std::set<ir::TensorId> inner = written();
  for (std::size_t i = begin_; i < end_; ++i)
    for (const ir::Access& access : layer_.op(i).accesses) {
      const Use& use = layer_.uses(i).at(access.tensor);
      const bool inside = inner.contains(access.tensor);
      const auto [slot, fresh] =
          at.try_emplace({access.tensor, inside ? std::vector<std::int64_t>{} : part_of(i, access)}, tensors_.size());
      if (fresh)
        tensors_.push_back({.id = access.tensor,
                            .bytes = 0.0,
                            .steps = 1.0,
                            .axes = (1U << axes_.size()) - 1U,
                            .first = i - begin_,
                            .last = i - begin_,
                            .loaded = use.read_first});
      Touched& here = tensors_[slot->second];
      const double element = numerics::bytes_per_element(layer_.graph().tensor(access.tensor).format);
      const double read =
          static_cast<double>(layer_.op(i).domain.footprint(access.projection, layer_.box(i))) * element;
      here.bytes = std::max(here.bytes, inside ? use.bytes : read);
      if (use.written && layer_.wanted_after(access.tensor, end_ - 1)) here.stored = true;
      const bool again = !fresh && here.last != i - begin_;
      here.last = i - begin_;
      here.passes = (fresh || here.passes) && !again && may_pass(i, access, here.steps);
      for (std::size_t a = 0; a < axes_.size(); ++a)
        if (!uses(access.projection, static_cast<loopnest::DimId>(axes_[a].dims[i - begin_]))) here.axes &= ~(1U << a);
    }
}

FusedGroup FusedRange::run(const std::vector<std::int64_t>& tile, double on_chip_bytes) const {
  FusedGroup group;
  group.bytes = std::numeric_limits<double>::infinity();
  std::vector<double> tiles(axes_.size());
  for (std::size_t a = 0; a < axes_.size(); ++a)
    tiles[a] = static_cast<double>((axes_[a].extent + tile[a] - 1) / tile[a]);
  std::vector<double> held(end_ - begin_, 0.0);
  struct Candidate {
    double saved, more;
  };
  std::vector<Candidate> candidates;
  double bytes = 0.0;
  for (const Touched& each : tensors_) {
    double part = each.bytes, times = 1.0, own = 1.0;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if ((each.axes >> a & 1U) != 0) {
        part *= static_cast<double>(tile[a]) / static_cast<double>(axes_[a].extent);
        own *= tiles[a];
      } else {
        times *= tiles[a];
      }
    }
    const double element = numerics::bytes_per_element(layer_.graph().tensor(each.id).format);
    const double at_hand = each.passes ? std::max(part / each.steps, element) : part;
    for (std::size_t k = each.first; k <= each.last; ++k) held[k] += at_hand;
    if (each.stored) bytes += each.bytes;
    if (!each.loaded) continue;
    bytes += each.bytes * times;
    if (own == 1.0 && times > 1.0) candidates.push_back({each.bytes * (times - 1.0), each.bytes});
  }
  double most = held.empty() ? 0.0 : *std::max_element(held.begin(), held.end());
  if (most > on_chip_bytes) return group;
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.saved * b.more > b.saved * a.more; });
  for (const Candidate& each : candidates) {
    if (most + each.more > on_chip_bytes) continue;
    most += each.more;
    bytes -= each.saved;
  }
  group.bytes = bytes;
  group.chip_bytes = most;
  for (std::size_t a = 0; a < axes_.size(); ++a)
    if (tiles[a] > 1.0) group.tiles.emplace_back(axes_[a].name, tile[a]);
  return group;
}

}  // namespace cairn::cost
