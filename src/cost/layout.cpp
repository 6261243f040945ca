#include "cairn/cost/layout.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace cairn::cost {
namespace {

// What an operand is indexed by: dimensions of the operator, in the tensor's order, outermost first.
struct Operand {
  ir::TensorId tensor = ir::k_no_tensor;
  double bytes = 0.0;
  bool result = false;
  std::vector<int> dims;  // by position of the tensor; -1: none, or of extent 1
};

struct Kernel {
  bool product = false;
  bool copy = false;
  std::vector<Operand> operands;
};

using Sequence = std::vector<int>;

Sequence in_memory(const Operand& operand, const Order& order) {
  Sequence dims;
  for (const std::uint8_t position : order)
    if (operand.dims[position] >= 0) dims.push_back(operand.dims[position]);
  return dims;
}

// The dimensions of `set` lie next to each other in `dims`; `run`: their order, which must agree with an earlier one.
bool one_stride(const Sequence& dims, std::uint32_t set, Sequence& run) {
  Sequence found;
  std::size_t last = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if ((set >> dims[i] & 1U) == 0) continue;
    if (!found.empty() && i != last + 1) return false;
    found.push_back(dims[i]);
    last = i;
  }
  if (run.empty()) run = found;
  return found.empty() || found == run;
}

std::uint32_t set_of(const Operand& operand) {
  std::uint32_t set = 0;
  for (const int dim : operand.dims) set |= dim >= 0 ? 1U << dim : 0U;
  return set;
}

bool shared_alike(const Sequence& a, const Sequence& b) {
  Sequence in_a, in_b;
  for (const int dim : a)
    if (std::find(b.begin(), b.end(), dim) != b.end()) in_a.push_back(dim);
  for (const int dim : b)
    if (std::find(a.begin(), a.end(), dim) != a.end()) in_b.push_back(dim);
  return in_a == in_b;
}

class LayoutSearch {
 public:
  LayoutSearch(const ir::Graph& graph, const loopnest::Sizes& sizes, std::size_t count)
      : kernels_of_(graph.tensors().size()), written_(graph.tensors().size()) {
    for (std::size_t i = 0; i < count; ++i) add(graph, graph.operators()[i], sizes);
    for (std::size_t t = 0; t < written_.size(); ++t) {
      if (kernels_of_[t].empty()) continue;
      Order& order = written_[t];
      order.resize(graph.tensors()[t].dims.size());
      std::iota(order.begin(), order.end(), std::uint8_t{0});
      for (const ir::TensorDim& dim : graph.tensors()[t].dims)
        if (std::find(names_.begin(), names_.end(), dim.name) == names_.end()) names_.push_back(dim.name);
    }
    graph_ = &graph;
  }

  Layouts written() const { return {.orders = written_, .copied_bytes = total(written_)}; }

  Layouts chosen() const {
    Layouts best = improved(written_);
    for (const std::string& name : names_) {
      if (best.copied_bytes == 0.0) break;
      Layouts other = improved(outermost(name));
      if (other.copied_bytes < best.copied_bytes) best = std::move(other);
    }
    return best;
  }

 private:
  void add(const ir::Graph& graph, const ir::Operator& op, const loopnest::Sizes& sizes) {
    const loopnest::Box box = op.domain.box(sizes);
    Kernel kernel{.product = op.is_plain_contraction(), .copy = false, .operands = {}};
    if (op.kind == ir::Kind::gather || op.kind == ir::Kind::scatter || op.kind == ir::Kind::opaque) return;
    for (const ir::Access& access : op.accesses) {
      const ir::Tensor& tensor = graph.tensor(access.tensor);
      if (access.addend || tensor.role == ir::Role::index) continue;
      Operand operand{.tensor = access.tensor, .bytes = 0.0, .result = access.mode != ir::Mode::read, .dims = {}};
      operand.bytes = static_cast<double>(tensor.elements(sizes)) * numerics::bytes_per_element(tensor.format);
      for (const loopnest::Affine& form : access.projection) {
        const bool plain = form.terms.size() == 1 && box[form.terms[0].dim].extent() > 1;
        operand.dims.push_back(plain ? form.terms[0].dim : -1);
      }
      kernel.operands.push_back(std::move(operand));
    }
    const auto& all = kernel.operands;
    kernel.copy = all.size() == 2 && op.kind == ir::Kind::pointwise && op.flops_per_point == 0.0 &&
                  graph.tensor(all[0].tensor).format == graph.tensor(all[1].tensor).format;
    for (const Operand& operand : all) {
      auto& kernels = kernels_of_[static_cast<std::size_t>(operand.tensor)];
      if (kernels.empty() || kernels.back() != kernels_.size()) kernels.push_back(kernels_.size());
    }
    kernels_.push_back(std::move(kernel));
  }

  // Operands whose bits are set are copied first and lie as the kernel likes.
  static bool takes(const Kernel& kernel, const std::vector<Order>& orders, std::uint32_t copied) {
    std::vector<Sequence> memory;
    for (const Operand& operand : kernel.operands)
      memory.push_back(in_memory(operand, orders[static_cast<std::size_t>(operand.tensor)]));
    const std::size_t n = memory.size();
    if (!kernel.product || n != 3) {
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < i; ++j)
          if (((copied >> i | copied >> j) & 1U) == 0 && !shared_alike(memory[i], memory[j])) return false;
      return true;
    }
    const std::array<std::uint32_t, 3> sets{set_of(kernel.operands[0]), set_of(kernel.operands[1]),
                                            set_of(kernel.operands[2])};
    const std::uint32_t batch = sets[0] & sets[1] & sets[2];
    const std::array<std::uint32_t, 4> groups{batch, sets[0] & sets[1] & ~batch, sets[1] & sets[2] & ~batch,
                                              sets[0] & sets[2] & ~batch};
    std::array<Sequence, 4> runs;
    for (std::size_t i = 0; i < n; ++i) {
      if ((copied >> i & 1U) != 0) continue;
      for (std::size_t g = 0; g < groups.size(); ++g)
        if (!one_stride(memory[i], groups[g], runs[g])) return false;
      if (!memory[i].empty() && (batch >> memory[i].back() & 1U) != 0 && (sets[i] & ~batch) != 0) return false;
    }
    return true;
  }

  static double cost(const Kernel& kernel, const std::vector<Order>& orders) {
    constexpr double k_read_and_write = 2.0;
    if (kernel.copy) return takes(kernel, orders, 0) ? 0.0 : k_read_and_write * kernel.operands[0].bytes;
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t copied = 0; copied < 1U << kernel.operands.size(); ++copied) {
      double bytes = 0.0;
      for (std::size_t i = 0; i < kernel.operands.size(); ++i)
        if ((copied >> i & 1U) != 0) bytes += k_read_and_write * kernel.operands[i].bytes;
      if (bytes < least && takes(kernel, orders, copied)) least = bytes;
    }
    return least;
  }

  double total(const std::vector<Order>& orders) const {
    double sum = 0.0;
    for (const Kernel& kernel : kernels_) sum += cost(kernel, orders);
    return sum;
  }

  double around(std::size_t tensor, const std::vector<Order>& orders) const {
    double sum = 0.0;
    for (const std::size_t kernel : kernels_of_[tensor]) sum += cost(kernels_[kernel], orders);
    return sum;
  }

  std::vector<Order> outermost(const std::string& name) const {
    std::vector<Order> orders = written_;
    for (std::size_t t = 0; t < orders.size(); ++t)
      std::stable_partition(orders[t].begin(), orders[t].end(),
                            [&](std::uint8_t at) { return graph_->tensors()[t].dims[at].name == name; });
    return orders;
  }

  Layouts improved(std::vector<Order> orders) const {
    for (bool better = true; better;) {
      better = false;
      for (std::size_t t = 0; t < orders.size(); ++t) {
        double least = around(t, orders);
        if (kernels_of_[t].empty() || least == 0.0) continue;
        Order best = orders[t], order = best;
        std::sort(order.begin(), order.end());
        do {
          orders[t] = order;
          const double here = around(t, orders);
          if (here >= least) continue;
          least = here;
          best = order;
          better = true;
        } while (std::next_permutation(order.begin(), order.end()));
        orders[t] = best;
      }
    }
    const double bytes = total(orders);
    return {.orders = std::move(orders), .copied_bytes = bytes};
  }

  const ir::Graph* graph_ = nullptr;
  std::vector<Kernel> kernels_;
  std::vector<std::vector<std::size_t>> kernels_of_;  // by tensor
  std::vector<Order> written_;
  std::vector<std::string> names_;
};

}  // namespace

Layouts written_layouts(const ir::Graph& graph, const loopnest::Sizes& sizes, std::size_t count) {
  return LayoutSearch(graph, sizes, count).written();
}

Layouts chosen_layouts(const ir::Graph& graph, const loopnest::Sizes& sizes, std::size_t count) {
  return LayoutSearch(graph, sizes, count).chosen();
}

}  // namespace cairn::cost
