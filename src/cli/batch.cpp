#include "batch.h"

#include <algorithm>
#include <fstream>
#include <mutex>

#include <fmt/format.h>

#include "cairn/config/read.h"
#include "cairn/experiment/job.h"
#include "cairn/report/error.h"
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
    std::string text;
    for (line_ = 1; std::getline(file_, text); ++line_) {
      if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
      const std::string answered = answer(text) + "\n";
      const std::lock_guard lock(writing_);
      output_.write(answered);
      output_.flush();
      ++answers_;
    }
    const std::lock_guard lock(writing_);
    if (file_.bad())
      throw core::InputOutputError(fmt::format("{}: reading stopped at line {}", arguments_.batch, line_));
    output_.finish();
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

  std::string answer(const std::string& text) {
    set_keys_.clear();
    try {
      const experiment::LoadedExperiment loaded = read(text);
      experiment::Job job(loaded, context_.loader);
      const experiment::Result result = job.run(arguments_.engine);
      if (!result.prediction.fits) code_ = std::max(code_, static_cast<int>(k_negative));
      return report::json({.job = job, .result = result, .tool = context_.tool}, -1);
    } catch (const std::exception&) {
      return refusal(current_failure());
    }
  }

  experiment::LoadedExperiment read(const std::string& text) {
    core::Diagnostics diagnostics;
    const config::Node node = config::parse_text(text, config::Syntax::json, arguments_.batch, diagnostics);
    diagnostics.raise_if_errors();
    std::vector<std::string> overrides;
    if (!node.find("file")) {
      overrides = arguments_.overrides;
      return experiment::read(node, overrides);
    }
    Reference reference;
    config::read(node, reference, diagnostics);
    diagnostics.raise_if_errors();
    for (const config::Entry& entry : reference.set.entries) {
      if (entry.key.empty())
        throw core::ConfigurationError("set", "an empty key", "write \"set\": {\"strategy.tp\": 4}");
      set_keys_.push_back(entry.key);
    }
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
    print(failure.diagnostics);
    return report::error_json(failure.diagnostics, line_, -1);
  }

  const RunArguments& arguments_;
  Context& context_;
  std::ifstream file_;
  Output output_;
  std::mutex writing_;
  std::vector<std::string> set_keys_;  // of the line
  int line_ = 0;
  int answers_ = 0;
  int code_ = k_ok;
};

}  // namespace

int run_batch(const RunArguments& arguments, Context& context) { return Batch(arguments, context).run(); }

}  // namespace cairn::cli
