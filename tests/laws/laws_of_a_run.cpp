// What holds of every run, on experiments at random that vary whatever the schemas have.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string_view>

#include "catch.h"
#include "run_laws.h"
#include "settings_seen.h"
#include "support/asked.h"
#include "support/share.h"

using namespace cairn;
using namespace cairn::laws;

namespace {

struct Found {
  std::uint64_t times = 0;
  std::uint64_t seed = 0;
  std::string what;
};

// What no accepted experiment can have, and why.
struct Apart {
  std::string_view setting;
  std::string_view why;
};
constexpr Apart k_apart[] = {
    {"experiment.extends", "a key of files, not of what files hold; drawn in those of frameworks"},
    {"model.extends", "the same"},
    {"cluster.extends", "the same"},
    {"accelerator.extends", "the same"},
    {"precision.extends", "the same"},
    {"cluster.groups", "refused: not modelled"},
    {"cluster.intra.size", "refused: belongs to the general form"},
    {"cluster.inter.size", "the same"},
    {"experiment.strategy.schedule.continuation = \"halve-backward\"", "refused: a step does not cut micro-batches"},
    {"experiment.strategy.schedule.vocabulary", "refused: a step takes whole alone"},
    {"precision.activations = \"fp8", "refused: less than 16 bits between operators"},
    {"precision.activations = \"int8\"", "the same"},
    {"precision.activations = \"mxfp8\"", "the same"},
    {"precision.activations = \"nvfp4\"", "the same"}};

// Formats that wires to experts take where products or their gradients do, which are drawn in every format.
bool narrow_wire(std::string_view setting) {
  return setting.starts_with("precision.ep_") &&
         (setting.ends_with("\"int8\"") || setting.ends_with("\"mxfp8\"") || setting.ends_with("\"nvfp4\"") ||
          setting.find("= \"fp8") != std::string_view::npos);
}

// One figure with a unit is far beyond sense.
Json beyond_sense(std::uint64_t seed, Json experiment) {
  Draw draw(seed);
  const Json flat = experiment.flatten();
  std::vector<std::string> figures;
  for (const auto& [pointer, value] : flat.items())
    if (value.is_string() && value.get<std::string>().find_first_of("0123456789") == 0 &&
        value.get<std::string>().find(' ') != std::string::npos && pointer.find("global_batch") == std::string::npos)
      figures.push_back(pointer);
  if (figures.empty()) return experiment;
  Json& figure = experiment[Json::json_pointer(draw.of(figures))];
  const std::string text = figure;
  const std::size_t blank = text.find(' ');
  const double magnitude = std::pow(10.0, static_cast<double>(draw.between(3, 15)) * (draw.coin() ? 1.0 : -1.0));
  figure = fmt::format("{:.6g}{}", std::stod(text.substr(0, blank)) * magnitude, text.substr(blank));
  return experiment;
}

enum class Magnitudes : std::uint8_t { sane, beyond_sense };

class Trial {
 public:
  explicit Trial(std::uint64_t documents_every, Magnitudes magnitudes = Magnitudes::sane)
      : documents_every_(documents_every), magnitudes_(magnitudes) {}

  void run(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) one(seed);
  }

  // One line for each law that was broken without a known cause, with the least experiment that breaks it.
  std::string report() {
    std::string text = fmt::format("{} of {} experiments accepted\n", accepted_, drawn_);
    for (const auto& [law, found] : found_) {
      text += fmt::format("\n{} x {} (seed {}): {}\n", found.times, law, found.seed, found.what);
      text += as_yaml(least(law, found.seed), shelf_);
    }
    for (const auto& [cause, times] : excused_) text += fmt::format("known: {} x {}\n", times, cause);
    return text;
  }

  // Settings of the schemas that no accepted experiment had.
  std::string missing() const {
    std::string lines;
    for (const std::string& setting : seen_.missing())
      if (!narrow_wire(setting) && std::none_of(std::begin(k_apart), std::end(k_apart),
                                                [&](const Apart& apart) { return setting.starts_with(apart.setting); }))
        lines += "\n  " + setting;
    return lines;
  }
  std::uint64_t accepted() const { return accepted_; }
  bool clean() const { return found_.empty(); }

 private:
  std::vector<Breach> unexcused(const Json& experiment, bool documents, bool count) {
    const Outcome outcome = laws::run(experiment, shelf_);
    std::vector<Breach> all = breaches(outcome);
    if (outcome.accepted()) {
      if (count && ++accepted_ <= k_most_seen) seen_.see(experiment, shelf_);
      if (documents) {
        const std::vector<Breach> more = document_breaches(experiment, outcome, shelf_);
        all.insert(all.end(), more.begin(), more.end());
      }
    }
    if (magnitudes_ == Magnitudes::beyond_sense)
      for (Breach& breach : all) breach.law = "beyond sense, " + breach.law;
    std::erase_if(all, [&](const Breach& breach) {
      const std::string cause = known_cause(experiment, breach);
      if (!cause.empty() && count) ++excused_[cause];
      return !cause.empty();
    });
    return all;
  }

  void one(std::uint64_t seed) {
    ++drawn_;
    for (const Breach& breach : unexcused(drawn(seed), seed % documents_every_ == 0, true)) {
      Found& found = found_[full_law(breach)];
      if (found.times++ == 0) found.seed = seed, found.what = breach.what;
    }
  }

  Json drawn(std::uint64_t seed) const {
    Json experiment = draw_experiment(seed, shelf_);
    return magnitudes_ == Magnitudes::sane ? experiment : beyond_sense(seed, std::move(experiment));
  }

  // A crash is known by its place, other breaches by their law.
  static std::string full_law(const Breach& breach) {
    return breach.law.ends_with("nothing crashes") ? breach.law + ": " + breach.what : breach.law;
  }

  Json least(const std::string& law, std::uint64_t seed) {
    return reduced(drawn(seed), [&](const Json& experiment) {
      const std::vector<Breach> all = unexcused(experiment, true, false);
      return std::any_of(all.begin(), all.end(), [&](const Breach& breach) { return full_law(breach) == law; });
    });
  }

  static constexpr std::uint64_t k_most_seen = 6000;  // all are met among these

  Shelf shelf_;
  SettingsSeen seen_;
  std::uint64_t documents_every_;
  Magnitudes magnitudes_;
  std::uint64_t drawn_ = 0, accepted_ = 0;
  std::map<std::string, Found> found_;
  std::map<std::string, std::uint64_t> excused_;
};

}  // namespace

TEST_CASE("Laws of every run on random experiments, which vary every key, form and word of the schemas") {
  constexpr std::uint64_t k_experiments = 20'000 / test::k_share;
  Trial trial(64);
  trial.run(1, k_experiments);
  CHECK(2 * trial.accepted() > k_experiments);
  // A share meets less.
  if (test::k_share == 1) CHECK(trial.missing() == "");
  INFO(trial.report());
  CHECK(trial.clean());
}

TEST_CASE("Figures beyond all sense are refused, or the laws hold of them, too") {
  Trial trial(16, Magnitudes::beyond_sense);
  trial.run(200'000, 1000 / test::k_share);
  INFO(trial.report());
  CHECK(trial.clean());
}

// As many as CAIRN_EXPERIMENTS says, from CAIRN_FIRST_SEED on.
TEST_CASE("Laws of every run on many more experiments", "[.long]") {
  Trial trial(4);
  trial.run(test::asked("CAIRN_FIRST_SEED", 1'000'000), test::asked("CAIRN_EXPERIMENTS", 50'000));
  WARN(trial.report());
  CHECK(trial.clean());
}
