// Errors by the scheme that shares attention, by hand.
#include <fstream>
#include <string>
#include <vector>

#include "cairn/validation/validate.h"
#include "catch.h"
#include "support.h"

namespace cairn::validation {
namespace {

ValidatedRow shared_row(const char* sharing, std::optional<double> error) {
  ValidatedRow row;
  row.sharing = sharing;
  row.error = error;
  return row;
}

TEST_CASE("errors of rows whose ranks share sequences, by scheme") {
  const std::vector<ValidatedRow> rows{shared_row("zigzag", 0.1), shared_row("", 0.9), shared_row("ulysses", 0.05),
                                       shared_row("zigzag", -0.3), shared_row("zigzag", std::nullopt)};
  const std::vector<SharingScore> scores = sharing_scores(rows);
  REQUIRE(scores.size() == 2);
  CHECK(scores[0].scheme == "ulysses");
  CHECK(scores[0].rows == 1);
  CHECK(scores[0].errors.mape == Approx(0.05));
  CHECK(scores[1].scheme == "zigzag");
  CHECK(scores[1].rows == 2);
  CHECK(scores[1].errors.mape == Approx(0.2));
  CHECK(scores[1].errors.max == Approx(0.3));
  CHECK(scores[1].errors.bias == Approx(-0.1));
  CHECK(sharing_scores({}).empty());
}

// Two ranks of a small model that share 1,024 tokens, beside two that do not: Megatron-LM's ring is what the profile
// takes.
TEST_CASE("rows with cp are listed by their scheme") {
  test::Folder folder;
  folder.write("families.yaml", "version: 1\nclusters: {a100-sxm4-80gb: dgx-a100}\nfamilies: {tiny: {title: Tiny}}\n");
  folder.write("tiny.csv",
               "status,framework,accelerator,num_gpus,gpus_per_node,nvlink_gb_s,model,layers,hidden,heads,ffn,"
               "gated_mlp,vocab,tied_embeddings,norm,position,bias,seq_len,global_batch,micro_batch,tp,pp,cp,"
               "sequence_parallel,zero,recompute,precision,attention_kernel,iter_time_s,notes\n"
               "ok,megatron,a100-sxm4-80gb,2,8,300,small,2,1024,16,4096,no,51200,yes,layernorm,learned,yes,1024,8,1,1,"
               "1,2,no,0,none,bf16,flash2,1,\n"
               "ok,megatron,a100-sxm4-80gb,2,8,300,small,2,1024,16,4096,no,51200,yes,layernorm,learned,yes,1024,8,1,1,"
               "1,1,no,0,none,bf16,flash2,1,\n");
  const Report report = validate(test::shipped(), {.names = {}, .data = {}, .published = folder.path()});
  REQUIRE(report.rows.size() == 2);
  REQUIRE(report.sharing.size() == 1);
  CHECK(report.sharing.front().scheme == report.rows.front().sharing);
  CHECK(report.sharing.front().scheme == "megatron-p2p");
  CHECK(report.sharing.front().rows == 1);
  CHECK(report.sharing.front().errors.bias == Approx(*report.rows.front().error));
  CHECK(test::contains(text(report), "error where ranks share sequences"));
  CHECK(test::contains(json(report), "\"attention_sharing\""));
}

}  // namespace
}  // namespace cairn::validation
