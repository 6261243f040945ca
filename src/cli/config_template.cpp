// `cairn config template`: files to fill in, from files that are known to work.
#include "config_template.h"

#include <fmt/format.h>

#include "cairn/config/template.h"
#include "cairn/experiment/experiment.h"
#include "cairn/hardware/accelerator.h"
#include "cairn/hardware/cluster.h"
#include "cairn/models/huggingface.h"
#include "cairn/models/transformer_config.h"
#include "context.h"
#include "exit_code.h"
#include "schemas.h"

namespace cairn::cli {
namespace {

struct Template {
  std::string_view kind;
  std::string_view from;  // the configuration whose values it begins with
  std::string (*text)(const config::Loader& loader, std::string_view from);
};

template <class T>
std::string file_of(const config::Loader& loader, std::string_view folder, std::string_view name) {
  core::Diagnostics diagnostics;
  T value;
  config::read(loader.load_named(name, folder, diagnostics), value, diagnostics);
  diagnostics.raise_if_errors();
  return config::template_of(value);
}

std::string model(const config::Loader& loader, std::string_view name) {
  core::Diagnostics diagnostics;
  const models::TransformerConfig value =
      models::read_model(config::make_scalar(std::string(name), {}), loader, diagnostics);
  diagnostics.raise_if_errors();
  return config::template_of(value);
}

std::string experiment(const config::Loader& loader, std::string_view name) {
  // Its model by name, so that it means the same in any folder.
  return config::template_of(experiment::load(loader, std::string(name), {"model=llama-3.1-70b"}).experiment);
}

constexpr Template k_templates[] = {
    {"experiment", "llama3-70b-64xdgx-h100", experiment},
    {"model", "llama-3.1-8b", model},
    {"cluster", "dgx-h100",
     [](const config::Loader& loader, std::string_view from) {
       return file_of<hardware::Cluster>(loader, "clusters", from);
     }},
    {"accelerator", "h100-sxm5-80gb", [](const config::Loader& loader, std::string_view from) {
       return file_of<hardware::Accelerator>(loader, "accelerators", from);
     }}};

std::string_view summary(std::string_view kind) {
  for (const Schema& schema : schemas())
    if (schema.name == kind) return schema.summary;
  return {};
}

}  // namespace

std::vector<std::string> template_kinds() {
  std::vector<std::string> kinds;
  for (const Template& each : k_templates) kinds.emplace_back(each.kind);
  return kinds;
}

int command(const ConfigTemplateArguments& arguments, Context& context) {
  Output output(arguments.output, context.read);
  for (const Template& each : k_templates) {
    if (each.kind != arguments.kind) continue;
    output.write(
        fmt::format("# {}, with the values of {}. Keys in comments may be left out: they\n"
                    "# stand with their defaults or an example. Any value may name its source:\n"
                    "# {{value: 450 GB/s, source: datasheet, ref: page 2 of the data sheet}}\n",
                    summary(each.kind), each.from));
    output.write(each.text(context.loader, each.from));
  }
  output.finish();
  return k_ok;
}

}  // namespace cairn::cli
