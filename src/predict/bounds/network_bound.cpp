#include "cairn/predict/bounds/network_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cairn/core/assert.h"

namespace cairn::predict {
namespace {

using Dims = boost::container::static_vector<char, ir::k_max_rank>;

std::size_t slot(std::int32_t id) { return static_cast<std::size_t>(id); }

// One matrix of a chain, after the one before it.
struct Link {
  double inputs = 0.0;
  double outputs = 0.0;
  std::int32_t before = -1;
  std::int32_t length = 0;
};

// What is known of a tensor on the way: the chain that ends in it, and which of its dimensions count channels rather
// than tokens (empty before the first matrix, when any may).
struct Reached {
  bool known = false;
  std::int32_t link = -1;
  Dims channel = {};
};

// The dimension of the operator that indexes each dimension of the tensor alone and over its whole extent; -1: a
// constant.
using Indices = boost::container::static_vector<int, ir::k_max_rank>;

std::optional<Indices> plain_indices(const ir::Operator& op, const ir::Access& access, const ir::Tensor& tensor) {
  Indices result;
  loopnest::DimSet seen = 0;
  for (std::size_t i = 0; i < access.projection.size(); ++i) {
    const loopnest::Affine& form = access.projection[i];
    if (form.terms.empty()) {
      result.push_back(-1);
      continue;
    }
    if (form.terms.size() != 1 || form.terms.front().stride != 1 || form.offset != 0) return std::nullopt;
    const int dim = form.terms.front().dim;
    if ((seen >> dim & 1) != 0 || !(op.domain.dims()[static_cast<std::size_t>(dim)].extent == tensor.dims[i].extent))
      return std::nullopt;
    seen = static_cast<loopnest::DimSet>(seen | (1U << dim));
    result.push_back(dim);
  }
  return result;
}

loopnest::DimSet dims_of(const Indices& indices) {
  unsigned set = 0;
  for (const int dim : indices)
    if (dim >= 0) set |= 1U << dim;
  return static_cast<loopnest::DimSet>(set);
}

bool has_constant(const Indices& indices) { return std::find(indices.begin(), indices.end(), -1) != indices.end(); }

bool visits_everything(const loopnest::Domain& domain) {
  return domain.guards().empty() &&
         std::none_of(domain.dims().begin(), domain.dims().end(), [](const auto& dim) { return dim.selected > 0; });
}

loopnest::DimSet all_dims(const ir::Operator& op) {
  return static_cast<loopnest::DimSet>((1U << op.domain.dims().size()) - 1U);
}

class ChainFinder {
 public:
  ChainFinder(const ir::Model& model, const loopnest::Sizes& sizes) : model_(model), sizes_(sizes) {}

  std::optional<ProductChain> run() {
    std::vector<Reached> border;
    for (const ir::LayerRun& run : model_.layers) {
      const ir::LayerClass& layer = model_.classes[slot(run.layer_class)];
      if (layer.position != ir::Position::body) continue;
      for (std::int64_t i = 0; i < run.count; ++i) border = through(layer.graph, border);
    }
    std::int32_t last = -1;
    for (const Reached& each : border)
      if (each.link >= 0 && (last < 0 || links_[slot(each.link)].length > links_[slot(last)].length)) last = each.link;
    return measure(last);
  }

 private:
  std::vector<Reached> through(const ir::Graph& graph, const std::vector<Reached>& border) {
    reached_.assign(graph.tensors().size(), {});
    for (std::size_t i = 0; i < graph.inputs().size(); ++i)
      reached_[slot(graph.inputs()[i])] = i < border.size() && border[i].known ? border[i] : Reached{.known = true};
    for (const ir::Operator& op : graph.operators()) {
      if (op.phase != ir::Phase::forward || !visits_everything(op.domain)) continue;
      if (op.is_plain_contraction())
        multiply(graph, op);
      else if (op.kind == ir::Kind::pointwise || op.kind == ir::Kind::reduce)
        pass(graph, op);
    }
    std::vector<Reached> out;
    for (const ir::TensorId tensor : graph.outputs()) out.push_back(reached_[slot(tensor)]);
    return out;
  }

  std::int32_t length(const Reached& each) const { return each.link < 0 ? 0 : links_[slot(each.link)].length; }

  void improve(ir::TensorId tensor, Reached found) {
    Reached& known = reached_[slot(tensor)];
    if (!known.known || length(found) > length(known)) known = found;
  }

  // y[tokens, outputs] += x[tokens, inputs] w[inputs, outputs]: each dimension in exactly two of the three.
  void multiply(const ir::Graph& graph, const ir::Operator& op) {
    const ir::Access *x = nullptr, *w = nullptr, *y = nullptr;
    for (const ir::Access& access : op.accesses) {
      if (access.addend) continue;
      const bool parameter = graph.tensor(access.tensor).role == ir::Role::parameter;
      const ir::Access*& slot = access.mode != ir::Mode::read ? y : parameter ? w : x;
      if (slot != nullptr) return;
      slot = &access;
    }
    if (x == nullptr || w == nullptr || y == nullptr || !reached_[slot(x->tensor)].known) return;
    if (w->gradient != ir::InputGradient::computed || x->gradient != ir::InputGradient::computed ||
        !graph.tensor(w->tensor).tied.empty())
      return;
    const auto of_x = plain_indices(op, *x, graph.tensor(x->tensor));
    const auto of_w = plain_indices(op, *w, graph.tensor(w->tensor));
    const auto of_y = plain_indices(op, *y, graph.tensor(y->tensor));
    if (!of_x || !of_w || !of_y || has_constant(*of_x) || has_constant(*of_w) || has_constant(*of_y)) return;
    const unsigned in_x = dims_of(*of_x), in_w = dims_of(*of_w), in_y = dims_of(*of_y);
    if ((in_x & in_w & in_y) != 0 || ((in_x & in_w) | (in_w & in_y) | (in_x & in_y)) != all_dims(op)) return;
    const Reached& from = reached_[slot(x->tensor)];
    if (!from.channel.empty())
      for (std::size_t i = 0; i < of_x->size(); ++i)
        if (((in_w >> (*of_x)[i] & 1U) != 0) != (from.channel[i] != 0)) return;

    if (tokens_ == 0.0) tokens_ = extents(op, in_x & in_y);
    Reached found{.known = true, .link = static_cast<std::int32_t>(links_.size())};
    for (const int dim : *of_y) found.channel.push_back(static_cast<char>(in_w >> dim & 1U));
    links_.push_back({.inputs = extents(op, in_x & in_w),
                      .outputs = extents(op, in_w & in_y),
                      .before = from.link,
                      .length = length(from) + 1});
    improve(y->tensor, found);
  }

  // A result whose every element depends on the element of x of the same token and channel.
  void pass(const ir::Graph& graph, const ir::Operator& op) {
    for (const ir::Access& read : op.accesses) {
      if (read.mode != ir::Mode::read || !reached_[slot(read.tensor)].known || read.gradient == ir::InputGradient::none)
        continue;
      const auto from = plain_indices(op, read, graph.tensor(read.tensor));
      if (!from || dims_of(*from) != all_dims(op)) continue;
      const std::optional<Reached> kept = sliced(op, *from, graph.tensor(read.tensor), reached_[slot(read.tensor)]);
      if (!kept) continue;
      for (const ir::Access& write : op.accesses) {
        const ir::Tensor& result = graph.tensor(write.tensor);
        if (write.mode != ir::Mode::write || result.format == numerics::Format::mask) continue;
        const auto to = plain_indices(op, write, result);
        if (!to || has_constant(*to) || dims_of(*to) != all_dims(op)) continue;
        Reached found{.known = true, .link = kept->link};
        if (!kept->channel.empty())
          for (const int dim : *to)
            found.channel.push_back(
                kept->channel[static_cast<std::size_t>(std::find(from->begin(), from->end(), dim) - from->begin())]);
        improve(write.tensor, found);
      }
    }
  }

  // The chain as it goes on where an operator reads only some channels: what the last matrix makes of them is a matrix,
  // too.
  std::optional<Reached> sliced(const ir::Operator& op, const Indices& from, const ir::Tensor& tensor,
                                Reached reached) {
    if (!has_constant(from)) return reached;
    if (reached.link < 0 || reached.channel.empty()) return std::nullopt;
    unsigned kept = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] < 0 && reached.channel[i] == 0) return std::nullopt;
      if (from[i] >= 0 && reached.channel[i] != 0) kept |= 1U << from[i];
    }
    CAIRN_ASSERT(from.size() == tensor.dims.size());
    Link link = links_[slot(reached.link)];
    link.outputs = extents(op, kept);
    reached.link = static_cast<std::int32_t>(links_.size());
    links_.push_back(link);
    return reached;
  }

  double extents(const ir::Operator& op, unsigned dims) const {
    double product = 1.0;
    for (std::size_t i = 0; i < op.domain.dims().size(); ++i) {
      const loopnest::Extent& extent = op.domain.dims()[i].extent;
      if ((dims >> i & 1U) != 0) product *= static_cast<double>(extent.at(sizes_)) * extent.useful(sizes_);
    }
    return product;
  }

  std::optional<ProductChain> measure(std::int32_t last) const {
    ProductChain chain{.tokens = tokens_, .width = std::numeric_limits<double>::infinity()};
    for (std::int32_t id = last; id >= 0; id = links_[slot(id)].before) {
      const Link& link = links_[slot(id)];
      chain.width = std::min({chain.width, link.inputs, link.outputs});
      if (id == last || link.before < 0) continue;
      chain.weights += link.inputs * link.outputs;
      chain.largest = std::max(chain.largest, link.inputs * link.outputs);
    }
    return chain.weights > 0.0 ? std::optional(chain) : std::nullopt;
  }

  const ir::Model& model_;
  const loopnest::Sizes& sizes_;
  std::vector<Reached> reached_;  // by tensor of the layer at hand
  std::vector<Link> links_;
  double tokens_ = 0.0;
};

// max over theta of min( 2 theta, f(theta) / theta x ), x = Lambda phi: the first grows, the second falls.
double words_per_channel(double x) {
  const auto rising = [](double theta) { return 2.0 * theta; };
  const auto falling = [x](double theta) { return std::min(1.0, 2.0 * std::sqrt(1.0 - theta)) / theta * x; };
  double low = 0.5, high = 1.0;
  if (falling(low) <= rising(low)) return falling(low);
  constexpr int k_halvings = 50;
  for (int i = 0; i < k_halvings; ++i) {
    const double middle = 0.5 * (low + high);
    (falling(middle) > rising(middle) ? low : high) = middle;
  }
  return rising(low);
}

}  // namespace

std::optional<ProductChain> product_chain(const ir::Model& model, const loopnest::Sizes& sizes) {
  return ChainFinder(model, sizes).run();
}

double least_crossing_bytes(const ProductChain& chain, double share, const WordBytes& bytes) {
  CAIRN_ASSERT(share >= 0.0 && share <= 0.5);
  const double paths =
      bytes.value * chain.tokens * chain.width * words_per_channel(share * chain.weights / chain.largest);
  const double sums = bytes.weight_gradient * chain.weights;
  return std::min({paths, sums, 2.0 * std::sqrt(share * sums * paths)});
}

double all_links_bytes_per_s(const hardware::Network& network, const std::optional<hardware::Host>& host) {
  double all = host ? host->link.bandwidth.base() : 0.0;
  for (const hardware::NetworkLevel& level : network.levels) all += level.gpu_bandwidth().base();
  return all;
}

double network_bound_s(const ProductChain& chain, double devices, const WordBytes& bytes, double links_bytes_per_s,
                       double peak_flops) {
  constexpr double k_directions = 2.0;
  const double carried = least_crossing_bytes(chain, 1.0 / devices, bytes) / (k_directions * links_bytes_per_s);
  return std::min(chain.tokens * chain.weights / peak_flops, carried);
}

}  // namespace cairn::predict
