// Amounts of an experiment that launch arguments count in whole numbers, up to what these can hold.
#include <tuple>

#include <fmt/format.h>

#include "cairn/launch/launch.h"
#include "catch.h"
#include "support/shipped.h"

using namespace cairn;

TEST_CASE("A bucket that is too large for an argument is left unsaid") {
  const config::Loader loader = testing::shipped();
  for (const auto& [framework, option] :
       {std::tuple("megatron", "--ddp-bucket-size"), std::tuple("nanotron", "ddp_bucket_cap_mb")})
    for (const auto& [mebibytes, said] : {std::pair(64.0, true), std::pair(1e12, false), std::pair(1e17, false)}) {
      CAPTURE(framework, mebibytes);
      const experiment::LoadedExperiment loaded =
          experiment::load(loader, "llama3-8b-fsdp-dgx-h100",
                           {fmt::format("training.framework={}", framework), "strategy.zero=1",
                            fmt::format("strategy.overlap={{dp: {{bucket: {:.0f} MiB}}}}", mebibytes)});
      const launch::Exported exported = launch::export_arguments(framework, experiment::Job(loaded, loader), loader);
      CHECK((exported.text.find(option) != std::string::npos) == said);
      CHECK(exported.text.find("9223372036854775808") == std::string::npos);
    }
}
