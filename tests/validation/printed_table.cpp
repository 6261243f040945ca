// Hidden test cases that print: `test_validation [table]` for the published tables, `test_validation [tables]` for
// those of the folder CAIRN_DATA too.
#include <cstdlib>
#include <iostream>

#include "cairn/validation/validate.h"
#include "catch.h"
#include "support.h"

namespace cairn::validation {
namespace {

TEST_CASE("published runs, row by row", "[.][table]") { std::cout << text(validate(test::shipped(), {})); }

TEST_CASE("measured runs of CAIRN_DATA", "[.][tables]") {
  const char* folder = std::getenv("CAIRN_DATA");
  REQUIRE(folder != nullptr);
  ValidateOptions options;
  options.data = folder;
  std::cout << text(validate(test::shipped(), options));
}

}  // namespace
}  // namespace cairn::validation
