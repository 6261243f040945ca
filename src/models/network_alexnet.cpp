// Plain stacks of convolutions: AlexNet in one column, and VGG-16.
#include <array>
#include <string>

#include "network_builder.h"

namespace cairn::models {

ir::Graph build_alexnet(std::int64_t batch) {
  NetworkBuilder net;
  ir::TensorId x = net.input("image", {{"b", batch}, {"c", 3}, {"h", 227}, {"w", 227}});
  const auto convolve = [&](const std::string& stage, std::int64_t channels, const FilterWindow& window) {
    x = net.apply("relu" + stage, "relu", net.convolution("conv" + stage, x, channels, window));
  };
  const auto pool = [&](const std::string& stage) {
    x = net.pool("pool" + stage, Pooling::max, x, FilterWindow::square(3, 2));
  };
  convolve("1", 96, FilterWindow::square(11, 4));
  pool("1");
  convolve("2", 256, FilterWindow::square(5, 1, 2));
  pool("2");
  convolve("3", 384, FilterWindow::square(3, 1, 1));
  convolve("4", 384, FilterWindow::square(3, 1, 1));
  convolve("5", 256, FilterWindow::square(3, 1, 1));
  pool("5");
  x = net.flatten("flatten", x);
  x = net.apply("relu6", "relu", net.dense("fc6", x, 4096));
  x = net.apply("relu7", "relu", net.dense("fc7", x, 4096));
  net.cross_entropy("loss", net.dense("fc8", x, 1024));
  return net.finish();
}

ir::Graph build_vgg16(std::int64_t batch) {
  struct Stage {
    int convolutions;
    std::int64_t channels;
  };
  constexpr std::array<Stage, 5> k_stages{{{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}};

  NetworkBuilder net;
  ir::TensorId x = net.input("image", {{"b", batch}, {"c", 3}, {"h", 224}, {"w", 224}});
  for (std::size_t stage = 0; stage < k_stages.size(); ++stage) {
    const std::string number = std::to_string(stage + 1);
    for (int i = 1; i <= k_stages[stage].convolutions; ++i) {
      const std::string place = number + "_" + std::to_string(i);
      x = net.convolution("conv" + place, x, k_stages[stage].channels, FilterWindow::square(3, 1, 1), Bias::added);
      x = net.apply("relu" + place, "relu", x);
    }
    x = net.pool("pool" + number, Pooling::max, x, FilterWindow::square(2, 2));
  }
  x = net.flatten("flatten", x);
  for (const std::string place : {"6", "7"}) {
    x = net.apply("relu" + place, "relu", net.dense("fc" + place, x, 4096, Bias::added));
    x = net.apply("dropout" + place, "dropout", x);
  }
  net.cross_entropy("loss", net.dense("fc8", x, 1000, Bias::added));
  return net.finish();
}

}  // namespace cairn::models
