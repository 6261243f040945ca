// One experiment from its text to the document of its result, in this process.
#pragma once

#include <memory>
#include <string>

#include "cairn/experiment/job.h"
#include "cairn/report/run.h"
#include "random_experiments.h"

namespace cairn::laws {

struct Outcome {
  enum class Kind : std::uint8_t { accepted, refused, crashed };
  Kind kind = Kind::refused;
  std::string message = {};  // of a refusal or a crash
  std::unique_ptr<experiment::Job> job = {};
  experiment::Result result = {};

  bool accepted() const { return kind == Kind::accepted; }
  report::Run run() const { return {.job = *job, .result = result, .tool = {.version = "1", .build = "test"}}; }
  std::string document() const { return report::json(run(), -1); }
};

// Never throws: what is no refusal is a crash.
Outcome run(const Json& experiment, const Shelf& shelf, predict::Engine engine = predict::Engine::both);

// Of a result's document, the experiment; its labels are of the file.
Json echo(const std::string& document);

// What `cairn run` takes, with the file of a framework that was drawn.
std::string as_yaml(const Json& experiment, const Shelf& shelf);

// The experiment without every key that `still` does not need.
template <class Predicate>
Json reduced(Json experiment, Predicate still) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    const Json flat = experiment.flatten();
    for (const auto& [path, value] : flat.items()) {
      // The key itself, then the maps that hold it: whatever goes at once goes first.
      for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const Json::json_pointer pointer(path.substr(0, end));
        if (experiment.contains(pointer)) {
          Json less = experiment;
          Json& parent = less.at(pointer.parent_pointer());
          if (parent.is_object())
            parent.erase(pointer.back());
          else
            parent.erase(std::stoul(pointer.back()));
          if (still(less)) {
            experiment = std::move(less);
            smaller = true;
          }
        }
        if (end == std::string::npos) break;
      }
    }
  }
  return experiment;
}

}  // namespace cairn::laws
