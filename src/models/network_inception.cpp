// Inception v3: blocks whose branches see the same input and are concatenated.
#include <string>
#include <vector>

#include "network_builder.h"

namespace cairn::models {
namespace {

class Inception {
 public:
  ir::Graph build(std::int64_t batch) {
    ir::TensorId x = net_.input("image", {{"b", batch}, {"c", 3}, {"h", 299}, {"w", 299}});
    x = convolve("conv1a", x, 32, FilterWindow::square(3, 2));
    x = convolve("conv2a", x, 32, valid_);
    x = convolve("conv2b", x, 64, same_);
    x = net_.pool("pool2", Pooling::max, x, FilterWindow::square(3, 2));
    x = convolve("conv3b", x, 80, point_);
    x = convolve("conv4a", x, 192, valid_);
    x = net_.pool("pool4", Pooling::max, x, FilterWindow::square(3, 2));
    x = block_a("mixed5b", x, 32);
    x = block_a("mixed5c", x, 64);
    x = block_a("mixed5d", x, 64);
    x = block_b("mixed6a", x);
    x = block_c("mixed6b", x, 128);
    x = block_c("mixed6c", x, 160);
    x = block_c("mixed6d", x, 160);
    x = block_c("mixed6e", x, 192);
    x = block_d("mixed7a", x);
    x = block_e("mixed7b", x);
    x = block_e("mixed7c", x);
    net_.cross_entropy("loss", net_.dense("fc", net_.mean("mean", x), 1000));
    return net_.finish();
  }

 private:
  ir::TensorId convolve(const std::string& name, ir::TensorId x, std::int64_t channels, const FilterWindow& window) {
    x = net_.batch_norm(name + ".norm", net_.convolution(name + ".conv", x, channels, window));
    return net_.apply(name + ".relu", "relu", x);
  }
  // Average pooling that keeps the positions, then a projection.
  ir::TensorId pooled(const std::string& name, ir::TensorId x, std::int64_t channels) {
    return convolve(name + ".branch_pool", net_.pool(name + ".branch_pool.pool", Pooling::average, x, same_), channels,
                    point_);
  }
  ir::TensorId halved(const std::string& name, ir::TensorId x) {
    return net_.pool(name + ".branch_pool.pool", Pooling::max, x, FilterWindow::square(3, 2));
  }
  ir::TensorId concat(const std::string& name, const std::vector<ir::TensorId>& branches) {
    return net_.concat(name + ".concat", branches, 1);
  }

  ir::TensorId block_a(const std::string& name, ir::TensorId x, std::int64_t pool_channels) {
    const ir::TensorId one = convolve(name + ".branch1x1", x, 64, point_);
    ir::TensorId five = convolve(name + ".branch5x5_1", x, 48, point_);
    five = convolve(name + ".branch5x5_2", five, 64, FilterWindow::square(5, 1, 2));
    ir::TensorId three = convolve(name + ".branch3x3dbl_1", x, 64, point_);
    three = convolve(name + ".branch3x3dbl_2", three, 96, same_);
    three = convolve(name + ".branch3x3dbl_3", three, 96, same_);
    return concat(name, {one, five, three, pooled(name, x, pool_channels)});
  }

  ir::TensorId block_b(const std::string& name, ir::TensorId x) {
    const ir::TensorId three = convolve(name + ".branch3x3", x, 384, FilterWindow::square(3, 2));
    ir::TensorId twice = convolve(name + ".branch3x3dbl_1", x, 64, point_);
    twice = convolve(name + ".branch3x3dbl_2", twice, 96, same_);
    twice = convolve(name + ".branch3x3dbl_3", twice, 96, FilterWindow::square(3, 2));
    return concat(name, {three, twice, halved(name, x)});
  }

  ir::TensorId block_c(const std::string& name, ir::TensorId x, std::int64_t narrow) {
    const ir::TensorId one = convolve(name + ".branch1x1", x, 192, point_);
    ir::TensorId seven = convolve(name + ".branch7x7_1", x, narrow, point_);
    seven = convolve(name + ".branch7x7_2", seven, narrow, row7_);
    seven = convolve(name + ".branch7x7_3", seven, 192, column7_);
    ir::TensorId twice = convolve(name + ".branch7x7dbl_1", x, narrow, point_);
    twice = convolve(name + ".branch7x7dbl_2", twice, narrow, column7_);
    twice = convolve(name + ".branch7x7dbl_3", twice, narrow, row7_);
    twice = convolve(name + ".branch7x7dbl_4", twice, narrow, column7_);
    twice = convolve(name + ".branch7x7dbl_5", twice, 192, row7_);
    return concat(name, {one, seven, twice, pooled(name, x, 192)});
  }

  ir::TensorId block_d(const std::string& name, ir::TensorId x) {
    ir::TensorId three = convolve(name + ".branch3x3_1", x, 192, point_);
    three = convolve(name + ".branch3x3_2", three, 320, FilterWindow::square(3, 2));
    ir::TensorId seven = convolve(name + ".branch7x7x3_1", x, 192, point_);
    seven = convolve(name + ".branch7x7x3_2", seven, 192, row7_);
    seven = convolve(name + ".branch7x7x3_3", seven, 192, column7_);
    seven = convolve(name + ".branch7x7x3_4", seven, 192, FilterWindow::square(3, 2));
    return concat(name, {three, seven, halved(name, x)});
  }

  // A 1 x 3 and a 3 x 1 convolution of the same input, side by side.
  ir::TensorId fork(const std::string& name, ir::TensorId x) {
    const ir::TensorId row = convolve(name + "a", x, 384, row3_);
    return concat(name, {row, convolve(name + "b", x, 384, column3_)});
  }

  ir::TensorId block_e(const std::string& name, ir::TensorId x) {
    const ir::TensorId one = convolve(name + ".branch1x1", x, 320, point_);
    const ir::TensorId three = fork(name + ".branch3x3_2", convolve(name + ".branch3x3_1", x, 384, point_));
    ir::TensorId twice = convolve(name + ".branch3x3dbl_1", x, 448, point_);
    twice = fork(name + ".branch3x3dbl_3", convolve(name + ".branch3x3dbl_2", twice, 384, same_));
    return concat(name, {one, three, twice, pooled(name, x, 192)});
  }

  const FilterWindow point_ = FilterWindow::square(1), valid_ = FilterWindow::square(3),
                     same_ = FilterWindow::square(3, 1, 1);
  const FilterWindow row3_{.taps = {1, 3}, .padding = {0, 1}}, column3_{.taps = {3, 1}, .padding = {1, 0}};
  const FilterWindow row7_{.taps = {1, 7}, .padding = {0, 3}}, column7_{.taps = {7, 1}, .padding = {3, 0}};

  NetworkBuilder net_;
};

}  // namespace

ir::Graph build_inceptionv3(std::int64_t batch) { return Inception().build(batch); }

}  // namespace cairn::models
