#include <array>
#include <memory>

#include <fmt/format.h>

#include "cairn/config/read.h"
#include "cairn/cost/calibration.h"
#include "cairn/division/layered_plan.h"
#include "cairn/experiment/experiment.h"
#include "cairn/experiment/schedule_file.h"
#include "cairn/hardware/files.h"
#include "cairn/hardware/network_files.h"
#include "cairn/measure/read.h"
#include "cairn/models/transformer_config.h"
#include "cairn/report/attention.h"
#include "cairn/report/calibration.h"
#include "cairn/report/diff.h"
#include "cairn/report/diff_trace.h"
#include "cairn/report/five_degrees.h"
#include "cairn/report/layered.h"
#include "cairn/report/mixed_shares.h"
#include "cairn/report/module_stages.h"
#include "cairn/report/placements.h"
#include "cairn/report/schema.h"
#include "cairn/report/search.h"
#include "cairn/report/splits.h"
#include "cairn/report/stages.h"
#include "cairn/report/sweep.h"
#include "cairn/report/tasks.h"
#include "cairn/search/space.h"
#include "cairn/software/files.h"
#include "cairn/topology/graph.h"
#include "cairn/topology/prices.h"
#include "context.h"
#include "exit_code.h"
#include "schemas.h"

namespace cairn::cli {
namespace {

template <class T>
std::string schema_of(std::string_view title) {
  const auto scratch = std::make_unique<T>();
  return config::schema_of([&](config::Fields& fields) { describe(fields, *scratch); }, title);
}

constexpr std::array k_schemas{
    Schema{"experiment", "an experiment: model, cluster, training, strategy",
           [] { return schema_of<experiment::Experiment>("experiment"); }},
    Schema{"model", "a decoder-only transformer", [] { return schema_of<models::TransformerConfig>("model"); }},
    Schema{"cluster", "nodes of equal accelerators and their networks",
           [] { return schema_of<hardware::Cluster>("cluster"); }},
    Schema{"accelerator", "one accelerator by its data sheet",
           [] { return schema_of<hardware::Accelerator>("accelerator"); }},
    Schema{"precision", "the number format of everything a step stores and sends",
           [] { return schema_of<software::PrecisionRecipe>("precision"); }},
    Schema{"framework", "what a training framework does around the mathematics",
           [] { return schema_of<software::FrameworkProfile>("framework"); }},
    Schema{"calibration", "what was measured about an accelerator's kernels and transfers",
           [] { return schema_of<cost::Calibration>("calibration"); }},
    Schema{"network", "one network by its kind and sizes", [] { return schema_of<hardware::NetworkFile>("network"); }},
    Schema{"graph", "a network link by link", [] { return schema_of<topology::GraphFile>("graph"); }},
    Schema{"schedule", "a pipeline schedule of your own",
           [] { return schema_of<experiment::ScheduleFile>("schedule"); }},
    Schema{"fill", "work for the bubbles of a schedule", [] { return schema_of<experiment::FillFile>("fill"); }},
    Schema{"prices", "what switches and cables cost", [] { return schema_of<topology::PriceList>("prices"); }},
    Schema{"cairn.run/1", "the result of cairn run", [] { return report::run_schema(); }},
    Schema{"space", "a space of plans for cairn search", [] { return schema_of<search::SpaceFile>("space"); }},
    Schema{"cairn.search/1", "the result of cairn search", [] { return report::search_schema(); }},
    Schema{"cairn.splits/1", "the result of cairn search --method", [] { return report::splits_schema(); }},
    Schema{"placements", "how the operators of a network are placed on a cluster",
           [] { return schema_of<splits::PlacementStrategy>("placements"); }},
    Schema{"cairn.placements/1", "the result of cairn search --cost-model cairn and cairn run --strategy-file",
           [] { return report::placements_schema(); }},
    Schema{"cairn.stages/1", "the result of cairn search --method alpa, and cairn run --strategy-file of stages",
           [] { return report::stages_schema(); }},
    Schema{"cairn.sweep/1", "the result of cairn sweep", [] { return report::sweep_schema(); }},
    Schema{"layers", "how each layer of an experiment is shared, for cairn run --strategy-file",
           [] { return schema_of<division::LayeredStrategy>("layers"); }},
    Schema{"cairn.layers/1",
           "the result of cairn search --method galvatron, and of cairn run --strategy-file of layers",
           [] { return report::layered_schema(); }},
    Schema{"cairn.degrees/1", "the result of cairn search --method pangu", [] { return report::degrees_schema(); }},
    Schema{"cairn.shares/1", "the result of cairn search --method cephalo", [] { return report::shares_schema(); }},
    Schema{"cairn.partition/1", "the result of cairn partition of an experiment",
           [] { return report::partition_schema(); }},
    Schema{"cairn.tasks/1", "the result of cairn partition --tasks", [] { return report::tasks_schema(); }},
    Schema{"cairn.bound/1", "the result of cairn bound", [] { return report::bound_schema(); }},
    Schema{"cairn.calibrate/1", "the result of cairn calibrate", [] { return report::calibrate_schema(); }},
    Schema{"cairn.diff/1", "the result of cairn diff of two experiments", [] { return report::diff_schema(); }},
    Schema{"cairn.diff_trace/1", "the result of cairn diff --trace", [] { return report::diff_trace_schema(); }},
    Schema{"cairn.topology/1", "the result of cairn topology", [] { return report::topology_schema(); }},
    Schema{"cairn.topology-comparison/1", "the result of cairn topology --compare",
           [] { return report::topology_comparison_schema(); }},
    Schema{"cairn.attention/1", "the result of cairn attention", [] { return report::attention_schema(); }},
    Schema{"cairn.attention-comparison/1", "the result of cairn attention for several lengths or numbers of GPUs",
           [] { return report::attention_comparison_schema(); }},
    Schema{"cairn.attention-batch/1", "the result of cairn attention --lengths",
           [] { return report::attention_batch_schema(); }},
    Schema{"cairn.attention-schemes/1", "the result of cairn attention --list",
           [] { return report::attention_schemes_schema(); }},
    Schema{"cairn.schedule/1", "the result of cairn schedule", [] { return report::schedule_schema(); }},
    Schema{"cairn.schedule-comparison/1", "the result of cairn schedule --compare",
           [] { return report::schedule_comparison_schema(); }},
    Schema{"cairn.schedule-kinds/1", "the result of cairn schedule --list",
           [] { return report::schedule_kinds_schema(); }},
    Schema{"cairn.model/1", "the result of cairn config model", [] { return report::model_schema(); }},
    Schema{"cairn.config/1", "the result of cairn config show --origin", [] { return report::config_schema(); }},
    Schema{"cairn.config-list/1", "the result of cairn config list", [] { return report::config_list_schema(); }},
    Schema{"cairn.validate/1", "the result of cairn validate", [] { return report::validate_schema(); }},
    Schema{"cairn.measurement/1", "what cairn-probe measured", [] { return measure::probe_document_schema(); }},
    Schema{"cairn.error/1",
           "what stood in the way of a result: a line of cairn run --batch, or of any command with --json",
           [] { return report::error_schema(); }},
};

}  // namespace

std::span<const Schema> schemas() { return k_schemas; }

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const Schema& schema : k_schemas) names.emplace_back(schema.name);
  return names;
}

int command(const SchemaArguments& arguments, Context& context) {
  Output output(arguments.output, context.read);
  if (arguments.name.empty()) {
    for (const Schema& schema : k_schemas) output.write(fmt::format("{:<30}{}\n", schema.name, schema.summary));
    output.finish();
    return k_ok;
  }
  for (const Schema& schema : k_schemas) {
    if (schema.name != arguments.name) continue;
    output.write(schema.text() + "\n");
    output.finish();
    return k_ok;
  }
  const std::string near = core::nearest(arguments.name, schema_names());
  throw core::ConfigurationError("cairn schema", fmt::format("no document is called '{}'", arguments.name),
                                 near.empty() ? "`cairn schema` lists them" : fmt::format("did you mean '{}'?", near));
}

}  // namespace cairn::cli
