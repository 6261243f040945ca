// Tables that are no tables of measured runs, or whose fields cannot be: what is said, and where.
#include "cairn/validation/validate.h"
#include "catch.h"
#include "rows.h"
#include "support.h"

namespace cairn::validation {
namespace {

using test::contains;
using test::Folder;

// One row of a small model, by the columns that most mistakes are about.
constexpr const char* k_header =
    "status,num_gpus,seq_len,global_batch,iter_time_s,tokens_per_s_per_gpu,mem_gib,notes\n";
constexpr const char* k_row = "ok,8,1024,32,1.5,,20,a run\n";

std::string said(const std::string& table) {
  const Folder folder;
  folder.write("measured/mine.csv", table);
  return test::complaints(
      [&] { validate(test::shipped(), {.names = {"mine"}, .data = folder.path(), .published = {}}); });
}

TEST_CASE("a sound small table has nothing wrong") { CHECK(said(std::string(k_header) + k_row).empty()); }

TEST_CASE("truncated tables") {
  CHECK(contains(
      said(std::string(k_header) + k_row + "ok,8,1024"),
      "mine.csv:3:1: error: 3 fields where the header has 8 (the last record: the file may have been cut off)"));
  CHECK(contains(said(std::string(k_header) + "ok,8,1024,32,1.5,,20,\"a ru"), "never closed"));
  CHECK(contains(said(""), "empty"));
}

TEST_CASE("a header alone") {
  CHECK(said(k_header) ==
        "mine.csv:1:1: error: a header and no row below it (add a row for each run, or remove the "
        "file)");
  CHECK(contains(said("date,open,close\n"), "no table of measured runs"));
}

TEST_CASE("a wrong field is complained of once, however many parts of a run read it") {
  const auto times = [](const std::string& found) {
    std::size_t count = 0;
    for (std::size_t at = found.find("error:"); at != std::string::npos; at = found.find("error:", at + 1)) ++count;
    return count;
  };
  for (const auto& [column, value] : test::complete()) {
    for (const char* wrong : {"-2", "nan", "3 of it", "maybe"}) {
      CAPTURE(column, value, wrong);
      test::Row row = test::complete();
      row[column] = wrong;
      CHECK(times(test::complaints([&] { test::run_of(row); })) <= 1);
    }
  }
  // Two rows with two wrong fields each, of which the first of a row decides nothing about the other.
  const std::string found =
      said(std::string("tp,") + k_header + "x,ok,8,1024,32,1500 ms,,20,\n2,ok,8,-1,32,nan,,20,\n");
  CHECK(times(found) == 4);
  for (const char* each : {"mine.csv:2:1: error: tp: 'x'", "mine.csv:2:1: error: iter_time_s: '1500 ms'",
                           "mine.csv:3:1: error: seq_len: '-1'", "mine.csv:3:1: error: iter_time_s: 'nan'"})
    CHECK(contains(found, each));
}

TEST_CASE("foreign tables") {
  CHECK(contains(said("date,open,close\n2024-01-01,1,2\n"),
                 "mine.csv:1:1: error: no table of measured runs: none of its columns is one of theirs ('date', ...)"));
  CHECK(contains(said("status;num_gpus\nok;8\n"), "separate the columns by commas"));
  CHECK(contains(said("status\tnum_gpus\nok\t8\n"), "separate the columns by commas"));
}

TEST_CASE("unknown columns are named all at once") {
  const std::string found = said("status,num_gpu,colour,mem_kinds\nok,8,red,device\n");
  CHECK(contains(found, "mine.csv:1:1: error: unknown column 'num_gpu' (did you mean 'num_gpus'?)"));
  CHECK(contains(found, "unknown column 'colour'"));
  CHECK(contains(found, "unknown column 'mem_kinds' (did you mean 'mem_kind'?)"));
}

TEST_CASE("numbers that are none, and times that cannot be") {
  const auto with = [](const char* time, const char* memory = "20") {
    return said(std::string(k_header) + "ok,8,1024,32," + time + ",," + memory + ",a run\n");
  };
  CHECK(contains(with("-1.5"), "mine.csv:2:1: error: iter_time_s: '-1.5' is no number above 0"));
  CHECK(contains(with("0"), "iter_time_s: '0' is no number above 0"));
  for (const char* none : {"nan", "NaN", "inf", "-inf", "1e999", "0x10", "1,5"}) {
    CAPTURE(none);
    CHECK_FALSE(with(none).empty());
  }
  CHECK(contains(with("nan"), "mine.csv:2:1: error: iter_time_s: 'nan' is no number"));
  CHECK(contains(with("5e-324"), "iter_time_s: 5e-324 seconds are less than there can be"));
  CHECK(contains(with("1e300"), "iter_time_s: 1e300 seconds are more than there can be"));
  CHECK(contains(said(std::string(k_header) + "ok,0,1024,32,1.5,,20,\n"), "num_gpus: '0' is no whole number from 1"));
  CHECK(contains(said(std::string(k_header) + "ok,8,99999999999999999999,32,1.5,,20,\n"), "seq_len"));
}

TEST_CASE("mixed units") {
  const auto with = [](const char* time, const char* rate, const char* memory) {
    return said(std::string(k_header) + "ok,8,1024,32," + time + "," + rate + "," + memory + ",a run\n");
  };
  CHECK(contains(with("1500 ms", "", ""), "iter_time_s: '1500 ms' is no number above 0 (write seconds without a unit"));
  CHECK(contains(with("1.5s", "", ""), "write seconds without a unit"));
  CHECK(contains(with("", "", "20 GiB"), "write GiB without a unit"));
  CHECK(contains(with("", "1e-300", ""), "tokens_per_s_per_gpu: 1e-300 tokens/s are less than there can be"));
  CHECK(contains(with("1.5", "", "20480"), "mem_gib: 20480 GiB are more than there can be"));
  // 32 x 1024 tokens in 1.5 s on 8 GPUs: 2731 tokens/s each. A time in milliseconds, or the rate of all, disagree.
  CHECK(with("1.5", "2731", "").empty());
  CHECK(contains(with("1500", "2731", ""),
                 "mine.csv:2:1: error: iter_time_s: 1500 s, but the tokens per second make a step of 1.5 s"));
  CHECK(contains(with("1.5", "21845", ""), "tokens per second of one GPU"));
}

TEST_CASE("A folder that cannot be asked about is refused in words") {
  const std::string longer_than_names_are(5000, 'x');
  const std::string complaints = test::complaints(
      [&] { validate(test::shipped(), {.names = {}, .data = longer_than_names_are, .published = {}}); });
  REQUIRE(contains(complaints, "name a folder of CSV tables"));
}

TEST_CASE("rows and tables that stand there twice") {
  const std::string twice = said(std::string(k_header) + k_row + "ok,8,1024,32,1.6,,20,another\n" + k_row);
  CHECK(contains(twice, "mine.csv:4:1: error: the same row as line 2"));
  CHECK(contains(said("status,num_gpus,status\nok,8,ok\n"), "column 'status' appears twice"));
  const Folder folder;
  folder.write("measured/mine.csv", std::string(k_header) + k_row);
  folder.write("measured_more/mine.csv", std::string(k_header) + k_row);
  const std::string named =
      test::complaints([&] { validate(test::shipped(), {.names = {}, .data = folder.path(), .published = {}}); });
  CHECK(contains(named, "two tables of the name 'mine'"));
}

}  // namespace
}  // namespace cairn::validation
