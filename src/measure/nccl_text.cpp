// The printed form of nccl-tests. A run names its ranks in comments, its columns in one and their units in the next:
//
//   #  Rank  0 Group  0 Pid   6899 on host-a device  0 [0000:04:00] NVIDIA H100 80GB HBM3
//   #       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw ...
//   #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s) ...
//        1048576        262144     float     sum      -1    35.66   29.41   51.46       0    35.30   29.70 ...
//   # Out of bounds values : 0 OK
//   # Avg bus bandwidth    : 212.3
//
// A log holds more: a launcher's prefix before each line ("[1,0]<stdout>:" of mpirun --tag-output, "0: " of srun
// --label, a time, a pod), banners, messages of NCCL between and inside rows. A comment is found by its '#' and a row
// by its shape, whatever stands in front. Only the first rank prints tables; a rank that is named twice belongs to a
// second program that prints into the same log. Several runs may follow each other, each with its own collective.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "log_line.h"
#include "nccl_collective.h"
#include "nccl_rows.h"
#include "reading.h"

namespace cairn::measure {
namespace {

// One run of a test, from the lines that name its ranks to its summary.
struct NcclRun {
  std::optional<NcclRows> table = {};
  int header_line = 0;
  std::set<std::int64_t> ranks = {};
  std::set<std::string> groups = {};
  std::set<std::string> hosts = {};
  std::string device = {};
  std::string program = {};      // "# Collective test starting: ..."
  std::int64_t per_process = 0;  // GPUs
  std::vector<NcclTable::Row> rows = {};
};

class NcclText {
 public:
  NcclText(const std::string& file, const ReadOptions& options)
      : option_(options.collective), reading_(file, Format::nccl_tests_text) {
    if (const std::set<const NcclTest*> named = tests_named_in(file); named.size() == 1) file_ = *named.begin();
  }

  MeasurementFile read(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      ++line_;
      take(shown_text(text.substr(at, end - at)));
      at = end + 1;
    }
    abandon();
    if (tables_ == 0 && !reading_.diagnostics().has_errors())
      reading_.error(1, "no line names the columns (size count type ... time algbw busbw)",
                     "keep the comment lines of nccl-tests");
    return reading_.finish();
  }

 private:
  void take(std::string_view shown) {
    const std::string_view line = before_nccl_message(shown, run_.hosts);
    const std::size_t hash = line.find('#');
    if (hash != std::string_view::npos && comment(line.substr(hash + 1))) return;
    commands_.merge(programs_named_in(line));
    const std::vector<std::string_view> words = words_of(line, " \t");
    if (run_.table) {
      for (const NcclRow& row : run_.table->take(words, line_)) add(row);
    } else if (const std::size_t start = row_start(words);
               start != std::string_view::npos && words.size() > start + k_figures) {
      reading_.error(line_, "figures before the line that names their columns", "keep the comment lines of nccl-tests");
    }
  }

  // False for what is no comment of nccl-tests, as the prompt of a superuser.
  bool comment(std::string_view text) {
    const std::vector<std::string_view> words = words_of(text, " \t");
    const auto at = [&](std::size_t i) { return i < words.size() ? words[i] : std::string_view(); };
    if (at(0) == "nThread" || at(0) == "nccl-tests" ||
        text.find("Collective test starting") != std::string_view::npos) {
      begin_head();
      if (at(0) == "nThread") run_.per_process = threads_times_gpus(words);
      if (at(0) == "Collective") run_.program = words.back();
    } else if (at(0) == "Rank") {
      rank(text, words);
    } else if (at(0) == "size" && at(1) == "count") {
      columns(words);
    } else if (at(0) == "(B)") {
      units(words);
    } else if (text.find("Out of bounds values") != std::string_view::npos) {
      if (text.find("FAILED") != std::string_view::npos)
        reading_.error(line_, "the test found wrong results", "times of a failing run mean nothing: mend it first");
    } else if (text.find("Avg bus bandwidth") != std::string_view::npos) {
      conclude();
    } else {
      return text.find("Collective test concluded") != std::string_view::npos;
    }
    return true;
  }

  static std::int64_t threads_times_gpus(const std::vector<std::string_view>& words) {
    const auto value = [&](std::string_view name) -> std::int64_t {
      const auto found = std::find(words.begin(), words.end(), name);
      const auto number = found == words.end() || found + 1 == words.end() ? std::nullopt : count(*(found + 1));
      constexpr std::int64_t k_limit = 1 << 20;
      return number && *number < k_limit ? *number : 0;
    };
    return value("nThread") * value("nGpus");
  }

  void begin_head() {
    if (run_.table || !run_.ranks.empty()) abandon();
  }

  void rank(std::string_view line, const std::vector<std::string_view>& words) {
    if (run_.table) abandon();
    const auto after = [&](std::string_view name) -> std::string_view {
      const auto found = std::find(words.begin(), words.end(), name);
      return found == words.end() || found + 1 == words.end() ? std::string_view() : *(found + 1);
    };
    if (const auto number = count(after("Rank")); number && !run_.ranks.insert(*number).second)
      reading_.error(line_, fmt::format("rank {} is named twice: several programs print into one log", *number),
                     "build nccl-tests with MPI=1, or keep the lines of one process");
    run_.groups.emplace(after("Group"));
    if (!after("on").empty()) run_.hosts.emplace(after("on"));
    const std::size_t bracket = line.find(']');
    if (bracket == std::string_view::npos) return;
    const std::size_t begin = line.find_first_not_of(' ', bracket + 1);
    if (begin == std::string_view::npos) return;
    const std::string device(line.substr(begin, line.find_last_not_of(' ') + 1 - begin));
    if (!run_.device.empty() && run_.device != device)
      reading_.error(line_, fmt::format("a {} beside a {}", config::quote(device), config::quote(run_.device)),
                     "measure one kind of device at a time");
    run_.device = device;
  }

  void columns(const std::vector<std::string_view>& words) {
    if (run_.table) abandon();
    ++tables_;
    run_.header_line = line_;
    if (std::find(words.begin(), words.end(), "time") == words.end())
      return reading_.error(line_, "no column 'time'", "run without -C: the time of the processor says nothing here");
    run_.table.emplace(std::vector<std::string>(words.begin(), words.end()));
  }

  void units(const std::vector<std::string_view>& words) {
    constexpr std::array<std::string_view, 5> k_units{"(B)", "(elements)", "(us)", "(GB/s)", "(%)"};
    for (const std::string_view word : words) {
      if (!word.starts_with('(') || std::find(k_units.begin(), k_units.end(), word) != k_units.end()) continue;
      reading_.error(line_, fmt::format("a column in {}", config::quote(word)),
                     "nccl-tests prints bytes, microseconds and GB/s: do not convert its columns");
    }
  }

  std::string_view figure(const NcclRow& row, std::string_view column) const {
    const std::vector<std::string>& names = run_.table->columns();
    const auto found = std::find(names.begin(), names.end(), column);
    return found == names.end() ? std::string_view() : row.figures[static_cast<std::size_t>(found - names.begin())];
  }

  void add(const NcclRow& row) {
    if (!run_.table->is_whole(row))
      return reading_.error(
          row.line,
          fmt::format("{} figures where {} columns are named", row.figures.size(), run_.table->columns().size()),
          "the line was cut off, or other output stands in it: run the test again, with "
          "NCCL_DEBUG_FILE where NCCL logs");
    const std::int64_t bytes = count(row.figures.front()).value_or(0);
    const std::string_view time = figure(row, "time"), bandwidth = figure(row, "algbw");
    const double microseconds = amount(time).value_or(-1.0), stated = amount(bandwidth).value_or(-1.0);
    if (microseconds < 0.0 || stated < 0.0)
      return reading_.error(row.line, fmt::format("{} is no time, or no rate follows it", config::quote(time)),
                            "the line was changed or cut off: run the test again");
    const double computed = static_cast<double>(bytes) / (microseconds * k_micro) / k_giga;
    if (contradicts(stated, computed, k_least_bandwidth))
      return reading_.error(
          row.line, fmt::format("{} B in {} us make {:.3g} GB/s, algbw says {}", bytes, microseconds, computed, stated),
          "mixed units: nccl-tests prints B, us and GB/s");
    for (std::size_t i = 0; i < row.figures.size(); ++i) {
      if (run_.table->columns()[i] != "#wrong" || amount(row.figures[i]).value_or(0.0) == 0.0) continue;
      return reading_.error(row.line, fmt::format("the test found {} wrong values", config::quote(row.figures[i])),
                            "times of a failing run mean nothing: mend it first");
    }
    if (bytes == 0) return reading_.skip(row.line, "a message of 0 bytes");
    run_.rows.push_back({.measured = {.type = type_name(figure(row, "type")),
                                      .bytes = static_cast<double>(bytes),
                                      .nodes = std::max<std::int64_t>(1, static_cast<std::int64_t>(run_.hosts.size())),
                                      .time = single_time(microseconds * k_micro),
                                      .device = run_.device,
                                      .source = "nccl-tests",
                                      .line = row.line},
                         .busbw_to_algbw = printed_ratio(figure(row, "busbw"), bandwidth)});
  }

  // Why the number of ranks of the run is not known; empty where it is.
  std::string trouble_with_ranks() const {
    if (run_.ranks.empty()) return run_.per_process >= 2 ? "" : "the number of ranks is not said";
    if (*run_.ranks.rbegin() != static_cast<std::int64_t>(run_.ranks.size()) - 1)
      return fmt::format("{} ranks are named, the last is number {}", run_.ranks.size(), *run_.ranks.rbegin());
    if (run_.groups.size() > 1) return fmt::format("the ranks are split into {} groups", run_.groups.size());
    return run_.ranks.size() < 2 ? "one rank only" : "";
  }

  // The summary was reached: the rows get their collective.
  void conclude() {
    if (run_.table) {
      if (const auto rest = run_.table->rest()) add(*rest);
    }
    const std::string trouble = run_.rows.empty() ? std::string() : trouble_with_ranks();
    if (!trouble.empty())
      reading_.error(run_.header_line, trouble,
                     "keep all lines '# Rank ...' of nccl-tests; run over two GPUs or more, without NCCL_TESTS_SPLIT");
    else if (!run_.rows.empty())
      settle();
    run_ = {};
    commands_.clear();
  }

  void settle() {
    const std::vector<std::string>& columns = run_.table->columns();
    settle_collective({.line = run_.header_line,
                       .ranks = run_.ranks.empty() ? run_.per_process : static_cast<std::int64_t>(run_.ranks.size()),
                       // The column of wrong values went by another name when gathers still counted in the older way.
                       .may_be_old = std::find(columns.begin(), columns.end(), "#wrong") == columns.end(),
                       .rows = std::move(run_.rows)},
                      {.program = run_.program, .option = option_, .commands = commands_, .file = file_}, reading_);
  }

  void abandon() {
    if (run_.table) {
      if (const auto rest = run_.table->rest()) add(*rest);
      reading_.error(line_, "the table ends without its summary ('# Avg bus bandwidth')",
                     "the run was cut off: run it again to its end");
    }
    run_ = {};
  }

  static constexpr std::size_t k_figures = 5;  // a row has more words

  std::string option_;
  const NcclTest* file_ = nullptr;
  Reading reading_;
  int line_ = 0;
  int tables_ = 0;
  NcclRun run_ = {};
  std::set<const NcclTest*> commands_ = {};  // since the table before
};

}  // namespace

MeasurementFile read_nccl_text(std::string_view text, const std::string& file_name, const ReadOptions& options) {
  return NcclText(file_name, options).read(text);
}

}  // namespace cairn::measure
