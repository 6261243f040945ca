#include "batch.h"

#include <algorithm>
#include <fstream>
#include <mutex>

#include <fmt/format.h>

#include "cairn/config/read.h"
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

constexpr std::string_view k_override = "--set";  // where the loader places overrides
// The lines of the file, found readable before anything is opened for writing.
std::ifstream opened(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file || file.peek() == std::ifstream::traits_type::eof())
    throw core::ConfigurationError("--batch", fmt::format("'{}' cannot be read, or holds nothing", name),
                                   "name a file of JSON objects, one a line");
  return file;
}

class Batch {
 public:
  Batch(const RunArguments& arguments, Context& context)
      : arguments_(arguments),
        context_(context),
        file_(opened(arguments.batch)),
        output_(arguments.result.output, context.read, Unfinished::stays) {}

  int run() {
    const Interruption interruption([this] { last_words(); });
    if (arguments_.result.csv) output_.write(report::csv_line(table_of(columns_, "line", "error")));
    std::string text;
    for (line_ = 1; std::getline(file_, text); ++line_) {
      if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
      const std::string answered = answer(text);
      const std::lock_guard lock(writing_);
      output_.write(answered);
      output_.flush();
      ++answers_;
    }
    const std::lock_guard lock(writing_);
    if (file_.bad())
      throw core::InputOutputError(fmt::format("{}: reading stopped at line {}", arguments_.batch, line_));
    output_.finish();
    say_refused();
    return code_;
  }

 private:
  // Whole lines only: whoever writes one holds the lock, which is not given back.
  void last_words() {
    writing_.lock();
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

  // A line of a table, between the number of the batch's line and why it could not be run.
  static report::Record table_of(report::Record fields, std::string line, std::string error) {
    fields.insert(fields.begin(), std::move(line));
    fields.push_back(std::move(error));
    return fields;
  }

  std::string answer(const std::string& text) {
    set_keys_.clear();
    try {
      const experiment::LoadedExperiment loaded = read(text);
      experiment::Job job(loaded, context_.loader);
      const experiment::Result result = job.run(arguments_.engine);
      if (!result.prediction.fits) code_ = std::max(code_, static_cast<int>(k_negative));
      const std::string document = report::json({.job = job, .result = result, .tool = context_.tool}, -1);
      if (!arguments_.result.csv) return document + "\n";
      return report::csv_line(table_of(std::move(report::rows(document).records.front()), std::to_string(line_), ""));
    } catch (const std::exception&) {
      return refusal(current_failure());
    }
  }

  experiment::LoadedExperiment read(const std::string& text) {
    core::Diagnostics diagnostics;
    const config::Node node = config::parse_text(text, config::Syntax::json, arguments_.batch, diagnostics);
    diagnostics.raise_if_errors();
    if (!node.find("file")) {
      return experiment::read(context_.loader, node, arguments_.overrides);
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
        context_.loader.find(reference.file, "experiments", node.find("file")->place, "file", diagnostics);
    diagnostics.raise_if_errors();
    return experiment::load_file(context_.loader, file, overrides);
  }

  // The text of a line was read on its own, so its places count from 1.
  std::string refusal(Failure failure) {
    code_ = std::max(code_, failure.code);
    for (core::Diagnostic& each : failure.diagnostics) {
      const bool of_line = each.file == k_override &&
                           std::any_of(set_keys_.begin(), set_keys_.end(),
                                       [&](const std::string& key) { return each.key_path.starts_with(key); });
      if (of_line) each.key_path = "set." + each.key_path;
      if (!of_line && each.file != arguments_.batch && !each.file.empty()) continue;
      each.file = arguments_.batch;
      each.line = line_;
      each.column = std::max(each.column, 1);
    }
    refused_.push_back(line_);
    if (!arguments_.result.csv) return report::error_json(failure.diagnostics, line_, -1) + "\n";
    return report::csv_line(
        table_of(report::Record(columns_.size()), std::to_string(line_), failure.diagnostics.front().to_string()));
  }

  const RunArguments& arguments_;
  Context& context_;
  std::ifstream file_;
  Output output_;
  std::mutex writing_;
  const report::Record columns_ = report::columns("cairn.run/1");
  std::vector<std::string> set_keys_;  // of the line
  std::vector<int> refused_;           // lines
  int line_ = 0;
  int answers_ = 0;
  int code_ = k_ok;
};

}  // namespace

int run_batch(const RunArguments& arguments, Context& context) { return Batch(arguments, context).run(); }

}  // namespace cairn::cli
