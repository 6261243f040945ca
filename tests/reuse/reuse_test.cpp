// A Lowering remembers the parts of the plans before; what it makes of a plan must not depend on them.
//
// For random plans and every setting: the plan, the plan with another value of the setting, and the plan again are
// lowered one behind the other, by a Lowering of their own and by one that goes on from plan to plan, and compared with
// what a Lowering makes that has seen nothing else. Two keys that are equal by mistake differ in two settings: plans
// with two of them changed are among those that one Lowering sees.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "catch.h"
#include "experts/mixtures.h"
#include "reuse/settings_table.h"
#include "support/asked.h"
#include "support/program_difference.h"
#include "support/share.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

// Settings that change no Program, and why.
const std::map<std::string, std::string> k_without_effect{
    {"schedule_options.stages", "the strategy's own number takes its place"},
    {"schedule_options.micro_batches", "likewise"},
    {"schedule_options.chunks", "likewise"},
    {"schedule_options.vocabulary", "a schedule with passes of the vocabulary is refused"},
};

// Schedules generated so far: some kinds search for theirs.
class Schedules {
 public:
  // Null where the kind refuses its settings.
  std::shared_ptr<const pipeline::Schedule> of(const plan::Strategy& strategy) {
    const pipeline::Settings settings = plan::schedule_settings(strategy);
    const auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& each) {
      return each.kind == strategy.schedule && each.settings == settings;
    });
    if (known != known_.end()) return known->schedule;
    std::shared_ptr<const pipeline::Schedule> schedule;
    try {
      schedule = std::make_shared<const pipeline::Schedule>(pipeline::generate(strategy.schedule, settings));
    } catch (const core::ConfigurationError&) {
      schedule = nullptr;
    }
    known_.push_back({strategy.schedule, settings, schedule});
    return schedule;
  }

 private:
  struct Known {
    std::string kind;
    pipeline::Settings settings;
    std::shared_ptr<const pipeline::Schedule> schedule;
  };
  std::vector<Known> known_;
};

// What a Lowering is made for, and the plans that it lowers.
struct Ground {
  explicit Ground(core::Random& random) : experts(random.below(3) == 0) {
    if (experts) {
      models::BuildOptions build;
      const models::TransformerConfig config = random_mixture(random, build);
      model = models::build_transformer(config, build);
      sequence = k_mixture_sequence;
    } else {
      // One in six whose tokens do not need each other.
      model = random.below(6) == 0 ? two_products({.layers = between(random, 3, 8), .bias = coin(random)})
                                   : random_model(random);
      sequence = k_random_plan_sequence;
    }
    treatment = random_treatment(random);
    behaviour = random_behaviour(random);
    domain = random.below(4) == 0 ? 0 : std::int64_t{1} << between(random, 1, 2);
  }
  std::unique_ptr<plan::Lowering> lowering() const {
    return std::make_unique<plan::Lowering>(model, sequence, treatment, domain, behaviour);
  }
  // Null where the plan is refused.
  const program::Program* lowered(plan::Lowering& lowering, const plan::Strategy& strategy) const {
    if (auto schedule = schedules.of(strategy)) lowering.use_schedule(strategy, std::move(schedule));
    try {
      return &lowering.lower(strategy);
    } catch (const core::ConfigurationError&) {
      return nullptr;
    }
  }
  // Other stages hold the layers where the schedule passes more or fewer of them.
  void fit_layers(core::Random& random, plan::Strategy& s) const {
    const auto schedule = schedules.of(s);
    if (schedule != nullptr && schedule->chain_length != std::ssize(s.stage_layers))
      s.stage_layers = random_cut(random, model.body_layers(), schedule->chain_length);
  }

  bool experts;
  ir::Model model;
  std::int64_t sequence = 0;
  plan::ParameterTreatment treatment;
  plan::FrameworkBehaviour behaviour;
  std::int64_t domain = 0;
  mutable Schedules schedules;
};

std::string difference_of(const program::Program* a, const program::Program* b) {
  if (a == nullptr || b == nullptr) return a == b ? "" : a == nullptr ? "is refused" : "is not refused";
  return difference(*a, *b);
}

// A plan lowered by a Lowering that knows nothing else.
struct Alone {
  Alone(const Ground& ground, const plan::Strategy& strategy)
      : lowering(ground.lowering()), program(ground.lowered(*lowering, strategy)) {}
  std::unique_ptr<plan::Lowering> lowering;
  const program::Program* program;
};

// How often a setting could be changed, and how often that changed the Program.
struct Seen {
  int applied = 0;
  int changed = 0;
};

class Reuse {
 public:
  // Two plans of one model, each with every setting changed; seeds take the kinds of schedules in turn.
  void run(std::uint64_t seed) {
    core::Random random(seed);
    const Ground ground(random);
    const std::unique_ptr<plan::Lowering> shared = ground.lowering();
    const auto kinds = pipeline::generators();
    before_.clear();
    for (const pipeline::Generator* kind :
         {static_cast<const pipeline::Generator*>(nullptr), &kinds[seed % kinds.size()]}) {
      where_ = "seed " + std::to_string(seed) + (kind == nullptr ? "" : ", " + std::string(kind->kind));
      if (const auto base = random_base(random, ground, kind)) vary(random, ground, *shared, *base);
    }
  }

  const std::vector<Setting>& settings() const { return settings_; }
  const Seen& seen(const std::string& setting) { return seen_[setting]; }
  // One line for each change after which plans differ.
  std::string failures() const {
    std::string text;
    for (const auto& [what, found] : failures_)
      text += "\n" + what + ": " + found.front() +
              (found.size() > 1 ? ", and " + std::to_string(found.size() - 1) + " more" : "");
    return text;
  }
  std::size_t compared() const { return compared_; }

 private:
  using Changes = std::vector<const Setting*>;

  // Under a schedule of that kind, where there is one.
  static std::optional<plan::Strategy> random_base(core::Random& random, const Ground& ground,
                                                   const pipeline::Generator* kind) {
    std::optional<plan::Strategy> base =
        kind == nullptr ? random_strategy(random, ground.model) : random_strategy(random, ground.model, *kind);
    if (base && ground.experts) {
      base->data = std::int64_t{1} << random.below(4);  // as many as experts can be spread over
      random_context(random, *base, {.tokens = k_mixture_sequence, .heads = 8});
      random_experts(random, *base);
    }
    return base;
  }

  void vary(core::Random& random, const Ground& ground, plan::Lowering& shared, const plan::Strategy& base) {
    const Alone plain(ground, base);
    if (plain.program == nullptr) return;
    expect_same(ground, shared, base, plain.program, "the plan");
    constexpr int k_tries = 3;  // until a value is drawn that the other settings allow
    for (const Setting& setting : settings_)
      for (int tried = 0; tried < k_tries && !vary(random, ground, shared, base, plain, {&setting}); ++tried) continue;
    for (std::size_t pair = 0; pair < settings_.size() / 2; ++pair)
      vary(random, ground, shared, base, plain, {any_setting(random), any_setting(random)});
  }

  // Returns false where the change is none, or is refused.
  bool vary(core::Random& random, const Ground& ground, plan::Lowering& shared, const plan::Strategy& base,
            const Alone& plain, const Changes& changes) {
    plan::Strategy changed = base;
    std::string names;
    for (const Setting* setting : changes) {
      setting->change(changed, random, ground.model);
      names += (names.empty() ? "" : " and ") + setting->name;
    }
    if (changes.front()->same(base, changed)) return false;
    ground.fit_layers(random, changed);
    const Alone alone(ground, changed);
    expect_same(ground, shared, changed, alone.program, "with " + names + " changed");
    if (alone.program == nullptr) return false;
    if (changes.size() == 1) {
      Seen& seen = seen_[names];
      ++seen.applied;
      seen.changed += difference(*alone.program, *plain.program).empty() ? 0 : 1;
    }
    note(difference_of(ground.lowered(*alone.lowering, base), plain.program), "the plan behind the one with " + names);
    return true;
  }

  const Setting* any_setting(core::Random& random) const { return &settings_[random.below(settings_.size())]; }

  void expect_same(const Ground& ground, plan::Lowering& shared, const plan::Strategy& strategy,
                   const program::Program* expected, const std::string& what) {
    const std::string found = difference_of(ground.lowered(shared, strategy), expected);
    note(found.empty() || failures_.contains(what) ? found : found + culprit(ground, strategy), what);
    before_.push_back(strategy);
  }
  void note(const std::string& found, const std::string& what) {
    ++compared_;
    if (!found.empty()) failures_[what].push_back(found + " (" + where_ + ")");
  }

  // Which plan before is to blame, and the settings in which it differs.
  std::string culprit(const Ground& ground, const plan::Strategy& strategy) const {
    constexpr std::size_t k_explained = 20;  // each takes some hundred lowerings
    if (failures_.size() >= k_explained) return {};
    for (const plan::Strategy& before : before_) {
      const std::unique_ptr<plan::Lowering> lowering = ground.lowering();
      ground.lowered(*lowering, before);
      if (difference_of(ground.lowered(*lowering, strategy), Alone(ground, strategy).program).empty()) continue;
      std::string names = ", behind a plan with another";
      for (const Setting& setting : settings_)
        if (!setting.same(before, strategy)) names += " " + setting.name;
      return names;
    }
    return ", behind several plans";
  }

  std::vector<Setting> settings_ = all_settings();
  std::map<std::string, Seen> seen_;
  std::map<std::string, std::vector<std::string>> failures_;  // by what was lowered
  std::vector<plan::Strategy> before_;                        // those that the shared Lowering has seen
  std::string where_;
  std::size_t compared_ = 0;
};

}  // namespace

TEST_CASE("A plan is lowered as if the Lowering had seen no other, whichever settings differ") {
  Reuse reuse;
  const std::uint64_t enough = 6 * pipeline::generators().size();  // to see every setting change a Program
  const std::uint64_t models = test::asked("CAIRN_PLANS", enough) / test::k_share;
  const std::uint64_t first = test::asked("CAIRN_FIRST_SEED", 1);
  for (std::uint64_t seed = first; seed < first + models; ++seed) reuse.run(seed);
  {
    INFO(reuse.compared() << " compared; these differ:" << reuse.failures());
    CHECK(reuse.failures().empty());
  }
  if (models < enough) return;
  for (const Setting& setting : reuse.settings()) {
    const Seen& seen = reuse.seen(setting.name);
    INFO(setting.name << ": applied " << seen.applied << " times, changed the Program " << seen.changed << " times");
    CHECK((seen.changed > 0) == !k_without_effect.contains(setting.name));
  }
}
