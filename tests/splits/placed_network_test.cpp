// Placements do not depend on the limit of power that a calibration states: no two operators share a clock here.
#include "cairn/splits/placed_network.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/cost/calibration.h"
#include "cairn/splits/search.h"
#include "catch.h"
#include "support/shipped.h"
#include "support/temporary_folder.h"

namespace cairn::splits {
namespace {

constexpr const char* k_h100 = "h100-sxm5-80gb";

struct PlacedAnswer {
  std::vector<choice::Option> options;
  double cost = 0.0;
  std::vector<core::Picoseconds> times;  // of every option of every operator
  core::Picoseconds step = 0;
};

PlacedAnswer placed_by(const config::Loader& loader) {
  core::Diagnostics diagnostics;
  PlacementStrategy asked{.network = "alexnet", .batch = 128};
  asked.cluster = config::parse_text("{file: dgx-h100, nodes: 1}", config::Syntax::yaml, "test.yaml", diagnostics);
  diagnostics.raise_if_errors();
  PlacedNetwork network(asked, 4, loader);
  const SplitAnswer found = search(network.problem(), Method::pase, network.memory().base());
  PlacedAnswer answer{.options = found.best.options, .cost = found.best.cost, .times = {}};
  for (const PlacedOperator& op : network.problem().operators)
    for (const PartTimes& times : op.times) answer.times.push_back(times.total());
  answer.step = network.run(network.explain(answer.options));
  return answer;
}

}  // namespace

TEST_CASE("A limit of power over a whole calibration changes neither prices nor the choice of placements") {
  std::ifstream file(cairn::testing::source_dir() + "/configs/calibration/" + k_h100 + ".yaml");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const test::TemporaryFolder folder;
  folder.write(std::filesystem::path("calibration") / (std::string(k_h100) + ".yaml"),
               text + "\npower: {limit: 700 W, idle: 133 W, memory: 600 W, spread: 0.015}\n");
  const config::Loader plain = cairn::testing::shipped();
  const config::Loader limited({folder.path(), cairn::testing::source_dir() + "/configs"});
  REQUIRE_FALSE(cost::load_calibration(plain, k_h100).power.has_value());
  REQUIRE(cost::load_calibration(limited, k_h100).power.has_value());

  const PlacedAnswer expected = placed_by(plain), found = placed_by(limited);
  CHECK(found.options == expected.options);
  CHECK(found.cost == expected.cost);
  CHECK(found.times == expected.times);
  CHECK(found.step == expected.step);
  // As a Program, too, nothing shares a clock: the step is the sum that was minimised.
  CHECK(static_cast<double>(found.step) == found.cost);
}

}  // namespace cairn::splits
