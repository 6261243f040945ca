// Schemas of the documents that list and look up.
#include "cairn/report/schema.h"
#include "schema_parts.h"

namespace cairn::report {

using namespace schema;

std::string schedule_kinds_schema() {
  const Json kind = object({{"kind", text()},
                            {"summary", text()},
                            {"options", described(list_of(text()), "options of cairn schedule that it takes")},
                            {"splits_backward", described(flag(), "whether weight gradients run by themselves")},
                            {"goldens", described(flag(), "whether its results are pinned by tests")},
                            {"source", described(text(), "where it comes from")}});
  return document("cairn.schedule-kinds/1", object({{"schema", text()}, {"tool", tool()}, {"kinds", list_of(kind)}})).dump(2);
}

std::string model_schema() {
  const Json parameters =
      object({{"total", count()},
              {"active", described(count(), "those that one token passes")},
              {"prediction", described(count(), "more of them in training: modules that predict further tokens")}});
  return document("cairn.model/1",
                  object({{"schema", text()},
                          {"name", text()},
                          {"parameters", parameters},
                          {"model", described(Json{{"type", "object"}}, "as `cairn schema model` has it")}}))
      .dump(2);
}

std::string config_schema() {
  const Json key = object({{"block", described(text(), "experiment, model, cluster, accelerator, precision or framework")},
                           {"key", text()},
                           {"value", described(Json::object(), "of any type")},
                           {"from", described(text(), "file:line, --set, default, or the model's file")},
                           {"source", described(text(), "datasheet, measured, fitted, assumed or unstated")},
                           {"ref", described(text(), "the document that its file names")}});
  return document("cairn.config/1", object({{"schema", text()}, {"keys", list_of(key)}})).dump(2);
}

std::string config_list_schema() {
  Json body = object({{"schema", text()}});
  body["additionalProperties"] = described(list_of(text()), "names of configurations, by kind");
  return document("cairn.config-list/1", std::move(body)).dump(2);
}

std::string validate_schema() {
  const auto share = [](const char* of) { return or_null(ratio(of)); };
  const Json seconds = amount("s");
  Json time = object({});
  for (const char* part : {"compute", "recompute", "launch", "tp_exposed", "cp_exposed", "ep_exposed", "pp_exposed", "dp_exposed",
                           "links_exposed", "bubble", "optimizer", "host", "other"}) {
    time["properties"][part] = seconds;
    time["required"].push_back(part);
  }
  const Json family =
      object({{"name", text()},
              {"rows", count()},
              {"timed", described(count(), "rows with a measured time")},
              {"skipped", list_of(object({{"line", count()}, {"reason", text()}}))},
              {"mape", share("mean of |predicted / measured - 1|")},
              {"median", share("median of |predicted / measured - 1|")},
              {"p90", share("of |predicted / measured - 1|: nine in ten rows are below")},
              {"max", share("largest |predicted / measured - 1|")},
              {"bias", or_null(signed_amount("mean of predicted / measured - 1"))},
              {"spearman", or_null(signed_amount("rank correlation of predicted and measured times, -1 to 1"))},
              {"outcomes", described(count(), "rows that say whether the run fitted")},
              {"false_fit", described(count(), "of them: said to fit, and did not")},
              {"false_oom", described(count(), "of them: said not to fit, and did")},
              {"memory_median", share("median of |predicted / measured - 1| of the peak memory")},
              {"baseline_mape", share("of a prediction by one constant rate for all rows")},
              {"baseline_flop_per_s_per_gpu", or_null(amount("FLOP/s: that rate"))},
              {"band", described(or_null(object({{"mean", share("largest mape that passes")}, {"max", share("largest error that passes")}})),
                                 "what the family is held to")},
              {"passed", described(or_null(flag()), "null: held to nothing")}});
  const Json row = object({{"family", text()},
                           {"line", count()},
                           {"run", text()},
                           {"status", text()},
                           {"measured_s", or_null(seconds)},
                           {"predicted_s", seconds},
                           {"error", or_null(signed_amount("predicted / measured - 1"))},
                           {"time_s", time},
                           {"fits", flag()},
                           {"measured_bytes", or_null(amount("bytes"))},
                           {"predicted_bytes", amount("bytes")},
                           {"memory_error", or_null(signed_amount("predicted / measured - 1"))},
                           {"warnings", list_of(text())}});
  return document("cairn.validate/1", object({{"schema", text()}, {"families", list_of(family)}, {"rows", list_of(row)}})).dump(2);
}

}  // namespace cairn::report
