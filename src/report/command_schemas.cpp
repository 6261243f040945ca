// Schemas of the documents that list and look up.
#include "cairn/report/schema.h"
#include "diagnostic_keys.h"
#include "schema_parts.h"

namespace cairn::report {

using namespace schema;

std::string schedule_kinds_schema() {
  const Json kind = object({{"kind", text("its name on the command line")},
                            {"summary", text("what it does, in a line")},
                            {"options", texts("options of cairn schedule that it takes")},
                            {"splits_backward", flag("whether weight gradients run by themselves")},
                            {"goldens", flag("whether its results are pinned by tests")},
                            {"source", text("where it comes from")}});
  return document("cairn.schedule-kinds/1", object({{"schema", text()},
                                                    {"tool", tool()},
                                                    {"kinds", described(list_of(kind), "every schedule there is")}}))
      .dump(k_schema_indent);
}

std::string model_schema() {
  const Json parameters =
      object({{"total", count("all of them")},
              {"active", count("those that one token passes")},
              {"prediction", count("more of them in training: modules that predict further tokens")}});
  return document("cairn.model/1",
                  object({{"schema", text()},
                          {"name", text("of the model")},
                          {"parameters", described(parameters, "how many there are")},
                          {"model", described(Json{{"type", "object"}}, "as `cairn schema model` has it")}}))
      .dump(k_schema_indent);
}

std::string config_schema() {
  const Json key = object({{"block", text("experiment, model, cluster, accelerator, precision or framework")},
                           {"key", text("its path below the block")},
                           {"value", described(Json::object(), "of any type")},
                           {"from", text("file:line, --set, default, or the model's file")},
                           {"source", text("datasheet, measured, fitted, assumed or unstated")},
                           {"ref", text("the document that its file names")}});
  return document("cairn.config/1",
                  object({{"schema", text()}, {"keys", described(list_of(key), "every value that a run rests on")}}))
      .dump(k_schema_indent);
}

std::string config_list_schema() {
  Json body = object({{"schema", text()}});
  body["additionalProperties"] = described(list_of(text()), "names of configurations, by kind");
  return document("cairn.config-list/1", std::move(body)).dump(k_schema_indent);
}

namespace schema {
namespace {

Json share(const char* of) { return or_null(ratio(std::string(of) + "; null: no row has it")); }

Json family() {
  const Json skipped = object({{"line", count("of the table, from 1")}, {"reason", text("why it takes no part")}});
  const Json group = object({{"value", text("of the setting")},
                             {"rows", count("that have it")},
                             {"median", signed_amount("of their predicted / measured - 1")}});
  const Json cause =
      object({{"setting", text("micro_batch, tp, pp, span of groups beyond a node, imbalance of stages, or gpus")},
              {"explained", signed_amount("share of the error's spread that is gone inside groups of one value")},
              {"groups", described(list_of(group), "rows of one value")}});
  const Json question = object({{"gpus", count("of the runs")},
                                {"rows", count("runs that differ in their layout alone")},
                                {"chosen", text("the run with the shortest prediction")},
                                {"fastest", text("the run with the shortest measured time")},
                                {"rank", count("of the chosen by measured time, 1 the fastest")},
                                {"regret", amount("measured time of the chosen over that of the fastest, less 1")},
                                {"pairs", count("whose measured times differ by over 3 %")},
                                {"concordant", count("of them predicted in the measured order")},
                                {"discordant", count("of them predicted in the other")}});
  const Json layouts = object(
      {{"questions", described(list_of(question), "all of an experiment but its strategy, answered by several runs")},
       {"mean_regret", amount("of the questions")},
       {"max_regret", amount("of the questions")},
       {"kendall_tau", or_null(signed_amount("of all pairs; null: no two times of a question differ enough"))}});
  return object({{"name", text("of the table of measurements")},
                 {"rows", count("that were predicted")},
                 {"timed", count("rows with a measured time")},
                 {"skipped", described(list_of(skipped), "rows that were not")},
                 {"mape", share("mean of |predicted / measured - 1|")},
                 {"median", share("median of |predicted / measured - 1|")},
                 {"p90", share("of |predicted / measured - 1|: nine in ten rows are below")},
                 {"max", share("largest |predicted / measured - 1|")},
                 {"bias", or_null(signed_amount("mean of predicted / measured - 1; null: no row is timed"))},
                 {"spearman", or_null(signed_amount(
                                  "rank correlation of predicted and measured times, -1 to 1; null: too few rows"))},
                 {"outcomes", count("rows that say whether the run fitted")},
                 {"false_fit", count("of them: said to fit, and did not")},
                 {"false_oom", count("of them: said not to fit, and did")},
                 {"memory_median", share("median of |predicted / measured - 1| of the peak memory")},
                 {"baseline_mape", share("error of a prediction by one constant rate for all rows")},
                 {"baseline_flop_per_s_per_gpu", or_null(amount("FLOP/s: that rate; null: no row is timed"))},
                 {"interval_coverage", share("of rows inside intervals of 8 in 10 that were made without their model")},
                 {"interval_width", or_null(amount("median of p90 - p10 of those, over what is predicted"))},
                 {"left_out_by", or_null(text("what is left out at a time: model, or gpus of a table of one model"))},
                 {"left_out_mape", share("mape of what is left out, times scaled by the best factor for the others")},
                 {"slope_per_doubling",
                  or_null(signed_amount("of predicted / measured - 1 with each doubling of GPUs; null: all have as "
                                        "many"))},
                 {"causes", described(list_of(cause), "settings by how much of the error goes with them")},
                 {"layouts", described(or_null(layouts),
                                       "whether predictions choose the fastest layout; null: no two "
                                       "runs differ in their layout alone")},
                 {"band", described(or_null(object({{"mean", share("largest mape that passes")},
                                                    {"max", share("largest error that passes")}})),
                                    "what the family is held to; null: nothing")},
                 {"passed", or_null(flag("whether it is within the band; of ideal runs: whether bias is below "
                                         "0; null: it is held to nothing"))}});
}

Json interval_score() {
  return object({{"family", text("framework, architecture, precision, layers, scale; or: all runs")},
                 {"rows", count("that are judged")},
                 {"coverage", ratio("of them inside intervals of 8 in 10 that were made without their model")},
                 {"width", amount("median of p90 - p10, over what is predicted")},
                 {"median_error", ratio("of |predicted / measured - 1|")},
                 {"chance", ratio("that a coverage of 8 in 10 gives a share as far off or farther: binomial test")}});
}

Json sharing_score() {
  return object({{"scheme", text("as in strategy.attention")},
                 {"rows", count("timed, of all families")},
                 {"mape", ratio("mean of |predicted / measured - 1|")},
                 {"median", ratio("median of |predicted / measured - 1|")},
                 {"max", ratio("largest |predicted / measured - 1|")},
                 {"bias", signed_amount("mean of predicted / measured - 1")}});
}

Json row() {
  Json time = object({});
  for (const char* label : {"compute", "recompute", "launch", "tp_exposed", "cp_exposed", "ep_exposed", "pp_exposed",
                            "dp_exposed", "links_exposed", "bubble", "optimizer", "host", "other"}) {
    time["properties"][label] = amount("s. " + meaning(label));
    time["required"].push_back(label);
  }
  return object(
      {{"family", text("the table that it is of")},
       {"line", count("of the table, from 1")},
       {"run", text("what was measured, in short")},
       {"status", text("ok, oom, ...: how the run ended")},
       {"measured_s", or_null(amount("s of a step; null: not measured"))},
       {"predicted_s", amount("s of a step")},
       {"error", or_null(signed_amount("predicted / measured - 1, of times"))},
       {"time_s", described(time, "s by label; they add up to predicted_s")},
       {"attention_sharing", or_null(text("the scheme by which ranks share its sequences; null: none do"))},
       {"fits", flag("whether it was predicted to fit")},
       {"measured_bytes", or_null(amount("bytes of peak memory; null: not measured"))},
       {"predicted_bytes", amount("bytes of peak memory")},
       {"memory_error", or_null(signed_amount("predicted / measured - 1, of memory"))},
       {"inside_interval",
        or_null(flag("whether the measured time lies in an interval made without its model; null: not judged"))},
       {"doubt", or_null(text("why the row is believed mis-stated; null: it is not"))},
       {"corrections", texts("fields read otherwise than the table or its family's columns have them, and why")},
       {"warnings", warning_list()}});
}

}  // namespace
}  // namespace schema

std::string validate_schema() {
  return document("cairn.validate/1",
                  object({{"schema", text()},
                          {"ideal", flag("whether every row is predicted under framework ideal, by the fastest "
                                         "libraries of its calibration, and nothing judged but the sign of bias")},
                          {"families", described(list_of(family()), "one for each table of measurements")},
                          {"intervals", described(list_of(interval_score()), "all runs, then by family of intervals")},
                          {"attention_sharing",
                           described(list_of(sharing_score()), "errors where ranks share sequences, by scheme")},
                          {"rows", described(list_of(row()), "every measured run beside its prediction")}}))
      .dump(k_schema_indent);
}

std::string error_schema() {
  return document("cairn.error/1",
                  object({{"schema", text()},
                          {"line", or_null(count("of a batch, from 1; null: it is of no batch"))},
                          {"diagnostics", described(list_of(diagnostic_keys().schema()), "everything that is wrong")}}))
      .dump(k_schema_indent);
}

}  // namespace cairn::report
