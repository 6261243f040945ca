// Runs as software without overheads would run them, each held against the same row under framework `ideal`.
#include <algorithm>
#include <string>
#include <vector>

#include "cairn/validation/validate.h"
#include "catch.h"
#include "support.h"

namespace cairn::validation {
namespace {

using test::contains;
using test::Folder;
using test::shipped;

constexpr const char* k_ideal_columns =
    "status,framework,accelerator,num_gpus,gpus_per_node,nvlink_gb_s,model,layers,hidden,heads,ffn,gated_mlp,vocab,"
    "tied_embeddings,norm,position,bias,seq_len,global_batch,micro_batch,tp,pp,sequence_parallel,zero,recompute,"
    "precision,iter_time_s,notes\n";

std::string ideal_line(const char* framework, const char* accelerator, const char* hidden, const char* pipeline,
                       const char* time) {
  return std::string("ok,") + framework + "," + accelerator + ",2,8,300,small,5," + hidden +
         ",16,4096,no,51200,yes,layernorm,learned,yes,1024,256,1," + (*pipeline == '1' ? "2," : "1,") + pipeline +
         ",no,0,none,bf16," + time + ",case\n";
}

Report ideal_report(const Folder& folder, const std::string& families, bool ideal,
                    const std::vector<std::string>& names = {}) {
  folder.write("families.yaml",
               "version: 1\nclusters: {a100-sxm4-80gb: dgx-a100, h100-sxm5-80gb: dgx-h100}\nfamilies:\n" + families);
  return validate(shipped(), {.names = names, .data = {}, .published = folder.path(), .ideal = ideal});
}

TEST_CASE("an ideal run is the row under framework ideal, whatever the row, its family and its notes name") {
  const Folder folder;
  folder.write("asked.csv", k_ideal_columns + ideal_line("megatron", "a100-sxm4-80gb", "1024", "1", "9"));
  folder.write("plain.csv", k_ideal_columns + ideal_line("ideal", "a100-sxm4-80gb", "1024", "1", "9"));
  const std::string families =
      "  asked: {release: '2024', noted: [{words: [case], framework: {accumulation: {fused: false}}}]}\n"
      "  plain: {title: Plain}\n";
  const Report with = ideal_report(folder, families, true);
  const Report without = ideal_report(folder, families, false);
  REQUIRE(with.rows.size() == 2);
  REQUIRE(without.rows.size() == 2);
  CHECK(with.ideal);
  CHECK_FALSE(without.ideal);
  CHECK(with.rows[0].predicted_s == without.rows[1].predicted_s);
  CHECK(with.rows[1].predicted_s == without.rows[1].predicted_s);
  CHECK(without.rows[0].predicted_s > without.rows[1].predicted_s);
}

// What each release of libraries takes is asked for by families of their own.
TEST_CASE("of the libraries that a calibration knows an ideal run has the fastest, row by row") {
  const Folder folder;
  const std::string table = k_ideal_columns + ideal_line("ideal", "h100-sxm5-80gb", "1024", "1", "9") +
                            ideal_line("ideal", "h100-sxm5-80gb", "4096", "1", "9");
  for (const char* name : {"own", "pytorch", "transformer"}) folder.write(std::string(name) + ".csv", table);
  const std::string families =
      "  pytorch: {noted: [{words: [case], framework: {libraries: pytorch-2}}]}\n"
      "  transformer: {noted: [{words: [case], framework: {libraries: transformer-engine-2}}]}\n";
  const Report each = ideal_report(folder, families, false);
  const Report ideal = ideal_report(folder, families, true, {"own"});
  REQUIRE(each.rows.size() == 6);
  REQUIRE(ideal.rows.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const double own = each.rows[i].predicted_s, pytorch = each.rows[2 + i].predicted_s,
                 transformer = each.rows[4 + i].predicted_s;
    CAPTURE(own, pytorch, transformer);
    CHECK(own != pytorch);
    CHECK(own != transformer);
    CHECK(ideal.rows[i].predicted_s == std::min({own, pytorch, transformer}));
  }
}

TEST_CASE("stages that a framework of its own would cut are balanced") {
  const Folder folder;
  folder.write("cut.csv", k_ideal_columns + ideal_line("nanotron", "a100-sxm4-80gb", "1024", "2", "9"));  // 5 layers
  const Report ideal = ideal_report(folder, "  cut: {framework_cuts: true}\n", true);
  CHECK(ideal.rows.size() == 1);
  CHECK(ideal.families.at(0).skipped.empty());
}

TEST_CASE("a family of ideal runs passes where its mean error is below 0, whatever its band") {
  const Folder folder;
  // No step takes 1000 s here, and none 20 us: the mean of a row far above and of one just below is above.
  const auto at = [](const char* time) { return ideal_line("megatron", "a100-sxm4-80gb", "1024", "1", time); };
  folder.write("fine.csv", k_ideal_columns + at("1000"));
  folder.write("mixed.csv", k_ideal_columns + at("1000") + at("0.00002"));
  folder.write("untimed.csv", k_ideal_columns + ideal_line("megatron", "a100-sxm4-80gb", "", "1", "1"));
  const std::string families = "  fine: {band: {mean: 0.001}}\n  mixed: {band: {max: 1e9}}\n";
  const Report report = ideal_report(folder, families, true);
  REQUIRE(report.families.size() == 3);
  CHECK(report.families[0].passed == true);
  CHECK(report.families[1].passed == false);
  CHECK_FALSE(report.families[2].passed);
  CHECK_FALSE(report.passed());
  CHECK(ideal_report(folder, families, true, {"fine", "untimed"}).passed());
  CHECK(report.families[1].errors->bias == Approx((*report.rows[1].error + *report.rows[2].error) / 2.0));
  CHECK(report.scores.empty());
  const std::string said = text(report);
  CHECK(contains(said, "below 0\n"));
  CHECK(contains(said, "\nnot below 0: mixed\n"));
  CHECK(contains(said, "unknown hidden (line 2)"));
  CHECK_FALSE(contains(text(ideal_report(folder, families, true, {"fine"})), "\nnot below 0"));
  const std::string document = json(report);
  CHECK(contains(document, "\"ideal\": true"));
  CHECK(contains(document, "\"passed\": false"));
  CHECK(contains(document, "\"band\": null"));
}

TEST_CASE("doubts by how far a run is behind its prediction do not reach ideal runs") {
  const Folder folder;
  folder.write("table.csv", k_ideal_columns + ideal_line("megatron", "a100-sxm4-80gb", "1024", "1", "1000"));
  const std::string families = "  table: {doubted: [{slower: 2, reason: slow}]}\n";
  CHECK(ideal_report(folder, families, false).rows.at(0).doubt == "slow");
  CHECK(ideal_report(folder, families, true).rows.at(0).doubt.empty());
}

TEST_CASE("no published run of Megatron-LM is slower without overheads") {
  const std::vector<std::string> names{"korthikanti2022_table5", "narayanan2021_table1"};
  const Report report = validate(shipped(), {.names = names, .data = {}, .published = {}, .ideal = true});
  for (const FamilyResult& family : report.families) {
    CAPTURE(family.name);
    CHECK(family.skipped.empty());
    CHECK(family.passed == true);
  }
}

}  // namespace
}  // namespace cairn::validation
