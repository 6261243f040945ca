// Effects of what is uncertain: each is the step time of a run in which it is otherwise.
#include <cmath>
#include <string>
#include <vector>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/source_dir.h"

namespace {

using namespace cairn;
using experiment::Effect;

struct Tried {
  double time_s = 0.0;
  experiment::Result result;
};

Tried tried(const std::string& name, const std::vector<std::string>& settings,
            predict::Engine engine = predict::Engine::event) {
  const config::Loader loader({cairn::testing::source_dir() + "/configs"});
  experiment::Job job(experiment::load(loader, name, settings), loader);
  Tried answer{.time_s = 0.0, .result = job.run(engine, {.advice = experiment::Advice::effects})};
  answer.time_s = core::to_seconds(answer.result.prediction.time);
  return answer;
}

const Effect* find(const Tried& answer, const std::string& begin) {
  for (const Effect& each : answer.result.effects)
    if (each.alternative.starts_with(begin)) return &each;
  return nullptr;
}

}  // namespace

TEST_CASE("An effect is what the setting that it names does to the step time") {
  for (const char* name : {"llama3-70b-64xdgx-h100", "qwen3-30b-16xdgx-h100", "llama3-8b-fsdp-dgx-h100"}) {
    const Tried plain = tried(name, {});
    for (const char* setting :
         {"simulation.contention=true", "simulation.interference=true", "training.kernels.attention=flash3"}) {
      INFO(name << " " << setting);
      const Effect* effect = find(plain, setting);
      REQUIRE(effect != nullptr);
      CHECK(effect->change_s == Approx(tried(name, {setting}).time_s - plain.time_s).margin(1e-12));
    }
    for (std::size_t i = 1; i < plain.result.effects.size(); ++i)
      CHECK(std::abs(plain.result.effects[i - 1].change_s) >= std::abs(plain.result.effects[i].change_s));
  }
}

TEST_CASE("An effect speaks of the assumptions that its alternative does without") {
  const Tried plain = tried("llama3-70b-64xdgx-h100", {});
  const Effect* sharing = find(plain, "simulation.contention=true");
  REQUIRE(sharing != nullptr);
  REQUIRE(sharing->about.size() == 1);
  CHECK(sharing->about.front().starts_with("transfers have their links to themselves"));
}

TEST_CASE("What the files leave out is left out whatever the alternative") {
  const Tried plain = tried("deepseek-v3-2048xh800", {});
  REQUIRE_FALSE(plain.result.effects.empty());
  for (const Effect& each : plain.result.effects)
    for (const std::string& note : each.about) {
      INFO(each.alternative);
      CHECK(note.find("num_nextn_predict_layers") == std::string::npos);
    }
}

TEST_CASE("Links that nobody measured are tried slower and faster, measured ones are not") {
  const Tried nodes = tried("llama3-70b-64xdgx-h100", {});
  const Effect* slower = find(nodes, "unmeasured links give 80 %");
  const Effect* faster = find(nodes, "unmeasured links give 100 %");
  REQUIRE((slower != nullptr && faster != nullptr));
  CHECK(slower->change_s > 0.0);
  CHECK(faster->change_s < 0.0);
  REQUIRE(slower->about.size() == 1);
  CHECK(slower->about.front().starts_with("links that were never measured have the stated latency and 92 %"));
  CHECK(find(tried("llama3-8b-fsdp-dgx-h100", {}), "unmeasured links") == nullptr);  // one node
}

TEST_CASE("What is already so, or what the engine cannot tell, is no alternative") {
  const Tried shared = tried("llama3-70b-64xdgx-h100", {"simulation.contention=true", "simulation.interference=true"});
  CHECK(find(shared, "simulation.") == nullptr);
  const Tried analytic = tried("llama3-70b-64xdgx-h100", {}, predict::Engine::analytic);
  CHECK(find(analytic, "simulation.") == nullptr);
  CHECK(find(analytic, "training.kernels.attention=") != nullptr);
}
