// Residual networks of bottlenecks.
#include <array>
#include <string>

#include "network_builder.h"

namespace cairn::models {
namespace {

// Channels of a bottleneck's output over those of its 3 x 3 convolution.
constexpr std::int64_t k_expansion = 4;

class ResidualNetwork {
 public:
  ir::Graph build(std::int64_t batch, const std::array<int, 4>& blocks) {
    ir::TensorId x = net_.input("image", {{"b", batch}, {"c", 3}, {"h", 224}, {"w", 224}});
    x = relu("relu1", normal("conv1", x, 64, FilterWindow::square(7, 2, 3)));
    x = net_.pool("pool1", Pooling::max, x, FilterWindow::square(3, 2, 1));
    std::int64_t channels = 64;
    for (std::size_t stage = 0; stage < blocks.size(); ++stage, channels *= 2)
      for (int block = 1; block <= blocks[stage]; ++block) {
        const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
        x = bottleneck(name, x, channels, stage > 0 && block == 1 ? 2 : 1, block == 1);
      }
    net_.cross_entropy("loss", net_.dense("fc", net_.mean("mean", x), 1000, Bias::added));
    return net_.finish();
  }

 private:
  ir::TensorId normal(const std::string& name, ir::TensorId x, std::int64_t channels, const FilterWindow& window) {
    return net_.batch_norm(name + ".norm", net_.convolution(name, x, channels, window));
  }
  ir::TensorId relu(const std::string& name, ir::TensorId x) { return net_.apply(name, "relu", x); }

  // The first block of a stage projects its input, to the stage's channels and positions.
  ir::TensorId bottleneck(const std::string& name, ir::TensorId x, std::int64_t channels, std::int64_t stride,
                          bool first) {
    const FilterWindow point = FilterWindow::square(1);
    ir::TensorId y = relu(name + ".relu1", normal(name + ".conv1", x, channels, point));
    y = relu(name + ".relu2", normal(name + ".conv2", y, channels, FilterWindow::square(3, stride, 1)));
    y = normal(name + ".conv3", y, k_expansion * channels, point);
    if (first) x = normal(name + ".project", x, k_expansion * channels, FilterWindow::square(1, stride));
    return relu(name + ".relu3", net_.add(name + ".add", y, x));
  }

  NetworkBuilder net_;
};

}  // namespace

ir::Graph build_resnet50(std::int64_t batch) { return ResidualNetwork().build(batch, {3, 4, 6, 3}); }
ir::Graph build_resnet152(std::int64_t batch) { return ResidualNetwork().build(batch, {3, 8, 36, 3}); }

}  // namespace cairn::models
