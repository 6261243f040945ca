// A terse way to assemble the graph of a network, one operator a call; network.h says what each looks like. Calls
// return the tensor that the operator makes and take sizes from the tensors that it reads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/ir/graph.h"

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

  static FilterWindow square(std::int64_t taps, std::int64_t stride = 1, std::int64_t padding = 0) {
    return {.taps = {taps, taps}, .stride = stride, .padding = {padding, padding}};
  }
  static FilterWindow cube(std::int64_t taps, std::int64_t stride = 1, std::int64_t padding = 0) {
    return {.taps = {taps, taps, taps}, .stride = stride, .padding = {padding, padding, padding}};
  }
};

enum class Pooling : std::uint8_t { max, average };
enum class Bias : std::uint8_t { none, added };

class NetworkBuilder {
 public:
  // What comes from outside: an activation, or indices.
  ir::TensorId input(const std::string& name, const NamedSizes& dims);
  ir::TensorId indices(const std::string& name, const NamedSizes& dims);
  ir::TensorId parameter(const std::string& name, const NamedSizes& dims);

  // `channels`: of the output.
  ir::TensorId convolution(const std::string& name, ir::TensorId x, std::int64_t channels, const FilterWindow& window,
                           Bias bias = Bias::none);
  ir::TensorId pool(const std::string& name, Pooling pooling, ir::TensorId x, const FilterWindow& window);
  ir::TensorId dense(const std::string& name, ir::TensorId x, std::int64_t size, Bias bias = Bias::none);
  // A product by its letters, "ble,ef->blf"; the second operand is a parameter or an activation. A bias runs along the
  // output's dimensions of these letters; none: no bias.
  ir::TensorId einsum(const std::string& name, std::string_view equation, ir::TensorId a, ir::TensorId b,
                      std::string_view bias = {});
  ir::TensorId embedding(const std::string& name, ir::TensorId index, ir::TensorId table);
  // The entries below the diagonal of a square matrix for each sample, side by side.
  ir::TensorId lower_triangle(const std::string& name, ir::TensorId x);

  ir::TensorId mean(const std::string& name, ir::TensorId x);
  ir::TensorId batch_norm(const std::string& name, ir::TensorId x);
  ir::TensorId layer_norm(const std::string& name, ir::TensorId x);
  ir::TensorId softmax(const std::string& name, ir::TensorId x);
  ir::TensorId lstm(const std::string& name, ir::TensorId x, std::int64_t layers);

  // relu, gelu, dropout, ...
  ir::TensorId apply(const std::string& name, const std::string& function, ir::TensorId x);
  // `b` may lack leading dimensions of `a`: a table that is the same for all of them.
  ir::TensorId add(const std::string& name, ir::TensorId a, ir::TensorId b);

  // (b, ...) to (b, features). More than three dimensions take two views, the positions first.
  ir::TensorId flatten(const std::string& name, ir::TensorId x);
  ir::TensorId concat(const std::string& name, const std::vector<ir::TensorId>& inputs, std::size_t dim);
  ir::TensorId stack(const std::string& name, const std::vector<ir::TensorId>& inputs);
  // The first `count` of what lies along dimension `dim` of x; none: all.
  std::vector<ir::TensorId> unstack(const std::string& name, ir::TensorId x, std::size_t dim = 0,
                                    std::int64_t count = 0);

  // The loss of each row, an output of the graph, against targets that come from outside.
  void cross_entropy(const std::string& name, ir::TensorId logits);
  void squared_error(const std::string& name, ir::TensorId x);

  // The graph of all that was appended, once.
  ir::Graph finish();

  NamedSizes dims_of(ir::TensorId tensor) const;

 private:
  friend class NetworkOperator;
  ir::TensorId tensor(const std::string& name, const NamedSizes& dims, ir::Role role = ir::Role::activation);
  ir::TensorId statistic(const std::string& name, const NamedSizes& dims);
  // `over_rows`: one statistic for each value of the feature; else one for each row.
  ir::TensorId normalise(const std::string& name, const std::string& variant, ir::TensorId x, std::size_t feature,
                         bool over_rows);
  ir::TensorId merge(const std::string& name, ir::TensorId x, std::size_t first);
  bool comes_from_outside(ir::TensorId tensor) const;

  ir::Graph graph_;
  std::vector<ir::TensorId> inputs_, outputs_;
};

}  // namespace cairn::models
