// Where the time of a step goes, and what no execution goes below.
#include <algorithm>
#include <array>

#include "html/run_parts.h"
#include "picture_text.h"

namespace cairn::report::html {
namespace {

constexpr double k_hidden_part = 0.0005;  // of the step: less is left to the document

// Colours of causes and terms, by what is waited for; schedule and bubble are idle time.
struct TimeLook {
  std::string_view label;
  const char* fill;
};
constexpr std::array<TimeLook, 18> k_time_looks{{{"compute", "#5b84b1"},
                                                 {"recompute", "#7fd1c7"},
                                                 {"optimizer", "#8fc786"},
                                                 {"launch", "#a67c52"},
                                                 {"host", "#4f4139"},
                                                 {"tp_exposed", "#e08a80"},
                                                 {"cp_exposed", "#b8621b"},
                                                 {"ep_exposed", "#c69bd6"},
                                                 {"pp_exposed", "#8d7bb8"},
                                                 {"dp_exposed", "#e6c36a"},
                                                 {"offload_exposed", "#ff8ab7"},
                                                 {"links_exposed", "#c05a7a"},
                                                 {"bubble", "#aab2bc"},
                                                 {"schedule", "#c9ced6"},
                                                 {"imbalance", "#8a8f3c"},
                                                 {"ranks", "#3f5468"},
                                                 {"transfers", "#8d7bb8"},
                                                 {"other", "#cfcfcf"}}};
const char* time_fill(std::string_view label) {
  constexpr const char* k_unknown = "#9c6b4e";
  const auto* found =
      std::find_if(k_time_looks.begin(), k_time_looks.end(), [&](const TimeLook& each) { return each.label == label; });
  return found == k_time_looks.end() ? k_unknown : found->fill;
}

constexpr const char* k_step = "/result/iteration_time_s";

struct TimePart {
  std::string label;
  std::string path;   // of its time
  std::string stage;  // of the stage that it is of; empty: none
};

// By cause, summed over stages, for the bar.
std::vector<BarPart> bar_parts(const Document& document, const std::vector<TimePart>& parts) {
  std::vector<BarPart> all;
  const double step = document.number(k_step);
  for (const TimePart& part : parts) {
    const std::string fill = time_fill(part.label);
    const double share = document.number(part.path) / step;
    const auto same =
        std::find_if(all.begin(), all.end(), [&](const BarPart& each) { return each.title == part.label; });
    if (same == all.end())
      all.push_back({.share = share, .fill = fill, .title = part.label});
    else
      same->share += share;
  }
  std::stable_sort(all.begin(), all.end(), [](const BarPart& a, const BarPart& b) { return a.share > b.share; });
  return all;
}

void add_parts(Page& page, const Document& document, std::vector<TimePart> parts, const std::string& caption) {
  const double step = document.number(k_step);
  std::stable_sort(parts.begin(), parts.end(), [&](const TimePart& a, const TimePart& b) {
    return document.number(a.path) > document.number(b.path);
  });
  const bool staged = std::any_of(parts.begin(), parts.end(), [](const TimePart& part) { return !part.stage.empty(); });
  Table table{.caption = caption, .columns = {{"what", false}}};
  if (staged) table.columns.push_back({"stage"});
  for (const char* name : {"time", "of the step"}) table.columns.push_back({name});
  table.columns.push_back({"", false});
  table.columns.push_back({"meaning", false});
  std::size_t hidden = 0;
  for (const TimePart& part : parts) {
    const double share = document.number(part.path) / step;
    if (share < k_hidden_part) {
      hidden += share > 0.0 ? 1 : 0;
      continue;
    }
    TableRow row{.cells = {label_words(part.label)}};
    if (staged) row.cells.push_back(document.show(part.stage, as_count));
    row.cells.push_back(document.show(part.path, as_time));
    row.cells.push_back(document.show({.value = part.path, .over = k_step}, as_percent));
    row.cells.push_back(bar(share, time_fill(part.label)));
    row.cells.push_back(label_meaning(part.label));
    table.rows.push_back(std::move(row));
  }
  page.table(table);
  if (hidden > 0) page.paragraph(fmt::format("{} more below 0.05 % of the step each.", hidden));
}

std::vector<TimePart> causes(const Document& document) {
  std::vector<TimePart> parts;
  const bool many = document.size("/result/stages") > 1;
  for (std::size_t i = 0; i < document.size("/result/causes"); ++i) {
    const std::string row = below("/result/causes", i);
    parts.push_back({.label = document.string(row + "/cause"),
                     .path = row + "/time_s",
                     .stage = many ? row + "/stage" : std::string()});
  }
  return parts;
}

std::vector<TimePart> terms(const Document& document, const std::string& object) {
  std::vector<TimePart> parts;
  if (const Json* all = document.find(object))
    for (const auto& [label, time] : all->items())
      parts.push_back({.label = label, .path = below(object, label), .stage = {}});
  return parts;
}

void add_bound(Table& table, const Document& document, const std::string& name, const std::string& path,
               const char* fill, bool marked = false) {
  if (!document.has(path)) return;
  table.rows.push_back(
      {.cells = {name, document.show(path, as_time), document.show({.value = path, .over = k_step}, as_percent),
                 bar(document.number(path) / document.number(k_step), fill)},
       .marked = marked});
}

void add_floors(Page& page, const Document& document) {
  const Json* floors = document.find("/result/floors");
  if (floors == nullptr || floors->empty()) return;
  Table table{.caption =
                  "All pieces of the rank that ends last added up, whether anything waits for them or not, beside "
                  "the least that the data sheet allows",
              .columns = {{"pieces", false}, {"moved"}, {"at least"}, {"ratio"}, {"time"}, {"at best"}, {"ratio"}}};
  for (const auto& [label, floor] : floors->items()) {
    const std::string row = below("/result/floors", label);
    table.rows.push_back({.cells = {xml_text(label), document.show(row + "/bytes", as_bytes),
                                    document.show(row + "/floor_bytes", as_bytes),
                                    document.show({.value = row + "/bytes", .over = row + "/floor_bytes"}, as_factor),
                                    document.show(row + "/time_s", as_time), document.show(row + "/floor_s", as_time),
                                    document.show({.value = row + "/time_s", .over = row + "/floor_s"}, as_factor)}});
  }
  page.table(table);
  // The stage of that rank may have no experts, whose transfers other stages wait for.
  std::string others;
  if (const Json* sent = document.find("/result/communication_bytes"))
    for (const auto& [label, moved] : sent->items())
      if (!floors->contains(label) && moved.at("sent").get<double>() > 0.0)
        others += fmt::format("{}{}", others.empty() ? "" : ", ", xml_text(label));
  if (!others.empty()) page.paragraph(fmt::format("Not on that rank, but on others: {}.", others));
}

void add_units(Page& page, const Document& document) {
  const std::string units = "/result/event/units";
  if (document.size(units) == 0) return;
  Table table{.caption = "How busy links and units are",
              .columns = {{"unit", false}, {"stage"}, {"mean"}, {"", false}, {"peak"}, {"ranks that share it"}}};
  for (std::size_t i = 0; i < document.size(units); ++i) {
    const std::string row = below(units, i);
    table.rows.push_back(
        {.cells = {document.text(row + "/unit"), document.show(row + "/stage", as_count),
                   document.show(row + "/mean", as_percent), bar(document.number(row + "/mean")),
                   document.show(row + "/peak", as_percent), document.show(row + "/ranks", as_count)}});
  }
  page.table(table);
}

}  // namespace

void add_run_times(Page& page, const Document& document) {
  page.section("time", "Where the time goes");
  const std::vector<TimePart> parts = causes(document);
  std::vector<BarPart> shares = bar_parts(document, parts);
  std::vector<std::pair<std::string, std::string>> names;
  for (BarPart& share : shares) {
    share.title = plain_label(share.title);
    if (share.share >= k_hidden_part)
      names.emplace_back(fmt::format("{} {}", share.title, as_percent(share.share)), share.fill);
  }
  page.add("{}{}", stacked_bar(shares, "The step by what it awaits; the table below has the figures"), legend(names));
  const bool many = document.size("/result/stages") > 1;
  add_parts(page, document, parts,
            many ? fmt::format("Why it takes as long, seen from stage {:.0f}, which waits least for the others",
                               document.number("/result/limit/stage"))
                 : std::string("Why it takes as long"));
  if (!many) return;
  page.open_details("The same on the rank that ends last, and what it waits for");
  add_parts(page, document, terms(document, "/result/time_s"), "The step of the rank that ends last");
  add_parts(page, document, terms(document, "/result/bubble_s"), "Its bubble, by what is awaited");
  page.close_details();
}

void add_run_bounds(Page& page, const Document& document) {
  page.section("bounds", "How far from what is provably possible");
  Table table{.caption = "Lower bounds beside the prediction",
              .columns = {{"what", false}, {"time"}, {"of the step"}, {"", false}}};
  add_bound(table, document, "predicted step", k_step, "#5b84b1", true);
  constexpr std::array<std::pair<const char*, const char*>, 5> k_bounds{
      {{"best", "no run of this plan takes less"},
       {"compute", "its computation alone"},
       {"memory", "its device memory alone"},
       {"network", "its network alone"},
       {"together", "computation and network together"}}};
  for (const auto& [key, name] : k_bounds)
    add_bound(table, document, name, below("/result/lower_bounds_s/plan", key),
              std::string_view(key) == "best" ? "#3ca951" : "#b9dcc0", std::string_view(key) == "best");
  add_bound(table, document, "no plan on this cluster takes less", "/result/lower_bounds_s/problem/best", "#efb118",
            true);
  page.table(table);
  page.paragraph("A bound need not be attainable: the gap is a gap, and not waste.");
  add_floors(page, document);
}

void add_run_transfers(Page& page, const Document& document) {
  const Json* all = document.find("/result/communication_bytes");
  const bool units = document.size("/result/event/units") > 0;
  if ((all == nullptr || all->empty()) && !units) return;
  page.section("transfers", "What is sent");
  Table table{
      .caption = "Of the rank that sends most, in a step",
      .columns = {{"by", false}, {"sent"}, {"received"}, {"inside a domain"}, {"between domains"}, {"meaning", false}}};
  if (all != nullptr)
    for (const auto& [label, moved] : all->items()) {
      const std::string row = below("/result/communication_bytes", label);
      table.rows.push_back(
          {.cells = {xml_text(label), document.show(row + "/sent", as_bytes),
                     document.show(row + "/received", as_bytes), document.show(row + "/scale_up", as_bytes),
                     document.show(row + "/scale_out", as_bytes), label_meaning(label)}});
    }
  if (!table.rows.empty()) page.table(table);
  const std::string exchange = "/result/expert_exchange";
  if (document.has(exchange))
    page.paragraph(fmt::format(
        "Exchange with experts: {} of each of {} ranks, {} in a domain; at once {}, in two levels "
        "{}; this plan takes {}.",
        document.show(exchange + "/bytes", as_bytes), document.show(exchange + "/ranks", as_count),
        document.show(exchange + "/ranks_per_domain", as_count), document.show(exchange + "/one_level_s", as_time),
        document.show(exchange + "/two_levels_s", as_time),
        document.number(exchange + "/levels") > 1.0 ? "two levels" : "one"));
  add_units(page, document);
}

}  // namespace cairn::report::html
