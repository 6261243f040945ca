// Fields that a family knows better than its file or its columns.
#include <string>

#include "cairn/validation/validate.h"
#include "catch.h"
#include "rows.h"
#include "support.h"

namespace cairn::validation {
namespace {

using test::at;
using test::changed;
using test::contains;
using test::Folder;
using test::shipped;

constexpr const char* k_corrected_columns =
    "ref,status,framework,accelerator,num_gpus,gpus_per_node,nvlink_gb_s,model,layers,hidden,heads,ffn,gated_mlp,vocab,"
    "tied_embeddings,norm,position,bias,seq_len,global_batch,micro_batch,tp,pp,sequence_parallel,zero,recompute,"
    "precision,iter_time_s\n";

std::string line(const char* ref, const char* bias) {
  return std::string(ref) + ",ok,megatron,a100-sxm4-80gb,2,8,300,small,4,1024,16,4096,no,51200,yes,layernorm,learned," +
         bias + ",1024,256,1,2,1,no,0,none,bf16,5\n";
}

Report report_correcting(const Folder& folder, const std::string& corrected) {
  folder.write("families.yaml", "version: 1\nclusters: {a100-sxm4-80gb: dgx-a100}\nfamilies:\n  table: {corrected: [" +
                                    corrected + "]}\n");
  return validate(shipped(), {.names = {"table"}, .data = {}, .published = folder.path()});
}

TEST_CASE("corrected rows are read with the family's fields, and the report says why") {
  const Folder folder;
  folder.write("table.csv", k_corrected_columns + line("first", "no") + line("second", "no") + line("third", "yes"));
  const Report as_written = report_correcting(folder, "");
  const Report report = report_correcting(folder, "{columns: {bias: \"yes\"}, reason: the source has them}");
  REQUIRE(report.rows.size() == 3);
  CHECK(report.rows[0].corrections == std::vector<std::string>{"bias yes, not no: the source has them"});
  CHECK(report.rows[2].corrections.empty());  // it says so itself
  CHECK(report.rows[0].predicted_s == report.rows[2].predicted_s);
  CHECK(as_written.rows[0].predicted_s < as_written.rows[2].predicted_s);
  CHECK(as_written.rows[2].predicted_s == report.rows[2].predicted_s);
  CHECK(as_written.rows[0].corrections.empty());
  CHECK(contains(text(report), "table: corrected\n     2 rows: bias yes, not no: the source has them (line 2, 3)\n"));
  CHECK_FALSE(contains(text(as_written), "corrected"));
  CHECK(contains(json(report), "\"bias yes, not no: the source has them\""));
}

TEST_CASE("a correction may be of some rows, and of several fields") {
  Family family;
  family.corrected = {
      {.columns = {{"bias", "no"}, {"ffn", "2048"}}, .rows = {{"model", "tiny"}, {"layers", "4"}}, .reason = "r"},
      {.columns = {{"ffn", "8192"}}, .rows = {{"ffn", "2048"}}, .reason = "no row of the file"}};
  const MeasuredRun meant = changed({}, family);
  CHECK(at(meant, {"model", "ffn"}) == "2048");
  CHECK(meant.corrections == std::vector<std::string>{"bias no, not yes: r", "ffn 2048, not 4096: r"});
  const MeasuredRun other = changed({{"layers", "8"}}, family);
  CHECK(at(other, {"model", "ffn"}) == "4096");
  CHECK(other.corrections.empty());
  CHECK(changed({{"ffn", ""}}, family).corrections.back() == "ffn 2048, not unknown: r");
}

TEST_CASE("a later correction goes over an earlier one, even back to what the file has") {
  Family family;
  family.corrected = {{.columns = {{"bias", "no"}, {"ffn", "2048"}}, .reason = "of all"},
                      {.columns = {{"bias", "yes"}, {"ffn", "8192"}}, .rows = {{"layers", "4"}}, .reason = "of some"}};
  const MeasuredRun some = changed({}, family);
  CHECK(at(some, {"model", "bias"}) == "true");
  CHECK(at(some, {"model", "ffn"}) == "8192");
  CHECK(some.corrections == std::vector<std::string>{"ffn 8192, not 4096: of some"});
  const MeasuredRun other = changed({{"layers", "8"}}, family);
  CHECK(at(other, {"model", "bias"}) == "false");
  CHECK(other.corrections == std::vector<std::string>{"bias no, not yes: of all", "ffn 2048, not 4096: of all"});
}

TEST_CASE("a correction may be of a column that the family states") {
  Family family;
  family.columns = {{"dropout", "0"}};
  family.corrected = {{.columns = {{"dropout", "0.1"}}, .reason = "r"}};
  CHECK(changed({}, family).corrections == std::vector<std::string>{"dropout 0.1, not 0: r"});
}

TEST_CASE("tables are checked as they are written: corrections neither make rows alike nor hide columns") {
  const Folder folder;
  folder.write("table.csv", k_corrected_columns + line("same", "no") + line("same", "yes"));
  const char* all_have = "{columns: {bias: \"yes\"}, reason: r}";
  CHECK(report_correcting(folder, all_have).rows.size() == 2);
  std::string misspelt = k_corrected_columns;
  misspelt.replace(misspelt.find("bias"), 4, "biass");
  folder.write("table.csv", misspelt + line("same", "no"));
  CHECK(contains(test::complaints([&] { report_correcting(folder, all_have); }),
                 "unknown column 'biass' (did you mean 'bias'?)"));
}

TEST_CASE("what can be wrong in corrections") {
  const Folder folder;
  folder.write("table.csv", k_corrected_columns + line("fine", "no"));
  const auto found = [&](const char* corrected) {
    return test::complaints([&] { report_correcting(folder, corrected); });
  };
  CHECK(contains(found("{columns: {dropout: \"0\"}, reason: r}"), "no column 'dropout', which its family corrects"));
  CHECK(contains(found("{columns: {bias: \"yes\"}, rows: {reff: fine}, reason: r}"), "no column 'reff'"));
  CHECK(contains(found("{columns: {bias: \"yes\"}}"), "corrected[0].reason"));
}

}  // namespace
}  // namespace cairn::validation
