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
  std::vector<std::size_t> own = {};  // dimensions of `wide` that `maximum` has, too
};

// Where an operator that prepares an operand stands and what it walks.
struct Place {
  OperatorId before = -1;
  std::string name;  // begins that of the operator
  Phase phase = Phase::forward;
  OperatorId forward = -1;
  std::vector<std::string> dims;  // names of the tensor's dimensions there
  boost::container::small_vector<std::string, 1> split_elsewhere = {};
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
    narrow_journeys();
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

  static const Access* writing(const Operator& op, TensorId tensor) {
    for (const Access& access : op.accesses)
      if (access.mode != Mode::read && access.tensor == tensor) return &access;
    CAIRN_ASSERT(!"it writes the tensor");
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
    const NarrowProducts::Split& split = options_.split_accumulation;
    accumulate(product.forward, options_.forward && split.forward);
    accumulate(product.input_gradient, options_.input_gradient && split.input_gradient);
    accumulate(product.weight_gradient, options_.weight_gradient && split.weight_gradient);
  }

  void accumulate(OperatorId product, bool in_two_stages) {
    if (product >= 0) operators_[at(product)].split_accumulation = in_two_stages;
  }

  // What an operator calls the dimensions of a tensor that it reads or writes: by their own names, but where they tell
  // a row's origin by the operator's.
  std::vector<std::string> walked(const Operator& op, const Access& access) const {
    std::vector<std::string> names;
    const Tensor& tensor = graph_.tensor(access.tensor);
    for (std::size_t dim = 0; dim < tensor.dims.size(); ++dim) {
      const loopnest::Affine& form = access.projection[dim];
      const bool renamed = origin(tensor.dims[dim].name) != nullptr && form.terms.size() == 1;
      names.push_back(renamed ? op.domain.dims()[form.terms.front().dim].name : tensor.dims[dim].name);
    }
    return names;
  }
  const Journeys::Origin* origin(const std::string& home) const {
    for (const Journeys::Origin& origin : options_.journeys.origins)
      if (origin.home == home) return &origin;
    return nullptr;
  }

  // Where results leave for the ranks that read them, a cast behind their maker writes what travels.
  void narrow_journeys() {
    if (options_.journeys.origins.empty()) return;
    const std::size_t tensors = graph_.tensors().size();
    for (std::size_t id = 0; id < tensors; ++id) {
      const auto tensor = static_cast<TensorId>(id);
      if (graph_.producer(tensor) >= 0 && !graph_.tensor(tensor).statistic) narrow_journey(tensor);
    }
  }

  bool arrived(TensorId tensor) const { return std::find(arrived_.begin(), arrived_.end(), tensor) != arrived_.end(); }

  // Rows that are moved on where they have arrived keep their format.
  void arrive(TensorId rows) {
    arrived_.push_back(rows);
    for (const Operator& op : operators_) {
      if (!op.moves_rows || reading(op, rows) == nullptr) continue;
      for (const Access& access : op.accesses) {
        if (access.mode == Mode::read) continue;
        graph_.set_format(access.tensor, graph_.tensor(rows).format);
        arrive(access.tensor);
      }
    }
  }

  void narrow_journey(TensorId tensor) {
    if (arrived(tensor)) return;
    const OperatorId maker = graph_.producer(tensor);
    const Operator& op = operators_[at(maker)];
    const Access& written = *writing(op, tensor);
    const auto& dims = graph_.tensor(tensor).dims;
    // Parts of a sum combine in the format they were made in.
    std::vector<std::string> leaves = walked(op, written);
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
      const Journeys::Origin* origin = this->origin(dims[dim].name);
      const int shared = origin == nullptr ? -1 : op.domain.find(origin->work);
      if (shared >= 0 && !uses(written.projection, static_cast<loopnest::DimId>(shared))) leaves[dim] = origin->home;
    }
    std::vector<OperatorId> readers;
    bool out = false;
    for (std::size_t id = 0; id < operators_.size(); ++id) {
      const Access* read = reading(operators_[id], tensor);
      if (read == nullptr) continue;
      const std::vector<std::string> arrives = walked(operators_[id], *read);
      if (arrives == leaves) continue;
      readers.push_back(static_cast<OperatorId>(id));
      for (std::size_t dim = 0; dim < dims.size(); ++dim)
        out = out || (leaves[dim] == dims[dim].name && arrives[dim] != dims[dim].name);
    }
    if (readers.empty()) return;
    const Wire& wire = out ? options_.journeys.out : options_.journeys.home;
    const auto format = op.phase == Phase::forward ? wire.forward : wire.backward;
    if (!format) return;
    Narrow& narrow = form_of(tensor);
    cast(narrow, {.before = maker + 1, .name = op.name + ".wire", .phase = op.phase, .dims = std::move(leaves)},
         *format, true, false, false);
    for (const OperatorId reader : readers) replace(reader, tensor, narrow.rows);
    arrive(narrow.rows);
  }

  Place place(const Product& product, const char* what, TensorId tensor, bool whole, OperatorId where) const {
    const Operator& forward = operators_[at(product.forward)];
    const Operator& reader = operators_[at(where)];
    Place place{.before = where,
                .name = forward.name + "." + what,
                .phase = reader.phase,
                .dims = walked(reader, *reading(reader, tensor))};
    if (place.phase == Phase::backward) place.forward = product.forward;
    if (whole)
      for (const loopnest::Dim& dim : forward.domain.dims())
        if (std::find(place.dims.begin(), place.dims.end(), dim.name) == place.dims.end())
          place.split_elsewhere.push_back(dim.name);
    return place;
  }

  // Whether the tensor reaches its product as the copy that travelled, which the product reads as it is: then at most
  // the weight gradient lacks a copy of its own.
  bool reads_arrived(const Product& product, const char* what, TensorId tensor, numerics::Format format,
                     bool second_copy) {
    if (!arrived(tensor)) return false;
    CAIRN_ASSERT(graph_.tensor(tensor).format == format && "products read what arrives");
    if (second_copy)
      replace(product.weight_gradient, tensor,
              columns_of(tensor, place(product, what, tensor, true, product.weight_gradient)));
    return true;
  }

  void input(const Product& product) {
    const bool of_weights = options_.weight_gradient && product.weight_gradient >= 0;
    const bool shared = options_.second_copy == SecondCopy::shared;
    if (reads_arrived(product, "input", product.x, options_.activations, of_weights && !shared)) return;
    const bool apart = gathered(product, product.forward, product.x);
    const bool whole = apart && !options_.gather_narrow;
    const bool save_narrow = of_weights && !options_.save_wide && !whole;
    const bool later = options_.second_copy == SecondCopy::transposed && apart;  // transposed once gathered
    const bool rows = options_.forward || (save_narrow && (shared || later));
    const bool columns = save_narrow && !shared && !later;
    Narrow& narrow = form_of(product.x);
    if (rows || columns)
      cast(narrow, place(product, "input", product.x, whole, product.forward), options_.activations, rows, columns,
           whole);
    if (options_.forward) replace(product.forward, product.x, narrow.rows);
    if (!of_weights) return;
    TensorId operand = shared ? narrow.rows : narrow.columns;
    if (!save_narrow) {
      Narrow again{.wide = product.x, .maximum = narrow.maximum, .own = narrow.own};
      write_cast(again, place(product, "input_again", product.x, apart, product.weight_gradient), options_.activations,
                 shared, !shared);
      operand = shared ? again.rows : again.columns;
    } else if (later) {
      operand = columns_of(narrow.rows, place(product, "input", product.x, true, product.weight_gradient));
    }
    replace(product.weight_gradient, product.x, operand);
  }

  void output_gradient(const Product& product) {
    const OperatorId first = product.input_gradient >= 0 ? product.input_gradient : product.weight_gradient;
    const bool of_input = options_.input_gradient && product.input_gradient >= 0;
    const bool of_weights = options_.weight_gradient && product.weight_gradient >= 0;
    if (!of_input && !of_weights) return;
    const bool shared = options_.second_copy == SecondCopy::shared;
    if (reads_arrived(product, "gradient", product.dy, options_.gradients, of_weights && !shared)) return;
    const bool apart = gathered(product, first, product.dy);
    const bool whole = apart && !options_.gather_narrow;
    const bool later = options_.second_copy == SecondCopy::transposed && apart && !whole;
    Narrow& narrow = form_of(product.dy);
    cast(narrow, place(product, "gradient", product.dy, whole, first), options_.gradients,
         of_input || (of_weights && (shared || later)), of_weights && !shared && !later, whole);
    if (of_input) replace(product.input_gradient, product.dy, narrow.rows);
    if (!of_weights) return;
    const TensorId operand =
        shared  ? narrow.rows
        : later ? columns_of(narrow.rows, place(product, "gradient", product.dy, true, product.weight_gradient))
                : narrow.columns;
    replace(product.weight_gradient, product.dy, operand);
  }

  Narrow& form_of(TensorId wide) {
    for (Narrow& known : forms_)
      if (known.wide == wide) return known;
    return forms_.emplace_back(Narrow{.wide = wide});
  }

  // Makes what is still missing of the narrow copies, at `place`, or has the norm before make it. `whole`: from what
  // all ranks hold.
  void cast(Narrow& narrow, const Place& place, numerics::Format format, bool rows, bool columns, bool whole) {
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
      narrow.columns = like(narrow.wide, ".narrow_columns", format);
      if (options_.second_copy == SecondCopy::quantised) {
        norm->accesses.push_back(Access{
            .tensor = narrow.columns, .projection = writing(*norm, narrow.rows)->projection, .mode = Mode::write});
        return;
      }
      Operator op = over(narrow.wide, place, "_transpose", Kind::pointwise, 0.0);
      op.variant = options_.transposing;
      access(op, narrow.rows, Mode::read);
      access(op, narrow.columns, Mode::write);
      insert(place, std::move(op));
      return;
    }
    if (options_.finds_maxima && narrow.maximum == k_no_tensor) {
      if (norm != nullptr && options_.norm == NormWrites::maximum) {
        make_maximum(narrow, walked(*norm, *writing(*norm, narrow.wide)));
        norm->accesses.push_back(maximum_access(narrow, writing(*norm, narrow.wide)->projection));
      } else {
        find_maximum(narrow, place);
      }
    }
    write_cast(narrow, place, format, rows, columns);
  }

  void find_maximum(Narrow& narrow, const Place& place) {
    Operator op = over(narrow.wide, place, "_maximum", Kind::reduce, k_maximum_flops);
    op.variant = "maximum";
    access(op, narrow.wide, Mode::read);
    make_maximum(narrow, place.dims);
    op.accesses.push_back(maximum_access(narrow));
    insert(place, std::move(op));
  }

  void write_cast(Narrow& narrow, const Place& place, numerics::Format format, bool rows, bool columns) {
    Operator op = over(narrow.wide, place, "_cast", Kind::pointwise, k_cast_flops);
    op.variant = "cast";
    if (columns && options_.second_copy == SecondCopy::transposed) op.variant = options_.transposing;
    access(op, narrow.wide, Mode::read);
    if (narrow.maximum != k_no_tensor) op.accesses.push_back(reading_maximum(narrow));
    if (rows) access(op, narrow.rows = like(narrow.wide, ".narrow", format), Mode::write);
    if (columns) access(op, narrow.columns = like(narrow.wide, ".narrow_columns", format), Mode::write);
    insert(place, std::move(op));
  }

  // The other copy, made from rows that came from other ranks: transposed, or widened and quantised again.
  TensorId columns_of(TensorId rows, const Place& place) {
    const double flops = options_.second_copy == SecondCopy::quantised ? k_cast_flops : 0.0;
    Operator op = over(rows, place, "_transpose", Kind::pointwise, flops);
    if (options_.second_copy == SecondCopy::transposed) op.variant = options_.transposing;
    access(op, rows, Mode::read);
    const TensorId columns = like(rows, "_columns", graph_.tensor(rows).format);
    access(op, columns, Mode::write);
    insert(place, std::move(op));
    return columns;
  }

  // An operator over the elements of a tensor.
  Operator over(TensorId tensor, const Place& place, const char* suffix, Kind kind, double flops) const {
    Operator op;
    op.name = place.name + suffix;
    op.kind = kind;
    op.phase = place.phase;
    op.flops_per_point = flops;
    op.forward = place.forward;
    if (op.phase == Phase::forward) op.converts = graph_.producer(tensor);
    op.split_elsewhere = place.split_elsewhere;
    const auto& dims = graph_.tensor(tensor).dims;
    for (std::size_t dim = 0; dim < dims.size(); ++dim) op.domain.add(place.dims[dim], dims[dim].extent);
    return op;
  }

  void insert(const Place& place, Operator op) { before_[at(place.before)].push_back(std::move(op)); }

  void access(Operator& op, TensorId tensor, Mode mode) const {
    op.accesses.push_back(Access{.tensor = tensor, .projection = identity(graph_.tensor(tensor)), .mode = mode});
  }

  // One number, or one for each part that is a rank's own where the wide tensor's dimensions go by these names.
  void make_maximum(Narrow& narrow, const std::vector<std::string>& names) {
    Tensor maximum = graph_.tensor(narrow.wide);
    maximum.name += ".maximum";
    maximum.format = numerics::Format::fp32;
    maximum.statistic = true;
    maximum.alias_of = k_no_tensor;
    maximum.dims.clear();
    for (std::size_t dim = 0; dim < names.size(); ++dim) {
      if (!own_part(names[dim])) continue;
      maximum.dims.push_back(graph_.tensor(narrow.wide).dims[dim]);
      narrow.own.push_back(dim);
    }
    narrow.maximum = graph_.add_tensor(std::move(maximum));
  }
  bool own_part(const std::string& name) const {
    const auto tells = [&](const Journeys::Origin& origin) { return name == origin.home || name == origin.work; };
    const auto& origins = options_.journeys.origins;
    return std::any_of(origins.begin(), origins.end(), tells) ||
           std::find(options_.own_parts.begin(), options_.own_parts.end(), name) != options_.own_parts.end();
  }
  // `elements`: how the operator indexes the wide tensor.
  static Access maximum_access(const Narrow& narrow, const loopnest::Projection& elements) {
    Access result = maximum_access(narrow);
    for (std::size_t i = 0; i < narrow.own.size(); ++i) result.projection[i] = elements[narrow.own[i]];
    return result;
  }
  // Of an operator that runs over the wide tensor's dimensions as they are.
  static Access maximum_access(const Narrow& narrow) {
    Access result;
    result.tensor = narrow.maximum;
    for (const std::size_t dim : narrow.own)
      result.projection.push_back(loopnest::Affine::of(static_cast<loopnest::DimId>(dim)));
    result.mode = Mode::accumulate;
    result.monoid = Monoid::max;
    return result;
  }
  static Access reading_maximum(const Narrow& narrow) {
    Access result = maximum_access(narrow);
    result.mode = Mode::read;
    return result;
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
    for (Operator& op : result) {
      if (op.forward >= 0) op.forward = moved[at(op.forward)];
      if (op.converts >= 0) op.converts = moved[at(op.converts)];
    }
    graph_.replace_operators(std::move(result));
  }

  Graph& graph_;
  const NarrowProducts& options_;
  std::vector<Operator> operators_;
  std::vector<std::vector<Operator>> before_;  // inserted before the operator of this position
  std::vector<Product> products_;
  std::vector<Narrow> forms_;
  std::vector<TensorId> arrived_;  // rows that come from the ranks where they were made, in the format of the journey
};

}  // namespace

void narrow_products(Graph& graph, const NarrowProducts& options) { Rewriter(graph, options).run(); }

}  // namespace cairn::ir
