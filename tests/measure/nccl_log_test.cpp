// Logs of nccl-tests as they are found: whatever launchers, NCCL and terminals add, the rows are those of the table.
#include "measure/nccl_log.h"

#include <algorithm>

#include "cairn/measure/read.h"
#include "catch.h"
#include "support/complaints.h"

namespace cairn::measure {
namespace {

using cairn::test::contains;
using test::log_of;
using test::LogDecoration;
using test::LogRun;
using Messages = LogDecoration::Messages;

std::string refusal(const std::string& text, const ReadOptions& options = {}, const std::string& file = "run.log") {
  return cairn::test::complaints([&] { parse_measurements(text, file, options); });
}

// A run of the program without anything that names it.
std::string nameless(const LogRun& run) { return log_of(run, {.names_program = false}); }

void check_rows(const MeasurementFile& file, const LogRun& run, const char* kind) {
  const std::vector<double> sizes = test::sizes_of_log();
  REQUIRE(file.rows.size() == sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Measurement& row = file.rows[i];
    CHECK(row.kind == kind);
    CHECK(row.type == "fp32");
    CHECK(row.bytes == sizes[i]);
    CHECK(row.ranks == run.ranks);
    CHECK(row.nodes == 1);
    CHECK(row.device == run.device);
    // Printed in seven characters: two decimals below 10 s, none above 1 s.
    CHECK(row.time.median_s == Approx(1e-6 * test::microseconds_of(run, sizes[i])).margin(0.5e-8).epsilon(1e-6));
  }
}

TEST_CASE("A table reads the same in every decoration", "[measure][nccl]") {
  const LogRun run;
  const std::vector<std::string> prefixes{"",
                                          "[1,0]<stdout>:",
                                          "[1,0]<stdout>: ",
                                          "[prterun-host-0-17@1,0]<stdout>: ",
                                          "0: ",
                                          " 0: ",
                                          "[0] ",
                                          "[default0]:",
                                          "2026-11-22T10:00:00.123456789Z ",
                                          "2026-11-22T10:00:00.123456789Z [1,0]<stdout>:",
                                          "Nov 22 10:00:00 host-0 launcher[17]: ",
                                          "[pod/nccl-test-launcher-x7/launcher] ",
                                          "launcher-1  | ",
                                          "> "};
  int read = 0;
  for (const std::string& prefix : prefixes)
    for (const char* indentation : {"", "    ", "\t"})
      for (const Messages messages : {Messages::none, Messages::between_rows, Messages::inside_rows})
        for (const char* line_end : {"\n", "\r\n"})
          for (const bool coloured : {false, true})
            for (const char* tail :
                 {"", "srun: error: host-0: task 0: Exited with exit code 1\nslurmstepd: 1 2 3 4\n"}) {
              const LogDecoration decoration{.prefix = prefix,
                                             .indentation = indentation,
                                             .line_end = line_end,
                                             .colour = coloured ? "\x1b[1;32m\x1b]0;log\a" : "",
                                             .plain = coloured ? "\x1b[0m" : "",
                                             .messages = messages,
                                             .tail = tail};
              const std::string text = log_of(run, decoration);
              CAPTURE(text);
              check_rows(parse_measurements(text, "run.log"), run, "all_reduce");
              ++read;
            }
  CHECK(read == 14 * 3 * 3 * 2 * 2 * 2);
}

TEST_CASE("What a message leaves of a row is told from the host that it names", "[measure][nccl]") {
  const std::string text = log_of({}, {.messages = Messages::inside_rows});
  const auto with = [&](const std::string& what, const std::string& by) {
    std::string changed = text;
    for (std::size_t at = 0; (at = changed.find(what, at)) != std::string::npos; at += by.size())
      changed.replace(at, what.size(), by);
    return changed;
  };
  // "... -1" and "10-0-0-1:6899:6921 [0] NCCL INFO", and the figures of #wrong likewise: no letter stands between.
  check_rows(parse_measurements(with("host-0", "10-0-0-1"), "run.log"), LogRun{}, "all_reduce");
  // A launcher's tag, or a time, before the message.
  check_rows(parse_measurements(with("-1host-0:", "-1[0] host-0:"), "run.log"), LogRun{}, "all_reduce");
  check_rows(parse_measurements(with("-1host-0:", "-1[2026-11-22 10:00:00] host-0:"), "run.log"), LogRun{},
             "all_reduce");
  // Of a host that is not the run's it cannot be told where the figure ends.
  CHECK(contains(refusal(with("0host-0:6899", "0other:6899")), "figures where 13 columns are named"));
}

TEST_CASE("Columns of single iterations and of the clock, as newer releases print them", "[measure][nccl]") {
  // -I adds i_min i_max i_p99 i_cv% behind each run, --report_timestamps a date and a clock behind the row.
  for (const Messages messages : {Messages::none, Messages::inside_rows})
    for (const bool iterations : {false, true})
      for (const bool clock : {false, true}) {
        LogRun run;
        if (iterations) run.wrong = "0    12.00    15.25    15.10    3.21";
        std::string text = log_of(run, {.prefix = "0: ", .messages = messages});
        const auto replace_all = [&](const std::string& what, const std::string& by) {
          for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
            text.replace(at, what.size(), by);
        };
        if (iterations) replace_all("#wrong", "#wrong i_min i_max i_p99 i_cv%");
        if (iterations) replace_all("(GB/s)            (us)", "(GB/s) (us) (us) (us) (%) (us)");
        const std::string last = run.wrong + "\n";
        if (clock) replace_all(last, run.wrong + "  2026-11-22 10:00:00\n");
        if (clock) text.insert(text.find('\n', text.find(" count ")), "  timestamp");
        CAPTURE(text);
        check_rows(parse_measurements(text, "run.log"), run, "all_reduce");
      }
}

TEST_CASE("A log that ends early is refused or reads the same", "[measure][nccl]") {
  const LogRun run;
  for (const Messages messages : {Messages::none, Messages::inside_rows}) {
    const std::string text = log_of(run, {.prefix = "[1,0]<stdout>:", .messages = messages});
    const std::size_t summary = text.find("# Avg bus bandwidth") + std::string("# Avg bus bandwidth").size();
    for (std::size_t size = 1; size < text.size(); ++size) {
      CAPTURE(size, text.substr(0, size));
      if (size < summary)
        CHECK(!refusal(text.substr(0, size)).empty());
      else
        CHECK(parse_measurements(text.substr(0, size), "run.log").rows.size() == test::sizes_of_log().size());
    }
  }
}

TEST_CASE("A row that other output has cut is refused by its line", "[measure][nccl]") {
  // A message that goes on without naming its host: its number takes the place of a figure.
  std::string text = log_of({}, {});
  const std::size_t row = text.find("     1048576 ");
  const std::size_t line =
      static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(row), '\n')) + 1;
  text.insert(text.find("-1", row) + 2, "Warning: 7 files\n");
  CHECK(contains(refusal(text), "run.log:" + std::to_string(line) + ":1: error: 7 figures where 13 columns are named"));
}

TEST_CASE("busbw over algbw names an all-reduce, and nothing else", "[measure][nccl]") {
  // Over n ranks: 2(n-1)/n, (n-1)/n, 1. Over two 2(n-1)/n is 1 as well.
  for (const int ranks : {2, 3, 4, 8, 16}) {
    const double n = ranks;
    const LogRun reduce{.factor = 2 * (n - 1) / n, .ranks = ranks};
    const LogRun gather{.factor = (n - 1) / n, .ranks = ranks};
    const LogRun whole{.factor = 1, .ranks = ranks};
    CAPTURE(ranks);
    if (ranks > 2)
      check_rows(parse_measurements(nameless(reduce), "run.log"), reduce, "all_reduce");
    else
      CHECK(contains(refusal(nameless(reduce)),
                     "all_reduce, broadcast, send_recv, reduce, hypercube (say it, as in --collective all_reduce"));
    CHECK(contains(refusal(nameless(gather)),
                   "all_gather, reduce_scatter, all_to_all, gather, scatter (say it, as in --collective all_gather"));
    CHECK(contains(refusal(nameless(whole)), "broadcast, send_recv, reduce, hypercube (say it, as in --collective"));
    check_rows(parse_measurements(nameless(gather), "run.log", {.collective = "all_to_all"}), gather, "all_to_all");
    check_rows(parse_measurements(nameless(whole), "run.log", {.collective = "broadcast"}), whole, "broadcast");
  }
}

TEST_CASE("What names a collective is held against busbw over algbw", "[measure][nccl]") {
  const LogRun gather{.program = "all_gather_perf", .factor = 0.875};
  // The first row whose rates say something is that of 64 KiB: 12 lines name the run and its ranks, 3 the columns, the
  // row of 8 B is the next.
  CHECK(contains(refusal(nameless(gather), {.collective = "all_reduce"}),
                 "run.log:17:1: error: --collective says all_reduce, whose busbw over 8 ranks is 1.75 times its algbw; "
                 "here it is 0.87"));
  CHECK(contains(refusal(nameless(gather), {}, "all_reduce_8.log"), "the name of the file says all_reduce"));
  CHECK(contains(refusal(log_of(gather, {}), {.collective = "all_to_all"}),
                 "the test's output says all_gather, --collective all_to_all"));
  check_rows(parse_measurements(log_of(gather, {}), "all_reduce.log"), gather, "all_gather");
  // A rank that is not listed: 7 in place of 8 would be 0.857.
  std::string short_list = log_of(gather, {});
  const std::size_t last = short_list.find("#  Rank 7");
  short_list.erase(last, short_list.find('\n', last) + 1 - last);
  CHECK(contains(refusal(short_list),
                 "the test's output says all_gather, whose busbw over 7 ranks is 0.8571 times its algbw"));
  // Releases before June 2020, whose column of wrong values is called error, counted the share of others into algbw.
  std::string old = nameless({.factor = 1.0});
  while (old.find("#wrong") != std::string::npos) old.replace(old.find("#wrong"), 6, " error");
  check_rows(parse_measurements(old, "all_gather_perf.txt"), gather, "all_gather");
  CHECK(contains(refusal(nameless({.factor = 1.0}), {}, "all_gather_perf.txt"), "0.875"));
}

TEST_CASE("The command line in the log names the collective of the table after it", "[measure][nccl]") {
  const LogRun gather{.factor = 0.875}, scatter{.factor = 0.875};
  const LogDecoration first{.command = "+ srun --mpi=pmix -N 1 /opt/nccl-tests/build/all_gather_perf -b 8 -e 128G -f 2",
                            .names_program = false};
  const LogDecoration second{.command = "root@host-0:~# mpirun -np 8 ./reduce_scatter_perf_mpi -b 8",
                             .names_program = false};
  const MeasurementFile both = parse_measurements(log_of(gather, first) + log_of(scatter, second), "all_reduce.log");
  REQUIRE(both.rows.size() == 2 * test::sizes_of_log().size());
  CHECK(both.rows.front().kind == "all_gather");
  CHECK(both.rows.back().kind == "reduce_scatter");
  // Two commands before one table: either may be meant, unless the ratio says which.
  const std::string commands = "+ srun all_gather_perf -b 8\n+ srun reduce_scatter_perf -b 8\n";
  CHECK(contains(refusal(commands + nameless(gather)),
                 "is that of all_gather, reduce_scatter (say it, as in --collective all_gather"));
  check_rows(parse_measurements("+ srun all_gather_perf\n+ srun all_reduce_perf\n" + nameless({}), "x.log"), LogRun{},
             "all_reduce");
  // What was run before says nothing about the next table.
  CHECK(contains(refusal(log_of(gather, first) + nameless(gather)), "which collective was run is not said"));
}

TEST_CASE("Tests that no price rests on, and such as are not known", "[measure][nccl]") {
  const LogRun reduce{.program = "reduce_perf", .factor = 1.0};
  const MeasurementFile both = parse_measurements(log_of(reduce, {}) + log_of({}, {}), "reduce_scatter.log");
  CHECK(both.rows.size() == test::sizes_of_log().size());
  REQUIRE(both.skipped.size() == test::sizes_of_log().size());
  CHECK(both.skipped.front().reason == "no price rests on a reduce");
  CHECK(contains(refusal(log_of({.program = "alltoallv_perf", .factor = 0.875}, {})),
                 "the test 'alltoallv_perf' is none that is known here"));
}

TEST_CASE("Ranks that are missing, doubled or split", "[measure][nccl]") {
  CHECK(contains(refusal(log_of({.ranks = 4, .first_rank = 4}, {})), "4 ranks are named, the last is number 7"));
  // A build without MPI runs once in each process: the heads of two runs in one log.
  const std::string text = log_of({}, {});
  const std::size_t ranks = text.find("#  Rank 0"), after = text.find("#\n", ranks);
  std::string doubled = text;
  doubled.insert(after, text.substr(ranks, after - ranks));
  CHECK(contains(refusal(doubled),
                 "rank 0 is named twice: several programs print into one log (build nccl-tests with MPI=1"));
  std::string split = text;
  split.replace(split.find("Group  0", split.find("Rank 7")), 8, "Group  1");
  CHECK(contains(refusal(split), "the ranks are split into 2 groups"));
}

TEST_CASE("Rows with wrong values are refused by their lines", "[measure][nccl]") {
  const std::string wrong = refusal(log_of({.wrong = "12"}, {.prefix = "0: "}));
  for (const char* line : {"run.log:18:1:", "run.log:23:1:"})
    CHECK(contains(wrong, std::string(line) + " error: the test found '12' wrong values"));
  check_rows(parse_measurements(log_of({.wrong = "N/A"}, {}), "run.log"), LogRun{}, "all_reduce");
}

}  // namespace
}  // namespace cairn::measure
