#include "pase_costs.h"

#include <algorithm>
#include <string_view>

#include "cairn/core/assert.h"

namespace cairn::splits {
namespace {

using loopnest::bit;
using loopnest::DimId;
using loopnest::DimSet;

DimSet dims_of(const loopnest::Affine& form) {
  DimSet dims = 0;
  for (const loopnest::Term& term : form.terms) dims = static_cast<DimSet>(dims | bit(term.dim));
  return dims;
}

DimSet dims_of(const loopnest::Projection& projection) {
  DimSet dims = 0;
  for (const loopnest::Affine& form : projection) dims = static_cast<DimSet>(dims | dims_of(form));
  return dims;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

const ir::Access* result_of(const ir::Graph& graph, const ir::Operator& op) {
  for (const ir::Access& access : op.accesses)
    if (access.mode != ir::Mode::read && !graph.tensor(access.tensor).statistic) return &access;
  return nullptr;
}

const ir::Access* statistic_of(const ir::Graph& graph, const ir::Operator& op) {
  for (const ir::Access& access : op.accesses)
    if (access.mode != ir::Mode::read && graph.tensor(access.tensor).statistic) return &access;
  return nullptr;
}

std::size_t factors(const ir::Operator& op) {
  return static_cast<std::size_t>(std::count_if(op.accesses.begin(), op.accesses.end(),
                                                [](const ir::Access& access) { return access.is_factor(); }));
}

DimId only(DimSet dims) {
  for (DimId d = 0; d < loopnest::k_max_dims; ++d)
    if (dims & bit(d)) return d;
  CAIRN_ASSERT(false && "a dimension");
  return 0;
}

}  // namespace

PaseRule pase_rule(const ir::Operator& op) {
  switch (op.kind) {
    case ir::Kind::contraction:
      return factors(op) == 2 ? PaseRule::product : PaseRule::none;
    case ir::Kind::gather:
      return op.variant.empty() ? PaseRule::product : op.variant == "lower-triangle" ? PaseRule::view : PaseRule::none;
    case ir::Kind::pointwise:
      return PaseRule::element_wise;
    case ir::Kind::reduce:
      if (is_one_of(op.variant, {"max-pool", "average-pool"})) return PaseRule::pooling;
      if (is_one_of(op.variant, {"batch-norm", "layer-norm"})) return PaseRule::norm;
      if (op.variant == "softmax") return PaseRule::softmax;
      if (is_one_of(op.variant, {"cross-entropy", "squared-error"})) return PaseRule::loss;
      return op.variant == "mean" ? PaseRule::mean : PaseRule::none;
    case ir::Kind::scan:
      return op.variant == "lstm" ? PaseRule::lstm : PaseRule::none;
    case ir::Kind::opaque:
      if (op.variant == "reshape") return PaseRule::reshape;
      return is_one_of(op.variant, {"concat", "stack", "unstack", "split", "transpose"}) ? PaseRule::view
                                                                                         : PaseRule::none;
    case ir::Kind::scatter:
      return PaseRule::none;
  }
  return PaseRule::none;
}

DimSet whole_dims(const ir::Operator& op, PaseRule rule) {
  DimSet result = 0, windows = 0, written = 0;
  for (const ir::Access& access : op.accesses) {
    if (access.mode != ir::Mode::read) written = static_cast<DimSet>(written | dims_of(access.projection));
    for (const loopnest::Affine& form : access.projection)
      if (form.terms.size() > 1) windows = static_cast<DimSet>(windows | dims_of(form));
  }
  if (rule == PaseRule::product) result = static_cast<DimSet>(windows & written);
  if (rule == PaseRule::pooling) result = static_cast<DimSet>(windows & ~written);
  for (DimId d = 0; rule == PaseRule::view && d < op.domain.dims().size(); ++d)
    if (op.domain.dims()[d].selected > 0) result = static_cast<DimSet>(result | bit(d));
  if (rule == PaseRule::lstm) result = bit(static_cast<DimId>(op.domain.find("seq")));
  return result;
}

std::vector<std::int64_t> extents_of(const ir::Operator& op) {
  std::vector<std::int64_t> extents;
  for (const loopnest::Dim& dim : op.domain.dims()) extents.push_back(dim.extent.at({}));
  return extents;
}

PaseCost::PaseCost(const ir::Graph& graph, const ir::Operator& op, int behind, double flop_per_word)
    : graph_(graph),
      op_(op),
      rule_(pase_rule(op)),
      behind_(behind),
      flop_per_word_(flop_per_word),
      extents_(extents_of(op)),
      all_(static_cast<DimSet>((1u << extents_.size()) - 1u)) {
  const ir::Access* kept = statistic_of(graph, op);
  if (kept == nullptr) kept = result_of(graph, op);
  if (kept != nullptr) summed_ = static_cast<DimSet>(all_ & ~dims_of(kept->projection));
  if (rule_ == PaseRule::product) products_ = products();
}

PaseCost::Products PaseCost::products() const {
  const DimSet out = dims_of(result_of(graph_, op_)->projection);
  DimSet first = 0, second = 0;
  if (op_.kind == ir::Kind::gather) {  // a product of one-hot rows with the table
    for (DimId d = 0; d < extents_.size(); ++d)
      if (op_.domain.dims()[d].selected > 0) first = bit(d);
    for (const ir::Access& access : op_.accesses)
      if (access.mode == ir::Mode::read && (dims_of(access.projection) & first)) second = dims_of(access.projection);
    first = static_cast<DimSet>((out & ~second) | first);
  } else {
    for (const ir::Access& access : op_.accesses) {
      if (!access.is_factor()) continue;
      (first == 0 ? first : second) = dims_of(access.projection);
    }
  }
  return {.batch = static_cast<DimSet>(first & second & out),
          .m = static_cast<DimSet>(first & ~second & out),
          .n = static_cast<DimSet>(second & ~first & out),
          .k = static_cast<DimSet>(first & second & ~out)};
}

double PaseCost::cuts(const Split& split, DimSet dims) const {
  double product = 1.0;
  for (DimId d = 0; d < split.size(); ++d)
    if (dims & bit(d)) product *= static_cast<double>(split[d]);
  return product;
}

double PaseCost::local(const Split& split, DimSet dims) const {
  double product = 1.0;
  for (DimId d = 0; d < split.size(); ++d)
    if (dims & bit(d)) product *= static_cast<double>(extents_[d]) / static_cast<double>(split[d]);
  return product;
}

double PaseCost::product(const Split& split, const Products& dims, double widen_n, double widen_k, int behind) const {
  const double m = local(split, dims.m), n = widen_n * local(split, dims.n), k = widen_k * local(split, dims.k);
  return local(split, dims.batch) * (3.0 * m * n * k + 3.0 * behind * m * n + all_reduce(m * n, cuts(split, dims.k)) +
                                     all_reduce(m * k, cuts(split, dims.n)) + all_reduce(n * k, cuts(split, dims.m)));
}

double PaseCost::pooling(const Split& split) const {
  const ir::Access& image = op_.accesses.front();
  double own = 1.0, reached = 1.0, others = 1.0;
  for (std::size_t i = 0; i < image.projection.size(); ++i) {
    const loopnest::Affine& form = image.projection[i];
    const auto extent = static_cast<double>(graph_.tensor(image.tensor).dims[i].extent.at({}));
    const auto cut = static_cast<double>(split[form.terms.front().dim]);
    if (form.terms.size() == 1) {
      others *= extent / cut;
      continue;
    }
    const auto window = static_cast<double>(extents_[form.terms.back().dim]);
    own *= extent / cut;
    reached *= extent / cut + (cut > 1.0 ? window : 0.0);
  }
  const DimSet out = dims_of(result_of(graph_, op_)->projection);
  return local(split, out) + words((reached - own) * others);
}

double PaseCost::norm(const Split& split) const {
  const DimSet axis = bit(only(summed_));
  const double elements = local(split, all_), along = local(split, axis);
  return 16.0 * elements + 4.0 * all_reduce(elements / along, cuts(split, axis)) +
         4.0 * all_reduce(along, cuts(split, static_cast<DimSet>(all_ & ~axis)));
}

double PaseCost::softmax(const Split& split) const {
  const DimSet axis = bit(only(summed_));
  const auto whole = static_cast<double>(extents_[only(summed_)]);
  const double elements = local(split, all_), rows = local(split, static_cast<DimSet>(all_ & ~axis));
  const double parts = cuts(split, axis);
  return (4.0 + whole) * elements + 2.0 * all_reduce(rows, parts) + all_reduce(rows * whole, parts);
}

double PaseCost::loss(const Split& split) const {
  const double rows = local(split, static_cast<DimSet>(all_ & ~summed_));
  return 4.0 * local(split, all_) + 2.0 * rows + (cuts(split, summed_) > 1.0 ? words(2.0 * rows) : 0.0);
}

double PaseCost::lstm(const Split& split) const {
  const auto dim = [&](std::string_view name) { return static_cast<DimId>(op_.domain.find(name)); };
  const DimId layer = dim("layer"), seq = dim("seq"), b = dim("b"), n = dim("n"), k = dim("k");
  constexpr double k_gates = 4.0, k_inputs = 2.0;
  constexpr int k_behind = 3;
  const Products dims{.batch = bit(layer), .m = static_cast<DimSet>(bit(seq) | bit(b)), .n = bit(n), .k = bit(k)};
  const double made_n = local(split, bit(n)), wanted_k = local(split, bit(k)), rows = local(split, bit(b));
  const double common = cuts(split, bit(k)) > cuts(split, bit(n)) ? 0.0 : rows * std::min(made_n, wanted_k);
  const double lacking = std::max(0.0, rows * wanted_k - common);
  return product(split, dims, k_gates, k_inputs, k_behind) +
         static_cast<double>(extents_[layer] * extents_[seq]) * words(lacking);
}

double PaseCost::operator()(const Split& split) const {
  switch (rule_) {
    case PaseRule::product:
      return product(split, products_, 1.0, 1.0, behind_);
    case PaseRule::element_wise:
      return (1.0 + behind_) * local(split, all_);
    case PaseRule::pooling:
      return pooling(split);
    case PaseRule::norm:
      return norm(split);
    case PaseRule::softmax:
      return softmax(split);
    case PaseRule::loss:
      return loss(split);
    case PaseRule::mean:
      return all_reduce(local(split, all_), cuts(split, summed_));
    case PaseRule::lstm:
      return lstm(split);
    case PaseRule::reshape:
    case PaseRule::view:
    case PaseRule::none:
      return 0.0;
  }
  return 0.0;
}

}  // namespace cairn::splits
