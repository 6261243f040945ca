// Rows that their family believes mis-stated, and what a report says of the others together.
#include <algorithm>
#include <string>

#include "cairn/validation/validate.h"
#include "catch.h"
#include "support.h"

namespace cairn::validation {
namespace {

using test::contains;
using test::Folder;
using test::shipped;

constexpr const char* k_columns =
    "ref,status,framework,accelerator,num_gpus,gpus_per_node,nvlink_gb_s,model,layers,hidden,heads,ffn,gated_mlp,vocab,"
    "tied_embeddings,norm,position,bias,seq_len,global_batch,micro_batch,tp,pp,sequence_parallel,zero,recompute,"
    "precision,iter_time_s\n";

std::string line(const char* ref, const char* layers, const char* time) {
  return std::string(ref) + ",ok,megatron,a100-sxm4-80gb,2,8,300,small," + layers +
         ",1024,16,4096,no,51200,yes,layernorm,learned,yes,1024,256,1,2,1,no,0,none,bf16," + time + "\n";
}

Report report_of(const Folder& folder, const std::string& doubted) {
  folder.write("families.yaml",
               "version: 1\nclusters: {a100-sxm4-80gb: dgx-a100}\nfamilies:\n  table: {doubted: [" + doubted + "]}\n");
  return validate(shipped(), {.names = {"table"}, .data = {}, .published = folder.path()});
}

TEST_CASE("doubted rows are scored, named with the reason, and no part of intervals") {
  const Folder folder;
  std::string rows = k_columns;
  for (const char* time : {"5", "5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "5.8"})
    rows += line("fine", "4", time);
  folder.write("table.csv", rows + line("typo", "4", "5.9") + line("fine", "4", "4000"));
  const Report report = report_of(folder,
                                  "{rows: {ref: typo, layers: \"4\"}, reason: a typing error}, "
                                  "{slower: 100, reason: hardly this model}");
  REQUIRE(report.rows.size() == 11);
  CHECK(report.families[0].timed == 11);  // all are scored
  CHECK(report.rows[0].doubt.empty());
  CHECK(report.rows[9].doubt == "a typing error");
  CHECK(report.rows[9].memory_doubted);
  CHECK(report.rows[10].doubt == "hardly this model");
  CHECK_FALSE(report.rows[10].memory_doubted);
  const experiment::ResidualFamily& all = report.intervals.families.front();
  CHECK(all.traits.empty());
  CHECK(all.time->rows == 9);
  CHECK(all.set_aside == 2);
  const std::string said = text(report);
  CHECK(contains(said, "table: believed mis-stated\n     1 rows: a typing error (line 11)\n"));
  CHECK(contains(said, "hardly this model (line 12)"));
  const std::string document = json(report);
  CHECK(contains(document, "\"doubt\": \"a typing error\""));
}

TEST_CASE("what can be wrong in doubts") {
  const Folder folder;
  folder.write("table.csv", k_columns + line("fine", "4", "5"));
  const auto found = [&](const char* doubted) { return test::complaints([&] { report_of(folder, doubted); }); };
  CHECK(contains(found("{rows: {reff: typo}, reason: r}"), "no column 'reff', by which its family doubts rows"));
  CHECK(contains(found("{rows: {ref: typo}}"), "doubted[0].reason"));
  CHECK(contains(found("{slower: -1, reason: r}"), "doubted[0].slower"));
}

TEST_CASE("a row of a report knows what it is judged by") {
  const Folder folder;
  folder.write("table.csv", k_columns + line("fine", "4", "5"));
  const Report report = report_of(folder, "");
  REQUIRE(report.rows.size() == 1);
  const ValidatedRow& row = report.rows[0];
  CHECK(row.traits.words == std::array<std::string, 5>{"megatron", "ampere", "16-bit", "dense", "node"});
  CHECK(row.traits.gpus == 2);
  CHECK(row.setting.model == "small");
  CHECK(row.setting.tensor == 2);
  CHECK(row.setting.pipeline == 1);
  CHECK(row.setting.span == "none");
  CHECK(row.setting.imbalance == Approx(1.0));
  CHECK_FALSE(row.left_out);  // no other row says anything about it
  CHECK(report.scores.empty());
  CHECK_FALSE(report.families[0].coverage);
  CHECK_FALSE(report.families[0].next);
}

}  // namespace
}  // namespace cairn::validation
