#include "table.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/config/read.h"
#include "cairn/config/units.h"
#include "cairn/core/printable.h"
#include "numbers.h"

namespace cairn::launch {
namespace {

void read_word(const Row& row, Import& import) {
  const Word* word = import.word(row.argument);
  if (word == nullptr) return;
  const auto known =
      std::find_if(row.words.begin(), row.words.end(), [&](const Pair& pair) { return pair.theirs == word->text; });
  if (known != row.words.end()) return import.experiment.put(row.key, std::string(known->ours), word->place);
  std::vector<std::string_view> all;
  for (const Pair& pair : row.words) all.push_back(pair.theirs);
  import.error(word->place, row.argument, fmt::format("{} has no counterpart in Cairn", core::quoted(word->text)),
               fmt::format("use one of {}", fmt::join(all, ", ")));
}

void read_row(const Row& row, Import& import) {
  const config::Place nowhere;
  if (!import.said(row.argument)) {
    if (row.required) import.error(nowhere, row.argument, "is missing", "the framework has no default for it: say it");
    const bool applies = row.needs.empty() || import.said(row.needs);
    if (!row.unsaid.empty() && applies) import.experiment.put(row.key, std::string(row.unsaid), nowhere);
    return;
  }
  if (!row.needs.empty() && !import.said(row.needs))
    return import.no_effect(row.argument, fmt::format("without {}", row.needs));
  switch (row.kind) {
    case Kind::count:
      if (const auto value = import.count(row.argument))
        import.experiment.put(row.key, std::to_string(*value), import.take(row.argument)->place);
      break;
    case Kind::number:
      if (const Word* word = import.word(row.argument)) {
        if (decimal(word->text))
          import.experiment.put(row.key, word->text, word->place);
        else
          import.error(word->place, row.argument, fmt::format("{} is no number", core::quoted(word->text)),
                       "write a number");
      }
      break;
    case Kind::flag:
      import.flag(row.argument);
      import.experiment.put(row.key, std::string(row.words.front().ours), import.take(row.argument)->place);
      break;
    case Kind::word:
      read_word(row, import);
      break;
  }
}

bool same(const std::string& ours, std::string_view theirs) {
  if (ours == theirs) return true;
  const auto a = decimal(ours), b = decimal(theirs);
  return a && b && *a == *b;
}

void write_row(const Row& row, Export& exported) {
  const config::Node* node = exported.keys.find(row.key);
  if (node == nullptr || !node->is_scalar()) return;
  const std::string value = node->text;
  if (row.kind == Kind::count || row.kind == Kind::number) {
    if (!decimal(value)) return;
    exported.keys.take(row.key);
    return exported.say(row.argument, value);
  }
  for (const Pair& pair : row.words) {
    if (!same(value, pair.ours)) continue;
    exported.keys.take(row.key);
    if (row.kind == Kind::flag) return exported.say(row.argument);
    return exported.say(row.argument, std::string(pair.theirs));
  }
  if (row.kind == Kind::flag && same(value, row.unsaid)) exported.keys.take(row.key);
}

}  // namespace

std::string Argument::text() const {
  std::string result = name;
  for (const Word& value : values) result += " " + value.text;
  return result;
}

bool Import::said(std::string_view name) const { return find(name) != nullptr; }

const Argument* Import::find(std::string_view name) const {
  const auto last =
      std::find_if(arguments_.rbegin(), arguments_.rend(), [&](const Argument& each) { return each.name == name; });
  return last == arguments_.rend() ? nullptr : &*last;
}

const Argument* Import::take(std::string_view name) {
  const Argument* result = nullptr;
  for (auto each = arguments_.rbegin(); each != arguments_.rend(); ++each) {
    if (each->name != name) continue;
    if (result == nullptr)
      result = &*each;
    else if (!each->read)
      remarks_.push_back({.subject = each->text(), .place = each->place, .reason = "said again later, which counts"});
    each->read = true;
  }
  return result;
}

const Word* Import::word(std::string_view name) {
  const Argument* argument = take(name);
  if (argument == nullptr) return nullptr;
  if (argument->values.size() == 1) return &argument->values.front();
  if (argument->values.empty())
    error(argument->place, name, "has no value",
          unset.empty() ? "write one after it"
                        : fmt::format("write one after it; nothing sets {}, which --define NAME=VALUE can",
                                      fmt::join(unset, ", ")));
  else
    error(argument->values[1].place, name, fmt::format("{} is a second value", core::quoted(argument->values[1].text)),
          "it takes one: take the others out");
  return nullptr;
}

bool Import::flag(std::string_view name) {
  const Argument* argument = take(name);
  if (argument == nullptr) return false;
  if (!argument->values.empty())
    error(argument->values.front().place, name,
          fmt::format("{} follows a word that takes no value", core::quoted(argument->values.front().text)),
          "take it out");
  return true;
}

std::optional<std::int64_t> Import::count(std::string_view name) {
  const Word* word = this->word(name);
  if (word == nullptr) return std::nullopt;
  const auto value = config::parse_whole(word->text);
  constexpr std::int64_t k_beyond = std::int64_t{1} << 52;
  if (value && *value > k_beyond) {
    error(word->place, name, fmt::format("{} is beyond what is modelled", core::quoted(word->text)),
          "write a smaller count");
    return std::nullopt;
  }
  if (value && *value >= 0) return value;
  error(word->place, name, fmt::format("{} is no count", core::quoted(word->text)), "write a whole number");
  return std::nullopt;
}

std::int64_t Import::degree(std::string_view key) const {
  constexpr std::int64_t k_most = std::int64_t{1} << 20;
  return std::clamp<std::int64_t>(experiment.count(key).value_or(1), 1, k_most);
}

void Import::no_effect(std::string_view name, std::string reason) {
  for (Argument& each : arguments_) {
    if (each.name != name || each.read) continue;
    each.read = true;
    remarks_.push_back({.subject = each.text(), .place = each.place, .reason = reason});
  }
}

void Import::remark(const Argument& argument, std::string reason) {
  remarks_.push_back({.subject = argument.text(), .place = argument.place, .reason = std::move(reason)});
}

void Import::error(const config::Place& place, std::string_view name, std::string message, std::string hint) {
  problems.add(config::error_at(place, std::string(name), std::move(message), std::move(hint)));
}

void Import::refuse_read(std::string_view mark, const std::string& message, const std::string& hint) {
  const auto at = [](const config::Place& place) { return std::pair(place.line, place.column); };
  for (const Argument& each : arguments_) {
    if (!each.read) continue;
    const bool remarked = std::any_of(remarks_.begin(), remarks_.end(),
                                      [&](const Unsaid& known) { return at(known.place) == at(each.place); });
    for (const Word& value : each.values) {
      if (remarked || value.text.find(mark) == std::string::npos) continue;
      const bool known = std::any_of(problems.all().begin(), problems.all().end(), [&](const core::Diagnostic& other) {
        return std::pair(other.line, other.column) == at(value.place);
      });
      if (!known) error(value.place, each.name, fmt::format("{} {}", core::quoted(value.text), message), hint);
    }
  }
}

std::vector<Unsaid> Import::unsaid() const {
  std::vector<Unsaid> result = remarks_;
  for (const Argument& each : arguments_)
    if (!each.read) result.push_back({.subject = each.text(), .place = each.place, .reason = "has no counterpart"});
  std::stable_sort(result.begin(), result.end(), [](const Unsaid& a, const Unsaid& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
  return result;
}

namespace {

Keys keys_of(const experiment::Job& job) {
  Keys keys(config::to_node(job.written_out(experiment::Naming::by_name)));
  keys.put("model", config::to_node(job.parts().model));
  return keys;
}

}  // namespace

Export::Export(const experiment::Job& exported, const config::Loader& files)
    : job(exported), loader(files), keys(keys_of(exported)) {}

void Export::say_steps(std::string_view name) {
  const experiment::Training& training = job.experiment().training;
  if (!training.tokens) return;
  const double steps =
      training.tokens->tokens / static_cast<double>(job.global_batch()) / static_cast<double>(training.seq_len);
  const std::optional<std::int64_t> whole = whole_number(steps, k_most_exact);
  if (!whole) return unsaid("training.tokens", "no whole number of steps");
  keys.take("training.tokens");
  say(name, *whole);
}

void Export::unsaid(std::string_view key, std::string_view value, std::string reason) {
  keys.take(key);
  unsaid_.push_back({.subject = fmt::format("{}: {}", key, value), .place = {}, .reason = std::move(reason)});
}

void Export::unsaid(std::string_view key, std::string reason) {
  const config::Node* node = keys.find(key);
  unsaid(key, node == nullptr ? "" : node->is_scalar() ? node->text : config::to_json(*node, -1), std::move(reason));
}

void Export::take_usual() {
  experiment::Settings settings = job.experiment();
  settings.training.kernels = {};
  settings.strategy.overlap = {};
  settings.strategy.zero.prefetch = {};
  settings.strategy.stages = {};
  Keys defaults;
  try {
    const experiment::Job usual(settings, job.parts());
    defaults = Keys(config::to_node(usual.written_out(experiment::Naming::by_name)));
  } catch (const core::ConfigurationError&) {
    return;  // the framework would not run it with its own kernels: all of them have to be said
  }
  for (const auto& [key, node] : keys.left()) {
    const bool profiles = key.starts_with("training.kernels.") || key.starts_with("strategy.overlap.") ||
                          key == "strategy.zero.prefetch" || key == "strategy.stages";
    const config::Node* usually = defaults.find(key);
    if (profiles && usually != nullptr && config::to_json(*usually, -1) == config::to_json(node, -1)) keys.take(key);
  }
}

bool Export::has_formats_of(software::PrecisionRecipe recipe) const {
  software::PrecisionRecipe own = job.recipe();
  own.recipe = recipe.recipe = {};  // its name
  return config::to_json(own, -1) == config::to_json(recipe, -1);
}

std::vector<Unsaid> Export::all_unsaid(std::string_view framework) const {
  std::vector<Unsaid> result = unsaid_;
  for (const auto& [key, node] : keys.left())
    result.push_back({.subject = fmt::format("{}: {}", key, node.is_scalar() ? node.text : config::to_json(node, -1)),
                      .place = {},
                      .reason = fmt::format("{} has no argument for it", framework)});
  return result;
}

void read(const Table& table, Import& import) {
  for (const Row& row : table.rows) read_row(row, import);
  for (const Rule& rule : table.rules)
    if (rule.read != nullptr) rule.read(import);
}

void write(const Table& table, Export& exported) {
  for (const Row& row : table.rows) write_row(row, exported);
  for (const Rule& rule : table.rules)
    if (rule.write != nullptr) rule.write(exported);
  for (const Fixed& fixed : table.fixed)
    if (same(exported.keys.text(fixed.key), fixed.value)) exported.keys.take(fixed.key);
}

}  // namespace cairn::launch
