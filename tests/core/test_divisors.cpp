#include "cairn/core/divisors.h"
#include "catch.h"

using cairn::core::divisors;

TEST_CASE("divisors are all numbers that leave no rest, ascending") {
  for (std::int64_t number = 1; number <= 400; ++number) {
    std::vector<std::int64_t> expected;
    for (std::int64_t each = 1; each <= number; ++each)
      if (number % each == 0) expected.push_back(each);
    CHECK(divisors(number) == expected);
  }
  CHECK(divisors(1'000'003) == std::vector<std::int64_t>{1, 1'000'003});
}
