// What `cairn diff A B` answers, key by key.
#include "cairn/core/json_text.h"
#include "cairn/report/diff.h"
#include "described.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

constexpr const char* k_compared_schema = "cairn.diff/1";
constexpr int k_compared_indent = 2;

Json whole_number(std::string_view what) { return described(Json{{"type", "integer"}}, what); }

const Described<contrast::Side>& compared_side_keys() {
  using contrast::Side;
  static const Described<Side> keys{
      {"name", text("of the experiment"), &Side::name},
      {"time_ps", count("ps of the step that is compared"), &Side::time},
      {"time_s", amount("s of the same"), [](const Side& of) { return core::to_seconds(of.time); }},
      {"recorded", flag("whether that is what its document says, which this version of cairn does not give"),
       &Side::recorded},
      {"run_ps", count("ps of the step by this version, which shares of settings are of"), &Side::time_now},
      {"fits", flag("whether it fits into memory"), &Side::fits},
      {"device_peak_bytes", amount("bytes. " + meaning("device_peak")),
       [](const Side& of) { return of.memory.device_peak; }},
      {"capacity_bytes", amount("bytes. " + meaning("capacity")), [](const Side& of) { return of.memory.capacity; }}};
  return keys;
}

const Described<contrast::Part>& compared_part_keys() {
  using contrast::Part;
  static const Described<Part> keys{
      {"term", text("of the step, as in result.time_s of cairn run"), &Part::term},
      {"a_ps", whole_number("ps of it in A"), &Part::a},
      {"b_ps", whole_number("ps of it in B"), &Part::b},
      {"difference_ps", whole_number("ps, B's less A's"), [](const Part& of) { return of.difference(); }}};
  return keys;
}

const Described<contrast::CausePart>& compared_cause_keys() {
  using contrast::CausePart;
  static const Described<CausePart> keys{
      {"cause", text("along the critical path, as in result.causes of cairn run, over all stages"),
       [](const CausePart& of) { return cause_label({.cause = of.cause, .axis = of.axis}); }},
      {"a_ps", whole_number("ps of it in A"), &CausePart::a},
      {"b_ps", whole_number("ps of it in B"), &CausePart::b},
      {"difference_ps", whole_number("ps, B's less A's"), [](const CausePart& of) { return of.difference(); }}};
  return keys;
}

const Described<contrast::Difference>& compared_key_keys() {
  using contrast::Difference;
  static const Described<Difference> keys{{"key", text("of the experiments"), &Difference::key},
                                          {"a", text("its value in A; empty: left out, it follows"), &Difference::a},
                                          {"b", text("its value in B; empty: left out, it follows"), &Difference::b}};
  return keys;
}

const Described<contrast::Share>& compared_share_keys() {
  using contrast::Share;
  static const Described<Share> keys{
      {"keys", texts("settings that are changed together; several: one without the others cannot be run"),
       [](const Share& of) {
         Json all = Json::array();
         for (const contrast::Difference& each : of.settings) all.push_back(each.key);
         return all;
       }},
      {"share_ps", whole_number("ps of the difference that they make"), &Share::time},
      {"share_s", signed_amount("s of the same"), [](const Share& of) { return core::to_seconds(of.time); }},
      {"values", described(list_of(compared_key_keys().schema()), "of both experiments, key by key"),
       [](const Share& of) { return compared_key_keys().list(of.settings); }},
      {"together_because", texts("what was wrong with some of them alone"), &Share::reasons}};
  return keys;
}

const Described<Diff>& compared_result_keys() {
  static const Described<Diff> keys{
      {"sentence", text("the answer in words"), [](const Diff& of) { return sentence(of); }},
      {"difference_ps", whole_number("ps, B's step less A's"), [](const Diff& of) { return of.answer.difference(); }},
      {"difference_s", signed_amount("s of the same"),
       [](const Diff& of) { return core::to_seconds(of.answer.difference()); }},
      {"parts",
       described(list_of(compared_part_keys().schema()),
                 "of both steps; they add up to the difference; the largest difference first"),
       [](const Diff& of) { return compared_part_keys().list(of.answer.parts); }},
      {"causes",
       or_null(described(list_of(compared_cause_keys().schema()),
                         "the same difference by causes, which add up to it, too; null where a document's time is "
                         "compared that this version does not give")),
       [](const Diff& of) { return of.answer.causes ? compared_cause_keys().list(*of.answer.causes) : Json(); }},
      {"settings",
       described(list_of(compared_share_keys().schema()),
                 "that differ, the largest share first; with `unexplained_ps` they add up to the difference"),
       [](const Diff& of) { return compared_share_keys().list(of.answer.shares); }},
      {"unexplained_ps",
       whole_number("ps that documents of other versions or configurations differ more than the runs of now"),
       [](const Diff& of) { return of.answer.unexplained; }},
      {"untimed",
       described(list_of(compared_key_keys().schema()), "keys that differ, too, and do not bear on the time"),
       [](const Diff& of) { return compared_key_keys().list(of.answer.untimed); }},
      {"orders", text("of change that shares are means of: all, or two (as listed in experiments, and its reverse)"),
       [](const Diff& of) { return of.answer.all_orders ? "all" : "two"; }},
      {"runs", count("experiments that shares rest on"), [](const Diff& of) { return of.answer.runs; }}};
  return keys;
}

const Described<Diff>& compared_document_keys() {
  static const Described<Diff> keys{
      {"schema", text(), [](const auto&) { return k_compared_schema; }},
      {"tool", tool(), [](const Diff& of) { return made_by(of.tool); }},
      {"engine", text("that evaluated the steps: analytic or event"),
       [](const Diff& of) { return of.engine == predict::Engine::event ? "event" : "analytic"; }},
      {"a", described(compared_side_keys().schema(), "the experiment that was named first"),
       [](const Diff& of) { return compared_side_keys().json(of.answer.a); }},
      {"b", described(compared_side_keys().schema(), "the other"),
       [](const Diff& of) { return compared_side_keys().json(of.answer.b); }},
      {"result", described(compared_result_keys().schema(), "how they differ"),
       [](const Diff& of) { return compared_result_keys().json(of); }},
      {"notes", texts("what the documents say otherwise"), [](const Diff& of) { return of.answer.notes; }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const Diff& diff) {
  return core::json_text(compared_document_keys().json(diff), k_compared_indent) + "\n";
}

std::string diff_schema() {
  return core::json_text(document(k_compared_schema, compared_document_keys().schema()), k_schema_indent);
}

}  // namespace cairn::report
