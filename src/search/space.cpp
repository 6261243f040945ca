#include "cairn/search/space.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/config/read.h"
#include "cairn/config/units.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/divisors.h"
#include "cairn/experiment/experiment.h"
#include "cairn/pipeline/generators.h"

namespace cairn::search {
namespace {

using experiment::StrategyChoice;

constexpr std::size_t k_most_values = 4096;  // of one axis
constexpr std::uint64_t k_most_points = std::uint64_t{1} << 63;

// In the order of their axes.
struct Key {
  std::string_view path;
  void (*copy)(const StrategyChoice& from, StrategyChoice& to);
  Level level = Level::layers;
  bool minor = false;
};
constexpr std::array k_keys{
    Key{"tp", [](const StrategyChoice& from, StrategyChoice& to) { to.tp = from.tp; }},
    Key{"cp", [](const StrategyChoice& from, StrategyChoice& to) { to.cp = from.cp; }},
    Key{"attention", [](const StrategyChoice& from, StrategyChoice& to) { to.attention = from.attention; }},
    Key{"pp", [](const StrategyChoice& from, StrategyChoice& to) { to.pp = from.pp; }},
    Key{"dp", [](const StrategyChoice& from, StrategyChoice& to) { to.dp = from.dp; }},
    Key{"order", [](const StrategyChoice& from, StrategyChoice& to) { to.order = from.order; }},
    Key{"ep", [](const StrategyChoice& from, StrategyChoice& to) { to.ep = from.ep; }},
    Key{"etp", [](const StrategyChoice& from, StrategyChoice& to) { to.etp = from.etp; }},
    Key{"expert_order", [](const StrategyChoice& from, StrategyChoice& to) { to.expert_order = from.expert_order; }},
    Key{"micro_batch", [](const StrategyChoice& from, StrategyChoice& to) { to.micro_batch = from.micro_batch; }},
    Key{"sequence_parallel",
        [](const StrategyChoice& from, StrategyChoice& to) { to.sequence_parallel = from.sequence_parallel; },
        Level::layers, true},
    Key{"vocab_parallel",
        [](const StrategyChoice& from, StrategyChoice& to) { to.vocab_parallel = from.vocab_parallel; }, Level::layers,
        true},
    Key{"overlap.tp", [](const StrategyChoice& from, StrategyChoice& to) { to.overlap.tp = from.overlap.tp; },
        Level::layers, true},
    Key{"overlap.ep", [](const StrategyChoice& from, StrategyChoice& to) { to.overlap.ep = from.overlap.ep; },
        Level::layers, true},
    Key{"recompute", [](const StrategyChoice& from, StrategyChoice& to) { to.recompute = from.recompute; }},
    Key{"schedule", [](const StrategyChoice& from, StrategyChoice& to) { to.schedule = from.schedule; },
        Level::pipeline},
    Key{"stages", [](const StrategyChoice& from, StrategyChoice& to) { to.stages = from.stages; }, Level::pipeline,
        true},
    Key{"zero", [](const StrategyChoice& from, StrategyChoice& to) { to.zero = from.zero; }, Level::exchanges, true},
    Key{"overlap.dp", [](const StrategyChoice& from, StrategyChoice& to) { to.overlap.dp = from.overlap.dp; },
        Level::exchanges, true},
    Key{"overlap.pp", [](const StrategyChoice& from, StrategyChoice& to) { to.overlap.pp = from.overlap.pp; },
        Level::exchanges, true},
};

// A variable of conditions, the keys that decide it, and its value.
struct Readable {
  Variable variable;
  std::string_view keys;  // between spaces
  VariableValue (*value)(const StrategyChoice& choice, const Subject& subject);
};

VariableValue number(std::int64_t x) { return {.number = static_cast<double>(x)}; }

// Degrees whose product does not divide the devices leave no whole number of copies.
double copies(const StrategyChoice& choice, const Subject& subject) {
  return choice.dp ? static_cast<double>(*choice.dp)
                   : static_cast<double>(subject.gpus) / static_cast<double>(choice.tp * choice.cp * choice.pp);
}

std::string_view word(const experiment::Recompute& recompute) {
  if (recompute.operators) return "operators";
  switch (recompute.kind) {
    case experiment::RecomputeKind::none:
      return "none";
    case experiment::RecomputeKind::attention:
      return "attention";
    case experiment::RecomputeKind::per_op:
      return "per-op";
    case experiment::RecomputeKind::full:
      return "full";
  }
  return {};
}

std::string_view word(const std::optional<experiment::Stages>& stages) {
  if (!stages) return "";
  if (!stages->layout.empty() || !stages->layers.empty()) return "layers";
  switch (stages->rule) {
    case experiment::StageRule::even:
      return "even";
    case experiment::StageRule::balanced:
      return "balanced";
    case experiment::StageRule::by_weight:
      return "by-weight";
  }
  return {};
}

constexpr std::array<Readable, k_variables> k_readable{{
    {{"tp"}, " tp ", [](const StrategyChoice& c, const Subject&) { return number(c.tp); }},
    {{"cp"}, " cp ", [](const StrategyChoice& c, const Subject&) { return number(c.cp); }},
    {{"pp"}, " pp ", [](const StrategyChoice& c, const Subject&) { return number(c.pp); }},
    {{"dp"},
     " tp cp pp dp ",
     [](const StrategyChoice& c, const Subject& s) { return VariableValue{.number = copies(c, s)}; }},
    {{"ep"}, " ep ", [](const StrategyChoice& c, const Subject&) { return number(c.ep); }},
    {{"etp"}, " etp ", [](const StrategyChoice& c, const Subject&) { return number(c.etp); }},
    {{"micro_batch"}, " micro_batch ", [](const StrategyChoice& c, const Subject&) { return number(c.micro_batch); }},
    {{"micro_batches"},
     " tp cp pp dp micro_batch ",
     [](const StrategyChoice& c, const Subject& s) {
       return VariableValue{.number =
                                static_cast<double>(s.batch) / (copies(c, s) * static_cast<double>(c.micro_batch))};
     }},
    {{"chunks"}, " schedule ", [](const StrategyChoice& c, const Subject&) { return number(c.schedule.chunks); }},
    {{"schedule", Type::text},
     " schedule ",
     [](const StrategyChoice& c, const Subject&) { return VariableValue{.text = c.schedule.kind}; }},
    {{"stages", Type::text},
     " stages ",
     [](const StrategyChoice& c, const Subject&) { return VariableValue{.text = word(c.stages)}; }},
    {{"sequence_parallel", Type::truth},
     " sequence_parallel ",
     [](const StrategyChoice& c, const Subject&) { return number(c.sequence_parallel ? 1 : 0); }},
    {{"recompute", Type::text},
     " recompute ",
     [](const StrategyChoice& c, const Subject&) { return VariableValue{.text = word(c.recompute)}; }},
    {{"zero"}, " zero ", [](const StrategyChoice& c, const Subject&) { return number(c.zero.stage); }},
    {{"gpus"}, " ", [](const StrategyChoice&, const Subject& s) { return number(s.gpus); }},
    {{"layers"}, " ", [](const StrategyChoice&, const Subject& s) { return number(s.layers); }},
    {{"batch"}, " ", [](const StrategyChoice&, const Subject& s) { return number(s.batch); }},
}};

// "1..16" or "1..16*2"; empty where the text is no range. Too many or none: an error.
std::optional<std::vector<std::int64_t>> range(const config::Node& node, const std::string& key) {
  constexpr std::string_view k_dots = "..";
  const std::string_view text = node.text;
  const std::size_t dots = text.find(k_dots);
  if (!node.is_scalar() || node.quoted || dots == std::string_view::npos) return std::nullopt;
  const std::size_t star = text.find('*', dots);
  const auto first = config::parse_whole(text.substr(0, dots));
  const auto last = config::parse_whole(text.substr(
      dots + k_dots.size(), star == std::string_view::npos ? std::string_view::npos : star - dots - k_dots.size()));
  const auto factor =
      star == std::string_view::npos ? std::optional<std::int64_t>(1) : config::parse_whole(text.substr(star + 1));
  const auto fail = [&](std::string message) {
    throw core::ConfigurationError(
        {config::error_at(node.place, key, std::move(message), "write 1..16, or 1..16*2 to double")});
  };
  if (!first || !last || !factor || *first < 1 || *factor < 1 || (star != std::string_view::npos && *factor < 2))
    fail(fmt::format("'{}' is no range", text));
  if (*last < *first) fail(fmt::format("'{}' is empty", text));
  std::vector<std::int64_t> all;
  for (std::int64_t x = *first; x <= *last; x = *factor > 1 ? x * *factor : x + 1) {
    if (all.size() == k_most_values) fail(fmt::format("'{}' has more than {} values", text, k_most_values));
    all.push_back(x);
    if (x > std::numeric_limits<std::int64_t>::max() / std::max<std::int64_t>(*factor, 2)) break;
  }
  return all;
}

class Reader {
 public:
  Reader(const StrategyChoice& fixed, const Subject& subject) : subject_(subject) { space_.fixed = fixed; }

  Space read(const config::Node& node) {
    SpaceFile file;
    config::read(node, file, problems_);
    problems_.raise_if_errors();
    space_.objective = file.objective;
    // What follows from degrees need not hold of a plan with others.
    space_.fixed.dp.reset();
    space_.fixed.micro_batches.reset();
    if (!file.fixed.is_null()) config::read(file.fixed, space_.fixed, problems_, "fixed");
    axes(file.space);
    require_countable(file.space.place);
    conditions(file.constraints);
    problems_.raise_if_errors();
    return std::move(space_);
  }

 private:
  template <class Work>
  void collect(Work work) {
    try {
      work();
    } catch (const core::ConfigurationError& error) {
      for (const core::Diagnostic& each : error.diagnostics()) problems_.add(each);
    }
  }
  void error(const config::Place& place, std::string key, std::string message, std::string hint) {
    problems_.add(config::error_at(place, std::move(key), std::move(message), std::move(hint)));
  }

  void axes(const config::Node& node) {
    if (!node.is_map() || node.entries.empty())
      return error(node.place, "space", "no key with its values", "for example space: {tp: [1, 2, 4, 8], pp: 1..16}");
    std::vector<std::string> names;
    for (const Key& key : k_keys) names.emplace_back(key.path);
    for (const config::Entry& entry : node.entries) {
      if (std::find(names.begin(), names.end(), entry.key) != names.end()) continue;
      const std::string near = core::nearest(entry.key, names);
      error(entry.key_place, "space." + entry.key, "unknown key",
            near.empty() ? fmt::format("one of: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near));
    }
    for (const Key& key : k_keys)
      if (const config::Node* values = node.find(key.path)) collect([&] { axis(key, *values); });
  }

  void require_countable(const config::Place& place) {
    std::uint64_t points = 1;
    for (const Axis& axis : space_.axes)
      if (__builtin_mul_overflow(points, std::max<std::size_t>(axis.values.size(), 1), &points) ||
          points > k_most_points)
        return error(place, "space", fmt::format("more than {} combinations of values", k_most_points),
                     "list fewer values, or fix some keys");
  }

  void axis(const Key& key, const config::Node& node) {
    const std::string path = fmt::format("space.{}", key.path);
    Axis axis{.key = std::string(key.path), .values = {}, .copy = key.copy, .level = key.level, .minor = key.minor};
    std::vector<config::Node> values;
    if (node.is_list()) {
      for (const config::Node& item : node.items) spread(item, key, path, values);
    } else {
      spread(node, key, path, values);
    }
    if (values.empty()) return error(node.place, path, "no value", "list at least one");
    if (values.size() > k_most_values)
      return error(node.place, path, fmt::format("{} values", values.size()),
                   fmt::format("use at most {}", k_most_values));
    for (config::Node& value : values) {
      AxisValue read{.text = text_of(value), .choice = {}};
      const auto same = std::find_if(axis.values.begin(), axis.values.end(),
                                     [&](const AxisValue& other) { return other.text == read.text; });
      if (same != axis.values.end()) continue;
      const config::Place place = value.place;
      config::read(nested(key.path, std::move(value)), read.choice, problems_, "space");
      if (key.path == "schedule") check_kind(read.choice.schedule.kind, place);
      axis.values.push_back(std::move(read));
    }
    space_.axes.push_back(std::move(axis));
  }

  void check_kind(const std::string& kind, const config::Place& place) {
    std::vector<std::string> kinds;
    for (const pipeline::Generator& each : pipeline::generators()) kinds.emplace_back(each.kind);
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return;
    const std::string near = core::nearest(kind, kinds);
    error(place, "space.schedule", fmt::format("no schedule is called '{}'", kind),
          near.empty() ? "`cairn schedule --list` has them" : fmt::format("did you mean '{}'?", near));
  }

  // {kind: interleaved-1f1b, chunks: 2}
  static std::string text_of(const config::Node& node) {
    std::string text;
    if (node.is_scalar()) return node.text;
    for (const config::Node& item : node.items) text += (text.empty() ? "" : ", ") + text_of(item);
    for (const config::Entry& entry : node.entries)
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", entry.key, text_of(entry.value));
    return node.is_list() ? fmt::format("[{}]", text) : fmt::format("{{{}}}", text);
  }

  // overlap.tp and a value: {overlap: {tp: value}}.
  static config::Node nested(std::string_view path, config::Node value) {
    const config::Place place = value.place;
    const std::size_t dot = path.find('.');
    config::Node result = config::make_node(config::NodeKind::map, place);
    const std::string_view head = path.substr(0, dot);
    result.put(head, dot == std::string_view::npos ? std::move(value) : nested(path.substr(dot + 1), std::move(value)));
    return result;
  }

  // A value, or the values that it stands for.
  void spread(const config::Node& node, const Key& key, const std::string& path, std::vector<config::Node>& values) {
    if (const auto numbers = range(node, path)) {
      for (const std::int64_t number : *numbers)
        values.push_back(config::make_scalar(fmt::format("{}", number), node.place));
      return;
    }
    if (node.is_scalar() && node.text == "divisors") {
      const bool batch = key.path == "micro_batch";
      for (const std::int64_t number : core::divisors(batch ? subject_.batch : subject_.gpus))
        values.push_back(config::make_scalar(fmt::format("{}", number), node.place));
      return;
    }
    if (!node.is_map()) return values.push_back(node);
    std::vector<config::Node> maps{node};
    for (const config::Entry& entry : node.entries) {
      const auto numbers = range(entry.value, path + "." + entry.key);
      if (!numbers) continue;
      std::vector<config::Node> more;
      for (const config::Node& map : maps)
        for (const std::int64_t number : *numbers) {
          more.push_back(map);
          more.back().put(entry.key, config::make_scalar(fmt::format("{}", number), entry.value.place));
        }
      maps = std::move(more);
    }
    values.insert(values.end(), maps.begin(), maps.end());
  }

  void conditions(const config::Node& node) {
    // What degrees have to divide in any plan is known before a plan is made.
    for (const char* text : {"gpus % (tp * cp * pp) == 0", "batch % (dp * micro_batch) == 0"})
      space_.conditions.push_back(
          {.expression = Expression(config::make_scalar(text, {}), variables(), "constraints"), .built_in = true});
    if (node.is_null()) return;
    if (!node.is_list() && !node.is_scalar())
      return error(node.place, "constraints", "neither a condition nor a list of them",
                   "for example [\"tp * pp <= 64\"]");
    const auto one = [&](const config::Node& item, const std::string& path) {
      if (!item.is_scalar()) return error(item.place, path, "no condition", "write it as a text, \"tp * pp <= 64\"");
      collect([&] { space_.conditions.push_back({.expression = Expression(item, variables(), path)}); });
    };
    if (node.is_scalar()) return one(node, "constraints");
    for (std::size_t i = 0; i < node.items.size(); ++i) one(node.items[i], config::join_path("constraints", i));
  }

  const Subject& subject_;
  Space space_;
  core::Diagnostics problems_;
};

}  // namespace

const config::Choices<Objective>& objectives() {
  static const config::Choices<Objective> all{{"step-time", Objective::step_time},
                                              {"tokens-per-gpu", Objective::tokens_per_gpu},
                                              {"cost", Objective::cost},
                                              {"energy", Objective::energy},
                                              {"time-to-train", Objective::time_to_train},
                                              {"fewest-gpus", Objective::fewest_gpus},
                                              {"longest-sequence", Objective::longest_sequence}};
  return all;
}

std::string_view name(Objective objective) { return objectives()[static_cast<std::size_t>(objective)].first; }

std::uint64_t Space::points() const { return below(0); }

std::uint64_t Space::below(std::size_t first) const {
  std::uint64_t count = 1;
  for (std::size_t i = first; i < axes.size(); ++i) count *= axes[i].values.size();
  return count;
}

void describe(config::Fields& fields, SpaceFile& file) {
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of this format", .minimum = 1, .maximum = 1});
  fields.node("space", file.space,
              {.doc = "keys of the strategy, each with its values: a list, a range 1..16 or 1..16*2, or divisors",
               .required = true});
  fields.node("constraints", file.constraints,
              {.doc = "conditions that a plan must meet, as in tp * pp <= 64; texts stand in quotes"});
  fields.node("fixed", file.fixed, {.doc = "other keys of the strategy; default: the experiment's"});
  fields.choice("objective", file.objective, objectives(), {.doc = "what the best plan has most or least of"});
}

Space read_space(const config::Node& node, const StrategyChoice& fixed, const Subject& subject) {
  return Reader(fixed, subject).read(node);
}

config::Node default_space_tree(const Subject& subject) {
  core::Diagnostics problems;
  config::Node tree = config::parse_text(default_space(subject), config::Syntax::yaml, "the default space", problems);
  problems.raise_if_errors();
  return tree;
}

std::string default_space(const Subject& subject) {
  std::string text = "space:\n";
  const auto axis = [&](std::string_view key, std::string_view values) {
    text += fmt::format("  {}: {}\n", key, values);
  };
  const auto listed = [&](std::string_view key, const std::vector<std::int64_t>& values) {
    axis(key, fmt::format("[{}]", fmt::join(values, ", ")));
  };
  std::vector<std::int64_t> stages;
  for (const std::int64_t each : core::divisors(subject.gpus))
    if (each <= subject.layers) stages.push_back(each);
  const std::int64_t together = std::min(subject.gpus_per_node, subject.gpus);
  listed("tp", core::divisors(together));
  if (const std::int64_t shared = std::gcd(subject.gpus, subject.tokens); subject.tokens > k_long_sequence) {
    std::vector<std::int64_t> ranks;
    for (const std::int64_t each : core::divisors(shared))
      if (subject.tokens / each >= k_long_sequence / 2) ranks.push_back(each);
    listed("cp", ranks);
  }
  listed("pp", stages);
  if (subject.experts > 0) {
    listed("ep", core::divisors(subject.experts));
    listed("etp", core::divisors(together));
  }
  if (subject.sequence_parallel) axis("sequence_parallel", "[true, false]");
  axis("micro_batch", "divisors");
  const std::int64_t most_chunks = subject.layers / 2;  // on two stages
  if (subject.interleaved && subject.gpus > 1 && most_chunks >= 2)
    axis("schedule", fmt::format("[1f1b, {{kind: interleaved-1f1b, chunks: 2..{}}}]", most_chunks));
  else
    axis("schedule", "[1f1b]");
  axis("stages", "[even, balanced]");
  axis("recompute", subject.selective_recompute ? "[none, attention, full]" : "[none, full]");
  std::vector<std::int64_t> levels;
  for (std::int64_t level = 0; level <= subject.zero; ++level) levels.push_back(level);
  listed("zero", levels);
  text += "constraints:\n";
  for (const char* condition :
       {"tp > 1 or not sequence_parallel", "chunks == 1 or pp > 1 and micro_batches % pp == 0", "pp * chunks <= layers",
        "stages == 'balanced' or layers % (pp * chunks) == 0", "stages == 'even' or pp > 1"}) {
    if (!subject.sequence_parallel && std::string_view(condition).find("sequence") != std::string_view::npos) continue;
    text += fmt::format("  - \"{}\"\n", condition);
  }
  if (subject.experts > 0) {
    text += "  - \"(tp * cp * dp) % (etp * ep) == 0\"\n";
    text += "  - \"etp <= tp\"\n";
    text += "  - \"tp == 1 or sequence_parallel\"\n";
  }
  return text;
}

const std::array<Variable, k_variables>& variables() {
  static const std::array<Variable, k_variables> all = [] {
    std::array<Variable, k_variables> list;
    for (std::size_t i = 0; i < k_variables; ++i) list[i] = k_readable[i].variable;
    return list;
  }();
  return all;
}

std::array<VariableValue, k_variables> values_of(const StrategyChoice& choice, const Subject& subject) {
  std::array<VariableValue, k_variables> values;
  for (std::size_t i = 0; i < k_variables; ++i) values[i] = k_readable[i].value(choice, subject);
  return values;
}

bool depends(std::size_t variable, std::string_view key) {
  return k_readable[variable].keys.find(fmt::format(" {} ", key)) != std::string_view::npos;
}

}  // namespace cairn::search
