// Reverse-mode differentiation of one layer. Operators are visited in reverse; by the time an operator is visited,
// every consumer of its outputs has contributed to their gradients.
#include <algorithm>
#include <array>

#include <boost/container/small_vector.hpp>

#include "cairn/core/assert.h"
#include "cairn/ir/graph.h"

namespace cairn::ir {
namespace {

using loopnest::Affine;
using loopnest::DimId;
using loopnest::Projection;

// True when some dimension of the domain is not visible in the projection, so that several points meet in one element.
bool reduces(const loopnest::Domain& domain, const Projection& projection) {
  for (std::size_t dim = 0; dim < domain.dims().size(); ++dim)
    if (!uses(projection, static_cast<DimId>(dim))) return true;
  return false;
}

class Differentiator {
 public:
  Differentiator(Graph& graph, const DifferentiationOptions& options, std::vector<TensorId>& gradients,
                 std::vector<TensorId>& border_gradients)
      : graph_(graph),
        options_(options),
        gradients_(gradients),
        border_gradients_(border_gradients),
        contributions_(graph.tensors().size()),
        read_(graph.tensors().size(), 0) {
    for (const Operator& op : graph.operators())
      for (const Access& access : op.accesses)
        if (access.mode == Mode::read) read_[index(access.tensor)] = 1;
  }

  void run() {
    for (const TensorId output : graph_.outputs()) {
      const TensorId gradient = new_gradient(output, k_no_tensor);
      contributions_[index(output)].push_back(gradient);
      border_gradients_[index(output)] = gradient;
    }
    const auto forward_count = static_cast<OperatorId>(graph_.forward_count());
    for (OperatorId id = forward_count - 1; id >= 0; --id) {
      visit(id, is_loss(id));
    }
    for (const TensorId input : graph_.inputs()) resolve(input);
  }

 private:
  static std::size_t index(TensorId id) { return static_cast<std::size_t>(id); }

  // In a layer without outputs, what nothing of the layer reads: there may be several, one of each part of a batch.
  bool is_loss(OperatorId id) const {
    if (!graph_.outputs().empty()) return false;
    const auto& accesses = graph_.op(id).accesses;
    return std::none_of(accesses.begin(), accesses.end(), [&](const Access& access) {
      return access.mode != Mode::read && read_[index(access.tensor)] != 0;
    });
  }

  void visit(OperatorId id, bool seed) {
    boost::container::small_vector<Access, 2> output_gradients;
    // By index: resolving may append an operator, which moves the graph's storage.
    for (std::size_t i = 0; i < graph_.op(id).accesses.size(); ++i) {
      if (graph_.op(id).accesses[i].mode == Mode::read) continue;
      const TensorId gradient = resolve(graph_.op(id).accesses[i].tensor);
      if (gradient != k_no_tensor)
        output_gradients.push_back(Access{.tensor = gradient, .projection = graph_.op(id).accesses[i].projection});
    }
    if (output_gradients.empty() && !seed) return;
    if (graph_.op(id).is_plain_contraction())
      differentiate_contraction(id, output_gradients.front());
    else
      differentiate_fused(id, output_gradients);
    if (!output_gradients.empty()) pass_through(id, output_gradients.front().tensor);
  }

  void pass_through(OperatorId id, TensorId output_gradient) {
    for (const Access& access : graph_.op(id).accesses)
      if (access.mode == Mode::read && access.gradient == InputGradient::passed)
        contributions_[index(access.tensor)].push_back(output_gradient);
  }

  void differentiate_contraction(OperatorId id, const Access& output_gradient) {
    // Copied: appending operators moves the graph's storage.
    const Operator op = graph_.op(id);
    for (const bool parameters : {false, true})
      for (std::size_t target = 0; target < op.accesses.size(); ++target) {
        const Access& wanted = op.accesses[target];
        const bool is_parameter = graph_.tensor(wanted.tensor).role == Role::parameter;
        if (wanted.gradient != InputGradient::computed || wanted.addend || is_parameter != parameters) continue;
        Operator derived = derivative(op, id, is_parameter ? ".weight_gradient" : ".input_gradient");
        derived.kind = Kind::contraction;
        derived.flops_per_point = op.flops_per_point;
        derived.accesses.push_back(output_gradient);
        for (std::size_t other = 0; other < op.accesses.size(); ++other)
          if (other != target && op.accesses[other].is_factor())
            derived.accesses.push_back(read_only(op.accesses[other]));
        if (is_parameter)
          append_weight_gradient(std::move(derived), wanted);
        else
          append_input_gradient(std::move(derived), op, id, wanted);
      }
    for (const Access& access : op.accesses)
      if (access.addend && access.gradient == InputGradient::computed) reduce_addend(op, id, access, output_gradient);
  }

  void append_input_gradient(Operator derived, const Operator& op, OperatorId id, const Access& wanted) {
    const TensorId target = contribution(op, id, wanted.tensor);
    derived.accesses.push_back(Access{.tensor = target, .projection = wanted.projection, .mode = Mode::accumulate});
    graph_.add_operator(std::move(derived));
  }

  // Where an operator's derivative writes the gradient of what the operator read.
  TensorId contribution(const Operator& op, OperatorId id, TensorId tensor) {
    auto& parts = contributions_[index(tensor)];
    if (graph_.tensor(tensor).one_gradient && !parts.empty()) return parts.front();
    const TensorId target = new_gradient(tensor, aliased_gradient(op, id, tensor));
    contributions_[index(tensor)].push_back(target);
    return target;
  }

  void append_weight_gradient(Operator derived, const Access& wanted) {
    const TensorId accumulator = parameter_gradient(wanted.tensor);
    if (options_.fused_accumulation) {
      derived.accesses.push_back(
          Access{.tensor = accumulator, .projection = wanted.projection, .mode = Mode::accumulate});
      graph_.add_operator(std::move(derived));
      return;
    }
    Tensor fresh = graph_.tensor(wanted.tensor);
    fresh.name = "fresh d(" + fresh.name + ")";
    fresh.role = Role::gradient;
    fresh.of = k_no_tensor;
    const TensorId written = add(std::move(fresh));
    derived.accesses.push_back(Access{.tensor = written, .projection = wanted.projection, .mode = Mode::accumulate});
    const std::string name = derived.name;
    graph_.add_operator(std::move(derived));

    Operator sum = elementwise(wanted.tensor, name + ".accumulate");
    const Projection identity = identity_projection(wanted.tensor);
    sum.accesses.push_back(Access{.tensor = written, .projection = identity});
    sum.accesses.push_back(Access{.tensor = accumulator, .projection = identity, .mode = Mode::accumulate});
    graph_.add_operator(std::move(sum));
  }

  void reduce_addend(const Operator& op, OperatorId id, const Access& addend, const Access& summed) {
    Operator derived;
    derived.name = op.name + ".bias_gradient";
    derived.kind = Kind::reduce;
    derived.variant = "sum_of_rows";
    derived.phase = Phase::backward;
    derived.forward = id;
    derived.flops_per_point = 1.0;
    // Only the dimensions of the summed gradient are walked, not the contracted ones.
    std::array<int, loopnest::k_max_dims> moved{};
    moved.fill(-1);
    for (std::size_t dim = 0; dim < op.domain.dims().size(); ++dim)
      if (uses(summed.projection, static_cast<DimId>(dim)))
        moved[dim] = derived.domain.add(op.domain.dims()[dim].name, op.domain.dims()[dim].extent,
                                        op.domain.dims()[dim].selected);
    derived.accesses.push_back(Access{.tensor = summed.tensor, .projection = renumber(summed.projection, moved)});
    derived.accesses.push_back(Access{.tensor = parameter_gradient(addend.tensor),
                                      .projection = renumber(addend.projection, moved),
                                      .mode = Mode::accumulate});
    graph_.add_operator(std::move(derived));
  }

  void differentiate_fused(OperatorId id, const boost::container::small_vector<Access, 2>& output_gradients) {
    const Operator op = graph_.op(id);
    Access first_input_gradient;
    append_fused(op, id, output_gradients, first_input_gradient);

    const bool has_factor = std::any_of(op.accesses.begin(), op.accesses.end(), [&](const Access& access) {
      return wants_parameter_gradient(access) && !access.addend;
    });
    if (has_factor) {
      if (!op.joint_gradients || first_input_gradient.tensor == k_no_tensor)
        append_parameter_reduction(op, id, output_gradients);
      return;
    }
    for (const Access& access : op.accesses)
      if (wants_parameter_gradient(access))
        reduce_addend(op, id, access,
                      first_input_gradient.tensor != k_no_tensor ? first_input_gradient : output_gradients.front());
  }

  void append_fused(const Operator& op, OperatorId id,
                    const boost::container::small_vector<Access, 2>& output_gradients, Access& first_input_gradient) {
    Operator derived = derivative(op, id, ".backward");
    derived.flops_per_point = op.backward_flops_per_point;
    for (const Access& gradient : output_gradients) derived.accesses.push_back(gradient);
    append_backward_reads(derived, op, /*parameters=*/true);
    boost::container::small_vector<TensorId, 4> done;
    for (const Access& access : op.accesses) {
      if (access.mode != Mode::read || access.gradient != InputGradient::computed ||
          graph_.tensor(access.tensor).role == Role::parameter)
        continue;
      // One gradient tensor for all slices of one input.
      TensorId target = k_no_tensor;
      if (std::find(done.begin(), done.end(), access.tensor) != done.end()) {
        target = contributions_[index(access.tensor)].back();
      } else {
        target = contribution(op, id, access.tensor);
        done.push_back(access.tensor);
        if (op.fills_gradient) fill(target, op, access.projection);
      }
      derived.accesses.push_back(
          Access{.tensor = target,
                 .projection = access.projection,
                 .mode = reduces(op.domain, access.projection) ? Mode::accumulate : Mode::write});
      if (first_input_gradient.tensor == k_no_tensor) first_input_gradient = read_only(derived.accesses.back());
    }
    if (done.empty()) return;
    if (op.joint_gradients) append_parameter_gradients(derived, op);
    graph_.add_operator(std::move(derived));
  }

  void append_parameter_gradients(Operator& derived, const Operator& op) {
    for (const Access& access : op.accesses)
      if (wants_parameter_gradient(access))
        derived.accesses.push_back(Access{
            .tensor = parameter_gradient(access.tensor), .projection = access.projection, .mode = Mode::accumulate});
  }

  // Zeros over the whole gradient, along the operator's dimensions: what every rank selects from, every rank fills.
  void fill(TensorId gradient, const Operator& op, const Projection& selected) {
    Operator zeros = elementwise(gradient, op.name + ".fill");
    zeros.flops_per_point = 0.0;
    loopnest::Domain domain;
    for (std::size_t dim = 0; dim < selected.size(); ++dim) {
      const loopnest::Dim& own = zeros.domain.dims()[dim];
      const auto& terms = selected[dim].terms;
      const std::string& name = terms.size() == 1 ? op.domain.dims()[terms.front().dim].name : own.name;
      domain.add(name, own.extent);
    }
    zeros.domain = std::move(domain);
    zeros.accesses.push_back(
        Access{.tensor = gradient, .projection = identity_projection(gradient), .mode = Mode::write});
    graph_.add_operator(std::move(zeros));
  }

  void append_parameter_reduction(const Operator& op, OperatorId id,
                                  const boost::container::small_vector<Access, 2>& output_gradients) {
    Operator derived = derivative(op, id, ".parameter_gradient");
    derived.kind = op.kind == Kind::gather ? Kind::scatter : Kind::reduce;
    derived.flops_per_point = 2.0;
    for (const Access& gradient : output_gradients) derived.accesses.push_back(gradient);
    append_backward_reads(derived, op, /*parameters=*/false);
    append_parameter_gradients(derived, op);
    graph_.add_operator(std::move(derived));
  }

  bool wants_parameter_gradient(const Access& access) const {
    return access.mode == Mode::read && access.gradient == InputGradient::computed &&
           graph_.tensor(access.tensor).role == Role::parameter;
  }

  void append_backward_reads(Operator& derived, const Operator& op, bool parameters) {
    for (const TensorId read : op.backward_reads) {
      if (!parameters && graph_.tensor(read).role == Role::parameter) continue;
      bool found = false;
      for (const Access& access : op.accesses)
        if (access.tensor == read) {
          derived.accesses.push_back(read_only(access));
          found = true;
        }
      CAIRN_ASSERT(found && "backward_reads names a tensor the operator accesses");
    }
  }

  static Access read_only(const Access& access) {
    return Access{.tensor = access.tensor, .projection = access.projection};
  }

  static Operator derivative(const Operator& op, OperatorId id, const char* suffix) {
    Operator derived;
    derived.name = op.name + suffix;
    derived.kind = op.kind;
    derived.variant = op.variant;
    derived.phase = Phase::backward;
    derived.domain = op.domain;
    derived.forward = id;
    derived.moves_rows = op.moves_rows;
    return derived;
  }

  static Projection renumber(const Projection& projection, const std::array<int, loopnest::k_max_dims>& moved) {
    Projection result = projection;
    for (Affine& form : result)
      for (loopnest::Term& term : form.terms) {
        CAIRN_ASSERT(moved[term.dim] >= 0);
        term.dim = static_cast<DimId>(moved[term.dim]);
      }
    return result;
  }

  Operator elementwise(TensorId shape_of, std::string name) {
    Operator op;
    op.name = std::move(name);
    op.kind = Kind::pointwise;
    op.phase = Phase::backward;
    op.flops_per_point = 1.0;
    for (const TensorDim& dim : graph_.tensor(shape_of).dims) op.domain.add(dim.name, dim.extent);
    return op;
  }

  Projection identity_projection(TensorId tensor) const {
    Projection projection;
    for (std::size_t dim = 0; dim < graph_.tensor(tensor).dims.size(); ++dim)
      projection.push_back(Affine::of(static_cast<DimId>(dim)));
    return projection;
  }

  // Where the gradient of `input` lives, if not in memory of its own: in the saved tensor that the derivative overwrites.
  // And in-place operators differentiate in place: if an output shares the input's storage, so do their gradients, unless
  // the output's gradient was also passed on to a tensor that has yet to use it.
  TensorId aliased_gradient(const Operator& op, OperatorId id, TensorId input) const {
    if (op.gradient_over != k_no_tensor) return op.gradient_over;
    for (const Access& access : op.accesses)
      if (access.mode != Mode::read && graph_.tensor(access.tensor).alias_of == input) {
        const TensorId gradient = gradients_[index(access.tensor)];
        return awaited(gradient, id) ? k_no_tensor : gradient;
      }
    return k_no_tensor;
  }

  // True when an operator before `id`, or the layer's border, still wants this gradient.
  bool awaited(TensorId gradient, OperatorId id) const {
    for (std::size_t tensor = 0; tensor < contributions_.size(); ++tensor) {
      const auto& parts = contributions_[tensor];
      if (graph_.producer(static_cast<TensorId>(tensor)) < id &&
          std::find(parts.begin(), parts.end(), gradient) != parts.end())
        return true;
    }
    return false;
  }

  TensorId add(Tensor tensor) {
    const TensorId id = graph_.add_tensor(std::move(tensor));
    contributions_.emplace_back();
    return id;
  }

  TensorId new_gradient(TensorId of, TensorId alias_of) {
    Tensor gradient = graph_.tensor(of);
    gradient.name = "d(" + gradient.name + ")";
    gradient.role = Role::gradient;
    gradient.of = of;
    gradient.alias_of = alias_of;
    gradient.tied.clear();
    return add(std::move(gradient));
  }

  TensorId parameter_gradient(TensorId parameter) {
    if (gradients_[index(parameter)] == k_no_tensor) {
      const TensorId gradient = new_gradient(parameter, k_no_tensor);
      graph_.set_format(gradient, options_.parameter_gradient);
      gradients_[index(parameter)] = gradient;
    }
    return gradients_[index(parameter)];
  }

  // The whole gradient of a forward tensor: its only contribution, its pieces copied together, or a sum.
  TensorId resolve(TensorId tensor) {
    auto& parts = contributions_[index(tensor)];
    if (gradients_[index(tensor)] != k_no_tensor || parts.empty()) return gradients_[index(tensor)];
    TensorId total = parts.front();
    if (parts.size() > 1 || graph_.tensor(tensor).joined_gradient) {
      const boost::container::small_vector<TensorId, 2> summed(parts.begin(), parts.end());
      const char* what = parts.size() > 1 ? ".gradient_sum" : ".gradient_join";
      Operator sum = elementwise(tensor, graph_.tensor(tensor).name + what);
      sum.variant = parts.size() > 1 ? "gradient_sum" : "gradient_join";
      sum.flops_per_point = static_cast<double>(summed.size() - 1);
      const Projection identity = identity_projection(tensor);
      for (const TensorId part : summed) sum.accesses.push_back(Access{.tensor = part, .projection = identity});
      total = new_gradient(tensor, k_no_tensor);
      sum.accesses.push_back(Access{.tensor = total, .projection = identity, .mode = Mode::write});
      graph_.add_operator(std::move(sum));
    }
    gradients_[index(tensor)] = total;
    return total;
  }

  Graph& graph_;
  const DifferentiationOptions& options_;
  std::vector<TensorId>& gradients_;
  std::vector<TensorId>& border_gradients_;
  std::vector<boost::container::small_vector<TensorId, 2>> contributions_;
  std::vector<char> read_;  // forward tensors: by some operator
};

}  // namespace

void Graph::differentiate(const DifferentiationOptions& options) {
  CAIRN_ASSERT(!differentiated_);
  differentiated_ = true;
  border_gradients_.assign(tensors_.size(), k_no_tensor);
  Differentiator(*this, options, gradients_, border_gradients_).run();
}

}  // namespace cairn::ir
