#include "cairn/ir/narrow.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cairn/core/assert.h"

namespace cairn::ir {
namespace {

// A multiplication by the scale and a rounding; a comparison.
constexpr double k_cast_flops = 2.0, k_maximum_flops = 1.0;

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

loopnest::Projection identity(const Tensor& tensor) {
  loopnest::Projection projection;
  for (std::size_t dim = 0; dim < tensor.dims.size(); ++dim)
    projection.push_back(loopnest::Affine::of(static_cast<loopnest::DimId>(dim)));
  return projection;
}

// The narrow forms of one wide tensor.
struct Narrow {
  TensorId wide = k_no_tensor;
  TensorId rows = k_no_tensor;
  TensorId columns = k_no_tensor;
  TensorId maximum = k_no_tensor;
};

// One product and what came of it by differentiation.
struct Product {
  OperatorId forward = -1;
  OperatorId input_gradient = -1;
  OperatorId weight_gradient = -1;
  TensorId x = k_no_tensor;
  TensorId weight = k_no_tensor;
  TensorId dy = k_no_tensor;
};

class Rewriter {
 public:
  Rewriter(Graph& graph, const NarrowProducts& options)
      : graph_(graph), options_(options), operators_(graph.operators()), before_(operators_.size()) {}

  void run() {
    for (std::size_t id = 0; id < graph_.forward_count(); ++id)
      if (const auto product = find_product(static_cast<OperatorId>(id))) products_.push_back(*product);
    for (const Product& product : products_) rewrite(product);
    assemble();
  }

 private:
  static const Access* reading(const Operator& op, TensorId tensor) {
    for (const Access& access : op.accesses)
      if (access.mode == Mode::read && access.tensor == tensor) return &access;
    return nullptr;
  }

  std::optional<Product> find_product(OperatorId id) const {
    const Operator& op = operators_[at(id)];
    if (!op.is_plain_contraction() || op.keeps_format) return std::nullopt;
    Product product{.forward = id};
    for (const Access& access : op.accesses) {
      if (access.mode != Mode::read || access.addend) continue;
      (graph_.tensor(access.tensor).role == Role::parameter ? product.weight : product.x) = access.tensor;
    }
    if (product.x == k_no_tensor || product.weight == k_no_tensor) return std::nullopt;
    for (std::size_t later = graph_.forward_count(); later < operators_.size(); ++later) {
      const Operator& derived = operators_[later];
      if (derived.forward != id || derived.kind != Kind::contraction) continue;
      const bool of_input = reading(derived, product.weight) != nullptr;
      (of_input ? product.input_gradient : product.weight_gradient) = static_cast<OperatorId>(later);
      product.dy = derived.accesses.front().tensor;
    }
    return product;
  }

  // Whether the product needs a tensor of which ranks hold parts.
  bool gathered(const Product& product, OperatorId reader, TensorId tensor) const {
    if (!options_.gathered) return false;
    const Operator& op = operators_[at(product.forward)];
    const Access* access = reading(operators_[at(reader)], tensor);
    CAIRN_ASSERT(access != nullptr);
    return std::any_of(options_.own_parts.begin(), options_.own_parts.end(), [&](const std::string& name) {
      const int dim = op.domain.find(name);
      return dim >= 0 && !uses(access->projection, static_cast<loopnest::DimId>(dim));
    });
  }

  void rewrite(const Product& product) {
    const bool narrow_weight = options_.forward || options_.input_gradient;
    TensorId wide_weight = product.weight;
    if (narrow_weight && !(options_.forward && options_.input_gradient)) {
      wide_weight = like(product.weight, ".wide", graph_.tensor(product.weight).format);
      graph_.set_role(wide_weight, Role::state);
    }
    if (narrow_weight) graph_.set_format(product.weight, options_.weights);
    if (!options_.forward) replace(product.forward, product.weight, wide_weight);
    if (!options_.input_gradient && product.input_gradient >= 0)
      replace(product.input_gradient, product.weight, wide_weight);
    input(product);
    if (product.dy != k_no_tensor) output_gradient(product);
  }

  void input(const Product& product) {
    const bool apart = gathered(product, product.forward, product.x);
    const bool whole = apart && !options_.gather_narrow;
    const bool of_weights = options_.weight_gradient && product.weight_gradient >= 0;
    const bool save_narrow = of_weights && !options_.save_wide && !whole;
    const bool later = options_.second_copy == SecondCopy::transposed && apart;  // transposed once gathered
    const bool shared = options_.second_copy == SecondCopy::shared;
    const bool rows = options_.forward || (save_narrow && (shared || later));
    const bool columns = save_narrow && !shared && !later;
    Narrow& narrow = form_of(product.x);
    if (rows || columns) cast(narrow, product, "input", options_.activations, rows, columns, whole, product.forward);
    if (options_.forward) replace(product.forward, product.x, narrow.rows);
    if (!of_weights) return;
    TensorId operand = shared ? narrow.rows : narrow.columns;
    if (!save_narrow) {
      Narrow again{.wide = product.x, .maximum = narrow.maximum};
      write_cast(again, product, "input_again", options_.activations, shared, !shared, apart, product.weight_gradient);
      operand = shared ? again.rows : again.columns;
    } else if (later) {
      operand = transpose(narrow.rows, product, "input");
    }
    replace(product.weight_gradient, product.x, operand);
  }

  void output_gradient(const Product& product) {
    const OperatorId first = product.input_gradient >= 0 ? product.input_gradient : product.weight_gradient;
    const bool apart = gathered(product, first, product.dy);
    const bool whole = apart && !options_.gather_narrow;
    const bool of_input = options_.input_gradient && product.input_gradient >= 0;
    const bool of_weights = options_.weight_gradient && product.weight_gradient >= 0;
    if (!of_input && !of_weights) return;
    const bool shared = options_.second_copy == SecondCopy::shared;
    const bool later = options_.second_copy == SecondCopy::transposed && apart && !whole;
    Narrow& narrow = form_of(product.dy);
    cast(narrow, product, "gradient", options_.gradients, of_input || (of_weights && (shared || later)),
         of_weights && !shared && !later, whole, first);
    if (of_input) replace(product.input_gradient, product.dy, narrow.rows);
    if (!of_weights) return;
    const TensorId operand = shared  ? narrow.rows
                             : later ? transpose(narrow.rows, product, "gradient")
                                     : narrow.columns;
    replace(product.weight_gradient, product.dy, operand);
  }

  Narrow& form_of(TensorId wide) {
    for (Narrow& known : forms_)
      if (known.wide == wide) return known;
    return forms_.emplace_back(Narrow{.wide = wide});
  }

  // Makes what is still missing of the narrow copies, before operator `where`, or has the norm before make it.
  void cast(Narrow& narrow, const Product& product, const char* what, numerics::Format format, bool rows, bool columns,
            bool whole, OperatorId where) {
    rows = rows && narrow.rows == k_no_tensor;
    columns = columns && narrow.columns == k_no_tensor;
    if (!rows && !columns) return;
    Operator* norm = options_.norm == NormWrites::wide || whole ? nullptr : norm_before(narrow.wide);
    if (norm != nullptr && options_.norm == NormWrites::narrow && only_products_read(narrow.wide)) {
      // It writes rows; blocks along the other dimension it can scale, too, a transposed copy it cannot write.
      narrow.rows = like(narrow.wide, ".narrow", format);
      for (Access& access : norm->accesses)
        if (access.tensor == narrow.wide && access.mode == Mode::write) access.tensor = narrow.rows;
      if (!columns) return;
      if (options_.second_copy == SecondCopy::quantised) {
        narrow.columns = like(narrow.wide, ".narrow_columns", format);
        norm->accesses.push_back(
            Access{.tensor = narrow.columns, .projection = written_as(*norm, narrow.rows), .mode = Mode::write});
        return;
      }
      narrow.columns = like(narrow.wide, ".narrow_columns", format);
      Operator op = over(narrow.wide, product, std::string(what) + "_transpose", Kind::pointwise, 0.0, false, where);
      access(op, narrow.rows, Mode::read);
      access(op, narrow.columns, Mode::write);
      before_[at(where)].push_back(std::move(op));
      return;
    }
    if (options_.finds_maxima && narrow.maximum == k_no_tensor) {
      if (norm != nullptr && options_.norm == NormWrites::maximum) {
        narrow.maximum = maximum_of(narrow.wide);
        norm->accesses.push_back(maximum_access(narrow, written_as(*norm, narrow.wide)));
      } else {
        find_maximum(narrow, product, what, whole, where);
      }
    }
    write_cast(narrow, product, what, format, rows, columns, whole, where);
  }

  void find_maximum(Narrow& narrow, const Product& product, const char* what, bool whole, OperatorId where) {
    Operator op =
        over(narrow.wide, product, std::string(what) + "_maximum", Kind::reduce, k_maximum_flops, whole, where);
    access(op, narrow.wide, Mode::read);
    narrow.maximum = maximum_of(narrow.wide);
    op.accesses.push_back(maximum_access(narrow, identity(graph_.tensor(narrow.wide))));
    before_[at(where)].push_back(std::move(op));
  }

  void write_cast(Narrow& narrow, const Product& product, const char* what, numerics::Format format, bool rows,
                  bool columns, bool whole, OperatorId where) {
    Operator op = over(narrow.wide, product, std::string(what) + "_cast", Kind::pointwise, k_cast_flops, whole, where);
    access(op, narrow.wide, Mode::read);
    if (narrow.maximum != k_no_tensor) op.accesses.push_back(reading_maximum(narrow));
    if (rows) access(op, narrow.rows = like(narrow.wide, ".narrow", format), Mode::write);
    if (columns) access(op, narrow.columns = like(narrow.wide, ".narrow_columns", format), Mode::write);
    before_[at(where)].push_back(std::move(op));
  }

  // One copy more, of a tensor that has been gathered for it.
  TensorId transpose(TensorId rows, const Product& product, const char* what) {
    const OperatorId where = product.weight_gradient;
    Operator op = over(rows, product, std::string(what) + "_transpose", Kind::pointwise, 0.0, true, where);
    access(op, rows, Mode::read);
    const TensorId columns = like(rows, "_columns", graph_.tensor(rows).format);
    access(op, columns, Mode::write);
    before_[at(where)].push_back(std::move(op));
    return columns;
  }

  // An operator over the elements of a tensor; `whole`: on all that its product needs.
  Operator over(TensorId tensor, const Product& product, const std::string& what, Kind kind, double flops, bool whole,
                OperatorId where) const {
    const Operator& reader = operators_[at(product.forward)];
    Operator op;
    op.name = reader.name + "." + what;
    op.kind = kind;
    op.phase = operators_[at(where)].phase;
    op.flops_per_point = flops;
    if (op.phase == Phase::backward) op.forward = product.forward;
    for (const TensorDim& dim : graph_.tensor(tensor).dims) op.domain.add(dim.name, dim.extent);
    if (whole)
      for (const loopnest::Dim& dim : reader.domain.dims())
        if (op.domain.find(dim.name) < 0) op.split_elsewhere.push_back(dim.name);
    return op;
  }

  void access(Operator& op, TensorId tensor, Mode mode) const {
    op.accesses.push_back(Access{.tensor = tensor, .projection = identity(graph_.tensor(tensor)), .mode = mode});
  }

  // One number, or one for each part that is a rank's own.
  TensorId maximum_of(TensorId wide) {
    Tensor maximum = graph_.tensor(wide);
    maximum.name += ".maximum";
    maximum.format = numerics::Format::fp32;
    maximum.statistic = true;
    maximum.alias_of = k_no_tensor;
    maximum.dims.clear();
    for (const TensorDim& dim : graph_.tensor(wide).dims)
      if (own_part(dim)) maximum.dims.push_back(dim);
    return graph_.add_tensor(std::move(maximum));
  }
  bool own_part(const TensorDim& dim) const {
    return std::find(options_.own_parts.begin(), options_.own_parts.end(), dim.name) != options_.own_parts.end();
  }
  // `elements`: how the operator indexes the wide tensor.
  Access maximum_access(const Narrow& narrow, const loopnest::Projection& elements) const {
    Access result = reading_maximum(narrow);
    result.projection.clear();
    for (std::size_t dim = 0; dim < elements.size(); ++dim)
      if (own_part(graph_.tensor(narrow.wide).dims[dim])) result.projection.push_back(elements[dim]);
    result.mode = Mode::accumulate;
    result.monoid = Monoid::max;
    return result;
  }
  Access reading_maximum(const Narrow& narrow) const {
    Access result;
    result.tensor = narrow.maximum;
    const Tensor& wide = graph_.tensor(narrow.wide);
    for (std::size_t dim = 0; dim < wide.dims.size(); ++dim)
      if (own_part(wide.dims[dim]))
        result.projection.push_back(loopnest::Affine::of(static_cast<loopnest::DimId>(dim)));
    return result;
  }

  static loopnest::Projection written_as(const Operator& op, TensorId tensor) {
    for (const Access& access : op.accesses)
      if (access.tensor == tensor && access.mode != Mode::read) return access.projection;
    CAIRN_ASSERT(!"the norm writes it");
    return {};
  }

  // The normalisation that makes a tensor of the forward pass: a reduction that writes as much as it reads.
  Operator* norm_before(TensorId tensor) {
    const OperatorId producer = graph_.producer(tensor);
    if (producer < 0 || at(producer) >= graph_.forward_count()) return nullptr;
    Operator& op = operators_[at(producer)];
    return op.kind == Kind::reduce ? &op : nullptr;
  }

  bool only_products_read(TensorId tensor) const {
    for (std::size_t id = 0; id < operators_.size(); ++id) {
      if (reading(operators_[id], tensor) == nullptr) continue;
      const auto of_product = [&](const Product& product) {
        return static_cast<OperatorId>(id) == product.forward || static_cast<OperatorId>(id) == product.weight_gradient;
      };
      if (std::none_of(products_.begin(), products_.end(), of_product)) return false;
    }
    return options_.forward && options_.weight_gradient && !options_.save_wide;
  }

  TensorId like(TensorId tensor, const char* suffix, numerics::Format format) {
    Tensor copy = graph_.tensor(tensor);
    copy.name += suffix;
    copy.format = format;
    copy.alias_of = k_no_tensor;
    copy.tied.clear();
    return graph_.add_tensor(std::move(copy));
  }

  void replace(OperatorId id, TensorId tensor, TensorId by) {
    for (Access& access : operators_[at(id)].accesses)
      if (access.mode == Mode::read && access.tensor == tensor) access.tensor = by;
  }

  void assemble() {
    std::vector<OperatorId> moved(operators_.size(), -1);
    std::vector<Operator> result;
    for (std::size_t id = 0; id < operators_.size(); ++id) {
      for (Operator& op : before_[id]) result.push_back(std::move(op));
      moved[id] = static_cast<OperatorId>(result.size());
      result.push_back(std::move(operators_[id]));
    }
    for (Operator& op : result)
      if (op.forward >= 0) op.forward = moved[at(op.forward)];
    graph_.replace_operators(std::move(result));
  }

  Graph& graph_;
  const NarrowProducts& options_;
  std::vector<Operator> operators_;
  std::vector<std::vector<Operator>> before_;  // inserted before the operator of this position
  std::vector<Product> products_;
  std::vector<Narrow> forms_;
};

}  // namespace

void narrow_products(Graph& graph, const NarrowProducts& options) { Rewriter(graph, options).run(); }

}  // namespace cairn::ir
