// CosmoFlow: a stack of convolutions over volumes, as MLPerf HPC has it.
#include <string>

#include "network_builder.h"

namespace cairn::models {

ir::Graph build_cosmoflow(std::int64_t batch) {
  constexpr std::int64_t k_side = 128, k_channels = 4, k_parameters = 4;
  constexpr int k_stages = 5;
  NetworkBuilder net;
  ir::TensorId x = net.input("volume", {{"b", batch}, {"c", k_channels}, {"d", k_side}, {"h", k_side}, {"w", k_side}});
  std::int64_t filters = 32;
  for (int stage = 1; stage <= k_stages; ++stage, filters *= 2) {
    const std::string place = std::to_string(stage);
    x = net.convolution("conv" + place, x, filters, FilterWindow::cube(3, 1, 1), Bias::added);
    x = net.apply("leaky" + place, "leaky-relu", x);
    x = net.pool("pool" + place, Pooling::max, x, FilterWindow::cube(2, 2));
  }
  x = net.flatten("flatten", x);
  int layer = k_stages;
  for (const std::int64_t size : {128, 64}) {
    const std::string place = std::to_string(++layer);
    x = net.apply("leaky" + place, "leaky-relu", net.dense("fc" + place, x, size, Bias::added));
    x = net.apply("dropout" + place, "dropout", x);
  }
  x = net.apply("tanh", "tanh", net.dense("fc8", x, k_parameters, Bias::added));
  net.squared_error("loss", net.apply("scale", "scale", x));
  return net.finish();
}

}  // namespace cairn::models
