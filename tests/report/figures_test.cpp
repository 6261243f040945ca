#include "cairn/report/run.h"
#include "catch.h"
#include "report/small_run.h"

using namespace cairn;
using report_tests::loader;
using report_tests::small;

namespace {

struct Finished {
  explicit Finished(const std::vector<std::string>& overrides = {})
      : job(small(overrides), loader()), result(job.run(predict::Engine::both)) {}
  report::Run run() const { return {.job = job, .result = result, .tool = {.version = "1", .build = "test"}}; }
  experiment::Job job;
  experiment::Result result;
};

constexpr double k_exact = 1e-12;

}  // namespace

TEST_CASE("Model FLOPs and the rates made of them follow from the definitions") {
  const Finished finished;
  const report::RunFigures f = report::figures(finished.run());
  // Forward FLOPs of one sequence of s = 512, h = 256, V = 1024, four layers:
  //   a layer  2 s (qkv 3 h^2 + projection h^2 + MLP 2 x 4 h^2) = 2 x 512 x 12 x 65,536          = 805,306,368
  //   its attention, full: scores and values, 2 x 2 s^2 h       = 4 x 262,144 x 256              = 268,435,456
  //   head     2 s h V                                          = 2 x 512 x 256 x 1024           = 268,435,456
  //   in all   4 x 1,073,741,824 + 268,435,456                                                   = 4,563,402,752
  // A step: 3 x forward x 16 sequences.
  const double model_flops = 3.0 * 16.0 * 4'563'402'752.0;
  CHECK(finished.result.prediction.model_flops == model_flops);
  // Unmasked pairs: s (s + 1) / 2 = 131,328 instead of 262,144.
  const double causal = 3.0 * 16.0 * (4.0 * (805'306'368.0 + 4.0 * 131'328.0 * 256.0) + 268'435'456.0);
  CHECK(finished.result.prediction.model_flops_causal == causal);

  CHECK(f.time_s == static_cast<double>(finished.result.prediction.time) / 1e12);
  CHECK(f.tokens_per_s == Approx(16.0 * 512.0 / f.time_s).epsilon(k_exact));
  CHECK(f.tokens_per_s_per_gpu == Approx(16.0 * 512.0 / f.time_s / 8.0).epsilon(k_exact));
  CHECK(f.model_flop_per_s_per_gpu == Approx(model_flops / f.time_s / 8.0).epsilon(k_exact));
  CHECK(f.mfu == Approx(model_flops / (f.time_s * 8.0 * 989e12)).epsilon(k_exact));
  CHECK(f.mfu_causal == Approx(causal / (f.time_s * 8.0 * 989e12)).epsilon(k_exact));
}

TEST_CASE("Executed FLOPs count what runs again") {
  // Forward FLOPs as above, of attention those of unmasked pairs: flash attention skips the others. It does not keep
  // its scores: its backward pass computes them again, half of what the forward pass of attention takes. Full
  // recomputation runs the forward pass of the layers once more, not that of the head.
  const double linear = 4.0 * 805'306'368.0;
  const double attention = 4.0 * 4.0 * 131'328.0 * 256.0;
  const double head = 268'435'456.0;
  const Finished none;
  CHECK(none.result.prediction.hardware_flops ==
        Approx(16.0 * (3.0 * linear + 3.5 * attention + 3.0 * head)).epsilon(k_exact));
  const Finished full({"strategy.recompute=full"});
  CHECK(full.result.prediction.hardware_flops ==
        Approx(16.0 * (4.0 * linear + 4.5 * attention + 3.0 * head)).epsilon(k_exact));
  const report::RunFigures f = report::figures(full.run());
  CHECK(f.hfu / f.mfu ==
        Approx(full.result.prediction.hardware_flops / full.result.prediction.model_flops).epsilon(k_exact));
}

TEST_CASE("Utilisation is of the fastest units in use") {
  // B300: 2250 TFLOP/s in bf16, 4500 in fp8, 150 in int8; H100: 1979 in int8, 989 in bf16. Attention and head run in
  // bf16.
  const std::string b300 = "cluster={file: dgx-b200, accelerator: b300-270gb}";
  const std::string int8 =
      "training.precision={recipe: fp8-delayed, gemm: int8, narrow: {weights: int8, gradients: int8}, saved: bf16, "
      "tp_wire: bf16}";
  struct Row {
    std::vector<std::string> settings;
    numerics::Format format;
    double peak;
  };
  for (const Row& row :
       {Row{{b300}, numerics::Format::bf16, 2250e12},
        Row{{b300, "training.precision=fp8-delayed"}, numerics::Format::fp8_e4m3, 4500e12},
        Row{{b300, int8}, numerics::Format::bf16, 2250e12}, Row{{int8}, numerics::Format::int8, 1979e12}}) {
    std::vector<std::string> settings = row.settings;
    settings.emplace_back("training.seq_len=8192");  // most of the work is attention
    CAPTURE(settings);
    const Finished finished(settings);
    const report::RunFigures f = report::figures(finished.run());
    const predict::Prediction& prediction = finished.result.prediction;
    CHECK(finished.job.peak().format == row.format);
    CHECK(finished.job.peak().rate.base() == Approx(row.peak).epsilon(k_exact));
    CHECK(f.hfu == Approx(prediction.hardware_flops / (f.time_s * 8.0 * row.peak)).epsilon(k_exact));
    CHECK(f.mfu_causal <= f.hfu);
    CHECK(f.hfu <= 1.0);
    CHECK(*prediction.problem_bounds.compute_s ==
          Approx(prediction.model_flops_causal / (8.0 * row.peak)).epsilon(k_exact));
    CHECK(*prediction.problem_bounds.best_s() <= f.time_s);
  }
}

TEST_CASE("Cost is time by price and time by power") {
  const Finished finished;
  const report::RunFigures f = report::figures(finished.run());
  // 8 GPUs at 2.5 USD an hour; (8 x 700 W + 2.4 kW) x 1.2 = 9.6 kW.
  REQUIRE(f.usd_per_step);
  CHECK(*f.usd_per_step == Approx(f.time_s / 3600.0 * 8.0 * 2.5).epsilon(k_exact));
  REQUIRE(f.joule_per_step);
  CHECK(*f.joule_per_step == Approx(f.time_s * 9600.0).epsilon(k_exact));

  const Finished silent({report_tests::k_cluster_without_price});
  const report::RunFigures none = report::figures(silent.run());
  // Without a word on either the price and the limit are the accelerator's own, and nothing else draws power.
  CHECK(*none.usd_per_step == Approx(none.time_s / 3600.0 * 8.0 * 2.5).epsilon(k_exact));
  CHECK(*none.joule_per_step == Approx(none.time_s * 8.0 * 700.0).epsilon(k_exact));
}

TEST_CASE("A whole training takes as many steps as its tokens fill, and costs what they cost") {
  CHECK(!report::figures(Finished().run()).training);
  for (const char* tokens : {"training.tokens=8.192e6", "training.tokens=8.192 M tokens"}) {
    const Finished finished({tokens});
    const report::RunFigures f = report::figures(finished.run());
    REQUIRE(f.training);
    CHECK(f.training->tokens == Approx(8.192e6).epsilon(k_exact));
    CHECK(f.training->time_s == Approx(1000.0 * f.time_s).epsilon(k_exact));  // of 16 x 512 tokens each
    CHECK(f.training->gpu_hours == Approx(1000.0 * f.time_s * 8.0 / 3600.0).epsilon(k_exact));
    REQUIRE(f.training->usd.has_value() == f.usd_per_step.has_value());
    if (f.training->usd) CHECK(*f.training->usd == Approx(1000.0 * *f.usd_per_step).epsilon(k_exact));
  }
}
