// Hidden test cases that print: `test_validation [table]` for the published tables, `test_validation [tables]` for
// those of the folder CAIRN_DATA too.
#include <cstdlib>
#include <iostream>

#include "cairn/core/diagnostics.h"
#include "cairn/validation/validate.h"
#include "catch.h"

namespace cairn::validation {
namespace {

config::Loader shipped() { return config::Loader({std::filesystem::path(CAIRN_SOURCE_DIR) / "configs"}); }

TEST_CASE("published runs, row by row", "[.][table]") { std::cout << text(validate(shipped(), {})); }

TEST_CASE("measured runs of CAIRN_DATA", "[.][tables]") {
  const char* folder = std::getenv("CAIRN_DATA");
  REQUIRE(folder != nullptr);
  ValidateOptions options;
  options.data = folder;
  std::cout << text(validate(shipped(), options));
}

}  // namespace
}  // namespace cairn::validation
