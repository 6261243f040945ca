#include "cairn/measure/csv.h"

#include "catch.h"
#include "support/complaints.h"
#include "support/temporary_folder.h"

namespace cairn::measure {
namespace {

using Fields = std::vector<std::string>;

using cairn::test::contains;

std::string complaints(std::string_view text) {
  return cairn::test::complaints([&] { parse_csv(text, "t.csv"); });
}

TEST_CASE("records, their fields and their lines") {
  const CsvTable table = parse_csv("a,b\n1,2\n3,4", "t.csv");
  CHECK(table.file == "t.csv");
  CHECK(table.header == Fields{"a", "b"});
  REQUIRE(table.records.size() == 2);
  CHECK(table.records[0].fields == Fields{"1", "2"});
  CHECK(table.records[0].line == 2);
  CHECK(table.records[1].fields == Fields{"3", "4"});
  CHECK(table.records[1].line == 3);
}

TEST_CASE("quoted fields hold commas, quotes and line breaks") {
  const CsvTable table = parse_csv("a,b\n\"1,5\",\"say \"\"no\"\"\"\n\"two\nlines\",x\ny,\"\"\n", "t.csv");
  REQUIRE(table.records.size() == 3);
  CHECK(table.records[0].fields == Fields{"1,5", "say \"no\""});
  CHECK(table.records[1].fields == Fields{"two\nlines", "x"});
  CHECK(table.records[1].line == 3);
  CHECK(table.records[2].fields == Fields{"y", ""});
  CHECK(table.records[2].line == 5);  // the record before it takes lines 3 and 4
}

TEST_CASE("CRLF, a byte order mark and empty lines are let pass; empty fields stay") {
  const CsvTable table = parse_csv(
      "\xEF\xBB\xBF"
      "a,b,c\r\n\r\n,,\r\n1,,3\r\n\r\n",
      "t.csv");
  CHECK(table.header == Fields{"a", "b", "c"});
  REQUIRE(table.records.size() == 2);
  CHECK(table.records[0].fields == Fields{"", "", ""});
  CHECK(table.records[0].line == 3);
  CHECK(table.records[1].fields == Fields{"1", "", "3"});
}

TEST_CASE("a header alone is a table without records") { CHECK(parse_csv("a,b\n", "t.csv").records.empty()); }

TEST_CASE("irregular tables are refused with their lines") {
  CHECK(contains(complaints(""), "t.csv:1:1: error: empty"));
  CHECK(complaints("") == complaints("\n\n"));
  const std::string ragged = complaints("a,b\n1\n1,2,3\n");
  CHECK(contains(ragged, "t.csv:2:1: error: 1 fields where the header has 2"));
  CHECK(contains(ragged, "t.csv:3:1: error: 3 fields where the header has 2"));
  CHECK(contains(complaints("a,b\n1,2\n3,\"never closed\n4,5\n"),
                 "t.csv:3:1: error: a double quote that is never closed"));
  CHECK(contains(complaints("a\nx\"y\n"), "t.csv:2:1: error: a double quote inside"));
  CHECK(contains(complaints("a\n\"x\"y\n"), "text after a closing double quote"));
  CHECK(contains(complaints("a,b,a\n"), "column 'a' appears twice"));
  CHECK(contains(complaints("a,,c\n"), "column 2 has no name"));
  CHECK(contains(complaints(std::string_view("a\nx\0y\n", 6)), "not a text file"));
}

TEST_CASE("files: missing, a folder, and by their own name in messages") {
  const cairn::test::TemporaryFolder folder;
  CHECK_THROWS_AS(read_csv(folder.path() / "none.csv"), core::ConfigurationError);
  CHECK_THROWS_AS(read_csv(folder.path()), core::ConfigurationError);
  folder.write("t.csv", "a,b\n1\n");
  CHECK(cairn::test::complaints([&] { read_csv(folder.path() / "t.csv"); }).starts_with("t.csv:2:1: error:"));
}

}  // namespace
}  // namespace cairn::measure
