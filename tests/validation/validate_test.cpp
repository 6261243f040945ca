#include "cairn/validation/validate.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "catch.h"
#include "support.h"
#include "support/share.h"
#include "support/source_dir.h"

namespace cairn::validation {
namespace {

using test::contains;
using test::Folder;
using test::shipped;

constexpr const char* k_header =
    "status,framework,accelerator,num_gpus,gpus_per_node,nvlink_gb_s,model,layers,hidden,heads,ffn,gated_mlp,vocab,"
    "tied_embeddings,norm,position,bias,seq_len,global_batch,micro_batch,tp,pp,sequence_parallel,zero,recompute,"
    "precision,"
    "iter_time_s,mem_gib,notes\n";

// A small model on two GPUs of one node.
std::string row(const char* status, const char* layers, const char* micro_batch, const char* time, const char* memory,
                const char* framework = "ideal") {
  return std::string(status) + "," + framework + ",a100-sxm4-80gb,2,8,300,small," + layers +
         ",1024,16,4096,no,51200,yes,layernorm,learned,yes,1024,256," + micro_batch + ",2,1,no,0,none,bf16," + time +
         "," + memory + ",\n";
}

constexpr const char* k_families =
    "version: 1\nclusters: {a100-sxm4-80gb: dgx-a100}\nfamilies:\n"
    "  tight: {title: Tight, band: {mean: 0.001}}\n  wide: {band: {mean: 1000, max: 2000}}\n";

// Run once: it takes most of this program's time.
const Report& published() {
  static const Report k_report =
      validate(shipped(), {.names = {"korthikanti2022_table5", "narayanan2021_table1"}, .data = {}, .published = {}});
  return k_report;
}

Report report_of(const Folder& folder, const std::vector<std::string>& names = {}) {
  folder.write("families.yaml", k_families);
  return validate(shipped(), {.names = names, .data = {}, .published = folder.path()});
}

TEST_CASE("every heading of the table of families is explained under it") {
  const std::string all = text(published());
  const std::size_t head = all.find("family  "), legend = all.find("\n\n");
  REQUIRE(head < legend);
  const std::string under = all.substr(legend, all.find("\n\n", legend + 2) - legend);
  CAPTURE(all);
  for (const char* heading : {"timed", "not run", "mean", "median", "p90", "largest", "bias", "order", "one rate",
                              "to fit", "not to fit", "memory", "band"}) {
    CAPTURE(heading);
    CHECK(all.find(heading, head) < all.find('\n', head));
    CHECK(contains(under, heading));
  }
  std::string rest = all.substr(head, all.find('\n', head) - head);
  for (const char* heading : {"family", "timed", "not run", "mean", "median", "p90", "largest", "bias", "order",
                              "one rate", "not to fit", "to fit", "memory", "band"})
    rest.erase(rest.find(heading), std::string(heading).size());
  CHECK(rest.find_first_not_of(' ') == std::string::npos);
}

TEST_CASE("the published tables are found, run whole, and predicted within their bands") {
  const Report& report = published();
  REQUIRE(report.families.size() == 2);
  CHECK(report.families[0].name == "korthikanti2022_table5");
  CHECK(report.families[0].timed == 8);
  CHECK(report.families[1].name == "narayanan2021_table1");
  CHECK(report.families[1].timed == 10);
  for (const FamilyResult& family : report.families) {
    CAPTURE(family.name, family.errors->mape, family.errors->max);
    CHECK(family.skipped.empty());
    CHECK(family.false_oom == 0);
    CHECK(family.passed == true);
    CHECK(family.baseline->mape > family.errors->mape);
  }
  CHECK(report.passed());
}

// The published tables with one row in k_share: all of them but under sanitizers.
void write_share(const Folder& folder, const std::string& name) {
  std::ifstream file(cairn::testing::source_dir() + "/validate/published/" + name);
  std::string text;
  std::size_t index = 0;
  for (std::string line; std::getline(file, line); ++index)
    if (index == 0 || cairn::test::taken(index) || name.ends_with(".yaml")) text += line + '\n';
  folder.write(name, text);
}

// No time of these was fitted. Of memory one factor was, on their outcomes: what the allocator takes for each byte
// beyond those held throughout, 1.4.
TEST_CASE("layouts of three models") {
  const std::vector<std::string> names{"hagemann2023_13b_8k", "hagemann2023_30b", "hagemann2023_65b"};
  const Folder folder;
  write_share(folder, "families.yaml");
  for (const std::string& name : names) write_share(folder, name + ".csv");
  const Report report = validate(shipped(), {.names = names, .data = {}, .published = folder.path()});
  REQUIRE(report.families.size() == names.size());
  std::int64_t failed = 0;
  std::int64_t ran = 0;
  std::int64_t false_fit = 0;
  std::int64_t false_oom = 0;
  for (const FamilyResult& family : report.families) {
    CAPTURE(family.name, family.errors->mape, family.baseline->mape);
    CHECK(family.skipped.empty());
    CHECK(family.errors->mape < 0.12);
    ran += family.timed;
    failed += family.outcomes - family.timed;
    false_fit += family.false_fit;
    false_oom += family.false_oom;
  }
  CAPTURE(failed, ran, false_fit, false_oom);
  if (cairn::test::k_share > 1) return;
  CHECK(ran == 311);
  CHECK(failed == 480);
  CHECK(static_cast<double>(false_fit) <= 0.12 * static_cast<double>(failed));
  CHECK(static_cast<double>(false_oom) <= 0.04 * static_cast<double>(ran));
}

TEST_CASE("columns that a family states for its file") {
  const Folder folder;
  const std::string clusters = "version: 1\nclusters: {a100-sxm4-80gb: dgx-a100}\n";
  const std::string families = clusters + "families: {table: {columns: {layers: \"4\"}}}\n";
  folder.write("families.yaml", families);
  std::string header = k_header;
  header.erase(header.find("layers,"), 7);
  std::string line = row("ok", "4", "1", "1", "");
  line.erase(line.find("small,4,") + 6, 2);
  folder.write("table.csv", header + line);
  const auto of = [&] { return validate(shipped(), {.names = {}, .data = {}, .published = folder.path()}); };
  const Report stated = of();
  REQUIRE(stated.rows.size() == 1);
  folder.write("families.yaml", clusters);
  folder.write("table.csv", k_header + row("ok", "4", "1", "1", ""));
  CHECK(of().rows.at(0).predicted_s == stated.rows[0].predicted_s);
  folder.write("families.yaml", families);
  CHECK(contains(test::complaints(of), "column 'layers' stands in the file and in its family"));
}

TEST_CASE("step times of the table that publishes FLOP/s") {
  const auto first = std::find_if(published().rows.begin(), published().rows.end(),
                                  [](const ValidatedRow& each) { return each.family == "narayanan2021_table1"; });
  REQUIRE(first != published().rows.end());
  // 96 x 512 x 2048 x 24 x 2304^2 (1 + 2048 / 13824 + 51200 / 884736) / (137e12 x 32)
  // = 1.282470e16 x 1.206019 / 4.384e15
  CHECK(first->measured_s.value() == Approx(3.52802).epsilon(1e-5));
}

TEST_CASE("parts of a row add up, errors are relative to the measurement") {
  for (const ValidatedRow& each : published().rows) {
    CHECK(core::to_seconds(each.breakdown.total()) == each.predicted_s);
    CHECK(each.breakdown.other == 0);
    CHECK(each.error.value() == each.predicted_s / each.measured_s.value() - 1.0);
  }
}

TEST_CASE("rows that are not run are counted with their reason and line") {
  const Folder folder;
  folder.write("table.csv", k_header + row("ok", "4", "1", "1", "") + row("ok", "", "1", "1", "") +
                                row("ok", "4", "1", "", "") + row("failed", "4", "1", "", "") +
                                row("ok", "4", "3", "1", "") + row("ok", "4", "1", "1", "", "no-such-framework"));
  const Report report = report_of(folder);
  REQUIRE(report.families.size() == 1);
  const FamilyResult& family = report.families.front();
  CHECK(family.rows == 1);
  CHECK(family.timed == 1);
  REQUIRE(family.skipped.size() == 5);
  CHECK(family.skipped[0].line == 3);
  CHECK(family.skipped[0].reason == "unknown layers");
  CHECK(contains(family.skipped[1].reason, "no step time"));
  CHECK(contains(family.skipped[2].reason, "failed"));
  CHECK(family.skipped[3].line == 6);
  CHECK(contains(family.skipped[3].reason, "training.global_batch"));  // 256 in micro-batches of 3
  CHECK(contains(family.skipped[4].reason, "no-such-framework"));
  CHECK_FALSE(family.passed);
  CHECK(contains(text(report), "unknown layers (line 3)"));
}

TEST_CASE("what fits and what does not") {
  const Folder folder;
  // Two layers at micro-batch 1 take a few GB of 80. Logits of micro-batch 256 alone are 256 x 1024 x 25600 values of 2
  // and of 4 bytes: 40 GB.
  folder.write("table.csv", k_header + row("oom", "2", "1", "", "") + row("ok", "2", "1", "1", "") +
                                row("ok", "96", "256", "1", "") + row("oom", "96", "256", "", "") +
                                row("memory", "2", "1", "", "1000"));
  const Report report = report_of(folder);
  const FamilyResult& family = report.families.front();
  CHECK(family.rows == 5);
  CHECK(family.outcomes == 4);
  CHECK(family.false_fit == 1);
  CHECK(family.false_oom == 1);
  CHECK(family.timed == 2);  // rows that ran
  const double predicted = report.rows.back().predicted_bytes;
  CHECK(family.memory_median.value() == Approx(std::abs(predicted / (1000.0 * 1073741824.0) - 1.0)).epsilon(1e-12));
}

TEST_CASE("bands") {
  const Folder folder;
  folder.write("tight.csv", k_header + row("ok", "4", "1", "1000", ""));
  folder.write("wide.csv", k_header + row("ok", "4", "1", "1000", ""));
  const Report report = report_of(folder);
  REQUIRE(report.families.size() == 2);
  CHECK(report.families[0].passed == false);
  CHECK(report.families[0].title == "Tight");
  CHECK(report.families[1].passed == true);
  CHECK_FALSE(report.passed());
  CHECK(report_of(folder, {"wide"}).passed());
}

TEST_CASE("names choose families; a slip names the nearest") {
  const Folder folder;
  folder.write("wide.csv", k_header + row("ok", "4", "1", "1000", ""));
  CHECK(contains(test::complaints([&] { report_of(folder, {"wild"}); }), "did you mean 'wide'"));
}

TEST_CASE("what can be wrong in a family") {
  const Folder folder;
  folder.write("families.yaml", "version: 1\nfamilies:\n  wide:\n    reduce: fp32\n    clustre: dgx-a100\n");
  const std::string found =
      test::complaints([&] { validate(shipped(), {.names = {}, .data = {}, .published = folder.path()}); });
  INFO(found);
  CHECK(contains(found, "families.yaml:4:13: error: families.wide.reduce: given without gradients"));
  CHECK(contains(found, "families.yaml:5:5: error: families.wide.clustre: unknown key (did you mean 'cluster'?)"));
}

TEST_CASE("a folder of measurements, itself or with a folder named measured") {
  const Folder folder;
  folder.write("families.yaml", k_families);
  folder.write("mine.csv", k_header + row("ok", "4", "1", "1", ""));
  const ValidateOptions direct{.names = {"mine"}, .data = folder.path(), .published = {}};
  CHECK(validate(shipped(), direct).rows.size() == 1);
  const Folder outer;
  outer.write("other.csv", "not,a,table,of,runs\n");
  outer.write("measured/mine.csv", k_header + row("ok", "4", "1", "1", ""));
  const ValidateOptions nested{.names = {"mine"}, .data = outer.path(), .published = {}};
  CHECK(validate(shipped(), nested).rows.size() == 1);
  const ValidateOptions missing{.names = {}, .data = outer.path() / "no-such-folder", .published = {}};
  CHECK_THROWS_AS(validate(shipped(), missing), core::ConfigurationError);
}

TEST_CASE("both folders of measurements, and the models beside them") {
  const Folder data;
  data.write("measured/one.csv", k_header + row("ok", "4", "1", "1", ""));
  data.write("measured_more/two.csv", std::string("model_config,mem_kind,mem_rank,") + k_header +
                                          "small,reserved,last," + row("memory", "4", "1", "", "2") +
                                          "small,allocated,max," + row("memory", "4", "1", "", "2"));
  data.write("models/small.yaml",
             "version: 1\nkind: transformer\nlayers: 4\nhidden: 1024\nheads: 16\nffn: 4096\ngated_mlp: false\n"
             "vocab: 51200\ntied_embeddings: true\nnorm: layernorm\nposition: learned\nbias: true\n");
  const Report report = validate(shipped(), {.names = {"one", "two"}, .data = data.path(), .published = {}});
  REQUIRE(report.rows.size() == 3);
  CHECK(report.families[1].skipped.empty());
  CHECK(report.rows[0].predicted_bytes == report.rows[2].predicted_bytes);  // the same model by columns and by name
  CHECK(report.rows[1].predicted_bytes >= report.rows[2].predicted_bytes);  // the allocator takes what is allocated
}

// Of two stages of two layers the first holds activations of two micro-batches, the last of one, and logits: they
// differ, and the fullest is one of them.
TEST_CASE("a memory figure is held against the stage of its rank; a family may say of which all are") {
  const Folder folder;
  std::string staged = row("memory", "4", "1", "", "2");
  const std::size_t at = staged.find(",2,1,no,0,");
  staged.replace(at, std::string(",2,1,no,0,").size(), ",1,2,no,0,");
  folder.write("max.csv", k_header + staged);
  folder.write("first.csv", k_header + staged);
  folder.write("last.csv", k_header + staged);
  folder.write("families.yaml",
               "version: 1\nclusters: {a100-sxm4-80gb: dgx-a100}\nfamilies:\n"
               "  first: {columns: {mem_rank: first}}\n  last: {columns: {mem_rank: last}}\n");
  const Report report =
      validate(shipped(), {.names = {"first", "last", "max"}, .data = {}, .published = folder.path()});
  REQUIRE(report.rows.size() == 3);
  const double first = report.rows[0].predicted_bytes, last = report.rows[1].predicted_bytes;
  CHECK(first != last);
  CHECK(report.rows[2].predicted_bytes == std::max(first, last));
}

TEST_CASE("a rack's assumption stands in the row's answer") {
  const Folder data;
  std::string table = k_header + row("memory", "4", "1", "", "2");
  const std::size_t at = table.find("a100-sxm4-80gb,2,8,300");
  table.replace(at, std::string("a100-sxm4-80gb,2,8,300").size(), "gb200-186gb,8,4,900");
  data.write("measured/mine.csv", table);
  const Report report = validate(shipped(), {.names = {"mine"}, .data = data.path(), .published = {}});
  REQUIRE(report.rows.size() == 1);
  CHECK(report.rows[0].warnings.front() == "all 8 GPUs in one rack of 72, where they fit");
}

TEST_CASE("the JSON document") {
  const Folder folder;
  folder.write("tight.csv", k_header + row("ok", "4", "1", "1000", "") + row("ok", "", "1", "1", ""));
  const std::string document = json(report_of(folder));
  core::Diagnostics diagnostics;
  const config::Node root = config::parse_text(document, config::Syntax::json, "report.json", diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  CHECK(root.find("schema")->text == "cairn.validate/1");
  REQUIRE(root.find("families")->items.size() == 1);
  const config::Node& family = root.find("families")->items.front();
  CHECK(family.find("name")->text == "tight");
  CHECK(family.find("rows")->text == "1");
  CHECK(family.find("skipped")->items.front().find("line")->text == "3");
  CHECK(family.find("skipped")->items.front().find("reason")->text == "unknown layers");
  for (const char* key : {"mape", "median", "p90", "max", "bias", "false_fit", "false_oom", "baseline_mape"})
    CHECK(family.find(key)->is_scalar());
  CHECK(family.find("spearman")->is_null());  // one row has no rank correlation
  CHECK(family.find("memory_median")->is_null());
  CHECK(family.find("band")->find("mean")->text == "0.001");
  CHECK(family.find("band")->find("max")->is_null());
  CHECK(family.find("passed")->text == "false");
  CHECK(root.find("rows")->items.front().find("measured_s")->text == "1000.0");
  CHECK(document == json(report_of(folder)));
}

}  // namespace
}  // namespace cairn::validation
