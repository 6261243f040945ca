#include "known_words.h"

#include "cairn/bound/exchanges.h"
#include "cairn/collective/algorithms.h"
#include "cairn/models/kernels.h"
#include "cairn/models/network.h"
#include "cairn/pebble/operation_text.h"
#include "cairn/pipeline/generators.h"
#include "cairn/search/space.h"
#include "cairn/splits/search.h"
#include "cairn/swarm/swarm.h"

namespace cairn::cli {

std::string operators_text() {
  std::string text = "Operators:\n";
  for (const pebble::OperatorKind& kind : pebble::operator_kinds()) {
    text += "  " + kind.name;
    for (const pebble::OperatorKey& key : kind.keys) text += key.fallback ? " [" + key.name + "]" : " " + key.name;
    text += "\n";
  }
  text += "Exchanges between p devices of n bytes or words:\n";
  for (const collective::Collective each : bound::exchanges()) text += "  " + std::string(name(each)) + " p n\n";
  return text;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names{"einsum"};
  for (const collective::Collective each : bound::exchanges()) names.emplace_back(name(each));
  for (const pebble::OperatorKind& kind : pebble::operator_kinds()) names.push_back(kind.name);
  return names;
}

std::vector<std::string> objective_names() {
  std::vector<std::string> names;
  for (const auto& [word, objective] : search::objectives()) names.emplace_back(word);
  return names;
}

std::vector<std::string> split_method_names() {
  std::vector<std::string> names{splits::method_names().begin(), splits::method_names().end()};
  names.emplace_back(k_stage_method);
  return names;
}

std::vector<std::string> search_method_names() {
  std::vector<std::string> names = split_method_names();
  for (std::string& each : layer_method_names()) names.push_back(std::move(each));
  return names;
}

std::vector<std::string> layer_method_names() {
  return {std::string(k_layered_method), std::string(k_degrees_method), std::string(k_shares_method)};
}

std::vector<std::string> cost_model_names() { return {"pase", std::string(k_calibrated_costs)}; }

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const std::string_view each : models::network_names()) names.emplace_back(each);
  return names;
}

std::vector<std::string> sharing_kernel_names() {
  std::vector<std::string> names;
  for (const models::AttentionKernel kernel : models::k_attention_kernels)
    if (!models::keeps_scores(kernel)) names.emplace_back(models::name(kernel));
  return names;
}

std::vector<std::string> schedule_kinds() {
  std::vector<std::string> names;
  for (const pipeline::Generator& kind : pipeline::generators()) names.emplace_back(kind.kind);
  names.emplace_back(swarm::k_kind);
  return names;
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const collective::Collective each : collective::k_collectives) names.emplace_back(collective::name(each));
  return names;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const collective::Algorithm& each : collective::algorithms()) names.emplace_back(each.name);
  return names;
}

}  // namespace cairn::cli
