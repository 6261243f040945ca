// configs/intervals.yaml is what the command writes from the tables of the folder CAIRN_DATA, byte for byte. Where it is
// not: build/release/cairn validate --data DIR --write-intervals configs/intervals.yaml
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cairn/validation/validate.h"
#include "catch.h"
#include "support/shipped.h"
#include "support/source_dir.h"

TEST_CASE("the shipped intervals are those of today's predictions") {
  const char* folder = std::getenv("CAIRN_DATA");
  if (folder == nullptr || *folder == '\0') {
    WARN("CAIRN_DATA is not set: the shipped intervals are not checked");
    return;
  }
  cairn::validation::ValidateOptions options;
  options.data = folder;
  const cairn::validation::Report report = cairn::validation::validate(cairn::testing::shipped(), options);
  std::ifstream file(cairn::testing::source_dir() + "/configs/intervals.yaml");
  std::stringstream shipped;
  shipped << file.rdbuf();
  CHECK(shipped.str() == cairn::validation::intervals_yaml(report.intervals));
}
