#include "batch.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/config/read.h"
#include "cairn/experiment/job.h"
#include "exit_code.h"

namespace cairn::cli {
namespace {

using Json = nlohmann::ordered_json;

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

class Batch {
 public:
  Batch(const RunArguments& arguments, Context& context) : arguments_(arguments), context_(context), output_(arguments.result.output) {}

  int run() {
    std::ifstream file(arguments_.batch, std::ios::binary);
    if (!file || file.peek() == std::ifstream::traits_type::eof())
      throw core::ConfigurationError("--batch", fmt::format("'{}' cannot be read, or holds nothing", arguments_.batch),
                                     "name a file of JSON objects, one a line");
    std::string text;
    for (line_ = 1; std::getline(file, text); ++line_) {
      if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
      output_.write(answer(text) + "\n");
      output_.flush();
    }
    if (file.bad()) throw core::InputOutputError(fmt::format("{}: reading stopped at line {}", arguments_.batch, line_));
    output_.finish();
    return code_;
  }

 private:
  std::string answer(const std::string& text) {
    set_keys_.clear();
    try {
      const experiment::LoadedExperiment loaded = read(text);
      experiment::Job job(loaded, context_.loader);
      const experiment::Result result = job.run(arguments_.engine);
      if (!result.prediction.fits) code_ = std::max(code_, static_cast<int>(k_negative));
      return report::json({.job = job, .result = result, .tool = context_.tool}, -1);
    } catch (const core::ConfigurationError& error) {
      code_ = k_usage;
      return refusal(error);
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
    return experiment::load(context_.loader, file.string(), overrides);
  }

  // The text of a line was read on its own, so its places count from 1.
  std::string refusal(const core::ConfigurationError& error) {
    Json document{{"schema", "cairn.error/1"}, {"line", line_}, {"diagnostics", Json::array()}};
    std::vector<core::Diagnostic> placed = error.diagnostics();
    for (core::Diagnostic& each : placed) {
      const bool of_line = each.file == k_override &&
                           std::any_of(set_keys_.begin(), set_keys_.end(),
                                       [&](const std::string& key) { return each.key_path.starts_with(key); });
      if (of_line) each.key_path = "set." + each.key_path;
      if (of_line || each.file == arguments_.batch || each.file.empty()) {
        each.file = arguments_.batch;
        each.line = line_;
        each.column = std::max(each.column, 1);
      }
      document["diagnostics"].push_back({{"severity", each.severity == core::Severity::error ? "error" : "warning"},
                                         {"file", each.file},
                                         {"line", each.line},
                                         {"column", each.column},
                                         {"key_path", each.key_path},
                                         {"message", each.message},
                                         {"hint", each.hint}});
    }
    print(placed);
    return document.dump();
  }

  const RunArguments& arguments_;
  Context& context_;
  Output output_;
  std::vector<std::string> set_keys_;  // of the line
  int line_ = 0;
  int code_ = k_ok;
};

}  // namespace

int run_batch(const RunArguments& arguments, Context& context) { return Batch(arguments, context).run(); }

}  // namespace cairn::cli
