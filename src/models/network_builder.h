// A terse way to assemble the graph of a network, one operator a call; network.h says what each looks like. Calls
// return the tensor that the operator makes and take sizes from the tensors that it reads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/ir/graph.h"
#include "distinct_names.h"

namespace cairn::models {

#define CAIRN_NETWORK(name, function, default_batch) ir::Graph function(std::int64_t batch);
#include "networks.def"
#undef CAIRN_NETWORK

struct NamedSize {
  std::string name;
  std::int64_t size = 1;
};
using NamedSizes = std::vector<NamedSize>;

// The window that a convolution or a pooling moves over the positions of its input, along each of them.
struct FilterWindow {
  std::vector<std::int64_t> taps;
  std::int64_t stride = 1;
  std::vector<std::int64_t> padding;
  std::int64_t dilation = 1;  // from tap to tap

  static FilterWindow square(std::int64_t taps, std::int64_t stride = 1, std::int64_t padding = 0) {
    return {.taps = {taps, taps}, .stride = stride, .padding = {padding, padding}};
  }
  static FilterWindow cube(std::int64_t taps, std::int64_t stride = 1, std::int64_t padding = 0) {
    return {.taps = {taps, taps, taps}, .stride = stride, .padding = {padding, padding, padding}};
  }
};

enum class Pooling : std::uint8_t { max, average };
enum class Bias : std::uint8_t { none, added };

// A tensor with its dimensions in another order, with dimensions of size 1 that it lacks or without ones it has.
struct Operand {
  static constexpr int k_one = -1;
  ir::TensorId tensor = ir::k_no_tensor;
  std::vector<int> axes = {};  // per dimension the tensor's that it is, or k_one
};

// `name`, or `name` and the least number from 2 on that makes it none that is taken.
template <class Taken>
std::string distinct_name(const std::string& name, Taken taken) {
  std::string result = name;
  for (int number = 2; taken(result); ++number) result = name + std::to_string(number);
  return result;
}

class NetworkBuilder {
 public:
  // What comes from outside: an activation, or indices.
  ir::TensorId input(const std::string& name, const NamedSizes& dims);
  ir::TensorId indices(const std::string& name, const NamedSizes& dims);
  ir::TensorId parameter(const std::string& name, const NamedSizes& dims);

  // `channels`: of the output.
  ir::TensorId convolution(const std::string& name, ir::TensorId x, std::int64_t channels, const FilterWindow& window,
                           Bias bias = Bias::none);
  // With a weight (n, c / groups, taps) and perhaps a bias (n) that are there: a group of the output's channels reads a
  // group of the input's.
  ir::TensorId convolution(const std::string& name, ir::TensorId x, ir::TensorId weight, ir::TensorId bias,
                           const FilterWindow& window, std::int64_t groups);
  ir::TensorId pool(const std::string& name, Pooling pooling, ir::TensorId x, const FilterWindow& window);
  ir::TensorId dense(const std::string& name, ir::TensorId x, std::int64_t size, Bias bias = Bias::none);
  // A product by its letters, "ble,ef->blf"; the second operand is a parameter or an activation. A bias runs along the
  // output's dimensions of these letters; none: no bias.
  ir::TensorId einsum(const std::string& name, std::string_view equation, ir::TensorId a, ir::TensorId b,
                      std::string_view bias = {});
  // (.., m, k) by (.., k, n), perhaps plus an addend: (.., m, n). Leading dimensions of size 1, or lacking, are those of
  // the other operand.
  ir::TensorId product(const std::string& name, const Operand& a, const Operand& b, const Operand& addend = {});
  ir::TensorId embedding(const std::string& name, ir::TensorId index, ir::TensorId table);
  // The entries below the diagonal of a square matrix for each sample, side by side.
  ir::TensorId lower_triangle(const std::string& name, ir::TensorId x);

  ir::TensorId mean(const std::string& name, ir::TensorId x);
  enum class Averaged : std::uint8_t { dropped, kept };  // dimensions of the mean, kept at size 1
  ir::TensorId mean(const std::string& name, ir::TensorId x, const std::vector<std::size_t>& dims, Averaged averaged);
  ir::TensorId batch_norm(const std::string& name, ir::TensorId x);
  ir::TensorId layer_norm(const std::string& name, ir::TensorId x);
  // With a gain and perhaps a shift that are there.
  ir::TensorId batch_norm(const std::string& name, ir::TensorId x, ir::TensorId gain, ir::TensorId shift);
  ir::TensorId layer_norm(const std::string& name, ir::TensorId x, ir::TensorId gain, ir::TensorId shift);
  ir::TensorId softmax(const std::string& name, ir::TensorId x);
  ir::TensorId softmax(const std::string& name, ir::TensorId x, std::size_t dim);
  ir::TensorId lstm(const std::string& name, ir::TensorId x, std::int64_t layers);

  // relu, gelu, dropout, ...
  ir::TensorId apply(const std::string& name, const std::string& function, ir::TensorId x);
  // `b` may lack leading dimensions of `a`: a table that is the same for all of them.
  ir::TensorId add(const std::string& name, ir::TensorId a, ir::TensorId b);

  // add, sub, mul, div; a dimension of size 1, or a leading one that is lacking, is repeated.
  ir::TensorId combine(const std::string& name, const std::string& function, const Operand& a, const Operand& b);
  // With a constant.
  ir::TensorId offset(const std::string& name, ir::TensorId x);

  // (b, ...) to (b, features). More than three dimensions take two views, the positions first.
  ir::TensorId flatten(const std::string& name, ir::TensorId x);
  ir::TensorId concat(const std::string& name, const std::vector<ir::TensorId>& inputs, std::size_t dim);
  ir::TensorId stack(const std::string& name, const std::vector<ir::TensorId>& inputs);
  // The first `count` of what lies along dimension `dim` of x; none: all.
  std::vector<ir::TensorId> unstack(const std::string& name, ir::TensorId x, std::size_t dim = 0,
                                    std::int64_t count = 0);

  // The element at `index` along a dimension, which is dropped.
  ir::TensorId take(const std::string& name, ir::TensorId x, std::size_t dim, std::int64_t index);
  // Pieces of x along a dimension; those of no size are left out, and k_no_tensor stands for them.
  std::vector<ir::TensorId> split(const std::string& name, ir::TensorId x, std::size_t dim,
                                  const std::vector<std::int64_t>& sizes);
  ir::TensorId transpose(const std::string& name, ir::TensorId x, const std::vector<std::size_t>& order);
  // As many elements in another shape; by several views where a merged index would have too many terms, or dimensions
  // are both merged and split.
  ir::TensorId reshape(const std::string& name, ir::TensorId x, const std::vector<std::int64_t>& to);
  // Whether the strides of such views are in range.
  static bool can_reshape(const NamedSizes& from, const std::vector<std::int64_t>& to);
  // x itself, or x in another number format: integers become values.
  ir::TensorId same(const std::string& name, ir::TensorId x, ir::Role role);

  // The loss of each row, an output of the graph, against targets that come from outside.
  void cross_entropy(const std::string& name, ir::TensorId logits);
  void cross_entropy(const std::string& name, ir::TensorId logits, ir::TensorId targets);
  void squared_error(const std::string& name, ir::TensorId x);

  // The graph of all that was appended, once.
  ir::Graph finish();
  // Without operators that no loss depends on, and tensors that none of the others reads.
  ir::Graph finish_needed();

  // A name that no operator has, and none will get but who asked for it.
  std::string distinct(const std::string& wanted) { return names_.name(wanted); }

  NamedSizes dims_of(ir::TensorId tensor) const;
  const ir::Graph& graph() const { return graph_; }

 private:
  friend class NetworkOperator;
  ir::TensorId tensor(const std::string& name, const NamedSizes& dims, ir::Role role = ir::Role::activation);
  ir::TensorId statistic(const std::string& name, const NamedSizes& dims);
  // `over_rows`: one statistic for each value of the feature; else one for each row.
  ir::TensorId normalise(const std::string& name, const std::string& variant, ir::TensorId x, std::size_t feature,
                         bool over_rows, ir::TensorId gain, ir::TensorId shift);
  ir::TensorId merge(const std::string& name, ir::TensorId x, std::size_t first);
  ir::TensorId gain_of(const std::string& name, ir::TensorId x, std::size_t feature);
  ir::TensorId shift_of(const std::string& name, ir::TensorId x, std::size_t feature);
  // No indices, and neither from outside nor made of what is alone.
  bool wants_gradient(ir::TensorId tensor) const;
  void set_outside(ir::TensorId tensor);
  void add(ir::Operator op);
  NamedSizes sizes_of(const Operand& operand) const;

  ir::Graph graph_;
  std::vector<ir::TensorId> inputs_, outputs_;
  std::vector<char> outside_;  // by tensor; none beyond its end
  DistinctNames names_;        // of operators, and reserved ones
};

}  // namespace cairn::models
