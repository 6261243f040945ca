// What `cairn calibrate` answers, key by key.
#include "cairn/core/json_text.h"
#include "cairn/report/calibration.h"
#include "schema_parts.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

// Of rows, predicted / measured - 1.
Json scores() {
  return object({{"median", amount("median of |predicted / measured - 1|")},
                 {"p90", amount("nine in ten rows are below")},
                 {"bias", signed_amount("mean of predicted / measured - 1")}});
}

Json left_out() {
  Json result = scores();
  result["properties"]["by"] = text("what each group that was left out had in common");
  return result;
}

Json fitted_family() {
  const Json range = Json{{"type", "array"}, {"items", {{"type", "number"}}}, {"minItems", 2}, {"maxItems", 2}};
  return object({{"kind", text("of kernel or transfer")},
                 {"type", text("number format")},
                 {"rows", count("measurements that took part")},
                 {"parameters", described(object_of(Json{{"type", "number"}}),
                                          "what was fitted, in SI units, as the calibration file names it")},
                 {"at_bound", texts("parameters that the rows do not determine")},
                 {"in_sample", described(or_null(scores()), "errors of the rows that were fitted; null: none were")},
                 {"left_out", described(or_null(left_out()),
                                        "errors of whole groups that the fit did not see; null: too few groups")},
                 {"residuals", described(or_null(object({{"p10", signed_amount("one in ten rows is below")},
                                                         {"p50", signed_amount("the median row")},
                                                         {"p90", signed_amount("nine in ten rows are below")}})),
                                         "predicted / measured - 1 of the rows that were fitted; null: none were")},
                 {"ranges", described(object_of(range), "least and largest measured, by dimension")},
                 {"skipped", or_null(text("why it was not fitted; null: it was"))}});
}

}  // namespace
}  // namespace schema

std::string calibrate_schema() {
  const Json dropped = object({{"rows", count("how many")}, {"reason", text("why they take no part")}});
  return core::json_text(
      document("cairn.calibrate/1",
               object({{"schema", text()},
                       {"gpu", text("the accelerator that was measured")},
                       {"families", described(list_of(fitted_family()), "one for each kind of kernel and transfer")},
                       {"dropped", described(list_of(dropped), "rows that were read and take no part in any fit")},
                       {"warnings", texts("measurements and fits that look wrong")}})),
      k_schema_indent);
}

}  // namespace cairn::report
