// What the search for shares of unlike accelerators answers, key by key.
#include "cairn/core/json_text.h"
#include "described.h"
#include "mixed_shares_rows.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

constexpr const char* k_shares_schema = "cairn.shares/1";
constexpr int k_shares_indent = 2;

const Described<GroupRow>& group_row_keys() {
  static const Described<GroupRow> keys{
      {"accelerator", text("its name"), [](const auto& of) { return of.accelerator; }},
      {"ranks", count("accelerators of this kind"), [](const auto& of) { return of.ranks; }},
      {"least_sequences", count("of a step on the rank that has fewest"),
       [](const auto& of) { return of.least_samples; }},
      {"most_sequences", count("of a step on the rank that has most"), [](const auto& of) { return of.most_samples; }},
      {"least_state_bytes", amount("bytes of parameters, gradients and optimizer state on the rank that has least"),
       [](const auto& of) { return of.least_state; }},
      {"most_state_bytes", amount("bytes of the same on the rank that has most"),
       [](const auto& of) { return of.most_state; }},
      {"compute_s", amount("s, forward and backward on its slowest rank"),
       [](const auto& of) { return core::to_seconds(of.compute); }},
      {"memory_bytes", amount("bytes of its fullest rank: state, and what sequences keep"),
       [](const auto& of) { return of.memory; }},
      {"capacity_bytes", amount("bytes that a rank has for that"), [](const auto& of) { return of.capacity; }}};
  return keys;
}

const Described<allotment::RankShare>& rank_share_keys() {
  static const Described<allotment::RankShare> keys{
      {"sequences", count("of a step"), [](const auto& of) { return of.samples; }},
      {"state_bytes", amount("bytes of parameters, gradients and optimizer state"),
       [](const auto& of) { return of.state; }}};
  return keys;
}

const Described<MixedSharesReport>& shares_document_keys() {
  using allotment::SharePlan;
  static const Described<MixedSharesReport> keys{
      {"schema", text(), [](const auto&) { return k_shares_schema; }},
      {"tool", tool(), [](const auto& of) { return made_by(of.tool); }},
      {"experiment", text("its name"), [](const auto& of) { return of.experiment; }},
      {"method", text("how shares were searched"), [](const auto&) { return "cephalo"; }},
      {"sequences", count("of a step"), [](const auto& of) { return of.answer.problem.samples; }},
      {"state_bytes", amount("bytes of parameters, gradients and optimizer state of the model"),
       [](const auto& of) { return of.answer.problem.state; }},
      {"fits", flag("whether any shares do"), [](const auto& of) { return of.answer.best.has_value(); }},
      {"time_s", or_null(amount("s, of a step without the update of the parameters; null: nothing fits")),
       [](const auto& of) { return seconds_of(of.answer.best, &SharePlan::step_time); }},
      {"compute_s", or_null(amount("s, of the slowest rank's forward and backward")),
       [](const auto& of) { return seconds_of(of.answer.best, &SharePlan::compute_time); }},
      {"collective_s",
       or_null(amount("s, of gathering parameters and reducing gradients, as long as the largest share "
                      "of state asks for")),
       [](const auto& of) { return seconds_of(of.answer.best, &SharePlan::collective_time); }},
      {"even_s",
       or_null(amount("s, of a step with as many sequences and as much state for every rank; null: that does "
                      "not fit")),
       [](const auto& of) { return seconds_of(of.answer.even, &SharePlan::step_time); }},
      {"groups", described(list_of(group_row_keys().schema()), "the kinds of accelerators, as the cluster lists them"),
       [](const auto& of) { return group_row_keys().list(group_rows(of)); }},
      {"ranks", described(list_of(rank_share_keys().schema()), "each rank's share, group after group"),
       [](const auto& of) {
         return rank_share_keys().list(of.answer.best ? of.answer.best->ranks : std::vector<allotment::RankShare>{});
       }},
      {"assumptions", assumption_list(), [](const auto& of) { return of.answer.assumptions; }},
      {"warnings", warning_list(), [](const auto& of) { return of.answer.warnings; }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const MixedSharesReport& of) {
  return core::json_text(shares_document_keys().json(of), k_shares_indent) + "\n";
}

std::string shares_schema() {
  return core::json_text(document(k_shares_schema, shares_document_keys().schema()), k_schema_indent);
}

}  // namespace cairn::report
