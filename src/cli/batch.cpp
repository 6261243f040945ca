#include "batch.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "batch_lines.h"
#include "cairn/config/read.h"
#include "cairn/core/workers.h"
#include "cairn/experiment/job.h"
#include "cairn/report/error.h"
#include "cairn/report/rows.h"
#include "exit_code.h"
#include "failure.h"
#include "interruption.h"

namespace cairn::cli {
namespace {

// {"file": ..., "set": {...}}
struct Reference {
  std::string file;
  config::Node set;
};
void describe(config::Fields& fields, Reference& reference) {
  fields.text("file", reference.file, {.doc = "an experiment file or name", .required = true});
  fields.node("set", reference.set, {.doc = "overrides: key path to value"});
}

constexpr std::size_t k_most_threads = 256;
constexpr std::size_t k_ahead = 8;                // lines taken beyond the first without an answer, for each thread
constexpr std::string_view k_override = "--set";  // where the loader places overrides

using Line = BatchLines::Line;

// A line of a table, between the number of the batch's line and why it could not be run.
report::Record table_of(report::Record fields, std::string line, std::string error) {
  fields.insert(fields.begin(), std::move(line));
  fields.push_back(std::move(error));
  return fields;
}

// What became of a line.
struct Answer {
  std::string text;
  int code = k_ok;
  bool refused = false;
};

// Answers lines, one at a time: each thread has one. All share the files that were read.
class Clerk {
 public:
  Clerk(const RunArguments& arguments, const report::Tool& tool, const report::Record& columns,
        const config::Loader& loader)
      : arguments_(arguments), tool_(tool), columns_(columns), loader_(loader.noting(read_)) {}
  Clerk(const Clerk&) = delete;
  Clerk& operator=(const Clerk&) = delete;

  const config::Sources& read() const { return read_; }

  Answer answer(const Line& line) {
    set_keys_.clear();
    try {
      const experiment::LoadedExperiment loaded = experiment_of(line.text);
      experiment::Job job(loaded, loader_);
      const experiment::Result result = job.run(arguments_.engine);
      const std::string document = report::json({.job = job, .result = result, .tool = tool_}, -1);
      return {.text = arguments_.result.csv
                          ? report::csv_line(table_of(std::move(report::rows(document).records.front()),
                                                      std::to_string(line.number), ""))
                          : document + "\n",
              .code = result.prediction.fits ? k_ok : k_negative};
    } catch (const std::exception&) {
      return refusal(current_failure(), line.number);
    }
  }

 private:
  experiment::LoadedExperiment experiment_of(const std::string& text) {
    core::Diagnostics diagnostics;
    const config::Node node = config::parse_text(text, config::Syntax::json, arguments_.batch, diagnostics);
    diagnostics.raise_if_errors();
    if (!node.find("file")) {
      return experiment::read(loader_, node, arguments_.overrides);
    }
    Reference reference;
    config::read(node, reference, diagnostics);
    diagnostics.raise_if_errors();
    for (const config::Entry& entry : reference.set.entries) {
      if (entry.key.empty())
        throw core::ConfigurationError("set", "an empty key", "write \"set\": {\"strategy.tp\": 4}");
      set_keys_.push_back(entry.key);
    }
    std::vector<std::string> overrides;
    for (const config::Entry& entry : reference.set.entries)
      overrides.push_back(fmt::format("{}={}", entry.key, config::to_json(entry.value, -1)));
    overrides.insert(overrides.end(), arguments_.overrides.begin(), arguments_.overrides.end());
    const std::filesystem::path file =
        loader_.find(reference.file, "experiments", node.find("file")->place, "file", diagnostics);
    diagnostics.raise_if_errors();
    return experiment::load_file(loader_, file, overrides);
  }

  // The text of a line was read on its own, so its places count from 1.
  Answer refusal(Failure failure, int number) const {
    for (core::Diagnostic& each : failure.diagnostics) {
      const bool of_line = each.file == k_override &&
                           std::any_of(set_keys_.begin(), set_keys_.end(),
                                       [&](const std::string& key) { return each.key_path.starts_with(key); });
      if (of_line) each.key_path = "set." + each.key_path;
      if (!of_line && each.file != arguments_.batch && !each.file.empty()) continue;
      each.file = arguments_.batch;
      each.line = number;
      each.column = std::max(each.column, 1);
    }
    const auto row = [&] {
      return report::csv_line(
          table_of(report::Record(columns_.size()), std::to_string(number), failure.diagnostics.front().to_string()));
    };
    return {.text = arguments_.result.csv ? row() : report::error_json(failure.diagnostics, number, -1) + "\n",
            .code = failure.code,
            .refused = true};
  }

  const RunArguments& arguments_;
  const report::Tool& tool_;
  const report::Record& columns_;
  config::Sources read_;
  config::Loader loader_;
  std::vector<std::string> set_keys_;  // of the line
};

class Batch {
 public:
  Batch(const RunArguments& arguments, const Context& context)
      : arguments_(arguments),
        tool_(context.tool),
        threads_(std::min(core::threads(arguments.threads), k_most_threads)),
        lines_(arguments.batch),
        output_(arguments.result.output, read_, Unfinished::stays) {}

  int run() {
    const Interruption interruption([this] { last_words(); });
    {
      const std::lock_guard lock(mutex_);
      if (arguments_.result.csv) output_.write(report::csv_line(table_of(columns_, "line", "error")));
      report::error_json({}, 0, -1);  // makes what all refusals share, while there is memory for it
    }
    core::work_on_all(threads_, threads_, {}, [this](std::size_t) { work(); });
    const std::lock_guard lock(mutex_);
    output_.finish();
    say_refused();
    return code_;
  }

 private:
  void work() {
    try {
      answer_lines();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      fail();
      throw;
    }
  }

  void answer_lines() {
    std::optional<Line> line = next_line();
    if (!line) return;
    Clerk clerk(arguments_, tool_, columns_, loader_);
    std::size_t told = 0;  // of the files that the clerk has read, those that read_ has, too
    for (; line; line = next_line()) {
      Answer answer = clerk.answer(*line);
      const std::lock_guard lock(mutex_);
      if (failed_) return;
      try {
        for (const auto& files = clerk.read().all(); told < files.size(); ++told) read_.add(files[told]);
        waiting_.emplace(line->number, std::move(answer));
        write_in_order();
      } catch (...) {
        fail();
        throw;
      }
    }
  }

  // Empty at the end, and once a thread has failed. Far ahead of the first line without an answer it waits for that, so
  // that few answers wait for their turn. Whoever waits for a line of a pipe keeps no answer from being written.
  std::optional<Line> next_line() {
    const std::lock_guard reading(reading_);
    {
      std::unique_lock lock(mutex_);
      turn_.wait(lock, [this] { return failed_ || taken_.size() < k_ahead * threads_; });
    }
    std::optional<Line> line = lines_.next([this] { return failed_.load(); });
    const std::lock_guard lock(mutex_);
    if (failed_) return {};
    if (line) taken_.push_back(line->number);
    return line;
  }

  void write_in_order() {
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == taken_.front();
         first = waiting_.erase(first)) {
      const Answer& answer = first->second;
      if (answer.refused) refused_.push_back(first->first);
      output_.write(answer.text);
      output_.flush();
      code_ = std::max(code_, answer.code);
      ++answers_;
      taken_.pop_front();
    }
    turn_.notify_all();
  }

  // Nothing is read or written after it.
  void fail() {
    failed_ = true;
    turn_.notify_all();
  }

  // Whole lines only: whoever writes one holds the lock, which is not given back.
  void last_words() {
    mutex_.lock();
    const std::string kept = output_.unfinished_file();
    if (answers_ > 0 && !kept.empty())
      remark(fmt::format("cairn: interrupted; the answers of {} lines lie in {}", answers_, kept));
  }

  // Why stands in the answers.
  void say_refused() const {
    constexpr std::size_t k_named = 8;  // lines
    if (refused_.empty()) return;
    const std::size_t named = std::min(k_named, refused_.size());
    remark(fmt::format("cairn: {}: {} of {} lines could not be run, as their answers say: {}{}", arguments_.batch,
                       refused_.size(), answers_,
                       fmt::join(refused_.begin(), refused_.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                       named < refused_.size() ? ", ..." : ""));
  }

  const RunArguments& arguments_;
  const report::Tool& tool_;
  const std::size_t threads_;
  const report::Record columns_ = report::columns("cairn.run/1");
  const config::Loader loader_{search_folders()};

  std::mutex reading_;
  BatchLines lines_;

  std::mutex mutex_;              // of all below
  std::condition_variable turn_;  // lines were answered, or a thread has failed
  config::Sources read_;          // by all clerks
  Output output_;
  std::deque<int> taken_;          // numbers of lines without a written answer, in order
  std::map<int, Answer> waiting_;  // for lines before them
  std::vector<int> refused_;       // lines
  int answers_ = 0;
  int code_ = k_ok;
  std::atomic<bool> failed_ = false;
};

}  // namespace

int run_batch(const RunArguments& arguments, const Context& context) { return Batch(arguments, context).run(); }

}  // namespace cairn::cli
