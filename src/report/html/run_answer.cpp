// What a run answers, and what that rests on.
#include <algorithm>

#include "html/run_parts.h"
#include "picture_text.h"

namespace cairn::report::html {
namespace {

constexpr double k_compared_tokens = 1e12;  // of a training, where the experiment names no number of its own

// The name that a block or a bare name of an experiment goes by.
std::string named(const Document& document, const std::string& path) {
  const Json* value = document.find(path);
  if (value == nullptr) return {};
  if (value->is_string()) return xml_text(value->get<std::string>());
  for (const char* key : {"name", "file", "hf", "recipe"})
    if (value->is_object() && value->contains(key) && value->at(key).is_string())
      return xml_text(value->at(key).get<std::string>());
  return {};
}

void add_word(std::string& words, const std::string& word) {
  if (!word.empty()) words += (words.empty() ? "" : "; ") + word;
}

std::string strategy_words(const Document& document) {
  const std::string strategy = "/experiment/strategy";
  std::string words;
  for (const char* degree : {"tp", "cp", "pp", "dp", "ep", "etp"}) {
    const std::string path = below(strategy, degree);
    const Json* value = document.find(path);
    const bool always = std::string_view(degree) == "pp" || std::string_view(degree) == "dp";
    if (value == nullptr || !value->is_number() || (!always && value->get<double>() <= 1.0)) continue;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", degree, document.show(path, as_count));
  }
  if (const Json* zero = document.find(strategy + "/zero/stage"); zero != nullptr && zero->is_number())
    if (zero->get<double>() > 0.0) words += ", ZeRO " + document.show(strategy + "/zero/stage", as_count);
  add_word(words, document.text(strategy + "/schedule/kind"));
  const std::string recompute = document.text(strategy + "/recompute/kind");
  if (!recompute.empty() && recompute != "none") add_word(words, "recompute " + recompute);
  return words;
}

Tile time_tile(const Document& document) {
  Tile tile{.name = "step time", .figure = document.show("/result/iteration_time_s", as_time)};
  if (document.has("/result/interval"))
    tile.remarks.push_back(
        fmt::format("{} of runs like it take {} .. {}", document.show("/result/interval/coverage", as_whole_percent),
                    document.show("/result/interval/p10", as_time), document.show("/result/interval/p90", as_time)));
  else
    tile.remarks.push_back(document.text("/result/no_interval"));
  if (document.has("/result/measured"))
    tile.remarks.push_back(fmt::format("measured {}", document.show("/result/measured/time_s", as_time)));
  return tile;
}

Tile memory_tile(const Document& document) {
  const std::string memory = "/result/memory_bytes";
  const bool fits = document.flag("/result/fits");
  Tile tile{.name = "memory of the fullest device",
            .figure = document.show(memory + "/device_peak", as_bytes),
            .remarks = {"of " + document.show(memory + "/capacity", as_bytes)},
            .mood = fits ? "good" : "bad"};
  const double headroom = document.number(memory + "/headroom");
  if (headroom < 0.0)
    tile.remarks.push_back(
        fmt::format("does not fit: {} too much",
                    document.show({.value = memory + "/device_peak", .less = memory + "/capacity"}, as_bytes)));
  else if (!fits)
    tile.remarks.emplace_back("does not fit: too much for the host's memory or its drives");
  else
    tile.remarks.push_back(fmt::format("{}, {} to spare", document.flag("/result/tight") ? "fits tightly" : "fits",
                                       document.show(memory + "/headroom", as_bytes)));
  if (document.has(memory + "/interval/share_that_fits"))
    tile.remarks.push_back(document.show(memory + "/interval/share_that_fits", as_whole_percent) +
                           " of runs like it would fit");
  return tile;
}

Tile bound_tile(const Document& document) {
  const std::string best = "/result/lower_bounds_s/plan/best", step = "/result/iteration_time_s";
  return {.name = "no run of this plan takes less than",
          .figure = document.show(best, as_time),
          .remarks = {fmt::format("the step takes {} more",
                                  document.show({.value = step, .less = best, .over = best}, as_percent))}};
}

Tile cost_tile(const Document& document) {
  if (document.has("/result/training")) {
    Tile tile{.name = "training of " + document.show("/result/training/tokens", as_large_count) + " tokens",
              .figure = document.show("/result/training/time_s", as_days),
              .remarks = {document.show("/result/training/gpu_hours", as_large_count) + " GPU-hours"}};
    if (document.has("/result/training/usd")) tile.remarks.push_back(document.show("/result/training/usd", as_dollars));
    return tile;
  }
  const std::string energy = document.show("/result/cost/joule_per_step", as_energy);
  Tile tile{.name = "energy of a step", .figure = energy};
  if (document.has("/result/cost/usd_per_step"))
    tile = {.name = "cost of a step",
            .figure = document.show("/result/cost/usd_per_step", as_dollars),
            .remarks = {energy}};
  if (const double tokens_per_s = document.number("/result/tokens_per_s"); tokens_per_s > 0.0)
    tile.remarks.push_back(as_days(k_compared_tokens / tokens_per_s) + " for 10^12 tokens");
  return tile;
}

// MFU and HFU count attention by unlike conventions, so HFU may be the lower: MFU counts pairs of tokens that no kernel
// executes.
Tile mfu_tile(const Document& document) {
  Tile tile{.name = "MFU",
            .figure = document.show("/result/mfu", as_percent),
            .remarks = {fmt::format("causal {}, executed (HFU) {}", document.show("/result/mfu_causal", as_percent),
                                    document.show("/result/hfu", as_percent)),
                        document.show("/result/model_flop_per_s_per_gpu", as_flop_rate) + " a GPU",
                        "MFU: the model's work, with attention counted in full, over the peak"}};
  if (document.number("/result/hfu") < document.number("/result/mfu"))
    tile.remarks.emplace_back("HFU is below it: kernels skip the pairs of tokens that the causal mask hides");
  return tile;
}

// The sentence that says what does not fit. It stands before the tiles, which say how fast the plan would be.
std::string too_much(const Document& document) {
  const std::string memory = "/result/memory_bytes";
  if (document.number(memory + "/headroom") >= 0.0)
    return "Does not fit: it needs too much of the host's memory or its drives.";
  const std::string much =
      document.show({.value = memory + "/device_peak", .less = memory + "/capacity"}, as_bytes) + " too much";
  return document.size(memory + "/stages") > 1
             ? fmt::format("Does not fit: {} on stage {}.", much, document.show(memory + "/peak_at/stage", as_count))
             : fmt::format("Does not fit: {}.", much);
}

// By how much the step time would change where something that it rests on is otherwise.
void add_effects(Page& page, const Document& document) {
  const std::string effects = "/result/effects", step = "/result/iteration_time_s";
  if (document.size(effects) == 0) return;
  Table table{.caption = "What would change the step time, the largest change first",
              .columns = {{"where something uncertain is otherwise", false}, {"it changes by"}, {"of the step"}}};
  for (std::size_t i = 0; i < document.size(effects); ++i) {
    const std::string row = below(effects, i);
    table.rows.push_back(
        {.cells = {"If " + document.text(row + "/alternative"), document.show(row + "/change_s", as_time_change),
                   document.show({.value = row + "/change_s", .over = step}, as_change)}});
  }
  page.table(table);
}

void add_remedies(Page& page, const Document& document) {
  const std::string changes = "/result/why_not/changes";
  if (!document.has(changes)) return;
  if (document.size(changes) == 0)
    return page.paragraph("No one or two settings are enough: use more or larger accelerators.");
  Table table{.caption = "What would make it fit, the fastest first",
              .columns = {{"with --set", false}, {"step time"}, {"memory"}}};
  for (std::size_t i = 0; i < document.size(changes); ++i) {
    const std::string row = below(changes, i);
    std::string settings;
    for (const std::string& each : document.texts(row + "/settings"))
      settings += fmt::format("{}<code>{}</code>", settings.empty() ? "" : " ", xml_text(each));
    table.rows.push_back(
        {.cells = {settings, document.show(row + "/time_s", as_time), document.show(row + "/memory_bytes", as_bytes)}});
  }
  page.table(table);
}

void add_measured(Page& page, const Document& document) {
  const std::string measured = "/result/measured";
  if (!document.has(measured)) return;
  page.section("measured", "The measured step");
  page.paragraph(
      fmt::format("Measured {}, which is {} of the predicted {}.", document.show(measured + "/time_s", as_time),
                  document.show({.value = measured + "/time_s", .over = "/result/iteration_time_s"}, as_percent),
                  document.show("/result/iteration_time_s", as_time)));
  if (document.size(measured + "/facts") == 0) return;
  Table table{.caption = "Single facts, each by a run",
              .columns = {{"if", false}, {"predicted"}, {"of the measured step"}}};
  for (std::size_t i = 0; i < document.size(measured + "/facts"); ++i) {
    const std::string row = below(measured + "/facts", i);
    table.rows.push_back(
        {.cells = {document.text(row + "/fact"), document.show(row + "/time_s", as_time),
                   document.show({.value = row + "/time_s", .over = measured + "/time_s"}, as_percent)}});
  }
  page.table(table);
}

// Every setting by its key path.
void add_settings(const Document& document, const std::string& path, const std::string& name, Table& table) {
  const Json* value = document.find(path);
  if (value == nullptr) return;
  const bool leaves =
      value->is_array() && std::all_of(value->begin(), value->end(), [](const Json& each) { return each.is_string(); });
  if (value->is_object()) {
    for (const auto& [key, inside] : value->items())
      add_settings(document, below(path, key), name.empty() ? key : name + "." + key, table);
  } else if (value->is_array() && !leaves) {
    for (std::size_t i = 0; i < value->size(); ++i)
      add_settings(document, below(path, i), fmt::format("{}[{}]", name, i), table);
  } else {
    std::string shown;
    if (value->is_number())
      shown = fmt::format("<span{}>{}</span>", Document::marks({.value = path}), value->dump());
    else if (value->is_string())
      shown = xml_text(value->get<std::string>());
    else if (value->is_boolean())
      shown = value->get<bool>() ? "true" : "false";
    else
      for (const Json& each : *value) shown += (shown.empty() ? "" : ", ") + xml_text(each.get<std::string>());
    table.rows.push_back({.cells = {key_words(name), shown}});
  }
}

}  // namespace

void add_run_head(Page& page, const Document& document) {
  const std::string experiment = "/experiment";
  std::string machine;
  add_word(machine, named(document, experiment + "/model"));
  add_word(machine, document.show("/result/parameters/total", as_large_count) + " parameters");
  if (document.number("/result/parameters/active") != document.number("/result/parameters/total"))
    machine += fmt::format(", {} of them active", document.show("/result/parameters/active", as_large_count));
  const std::string words = "/result/in_words", cluster = named(document, experiment + "/cluster");
  if (document.has(words)) {
    add_word(machine, cluster);
    page.subtitle(machine);
    for (const std::string& each : document.texts(words)) page.subtitle(xml_text(each));
    return;
  }
  add_word(machine, fmt::format("{} GPUs", document.show(Figure{.value = "/result/tokens_per_s",
                                                                .over = "/result/tokens_per_s_per_gpu"},
                                                         as_count)));
  if (!cluster.empty()) machine += " of " + cluster;
  add_word(machine, named(document, experiment + "/training/precision"));
  add_word(machine, named(document, experiment + "/training/framework"));
  page.subtitle(machine);
  std::string plan = strategy_words(document);
  if (document.has(experiment + "/training/global_batch"))
    add_word(plan,
             fmt::format("{} sequence{} of {} tokens", document.show(experiment + "/training/global_batch", as_count),
                         document.number(experiment + "/training/global_batch") == 1.0 ? "" : "s",
                         document.show(experiment + "/training/seq_len", as_count)));
  page.subtitle(plan);
}

void add_run_answer(Page& page, const Document& document) {
  page.section("answer", "The answer");
  const bool fits = document.flag("/result/fits");
  if (!fits) page.paragraph(too_much(document), "lead bad");
  page.tiles({time_tile(document),
              {.name = "tokens per second",
               .figure = document.show("/result/tokens_per_s", as_rate),
               .remarks = {document.show("/result/tokens_per_s_per_gpu", as_rate) + " a GPU"}},
              mfu_tile(document),
              memory_tile(document),
              bound_tile(document),
              cost_tile(document)});
  page.paragraph(document.text("/result/limit/sentence"), "lead");
  if (!fits) {
    if (document.has("/result/why_not/term"))
      page.paragraph(fmt::format("The largest part of the memory of stage {} is {}.",
                                 document.show("/result/why_not/stage", as_count),
                                 document.text("/result/why_not/term")));
    add_remedies(page, document);
  }
  for (const std::string& warning : document.texts("/warnings"))
    page.paragraph("Warning: " + xml_text(warning), "note warn");
  add_effects(page, document);
}

void add_run_notes(Page& page, const Document& document) {
  add_measured(page, document);
  page.section("assumptions", "What the answer rests on");
  page.list(document.texts("/assumptions"));
  if (document.has("/result/interval/basis"))
    page.paragraph("Interval of the step time: " + document.text("/result/interval/basis"));
  if (document.has("/result/memory_bytes/interval/basis"))
    page.paragraph("Interval of the memory: " + document.text("/result/memory_bytes/interval/basis"));
  Table sources{.caption = "Files that were read",
                .columns = {{"kind", false}, {"name", false}, {"file", false}, {"hash", false}}};
  for (std::size_t i = 0; i < document.size("/sources"); ++i) {
    const std::string row = below("/sources", i);
    sources.rows.push_back(
        {.cells = {document.text(row + "/kind"), document.text(row + "/name"), document.text(row + "/file"),
                   "<code>" + document.text(row + "/hash") + "</code>"}});
  }
  page.open_details("The experiment, with every setting, and the files that were read");
  Table settings{.caption = "The experiment as it was run", .columns = {{"key", false}, {"value", false}}};
  add_settings(document, "/experiment", {}, settings);
  page.table(settings);
  page.table(sources);
  page.close_details();
}

}  // namespace cairn::report::html
