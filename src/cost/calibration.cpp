#include "cairn/cost/calibration.h"

#include <algorithm>
#include <filesystem>

#include "cairn/config/loader.h"
#include "cairn/config/read.h"
#include "cairn/core/diagnostics.h"

namespace cairn::cost {
namespace {

constexpr std::string_view k_folder = "calibration";
constexpr std::string_view k_fabrics_file = "fabrics";

// Puts each set of `others` in place of the one of the same name, or behind all.
template <class Set, class Name>
void replace(std::vector<Set>& sets, std::vector<Set>& others, Name name) {
  for (Set& other : others) {
    const auto own = std::find_if(sets.begin(), sets.end(), [&](const Set& set) { return name(set) == name(other); });
    if (own != sets.end())
      *own = std::move(other);
    else
      sets.push_back(std::move(other));
  }
}

template <class T>
T load(const config::Loader& loader, const config::Node& reference) {
  const auto made = [&reference](const config::Loader& reader) {
    core::Diagnostics diagnostics;
    T value;
    const config::Node node = reader.resolve(reference, k_folder, k_folder, diagnostics);
    config::read(node, value, diagnostics);
    diagnostics.raise_if_errors();
    return value;
  };
  if (!reference.is_scalar()) return made(loader);
  core::Diagnostics diagnostics;
  const std::filesystem::path file = loader.find(reference.text, k_folder, reference.place, k_folder, diagnostics);
  diagnostics.raise_if_errors();
  return *loader.once<T>(file, made);
}

}  // namespace

std::string_view gemm_set_type(std::string_view type) { return type == "fp16" ? "bf16" : type; }

const GemmSet* Calibration::find_gemm(std::string_view type) const {
  const auto found =
      std::find_if(gemm.begin(), gemm.end(), [&](const GemmSet& set) { return set.type == gemm_set_type(type); });
  return found == gemm.end() ? nullptr : &*found;
}

const FlashSet* Calibration::find_flash(std::string_view kernel) const {
  const auto found = std::find_if(flash_attention.begin(), flash_attention.end(),
                                  [&](const FlashSet& set) { return set.parameters.kernel == kernel; });
  return found == flash_attention.end() ? nullptr : &*found;
}

const KernelLaw* Calibration::find_law(std::string_view kernel, KernelPass pass, std::int64_t width) const {
  if (kernel.empty()) return nullptr;
  const auto sets = kernels.find(kernel);
  if (sets == kernels.end()) return nullptr;
  for (const KernelSet& set : sets->second) {
    if (!set.widths.empty() && std::find(set.widths.begin(), set.widths.end(), width) == set.widths.end()) continue;
    const auto& law = pass == KernelPass::forward    ? set.forward
                      : pass == KernelPass::backward ? set.backward
                                                     : set.parameters;
    return law ? &*law : nullptr;
  }
  return nullptr;
}

MemoryBoundParameters Calibration::memory_bound_of(std::string_view kernel) const {
  MemoryBoundParameters parameters = memory_bound;
  for (const TransposeSet& set : transposes)
    if (set.kernel == kernel)
      parameters.memory_efficiency = std::min(parameters.memory_efficiency, set.bandwidth / machine.memory_bandwidth);
  return parameters;
}

MachineRates Calibration::rates(const GemmSet& set) const {
  MachineRates rates = machine;
  rates.tensor_flops = set.peak_flops;
  return rates;
}

void Calibration::use(std::string_view release) {
  const auto found =
      std::find_if(libraries.begin(), libraries.end(), [&](const auto& each) { return each.first == release; });
  if (found == libraries.end()) {
    libraries.clear();
  } else {
    Libraries taken = std::move(found->second);
    if (taken.power) power = taken.power;
    replace(gemm, taken.gemm, [](const GemmSet& set) { return set.type; });
    replace(flash_attention, taken.flash_attention, [](const FlashSet& set) { return set.parameters.kernel; });
    kernels.clear();
    for (const KernelSet& set : taken.kernels) kernels[set.kernel].push_back(set);
    libraries = {{std::string(release), Libraries{.kernels = std::move(taken.kernels)}}};
  }
  share_common();
}

void Calibration::share_common() {
  // What a kind of kernels loses alone says nothing of a step where no limit of power is known that it was lost to.
  const auto alone = [this](double relative_clock) {
    return power ? std::min(1.0, sustained * relative_clock) : sustained;
  };
  for (GemmSet& set : gemm) {
    set.parameters.gap_s = gap_s;
    set.parameters.sustained = alone(set.relative_clock);
    set.parameters.shares_clock = power.has_value();
  }
  for (FlashSet& set : flash_attention) {
    set.parameters.gap_s = gap_s;
    set.parameters.sustained = alone(set.relative_clock);
    set.parameters.memory_efficiency = memory_bound.memory_efficiency;
  }
  if (attention_operator) attention_operator->parameters.sustained = sustained;
  memory_bound.gap_s = gap_s;
}

const Fabric* Fabrics::find(std::string_view name) const {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& fabric) { return fabric.first == name; });
  return found == all.end() ? nullptr : &found->second;
}

Fabrics load_fabrics(const config::Loader& loader) {
  return load<Fabrics>(loader, config::make_scalar(std::string(k_fabrics_file), {}));
}

Calibration load_calibration(const config::Loader& loader, std::string_view name) {
  return load_calibration(loader, config::make_scalar(std::string(name), {}));
}

Calibration load_calibration(const config::Loader& loader, const config::Node& reference) {
  Calibration calibration = load<Calibration>(loader, reference);
  calibration.share_common();
  const Fabrics fabrics = load_fabrics(loader);
  const Fabric* fabric = fabrics.find(calibration.fabric);
  if (fabric == nullptr) {
    std::vector<std::string> names;
    for (const auto& [known, laws] : fabrics.all) names.push_back(known);
    const std::string near = core::nearest(calibration.fabric, names);
    throw core::ConfigurationError(
        "transfers.fabric", "unknown fabric '" + calibration.fabric + "'",
        near.empty() ? "name one of configs/calibration/fabrics.yaml" : "did you mean '" + near + "'?");
  }
  calibration.transfers.fabric = fabric->laws;
  if (fabrics.communication) calibration.communication = *fabrics.communication;
  return calibration;
}

}  // namespace cairn::cost
