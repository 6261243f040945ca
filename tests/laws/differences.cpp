// The difference of two experiments at random adds up exactly, by cause and by setting, and the experiments at both ends
// of the changes are the two.
#include <memory>
#include <numeric>

#include "cairn/config/read.h"
#include "cairn/contrast/difference.h"
#include "cairn/contrast/settings.h"
#include "catch.h"
#include "other_values.h"
#include "outcome.h"
#include "random_experiments.h"
#include "support/asked.h"
#include "support/share.h"

using namespace cairn;
using namespace cairn::laws;
using core::Picoseconds;

namespace {

config::Node tree(const Json& experiment) {
  core::Diagnostics diagnostics;
  config::Node node = config::parse_text(experiment.dump(), config::Syntax::json, "drawn.json", diagnostics);
  diagnostics.raise_if_errors();
  return node;
}

// Some values of the experiment changed.
Json neighbour(Draw& draw, const Json& experiment) {
  Json changed = experiment;
  const Json flat = experiment.flatten();
  std::vector<std::string> pointers;
  for (const auto& [pointer, value] : flat.items()) pointers.push_back(pointer);
  for (std::int64_t i = draw.between(1, 3); i > 0; --i) {
    Json& value = changed.at(Json::json_pointer(draw.of(pointers)));
    const std::vector<Json> others = other_values(value);
    if (!others.empty()) value = draw.of(others);
  }
  return changed;
}

template <class Rows, class Of>
Picoseconds total(const Rows& rows, Of of) {
  return std::accumulate(rows.begin(), rows.end(), Picoseconds{0},
                         [&](Picoseconds sum, const auto& row) { return sum + of(row); });
}

Picoseconds step_of(const config::Node& experiment, const config::Loader& loader) {
  experiment::Job job(experiment::read(experiment), loader);
  return job.run(predict::Engine::analytic, {.advice = experiment::Advice::none}).prediction.time;
}

struct Seen {
  std::uint64_t pairs = 0, differing = 0, joined = 0, two_orders = 0;
};

void check(const contrast::Answer& answer) {
  const Picoseconds by = answer.difference();
  CHECK(total(answer.parts, [](const contrast::Part& each) { return each.difference(); }) == by);
  CHECK(total(*answer.causes, [](const contrast::CausePart& each) { return each.difference(); }) == by);
  CHECK(total(answer.shares, [](const contrast::Share& each) { return each.time; }) == by);
  CHECK(answer.unexplained == 0);
  CHECK(answer.notes.empty());
}

// `decided`: `second` is what decides it; else that is found out, and the experiments at both ends of the changes are run.
void one(const contrast::Compared& a, const Json& first, const Json& second, const Shelf& shelf, bool decided,
         Seen& seen) {
  const config::Loader& loader = shelf.loader();
  contrast::Compared b;
  std::unique_ptr<contrast::Answer> answer;
  try {
    b.experiment = experiment::read(tree(second));
    if (decided) b.deciding = contrast::Deciding{.experiment = tree(second), .model = a.deciding->model};
    answer = std::make_unique<contrast::Answer>(contrast::difference({.loader = loader, .a = a, .b = b}));
  } catch (const core::ConfigurationError&) {
    return;  // it cannot run
  }
  INFO(as_yaml(first, shelf));
  INFO(as_yaml(second, shelf));
  check(*answer);
  ++seen.pairs;
  if (answer->difference() != 0) ++seen.differing;
  if (!answer->all_orders) ++seen.two_orders;
  for (const contrast::Share& share : answer->shares)
    if (share.settings.size() > 1) {
      ++seen.joined;
      CHECK_FALSE(share.reasons.empty());
    }
  if (decided) return;
  const experiment::Job job(b.experiment, loader);
  const contrast::Settings settings(*a.deciding, contrast::deciding(job, loader), predict::Engine::analytic);
  CHECK(step_of(settings.mixed(0), loader) == answer->a.time);
  CHECK(step_of(settings.mixed((contrast::Coalition{1} << settings.timed().size()) - 1), loader) == answer->b.time);
}

Seen compare_pairs(std::uint64_t pairs) {
  constexpr int k_neighbours = 12;           // of an experiment
  constexpr std::uint64_t k_strangers = 25;  // experiments of which one is held against one of another seed
  const Shelf shelf;
  Seen seen;
  for (std::uint64_t seed = test::asked("CAIRN_FIRST_SEED", 1); seen.pairs < pairs; ++seed) {
    Draw draw(seed);
    const Json first = draw_experiment(seed, shelf);
    contrast::Compared a;
    try {
      a.experiment = experiment::read(tree(first));
      a.deciding = contrast::deciding(experiment::Job(a.experiment, shelf.loader()), shelf.loader());
    } catch (const core::ConfigurationError&) {
      continue;
    }
    one(a, first, neighbour(draw, first), shelf, false, seen);
    const Json decided = Json::parse(config::to_json(a.deciding->experiment, -1));
    for (int neighbours = 1; neighbours < k_neighbours && seen.pairs < pairs; ++neighbours)
      one(a, decided, neighbour(draw, decided), shelf, true, seen);
    if (seed % k_strangers == 0) one(a, first, draw_experiment(seed + 1'000'000, shelf), shelf, false, seen);
  }
  return seen;
}

}  // namespace

TEST_CASE("Differences of experiments at random add up exactly") {
  const Seen seen = compare_pairs(1000 / test::k_share);
  CHECK(seen.differing > seen.pairs / 3);
  CHECK(seen.joined > 0);
  if (test::k_share == 1) CHECK(seen.two_orders > 0);
}

TEST_CASE("Differences of many more experiments at random add up exactly", "[.long]") {
  (void)compare_pairs(test::asked("CAIRN_EXPERIMENTS", 20000));
}
