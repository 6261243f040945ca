// What `cairn partition EXPERIMENT` answers, key by key.
#include "cairn/core/json_text.h"
#include "cairn/report/module_stages.h"
#include "described.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

constexpr const char* k_partition_schema = "cairn.partition/1";
constexpr int k_partition_indent = 2;

const Described<division::ModuleRow>& module_keys() {
  static const Described<division::ModuleRow> keys{
      {"name", text("embedding, head, or a layer by its number"), [](const auto& of) { return of.name; }},
      {"time_s", amount("s, of one micro-batch, forward and backward"),
       [](const auto& of) { return core::to_seconds(of.time); }},
      {"memory_bytes", amount("bytes of a device: what it holds of the module, and what one micro-batch keeps"),
       [](const auto& of) { return of.memory; }},
      {"device", count("where the tree of modules puts it"), [](const auto& of) { return of.tree_device; }},
      {"exact_device", count("where the exact cut puts it"), [](const auto& of) { return of.exact_device; }}};
  return keys;
}

const Described<division::DeviceLoads>& device_loads_keys() {
  static const Described<division::DeviceLoads> keys{
      {"loads", described(list_of(ratio("of the model's cost")), "of each device"),
       [](const auto& of) { return of.loads; }},
      {"most", ratio("of the model's cost, on the device that has most"), [](const auto& of) { return of.most; }},
      {"stages", or_null(text("as strategy.stages has it; null: embedding or head are not at the pipeline's ends")),
       [](const auto& of) { return nullable(of.stages); }}};
  return keys;
}

const Described<Partition>& partition_document_keys() {
  static const Described<Partition> keys{
      {"schema", text(), [](const auto&) { return k_partition_schema; }},
      {"tool", tool(), [](const auto& of) { return made_by(of.tool); }},
      {"experiment", text("its name"), [](const auto& of) { return of.experiment; }},
      {"devices", count("that modules are shared out over"), [](const auto& of) { return of.asked.devices; }},
      {"memory_weight", ratio("of memory in a module's cost, the rest is time"),
       [](const auto& of) { return of.asked.memory_weight; }},
      {"tree", described(device_loads_keys().schema(), "by the tree of modules, in proportion to cost"),
       [](const auto& of) { return device_loads_keys().json(of.answer.tree); }},
      {"exact", described(device_loads_keys().schema(), "by the best of all cuts into consecutive parts"),
       [](const auto& of) { return device_loads_keys().json(of.answer.exact); }},
      {"modules", described(list_of(module_keys().schema()), "in the order of execution"),
       [](const auto& of) { return module_keys().list(of.answer.modules); }},
      {"assumptions", assumption_list(), [](const auto& of) { return of.answer.assumptions; }},
      {"warnings", warning_list(), [](const auto& of) { return of.warnings; }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const Partition& of) {
  return core::json_text(partition_document_keys().json(of), k_partition_indent) + "\n";
}

std::string partition_schema() {
  return core::json_text(document(k_partition_schema, partition_document_keys().schema()), k_schema_indent);
}

}  // namespace cairn::report
