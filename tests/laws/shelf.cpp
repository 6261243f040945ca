#include "shelf.h"

#include "cairn/config/read.h"
#include "cairn/cost/calibration.h"
#include "cairn/hardware/files.h"
#include "cairn/models/huggingface.h"
#include "cairn/models/kernels.h"
#include "cairn/software/files.h"
#include "random_experiments.h"
#include "support/source_dir.h"

namespace cairn::laws {
namespace {

constexpr std::uint64_t k_drawn_frameworks = 160;

template <class T>
Json written(const T& value) {
  return Json::parse(config::to_json(value, -1));
}

}  // namespace

Shelf::Shelf() : loader_({folder_.path()}) {
  copy_shipped();
  read_shipped();
  add_frameworks();
}

// <kind>/<name>/config.json, which every kind is found by.
void Shelf::copy_shipped() {
  const config::Loader shipped({cairn::testing::source_dir() + "/configs"});
  for (const char* kind :
       {"accelerators", "calibration", "clusters", "experiments", "frameworks", "models", "precision"})
    for (const std::string& name : shipped.names(kind)) {
      core::Diagnostics diagnostics;
      const config::Node node = shipped.load_named(name, kind, diagnostics);
      diagnostics.raise_if_errors();
      folder_.write(std::string(kind) + "/" + name + "/config.json", config::to_json(node, -1));
    }
}

void Shelf::read_shipped() {
  for (const std::string& name : loader_.names("accelerators")) {
    const hardware::Accelerator accelerator = hardware::load_accelerator(loader_, name);
    accelerators[name].block = written(accelerator);
    accelerators[name].recipes = software::recipes_of(loader_, accelerator);
    std::vector<std::string>& attentions = accelerators[name].attentions = {"unfused", "fused-softmax"};
    for (const cost::FlashSet& set : cost::load_calibration(loader_, name).flash_attention)
      for (const models::AttentionKernel kernel : models::k_attention_kernels)
        if (set.parameters.kernel == models::variant(kernel)) attentions.emplace_back(models::name(kernel));
  }
  for (const std::string& name : loader_.names("clusters")) {
    const hardware::Machine machine = hardware::load_machine(loader_, name);
    const hardware::Cluster& cluster = machine.cluster.value;
    clusters[name] = {.gpus = machine.network.gpus(),
                      .gpus_per_node = machine.network.gpus_per_node,
                      .accelerator = cluster.accelerator.text,
                      .intra = cluster.intra.has_value(),
                      .inter = cluster.inter.has_value(),
                      .host = cluster.host.has_value(),
                      .drives = cluster.host && cluster.host->nvme};
  }
  for (const std::string& name : loader_.names("models")) {
    core::Diagnostics diagnostics;
    const config::Node node = loader_.load_named(name, "models", diagnostics);
    models[name].huggingface = models::is_huggingface(node);
    models[name].block = written(models::read_model(config::make_scalar(name, {}), loader_, diagnostics));
  }
  for (const std::string& name : loader_.names("precision"))
    recipes[name] = written(software::load_precision(loader_, name));
  calibrations = loader_.names("calibration");
  std::erase(calibrations, "fabrics");
  for (const auto& [name, fabric] : cost::load_fabrics(loader_).all) fabrics.push_back(name);
}

void Shelf::add_frameworks() {
  std::vector<std::string> names;
  const std::vector<std::string> shipped = loader_.names("frameworks");
  for (const std::string& name : shipped) {
    names.push_back(name);
    for (const auto& [release, over] : software::load_framework(loader_, name).releases)
      names.push_back(name + "@" + release);
  }
  for (std::uint64_t seed = 1; seed <= k_drawn_frameworks; ++seed) {
    const std::string name = fmt::format("drawn-{}.json", seed);
    const Json drawn = draw_framework(seed, shipped);
    folder_.write("frameworks/" + name, drawn.dump());
    for (const char* release : {"", "@early"}) {
      if (*release != '\0' && !drawn.contains("releases")) continue;
      names.push_back(name + release);
      frameworks[name + release].drawn = drawn;
    }
  }
  for (const std::string& name : names) {
    const software::FrameworkProfile profile = software::load_framework(loader_, name);
    frameworks[name].sharding_with_pipeline = profile.sharding.pipeline;
    frameworks[name].attention = models::name(profile.kernels.attention);
  }
}

}  // namespace cairn::laws
