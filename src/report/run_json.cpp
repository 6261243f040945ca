#include <cmath>

#include <nlohmann/json.hpp>

#include "cairn/config/read.h"
#include "cairn/core/assert.h"
#include "cairn/core/json_text.h"
#include "cairn/numerics/format.h"
#include "cairn/report/run.h"

namespace cairn::report {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

bool all_finite(const Json& value) {
  if (value.is_number_float()) return std::isfinite(value.get<double>());
  if (!value.is_structured()) return true;
  for (const Json& each : value)
    if (!all_finite(each)) return false;
  return true;
}

Json sources(const experiment::Job& job) {
  Json result = Json::array();
  for (const config::SourceFile& source : job.sources().all())
    result.push_back({{"kind", source.kind},
                      {"name", source.name()},
                      {"file", source.portable(job.home())},
                      {"hash", "sha256:" + source.sha256}});
  return result;
}

Json times(const predict::Breakdown& breakdown) {
  using program::Axis;
  const auto exposed = [&](Axis axis) { return core::to_seconds(breakdown.exposed[static_cast<std::size_t>(axis)]); };
  return Json{{"compute", core::to_seconds(breakdown.compute)},
              {"recompute", core::to_seconds(breakdown.recompute)},
              {"launch", core::to_seconds(breakdown.launch)},
              {"tp_exposed", exposed(Axis::tensor)},
              {"cp_exposed", exposed(Axis::context)},
              {"ep_exposed", exposed(Axis::expert)},
              {"pp_exposed", exposed(Axis::pipeline)},
              {"dp_exposed", exposed(Axis::data)},
              {"offload_exposed", core::to_seconds(breakdown.offload)},
              {"bubble", core::to_seconds(breakdown.bubble)},
              {"optimizer", core::to_seconds(breakdown.optimizer)},
              {"host", core::to_seconds(breakdown.host)},
              {"links_exposed", core::to_seconds(breakdown.links)},
              {"other", core::to_seconds(breakdown.other)}};
}

Json causes(const predict::Causes& all) {
  Json result = Json::array();
  for (const predict::CauseTime& part : all.parts)
    result.push_back({{"cause", cause_label(part)}, {"stage", part.stage}, {"time_s", core::to_seconds(part.time)}});
  return result;
}

Json stages(const predict::Causes& all) {
  Json result = Json::array();
  for (std::size_t stage = 0; stage < all.stages.size(); ++stage)
    result.push_back({{"stage", stage}, {"time_s", core::to_seconds(all.stages[stage])}});
  return result;
}

Json bubble(const predict::BubbleParts& parts) {
  return Json{{"schedule", core::to_seconds(parts.schedule)},
              {"imbalance", core::to_seconds(parts.imbalance)},
              {"transfers", core::to_seconds(parts.transfers)},
              {"ranks", core::to_seconds(parts.ranks)}};
}

Json limit_of(const predict::Prediction& prediction) {
  const Limit limit = report::limit(prediction);
  return Json{{"stage", limit.stage}, {"cause", limit.cause}, {"sentence", limit.sentence}};
}

Json communication(const Run& run) {
  Json result = Json::object();
  for (std::size_t i = 0; i < program::k_axes; ++i) {
    const auto axis = static_cast<program::Axis>(i);
    const bool sends = axis == program::Axis::expert ? run.job.program().expert_mesh.size(axis) > 1
                                                     : run.job.program().mesh.size(axis) > 1;
    if (!sends && run.result.prediction.volumes[i].sent == 0.0) continue;
    const predict::Volume& volume = run.result.prediction.volumes[i];
    result[std::string(program::label(axis))] = {{"sent", volume.sent},
                                                 {"received", volume.received},
                                                 {"scale_up", volume.scale_up},
                                                 {"scale_out", volume.scale_out}};
  }
  // Between a rank's own memories: no network.
  const auto moved = [&](const char* label, double sent, double received) {
    if (sent + received > 0.0)
      result[label] = {{"sent", sent}, {"received", received}, {"scale_up", 0.0}, {"scale_out", 0.0}};
  };
  const predict::Copies& copies = run.result.prediction.copies;
  moved("offload", copies.to_host, copies.to_device);
  moved("storage", copies.to_storage, copies.from_storage);
  return result;
}

void add_categories(Json& target, const program::CategoryBytes& bytes) {
  for (std::size_t i = 0; i < program::k_categories; ++i)
    target[std::string(category_name(static_cast<program::Category>(i)))] = bytes[i];
}

Json memory(const Run& run) {
  const predict::MemoryReport& report = run.result.prediction.memory;
  Json result{{"allocated_peak", report.allocated_peak},
              {"reserved_peak", report.reserved_peak},
              {"device_peak", report.device_peak},
              {"capacity", report.capacity},
              {"headroom", report.headroom()},
              {"driver", run.job.machine().accelerator.value.reserved_memory.driver.base()},
              {"driver_source", driver_source(run)}};
  const predict::StageMemory& fullest = report.stages[static_cast<std::size_t>(report.peak_stage)];
  add_categories(result, fullest.at_peak);
  result["host"] = report.host;
  result["storage"] = report.storage;
  result["peak_at"] = {{"stage", report.peak_stage}, {"phase", fullest.phase}};
  result["stages"] = Json::array();
  for (const predict::StageMemory& stage : report.stages) {
    Json row{{"allocated_peak", stage.allocated_peak},
             {"reserved_peak", stage.reserved_peak},
             {"device_peak", stage.device_peak}};
    add_categories(row, stage.at_peak);
    row["host"] = stage.host;
    row["storage"] = stage.storage;
    row["phase"] = stage.phase;
    result["stages"].push_back(std::move(row));
  }
  return result;
}

Json bounds(const predict::Bounds& bounds) {
  return Json{{"compute", or_null(bounds.compute_s)},
              {"memory", or_null(bounds.memory_s)},
              {"network", or_null(bounds.network_s)},
              {"together", or_null(bounds.together_s)},
              {"best", or_null(bounds.best_s())}};
}

Json floors(const std::vector<predict::ClassFloor>& rows) {
  Json result = Json::object();
  for (const predict::ClassFloor& row : rows)
    result[row.label] = {
        {"bytes", row.bytes}, {"floor_bytes", row.floor_bytes}, {"time_s", row.time_s}, {"floor_s", row.floor_s}};
  return result;
}

Json expert_exchange(const std::optional<predict::ExpertExchange>& exchange) {
  if (!exchange) return Json();
  return Json{{"ranks", exchange->ranks},
              {"ranks_per_domain", exchange->ranks_per_domain},
              {"bytes", exchange->bytes},
              {"levels", exchange->levels},
              {"one_level_s", exchange->times.one_level_s},
              {"two_levels_s", exchange->times.two_levels_s},
              {"equal_bytes", or_null(exchange->equal_bytes)}};
}

Json why_not(const std::optional<experiment::WhyNot>& reason) {
  if (!reason) return Json();
  Json changes = Json::array();
  for (const experiment::Remedy& each : reason->changes)
    changes.push_back({{"settings", each.settings}, {"time_s", each.time_s}, {"memory_bytes", each.memory_bytes}});
  return Json{{"term", reason->term},
              {"stage", reason->stage},
              {"over_by_bytes", reason->over_by_bytes},
              {"changes", std::move(changes)}};
}

Json event(const std::optional<predict::EventResult>& event) {
  if (!event) return Json();
  Json units = Json::array();
  for (const predict::UnitUse& use : event->uses) {
    const predict::SharedUnit& unit = event->units[use.unit];
    units.push_back({{"unit", unit.name},
                     {"stage", use.stage},
                     {"ranks", unit.ranks},
                     {"capacity", unit.capacity},
                     {"mean", use.mean},
                     {"peak", use.peak}});
  }
  return Json{{"iteration_time_s", core::to_seconds(event->makespan.time)},
              {"events", event->events},
              {"units", std::move(units)}};
}

Json training(const std::optional<WholeTraining>& whole) {
  if (!whole) return {};
  return Json{{"tokens", whole->tokens},
              {"time_s", whole->time_s},
              {"gpu_hours", whole->gpu_hours},
              {"usd", or_null(whole->usd)}};
}

Json result(const Run& run) {
  const predict::Prediction& p = run.result.prediction;
  const RunFigures f = figures(run);
  const models::ParameterCount parameters = models::count_parameters(run.job.transformer(), run.job.model());
  const bool has_cost = f.usd_per_step || f.joule_per_step;
  return Json{
      {"fits", p.fits},
      {"tight", p.fits && predict::tight(p.memory)},
      {"iteration_time_s", f.time_s},
      {"interval", nullptr},
      {"tokens_per_s", f.tokens_per_s},
      {"tokens_per_s_per_gpu", f.tokens_per_s_per_gpu},
      {"model_flops", p.model_flops},
      {"model_flops_causal", p.model_flops_causal},
      {"model_flop_per_s_per_gpu", f.model_flop_per_s_per_gpu},
      {"mfu", f.mfu},
      {"mfu_causal", f.mfu_causal},
      {"hfu", f.hfu},
      {"peak",
       {{"type", std::string(numerics::name(run.job.peak().format))}, {"flop_per_s", run.job.peak().rate.base()}}},
      {"time_s", times(p.breakdown)},
      {"bubble_s", bubble(p.causes.bubble)},
      {"stages", stages(p.causes)},
      {"causes", causes(p.causes)},
      {"limit", limit_of(p)},
      {"communication_bytes", communication(run)},
      {"expert_exchange", expert_exchange(p.expert_exchange)},
      {"memory_bytes", memory(run)},
      {"why_not", why_not(run.result.why_not)},
      {"lower_bounds_s", {{"plan", bounds(p.plan_bounds)}, {"problem", bounds(p.problem_bounds)}}},
      {"floors", floors(p.class_floors)},
      {"analytic", p.analytic.time > 0 ? Json{{"iteration_time_s", core::to_seconds(p.analytic.time)}} : Json()},
      {"event", event(p.event)},
      {"parameters", {{"total", parameters.total}, {"active", parameters.active}}},
      {"cost", has_cost ? Json{{"usd_per_step", or_null(f.usd_per_step)}, {"joule_per_step", or_null(f.joule_per_step)}}
                        : Json()},
      {"training", training(f.training)}};
}

}  // namespace

std::string json(const Run& run, int indent) {
  const Json document{
      {"schema", "cairn.run/1"},
      {"tool", {{"version", run.tool.version}, {"build", run.tool.build}}},
      {"experiment", Json::parse(config::to_json(run.job.written_out(experiment::Naming::by_name), -1))},
      {"result", result(run)},
      {"sources", sources(run.job)},
      {"assumptions", run.result.assumptions},
      {"warnings", run.job.warnings()}};
  CAIRN_ASSERT(all_finite(document));
  return core::json_text(document, indent);
}

}  // namespace cairn::report
