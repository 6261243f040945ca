// DLRM: a small MLP of 13 numbers and 26 embeddings, their pairwise products, a larger MLP.
#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include "network_builder.h"

namespace cairn::models {
namespace {

constexpr std::int64_t k_numbers = 13, k_width = 128;
// Rows of the tables of Criteo Terabyte with indices modulo 40 million (max_ind_range of the reference of MLPerf
// Training 0.7, 2020).
constexpr std::array<std::int64_t, 26> k_rows{39884406, 39043,    17289,    7420,     20263,  3,     7120, 1543, 63,
                                              38532951, 2953546,  403346,   10,       2208,   11938, 155,  4,    976,
                                              14,       39979771, 25641295, 39664984, 585935, 12972, 108,  36};

ir::TensorId append_layers(NetworkBuilder& net, const std::string& name, ir::TensorId x,
                           std::initializer_list<std::int64_t> sizes) {
  int layer = 0;
  for (const std::int64_t size : sizes) {
    const std::string place = "." + std::to_string(++layer);
    x = net.apply(name + ".relu" + place, "relu", net.dense(name + ".fc" + place, x, size, Bias::added));
  }
  return x;
}

}  // namespace

ir::Graph build_dlrm(std::int64_t batch) {
  NetworkBuilder net;
  ir::TensorId numbers = net.input("numbers", {{"b", batch}, {"n", k_numbers}});
  numbers = append_layers(net, "bottom", numbers, {512, 256, k_width});
  std::vector<ir::TensorId> features{numbers};
  for (std::size_t i = 0; i < k_rows.size(); ++i) {
    const std::string name = "embedding." + std::to_string(i);
    const ir::TensorId index = net.indices(name + ".index", {{"b", batch}});
    features.push_back(net.embedding(name, index, net.parameter(name + ".table", {{"v", k_rows[i]}, {"e", k_width}})));
  }
  const ir::TensorId all = net.stack("interaction.stack", features);
  const ir::TensorId products = net.einsum("interaction.products", "ibe,jbe->bij", all, all);
  const ir::TensorId pairs = net.lower_triangle("interaction.pairs", products);
  ir::TensorId x = net.concat("interaction.concat", {numbers, pairs}, 1);
  x = append_layers(net, "top", x, {1024, 1024, 512, 256});
  net.cross_entropy("loss", net.dense("top.fc.5", x, 1, Bias::added));
  return net.finish();
}

}  // namespace cairn::models
