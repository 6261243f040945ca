#include "cairn/models/network.h"

#include <array>

#include "cairn/core/diagnostics.h"
#include "network_builder.h"

namespace cairn::models {
namespace {

struct NetworkEntry {
  std::string_view name;
  ir::Graph (*build)(std::int64_t batch);
  std::int64_t batch;
};

#define CAIRN_NETWORK(name, function, default_batch) NetworkEntry{name, function, default_batch},
constexpr std::array k_networks{
#include "networks.def"
};
#undef CAIRN_NETWORK

const NetworkEntry& entry_of(std::string_view name) {
  std::vector<std::string> names;
  std::string list = "known:";
  for (const NetworkEntry& entry : k_networks) {
    if (entry.name == name) return entry;
    list += " " + names.emplace_back(entry.name);
  }
  const std::string near = core::nearest(std::string(name), names);
  throw core::ConfigurationError("network", "unknown network '" + std::string(name) + "'",
                                 near.empty() ? list : "did you mean '" + near + "'?");
}

}  // namespace

std::vector<std::string_view> network_names() {
  std::vector<std::string_view> names;
  for (const NetworkEntry& entry : k_networks) names.push_back(entry.name);
  return names;
}

Network build_network(std::string_view name, std::optional<std::int64_t> batch) {
  const NetworkEntry& entry = entry_of(name);
  const std::int64_t samples = batch.value_or(entry.batch);
  if (samples < 1)
    throw core::ConfigurationError("batch", "a batch of " + std::to_string(samples) + " samples",
                                   "give a number of at least 1");
  return {.name = std::string(name), .batch = samples, .graph = entry.build(samples)};
}

void set_format(Network& network, numerics::Format format) {
  const auto tensors = static_cast<ir::TensorId>(network.graph.tensors().size());
  for (ir::TensorId id = 0; id < tensors; ++id)
    if (const ir::Tensor& tensor = network.graph.tensor(id); tensor.role != ir::Role::index && !tensor.statistic)
      network.graph.set_format(id, format);
}

}  // namespace cairn::models
