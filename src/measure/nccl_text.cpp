// The printed form of nccl-tests. A run names its ranks in comments, its columns in one and their units in the next:
//
//   #  Rank  0 Group  0 Pid   6899 on host-a device  0 [0000:04:00] NVIDIA H100 80GB HBM3
//   #       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw ...
//   #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s) ...
//        1048576        262144     float     sum      -1    35.66   29.41   51.46       0    35.30   29.70 ...
//   # Out of bounds values : 0 OK
//   # Avg bus bandwidth    : 212.3
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "reading.h"

namespace cairn::measure {
namespace {

class NcclText {
 public:
  explicit NcclText(const std::string& file) : file_(file), reading_(file, Format::nccl_tests_text) {}

  MeasurementFile read(std::string_view text) {
    collective_of_file_ = named_in(file_);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++line_;
      const std::vector<std::string_view> words = words_of(line, " \t");
      if (!words.empty()) words.front().starts_with('#') ? comment(line, words) : data(words);
      at = end + 1;
    }
    end_run();
    if (runs_ == 0 && !reading_.diagnostics().has_errors())
      reading_.error(1, "no line names the columns (size count type ... time algbw busbw)",
                     "keep the comment lines of nccl-tests");
    return reading_.finish();
  }

 private:
  static std::string named_in(std::string_view text) {
    std::string found;
    std::string word;
    const auto consider = [&] {
      const std::size_t perf = word.rfind("_perf");
      const std::string kind = collective_kind(perf == std::string::npos ? word : word.substr(0, perf));
      if (!kind.empty()) found = kind;
      word.clear();
    };
    for (const char c : text) {
      const bool inside = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
      if (inside)
        word += c;
      else
        consider();
    }
    consider();
    return found;
  }

  void comment(std::string_view line, const std::vector<std::string_view>& words) {
    const auto at = [&](std::size_t i) { return i < words.size() ? words[i] : std::string_view(); };
    if (at(1) == "nThread" || at(1) == "nccl-tests") {
      if (!columns_.empty()) end_run();
      if (at(1) == "nThread") per_process_ = threads_times_gpus(words);
    } else if (at(1) == "Rank") {
      rank(line, words);
    } else if (at(1) == "size" && at(2) == "count") {
      columns_.assign(words.begin() + 1, words.end());
      header_line_ = line_;
      ++runs_;
    } else if (at(1) == "(B)") {
      units(words);
    } else if (line.find("Out of bounds values") != std::string_view::npos) {
      if (line.find("FAILED") != std::string_view::npos)
        reading_.error(line_, "the test found wrong results", "times of a failing run mean nothing: mend it first");
    } else if (line.find("Avg bus bandwidth") != std::string_view::npos) {
      finished_ = true;
    } else if (const std::string kind = named_in(line); !kind.empty() && line.find("_perf") != std::string_view::npos) {
      if (!columns_.empty() && line.find("concluded") == std::string_view::npos) end_run();
      collective_ = kind;
    }
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

  void rank(std::string_view line, const std::vector<std::string_view>& words) {
    if (!columns_.empty()) end_run();
    if (words.size() > 2) ranks_.insert(std::string(words[2]));
    const auto on = std::find(words.begin(), words.end(), "on");
    if (on != words.end() && on + 1 != words.end()) hosts_.insert(std::string(*(on + 1)));
    const std::size_t bracket = line.find(']');
    if (bracket == std::string_view::npos) return;
    const std::size_t begin = line.find_first_not_of(' ', bracket + 1);
    if (begin == std::string_view::npos) return;
    const std::string device(line.substr(begin, line.find_last_not_of(' ') + 1 - begin));
    if (!device_.empty() && device_ != device)
      reading_.error(line_, fmt::format("a {} beside a {}", config::quote(device), config::quote(device_)),
                     "measure one kind of device at a time");
    device_ = device;
  }

  void units(const std::vector<std::string_view>& words) {
    constexpr std::array<std::string_view, 5> k_units{"(B)", "(elements)", "(us)", "(GB/s)", "(%)"};
    for (const std::string_view word : words) {
      if (!word.starts_with('(') || std::find(k_units.begin(), k_units.end(), word) != k_units.end()) continue;
      reading_.error(line_, fmt::format("a column in {}", config::quote(word)),
                     "nccl-tests prints bytes, microseconds and GB/s: do not convert its columns");
    }
  }

  void data(const std::vector<std::string_view>& words) {
    const auto first_size = count(words.front());
    if (columns_.empty()) {
      // Launchers print lines of their own before the table.
      if (first_size && words.size() > 5)
        reading_.error(line_, "figures before the line that names their columns",
                       "keep the comment lines of nccl-tests");
      return;
    }
    if (!first_size) return;
    const bool stamped = columns_.back() == "timestamp";
    if (words.size() < columns_.size() || (words.size() > columns_.size() && !stamped)) {
      reading_.error(line_, fmt::format("{} figures where {} columns are named", words.size(), columns_.size()),
                     "the line was cut off or belongs elsewhere: run the test again");
      return;
    }
    const auto time = std::find(columns_.begin(), columns_.end(), "time");
    if (time == columns_.end()) {
      reading_.error(header_line_, "no column 'time'", "run without -C: the time of the processor says nothing here");
      columns_.clear();
      return;
    }
    add(words, *first_size, static_cast<std::size_t>(time - columns_.begin()));
  }

  void add(const std::vector<std::string_view>& words, std::int64_t bytes, std::size_t time) {
    const double microseconds = amount(words[time]).value_or(-1.0);
    const double bandwidth = time + 1 < words.size() ? amount(words[time + 1]).value_or(-1.0) : -1.0;
    if (microseconds < 0.0 || bandwidth < 0.0) {
      reading_.error(line_, fmt::format("{} is no time, or no rate follows it", config::quote(words[time])),
                     "the line was changed or cut off: run the test again");
      return;
    }
    const double computed = static_cast<double>(bytes) / (microseconds * k_micro) / k_giga;
    if (contradicts(bandwidth, computed, k_least_bandwidth)) {
      reading_.error(
          line_, fmt::format("{} B in {} us make {:.3g} GB/s, algbw says {}", bytes, microseconds, computed, bandwidth),
          "mixed units: nccl-tests prints B, us and GB/s");
      return;
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] != "#wrong" || amount(words[i]).value_or(0.0) == 0.0) continue;
      reading_.error(line_, fmt::format("the test found {} wrong values", config::quote(words[i])),
                     "times of a failing run mean nothing: mend it first");
      return;
    }
    Measurement row;
    row.kind = collective_.empty() ? collective_of_file_ : collective_;
    row.type = words.size() > 2 ? type_name(words[2]) : std::string();
    row.ranks = !ranks_.empty() ? static_cast<std::int64_t>(ranks_.size()) : per_process_;
    row.nodes = std::max<std::int64_t>(1, static_cast<std::int64_t>(hosts_.size()));
    row.bytes = static_cast<double>(bytes);
    row.time = single_time(microseconds * k_micro);
    row.device = device_;
    row.source = "nccl-tests";
    row.line = line_;
    if (bytes == 0) return reading_.skip(line_, "a message of 0 bytes");
    if (row.kind.empty())
      return once("which collective was run is not said", "name the file after the test, as in all_reduce_perf.txt");
    if (row.ranks < 2) return once("the number of ranks is not said", "keep the lines '# Rank ...' of nccl-tests");
    reading_.add(std::move(row));
  }

  void once(std::string message, std::string hint) {
    if (complained_) return;
    complained_ = true;
    reading_.error(header_line_, std::move(message), std::move(hint));
  }

  // Ranks, hosts and columns belong to one run of a test.
  void end_run() {
    if (!columns_.empty() && !finished_)
      reading_.error(line_, "the table ends without its summary ('# Avg bus bandwidth')",
                     "the run was cut off: run it again to its end");
    columns_.clear();
    ranks_.clear();
    hosts_.clear();
    device_.clear();
    per_process_ = 0;
    finished_ = false;
    complained_ = false;
    collective_.clear();
  }

  std::string file_;
  Reading reading_;
  int line_ = 0;
  int header_line_ = 0;
  int runs_ = 0;
  std::vector<std::string> columns_;
  std::set<std::string> ranks_;
  std::set<std::string> hosts_;
  std::string device_;
  std::string collective_;
  std::string collective_of_file_;
  std::int64_t per_process_ = 0;
  bool finished_ = false;
  bool complained_ = false;
};

}  // namespace

MeasurementFile read_nccl_text(std::string_view text, const std::string& file_name) {
  return NcclText(file_name).read(text);
}

}  // namespace cairn::measure
