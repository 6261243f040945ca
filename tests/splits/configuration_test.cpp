#include "cairn/splits/configuration.h"

#include <vector>

#include "catch.h"

namespace cairn::splits {
namespace {

std::vector<std::vector<std::int64_t>> lists(const std::vector<Split>& splits) {
  std::vector<std::vector<std::int64_t>> result;
  for (const Split& each : splits) result.emplace_back(each.begin(), each.end());
  return result;
}

}  // namespace

// 12 is cut into 1, 2, 3 (4 parts would have 3 elements), 8 into 1, 2; 3 x 2 = 6 devices are more than 4.
TEST_CASE("Configurations divide extents, keep parts long enough, and need no more devices than there are") {
  CHECK(lists(configurations(std::vector<std::int64_t>{12, 8}, 4, 4)) ==
        std::vector<std::vector<std::int64_t>>{{1, 1}, {1, 2}, {2, 1}, {3, 1}, {2, 2}});
  CHECK(lists(configurations(std::vector<std::int64_t>{3, 1}, 64, 4)) ==
        std::vector<std::vector<std::int64_t>>{{1, 1}});
}

TEST_CASE("Splits are contiguous where nothing is cut inside of a dimension that is cut in part") {
  const std::vector<std::int64_t> extents{4, 6};
  const auto contiguous = [&](std::int64_t first, std::int64_t second) {
    return is_contiguous(extents, Split{first, second});
  };
  CHECK(contiguous(2, 1));
  CHECK(contiguous(4, 3));
  CHECK(contiguous(1, 1));
  CHECK_FALSE(contiguous(2, 2));
  CHECK_FALSE(contiguous(1, 2));
}

}  // namespace cairn::splits
