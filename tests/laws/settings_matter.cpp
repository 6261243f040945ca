// No key without an effect: in experiments at random each key of each kind of file is changed, alone, until an answer
// is another one. What an answer repeats of its experiment and of its files does not count.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "answers.h"
#include "cairn/cost/calibration.h"
#include "catch.h"
#include "other_values.h"
#include "random_experiments.h"
#include "schemas.h"
#include "silent_settings.h"
#include "support/share.h"

using namespace cairn;
using namespace cairn::laws;

namespace {

// One value of the files in place of another.
struct Change {
  Json::json_pointer where;
  Json value;
  Json::json_pointer level;  // of a cluster's network, that it lies in; empty: in none
};

class Trial {
 public:
  Trial() {
    schemas_.add("calibration", schema<cost::Calibration>());
    schemas_.add("fabrics", schema<cost::Fabrics>());
    for (const auto& [kind, schema] : schemas_.all())
      schemas_.ask(kind, [this](const std::string& path, const Json* form) {
        const std::string type = form == nullptr ? "" : form->value("type", "");
        if (type != "object" && type != "array") tries_.emplace(path, 0);
      });
    for (const auto& [path, tries] : tries_) all_.push_back(path);
  }

  void run(std::uint64_t seeds) {
    for (std::uint64_t seed = 1; seed <= seeds && !tries_.empty(); ++seed)
      one(Draw(seed),
          answers_.files_of(draw_experiment(seed, answers_.shelf()), seed % 2 == 0 && any_of("calibration.")));
  }

  const std::vector<std::string>& all() const { return all_; }
  // Keys that no answer followed.
  std::set<std::string> without_effect() const {
    std::set<std::string> keys = without_effect_;
    for (const auto& [path, tries] : tries_) keys.insert(path);
    return keys;
  }

 private:
  // Experiments in which a key is changed before it is given up, and changes of it in each of them.
  static std::size_t most_tries(const std::string& path) { return is_silent(path) ? 2 : 200; }
  static constexpr std::size_t k_changes = 4;

  bool any_of(const std::string& prefix) const {
    const auto first = tries_.lower_bound(prefix);
    return first != tries_.end() && first->first.starts_with(prefix);
  }

  void one(Draw draw, const Json& files) {
    std::map<const Opened*, Json> bases;
    std::map<const Opened*, std::optional<std::string>> before;
    for (auto& [path, changes] : changes_of(files, bases)) {
      const Opened* const by = opened(path);
      if (!before.contains(by)) before[by] = answers_.run(bases.at(by));
      if (!before[by]) continue;
      changes = draw.shuffled(std::move(changes));
      if (changes.size() > k_changes) changes.erase(changes.begin() + std::ptrdiff_t{k_changes}, changes.end());
      note(path, outcome(bases.at(by), *before[by], changes));
    }
  }

  // Of the keys that are left, with the files that they change.
  std::map<std::string, std::vector<Change>> changes_of(const Json& files, std::map<const Opened*, Json>& bases) const {
    std::map<std::string, std::vector<Change>> all;
    for (const auto& [kind, block] : files.items()) {
      const auto add = [&](const Written& written) {
        const Json& list = *written.value;
        const bool scalars = list.is_array() && !list.empty() && list.front().is_primitive();
        const std::string path = written.path + (scalars ? "[]" : "");
        if (!tries_.contains(path)) return;
        const Opened* const by = opened(path);
        if (!bases.contains(by)) bases[by] = by == nullptr ? files : laid_over(files, *by);
        const Json& base = bases.at(by);
        if (!base.contains(written.where)) return;
        for (Json& other : others_at(written, base[written.where]))
          if (other != base[written.where])
            all[path].push_back({.where = written.where, .value = std::move(other), .level = level_of(written)});
      };
      schemas_.walk(kind, kind == "fabrics" ? fabrics_named_in(files) : block, add, Json::json_pointer("/" + kind));
    }
    return all;
  }

  // The others are read, and have no say.
  static Json fabrics_named_in(const Json& files) {
    const std::string experiment = files["experiment"].dump();
    Json named = files["fabrics"];
    for (const auto& [name, fabric] : files["fabrics"]["fabrics"].items())
      if (experiment.find('"' + name + '"') == std::string::npos) named["fabrics"].erase(name);
    return named;
  }

  static Json laid_over(Json files, const Opened& by) {
    files["experiment"].merge_patch(Json::parse(by.experiment));
    if (files.contains("framework")) files["framework"].merge_patch(Json::parse(by.framework));
    return files;
  }

  enum class Outcome : std::uint8_t { refused, same, another };

  // What becomes of the answers: another one is enough.
  Outcome outcome(const Json& base, const std::string& before, const std::vector<Change>& changes) const {
    Outcome outcome = Outcome::refused;
    for (const Change& change : changes) {
      Json files = base;
      files[change.where] = change.value;
      const std::optional<std::string> after = answers_.run(files);
      if (after && *after != before) return Outcome::another;
      if (!change.level.empty() && answers_.network(files, change.level) != answers_.network(base, change.level))
        return Outcome::another;
      if (after) outcome = Outcome::same;
    }
    return outcome;
  }

  void note(const std::string& path, Outcome outcome) {
    if (outcome == Outcome::refused && !is_silent(path)) return;
    if (outcome != Outcome::another && ++tries_[path] < most_tries(path)) return;
    if (outcome != Outcome::another) without_effect_.insert(path);
    tries_.erase(path);
  }

  // Values that a key may have instead.
  std::vector<Json> others_at(const Written& written, const Json& value) const {
    const std::string kind = schemas_.kind_at(written.path);
    if (written.form == nullptr && !kind.empty()) return value.is_string() ? names_of_kind(kind) : std::vector<Json>{};
    const std::vector<std::string>& fabrics = answers_.shelf().fabrics;
    if (written.path.ends_with(".fabric")) return {fabrics.begin(), fabrics.end()};
    if (written.path.ends_with(".file")) return {k_graphs[0], k_graphs[1]};
    if (written.form == nullptr || !written.form->contains("enum")) return other_values(value);
    const Json& words = (*written.form)["enum"];
    return {words.begin(), words.end()};
  }

  std::vector<Json> names_of_kind(const std::string& kind) const {
    static const std::map<std::string, const char*> folders{
        {"model", "models"},        {"cluster", "clusters"},     {"accelerator", "accelerators"},
        {"precision", "precision"}, {"framework", "frameworks"}, {"calibration", "calibration"}};
    const std::vector<std::string> names = answers_.shelf().loader().names(folders.at(kind));
    return {names.begin(), names.end()};
  }

  static Json::json_pointer level_of(const Written& written) {
    for (const char* levels : {"cluster.levels[]", "cluster.intra.", "cluster.inter."})
      if (written.path.starts_with(levels)) return written.where.parent_pointer();
    return Json::json_pointer();
  }

  Answers answers_;
  Schemas schemas_;
  std::vector<std::string> all_;
  std::map<std::string, std::size_t> tries_;  // of keys that no answer followed yet, and that are not given up
  std::set<std::string> without_effect_;
};

}  // namespace

// Of the configuration files: accelerators, clusters, frameworks, recipes, models, calibrations and their fabrics,
// experiments.
TEST_CASE("Every key of every kind of file has an effect, or a reason to have none") {
  Trial trial;
  trial.run(test::k_share == 1 ? 4000 : 20);
  if (test::k_share != 1) return;  // a share meets less
  const std::set<std::string> silent = trial.without_effect();
  for (const std::string& path : trial.all()) {
    INFO(path);
    CHECK(silent.contains(path) == is_silent(path));
  }
  CHECK(idle_reasons(trial.all()).empty());
}
