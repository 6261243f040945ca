// Pages of results: well-formed, with every figure that of the document, and no text of it more than text.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/report/html.h"
#include "cairn/report/search.h"
#include "cairn/report/sweep.h"
#include "cairn/search/search.h"
#include "cairn/sweep/sweep.h"
#include "catch.h"
#include "report/conforms.h"
#include "report/small_run.h"
#include "report/xml_page.h"

using namespace cairn;
using nlohmann::ordered_json;
using report_tests::k_tool;
using report_tests::loader;
using report_tests::small;
using report_tests::XmlElement;
using report_tests::XmlPage;

namespace {

std::string ran(const std::vector<std::string>& overrides = {}) {
  experiment::Job job(small(overrides), loader());
  const experiment::Result result = job.run(predict::Engine::both, {.passes = true});
  return report::json({.job = job, .result = result, .tool = k_tool, .timeline = true});
}

std::string searched(const std::string& name, const std::vector<std::string>& overrides = {}) {
  const config::Loader files = loader();
  const experiment::LoadedExperiment loaded = experiment::load(files, name, overrides);
  const experiment::Parts parts = experiment::load_parts(loaded, files);
  const search::Subject subject = search::subject_of(parts, loaded.experiment.training);
  const search::Space space =
      search::read_space(search::default_space_tree(subject), loaded.experiment.strategy, subject);
  const search::Answer answer =
      search::search({.settings = loaded.experiment, .parts = parts, .space = space, .subject = subject, .top = 5});
  return report::json(report::Search{.experiment = loaded.experiment.name,
                                     .machine = parts.machine,
                                     .tokens = 1e6,
                                     .space = space,
                                     .answer = answer,
                                     .tool = k_tool});
}

std::string swept(const std::vector<std::string>& vary, search::Objective objective = search::Objective::step_time) {
  std::vector<sweep::Variation> variations;
  for (const std::string& each : vary) variations.push_back(sweep::read_variation(each));
  const config::Loader files = loader();
  const sweep::Answer answer = sweep::sweep({.loader = files,
                                             .experiment = "llama3-8b-fsdp-dgx-h100",
                                             .overrides = {"strategy.dp=null", "training.global_batch=64"},
                                             .variations = variations,
                                             .objective = objective});
  return report::json(report::Sweep{.answer = answer, .objective = objective, .tool = k_tool});
}

// A document for each kind of page and each of its shapes.
const std::map<std::string, std::string>& documents() {
  static const std::map<std::string, std::string> all{
      {"run", ran()},
      {"run of one stage", ran({"strategy={tp: 1, pp: 1, dp: 8}"})},
      {"run that does not fit", ran({"training.global_batch=65536", "strategy.micro_batch=8192"})},
      {"run with offload", ran({"strategy.zero={stage: 1, offload: {policy: zero-offload}}"})},
      {"run that shares links", ran({"simulation.contention=true", "training.tokens=1e9"})},
      {"run of many passes", ran({"training.global_batch=16384"})},
      {"search", searched("llama3-8b-fsdp-dgx-h100")},
      {"search without a plan", searched("llama3-70b-64xdgx-h100", {"cluster.nodes=1", "training.global_batch=8"})},
      {"sweep", swept({"cluster.nodes=1..4*2"})},
      {"sweep of two keys", swept({"cluster.nodes=1..4*2", "strategy.tp=1,2,3"})},
      {"sweep of words", swept({"training.precision=bf16,fp8-delayed"})}};
  return all;
}

// "1,234.5 KiB" in base units, each way in which it can be read, and a unit of its last place.
struct Shown {
  std::vector<double> values;
  double place = 0.0;
  bool unit = false;  // other than a percentage: at least three digits are shown, zeros at the end left out
};
Shown read_shown(const std::string& text) {
  static const std::map<std::string, std::vector<double>> k_units{{"ps", {1e-12}},
                                                                  {"ns", {1e-9}},
                                                                  {"us", {1e-6}},
                                                                  {"ms", {1e-3}},
                                                                  {"s", {1.0}},
                                                                  {"min", {60.0}},
                                                                  {"h", {3600.0}},
                                                                  {"d", {86400.0}},
                                                                  {"days", {86400.0}},
                                                                  {"%", {0.01}},
                                                                  {"KiB", {1024.0}},
                                                                  {"MiB", {1048576.0}},
                                                                  {"GiB", {1073741824.0}},
                                                                  {"TiB", {1099511627776.0}},
                                                                  {"PiB", {1125899906842624.0}},
                                                                  {"B", {1.0, 1e9}},
                                                                  {"K", {1e3}},
                                                                  {"M", {1e6}},
                                                                  {"T", {1e12}},
                                                                  {"B/s", {1.0}},
                                                                  {"kB/s", {1e3}},
                                                                  {"MB/s", {1e6}},
                                                                  {"GB/s", {1e9}},
                                                                  {"TB/s", {1e12}},
                                                                  {"GFLOP/s", {1e9}},
                                                                  {"TFLOP/s", {1e12}},
                                                                  {"PFLOP/s", {1e15}},
                                                                  {"Hz", {1.0}},
                                                                  {"MHz", {1e6}},
                                                                  {"GHz", {1e9}},
                                                                  {"USD", {1.0}},
                                                                  {"J", {1.0}},
                                                                  {"kJ", {1e3}},
                                                                  {"MJ", {1e6}},
                                                                  {"GJ", {1e9}}};
  std::istringstream words(text);
  std::string number;
  words >> number;
  number.erase(std::remove(number.begin(), number.end(), ','), number.end());
  const std::size_t point = number.find('.');
  Shown shown{
      .values = {std::stod(number)},
      .place = point == std::string::npos ? 1.0 : std::pow(10.0, -static_cast<double>(number.size() - point - 1))};
  for (std::string unit; words >> unit;) {
    INFO(text);
    REQUIRE(k_units.contains(unit));
    std::vector<double> all;
    for (const double value : shown.values)
      for (const double factor : k_units.at(unit)) all.push_back(value * factor);
    shown.unit = shown.unit || unit != "%";
    shown.place *= *std::max_element(k_units.at(unit).begin(), k_units.at(unit).end());
    shown.values = all;
  }
  return shown;
}

std::string pointer(std::string text) {
  for (const auto& [code, meant] : {std::pair("%20", " "), std::pair("%25", "%")})
    for (std::size_t at = text.find(code); at != std::string::npos; at = text.find(code, at + 1))
      text.replace(at, 3, meant);
  return text;
}

double figure(const ordered_json& document, const XmlElement& element) {
  const auto number = [&](const char* name) {
    return document.at(ordered_json::json_pointer(pointer(element.attributes.at(name)))).get<double>();
  };
  double value = number("data-value");
  if (element.attributes.contains("data-less")) value -= number("data-less");
  if (element.attributes.contains("data-over")) value /= number("data-over");
  return value;
}

// Every string of `document` but those that say what it is begins and ends with `text`.
void poison(ordered_json& document, const std::string& text) {
  for (auto& [key, value] : document.items()) {
    if (value.is_structured())
      poison(value, text);
    else if (value.is_string() && key != "schema")
      value = text + value.get<std::string>() + text;
  }
}

}  // namespace

TEST_CASE("A page is well-formed, and holds the document") {
  for (const auto& [name, document] : documents()) {
    INFO(name);
    const std::string text = report::html_report(document);
    const XmlPage page(text);
    CHECK(ordered_json::parse(page.by_id("result").text) == ordered_json::parse(document));
    CHECK(text == report::html_report(document));
    std::set<std::string> ids;
    std::vector<std::string> links;
    for (const XmlElement& each : page.elements()) {
      if (const auto id = each.attributes.find("id"); id != each.attributes.end()) CHECK(ids.insert(id->second).second);
      if (const auto to = each.attributes.find("href"); to != each.attributes.end()) links.push_back(to->second);
      // Nothing is loaded from elsewhere.
      CHECK_FALSE(each.attributes.contains("src"));
      for (const char* place : {"d", "x", "y", "cx", "cy", "width", "height"})
        if (const auto at = each.attributes.find(place); at != each.attributes.end())
          CHECK((at->second.find("nan") == std::string::npos && at->second.find("inf") == std::string::npos));
      if (each.name == "svg")
        CHECK((each.attributes.contains("aria-hidden") || each.attributes.contains("aria-label") ||
               each.attributes.contains("aria-labelledby")));
      if (each.name == "th") CHECK((each.attributes.contains("scope") && !each.text.empty()));
    }
    for (const std::string& link : links) {
      INFO(link);
      CHECK(link.starts_with("#"));
      CHECK(ids.contains(link.substr(1)));
    }
    CHECK(text.find("url(") == std::string::npos);
    CHECK(text.find("@import") == std::string::npos);
  }
}

TEST_CASE("Every figure of a page is that of the document, within the digits that are shown") {
  for (const auto& [name, text] : documents()) {
    const ordered_json document = ordered_json::parse(text);
    const XmlPage page(report::html_report(text));
    std::size_t shown_figures = 0;
    for (const XmlElement* element : page.with("data-value")) {
      INFO(name << ": " << element->attributes.at("data-value") << " as " << element->text);
      const double expected = figure(document, *element);
      if (element->text.find('e') != std::string::npos) {  // a setting, as it stands
        CHECK(std::stod(element->text) == expected);
        continue;
      }
      const Shown shown = read_shown(element->text);
      double off = std::abs(shown.values.front() - expected);
      for (const double value : shown.values) off = std::min(off, std::abs(value - expected));
      CHECK(off <= 0.5 * shown.place * (1.0 + 1e-9));
      constexpr double k_three_digits = 0.0051;
      if (shown.unit) CHECK(off <= k_three_digits * std::abs(expected) + 1e-15);
      ++shown_figures;
    }
    INFO(name);
    CHECK(shown_figures >= 15);
  }
}

TEST_CASE("The page of a run shows the answer, every stage, every cause that counts, and bounds") {
  for (const char* name : {"run", "run that does not fit", "run of one stage"}) {
    const ordered_json document = ordered_json::parse(documents().at(name));
    const XmlPage page(report::html_report(documents().at(name)));
    std::set<std::string> shown;
    for (const XmlElement* element : page.with("data-value")) shown.insert(element->attributes.at("data-value"));
    std::vector<std::string> expected;
    for (const char* figure :
         {"/result/iteration_time_s", "/result/tokens_per_s", "/result/tokens_per_s_per_gpu", "/result/mfu",
          "/result/mfu_causal", "/result/hfu", "/result/memory_bytes/device_peak", "/result/memory_bytes/capacity",
          "/result/lower_bounds_s/plan/best", "/result/lower_bounds_s/problem/best", "/result/parameters/total"})
      expected.emplace_back(figure);
    const ordered_json& result = document["result"];
    for (std::size_t i = 0; i < result["memory_bytes"]["stages"].size(); ++i)
      expected.push_back("/result/memory_bytes/stages/" + std::to_string(i) + "/device_peak");
    for (std::size_t i = 0; i < result["causes"].size(); ++i)
      if (result["causes"][i]["time_s"].get<double>() >= 0.001 * result["iteration_time_s"].get<double>())
        expected.push_back("/result/causes/" + std::to_string(i) + "/time_s");
    if (!result["why_not"].is_null())
      for (std::size_t i = 0; i < result["why_not"]["changes"].size(); ++i)
        expected.push_back("/result/why_not/changes/" + std::to_string(i) + "/time_s");
    for (const std::string& each : expected) {
      INFO(name << ": " << each);
      CHECK(shown.contains(each));
    }
    CHECK(page.by_id("memory-picture").name == "svg");
    CHECK(page.by_id("pipeline-picture").name == "svg");
  }
}

TEST_CASE("The page of a run begins with what does not fit, and says what would change the time") {
  ordered_json document = ordered_json::parse(documents().at("run that does not fit"));
  ordered_json& result = document["result"];
  const double step = result["iteration_time_s"];
  result["effects"] = ordered_json::array({ordered_json{{"alternative", "a=b (c)"}, {"change_s", -0.5 * step}}});
  const std::string text = report::html_report(document.dump());
  const XmlPage page(text);
  const std::string answer = page.by_id("answer").text;
  CHECK(answer.find("Does not fit:") < answer.find("step time"));
  CHECK(answer.find("If a=b (c)") != std::string::npos);
  CHECK(answer.find("-50.0 %") != std::string::npos);
  REQUIRE(result["in_words"].size() == 2);
  for (const ordered_json& words : result["in_words"])
    CHECK(text.find("<p class=\"what\">" + words.get<std::string>() + "</p>") != std::string::npos);
  // The peak is the longest bar.
  const double capacity = result["memory_bytes"]["capacity"], peak = result["memory_bytes"]["device_peak"];
  REQUIRE(capacity < peak);
  CHECK(text.find(fmt::format("width=\"{:.2f}\" height=\"10\" fill=\"#b3261e\"", 100.0 * capacity / peak)) !=
        std::string::npos);
}

TEST_CASE("The page of a run names transfers that have no floor because other ranks send them") {
  ordered_json document = ordered_json::parse(documents().at("run"));
  ordered_json& sent = document["result"]["communication_bytes"];
  REQUIRE_FALSE(sent.contains("ep"));
  sent["ep"] = {{"sent", 1.0}, {"received", 1.0}, {"scale_up", 1.0}, {"scale_out", 0.0}};
  const std::string bounds = XmlPage(report::html_report(document.dump())).by_id("bounds").text;
  const std::size_t others = bounds.find("Not on that rank, but on others: ");
  REQUIRE(others != std::string::npos);
  CHECK(bounds.find("ep.", others) != std::string::npos);
}

TEST_CASE("A point of a picture leads to the row that it is drawn from") {
  const XmlPage page(report::html_report(documents().at("sweep")));
  std::size_t points = 0;
  for (const XmlElement& each : page.elements())
    if (each.attributes.contains("class") && each.attributes.at("class") == "point") ++points;
  const ordered_json document = ordered_json::parse(documents().at("sweep"));
  CHECK(points == document["rows"].size());
  for (std::size_t i = 0; i < document["rows"].size(); ++i) {
    const std::string row = page.by_id("row-" + std::to_string(i)).text;
    CHECK(row.starts_with(document["rows"][i]["values"]["cluster.nodes"].get<std::string>()));
  }
}

TEST_CASE("Links of a picture have names, and one without links is an image") {
  for (const auto& [name, document] : documents()) {
    INFO(name);
    const XmlPage page(report::html_report(document));
    for (const XmlElement& each : page.elements())
      if (each.attributes.contains("class") && each.attributes.at("class") == "point") {
        REQUIRE(each.attributes.contains("aria-label"));
        CHECK_FALSE(each.attributes.at("aria-label").empty());
      }
  }
  const XmlPage run(report::html_report(documents().at("run")));
  CHECK(run.by_id("memory-picture").attributes.at("role") == "group");
  CHECK(run.by_id("pipeline-picture").attributes.at("role") == "img");
  const ordered_json document = ordered_json::parse(documents().at("sweep of two keys"));
  const XmlPage sweep(report::html_report(documents().at("sweep of two keys")));
  for (const XmlElement* each : sweep.with("href")) {
    const ordered_json& values =
        document["rows"][std::stoul(each->attributes.at("href").substr(std::string("#row-").size()))]["values"];
    CHECK(each->attributes.at("aria-label")
              .starts_with("cluster.nodes " + values["cluster.nodes"].get<std::string>() + ", strategy.tp " +
                           values["strategy.tp"].get<std::string>() + ": "));
  }
}

TEST_CASE("Parts of more than a whole end with it, and labels are escaped once") {
  // Of a step of 2 s parts take 1.5 s, 1 s and 0.1 s: three quarters, what is left, and nothing.
  const XmlPage page(report::html_report(
      "{\"schema\": \"cairn.run/1\", \"result\": {\"iteration_time_s\": 2.0, \"causes\": [{\"cause\": \"a_<b\", "
      "\"time_s\": 1.5}, {\"cause\": \"other\", \"time_s\": 1.0}, {\"cause\": \"compute\", \"time_s\": 0.1}]}}"));
  std::map<std::string, std::string> widths;
  std::size_t named = 0;
  for (const XmlElement& each : page.elements()) {
    if (each.name == "rect" && !each.text.empty()) widths[each.text] = each.attributes.at("width");
    named += each.name == "li" && each.text == "a <b 75.0 %" ? 1 : 0;
  }
  REQUIRE(widths.size() == 2);
  CHECK(std::stod(widths.at("a <b")) == Approx(75.0));
  CHECK(std::stod(widths.at("other")) == Approx(25.0));
  CHECK(named == 1);
  const XmlPage over(report::html_report(
      "{\"schema\": \"cairn.run/1\", \"result\": {\"iteration_time_s\": 2.0, \"causes\": [{\"cause\": \"other\", "
      "\"time_s\": 3.0}]}}"));
  std::size_t found = 0;
  for (const XmlElement& each : over.elements())
    if (each.name == "rect" && each.text == "other") {
      CHECK(std::stod(each.attributes.at("width")) == Approx(100.0));
      ++found;
    }
  CHECK(found == 1);
}

TEST_CASE("Passes that run across the border of a window are drawn up to it") {
  const auto page_of = [](const std::string& passes) {
    return report::html_report(
        "{\"schema\": \"cairn.run/1\", \"result\": {\"stages\": [{}], \"timeline\": [{\"from_s\": 1, \"until_s\": 2, "
        "\"passes\": [" +
        passes + "]}]}}");
  };
  // One begins before the window and fills its first half, one ends after it and fills its last quarter.
  const std::string text = page_of("[0, \"forward\", 0, 0, 0.5, 1.5], [0, \"backward\", 0, 1, 1.75, 2.5]");
  const XmlPage page(text);
  double left = 0.0, width = 0.0;
  std::map<double, double> boxes;  // widths by where they begin
  for (const XmlElement& each : page.elements()) {
    if (each.attributes.contains("data-window")) {
      left = std::stod(each.attributes.at("x"));
      width = std::stod(each.attributes.at("width"));
    }
    double x = 0.0, y = 0.0, wide = 0.0;
    if (each.name == "path" && std::sscanf(each.attributes.at("d").c_str(), "M%lf %lfh%lf", &x, &y, &wide) == 3)
      boxes[x] = wide;
  }
  constexpr double k_two_digits = 0.011;
  REQUIRE(boxes.size() == 2);
  CHECK(boxes.begin()->first == Approx(left).margin(k_two_digits));
  CHECK(boxes.begin()->second == Approx(0.5 * width).margin(k_two_digits));
  CHECK(boxes.rbegin()->first == Approx(left + 0.75 * width).margin(k_two_digits));
  CHECK(boxes.rbegin()->second == Approx(0.25 * width).margin(k_two_digits));
  // The second is of a chunk of odd number, whatever the settings say.
  CHECK(text.find("pale ones") != std::string::npos);
  CHECK(page_of("[0, \"forward\", 0, 0, 1.0, 1.5]").find("pale ones") == std::string::npos);
}

// Sequences of half the length take less time, so the best row by length is not the fastest.
TEST_CASE("A sweep for the longest sequence shows first how long the best row's is") {
  const std::string text = swept({"training.seq_len=4096,8192"}, search::Objective::longest_sequence);
  const ordered_json rows = ordered_json::parse(text)["rows"];
  REQUIRE(rows[1]["result"]["fits"] == true);
  CHECK(rows[0]["result"]["seq_len"] == 4096);
  CHECK(rows[1]["result"]["seq_len"] == 8192);
  REQUIRE(rows[0]["result"]["iteration_time_s"] < rows[1]["result"]["iteration_time_s"]);
  const std::string best = XmlPage(report::html_report(text)).by_id("best").text;
  const std::size_t length = best.find("tokens of the longest sequence of these rows that fits"),
                    time = best.find("step time");
  REQUIRE(length != std::string::npos);
  CHECK(best.substr(length, time - length).find("8,192") != std::string::npos);
  CHECK(best.find("Warning") == std::string::npos);
  // Of rows of one length none is longer than another.
  ordered_json alike = ordered_json::parse(text);
  for (ordered_json& row : alike["rows"]) row["result"]["seq_len"] = 8192;
  const std::string warned = XmlPage(report::html_report(alike.dump())).by_id("best").text;
  CHECK(warned.find("all rows have sequences of 8,192 tokens") != std::string::npos);
}

TEST_CASE("The pages of a search say what is best and why the rest is not") {
  const ordered_json document = ordered_json::parse(documents().at("search"));
  const XmlPage page(report::html_report(documents().at("search")));
  CHECK(page.by_id("best").text.find(document["best"]["strategy"].get<std::string>()) != std::string::npos);
  CHECK(page.by_id("best").text.find("proven") != std::string::npos);
  for (std::size_t i = 0; i < document["top"].size(); ++i) CHECK(page.by_id("top-" + std::to_string(i)).name == "tr");
  for (std::size_t i = 0; i < document["pareto"].size(); ++i)
    CHECK(page.by_id("pareto-" + std::to_string(i)).name == "tr");
  for (const ordered_json& each : document["space"]["infeasible"])
    CHECK(page.by_id("infeasible")
              .text.find(each["kind"] == "unfit" ? "do not fit" : each["reason"].get<std::string>()) !=
          std::string::npos);
  const XmlPage none(report::html_report(documents().at("search without a plan")));
  CHECK(none.by_id("best").text.find("there is no plan") != std::string::npos);
  CHECK_THROWS(none.by_id("pareto"));
}

TEST_CASE("Texts of a document stay texts, whatever they hold") {
  const std::string hostile = "</script><img src=x onerror=alert(1)>\"'&amp;<!-- ]]> \x01\x1b\xe2\x80\xae\xff";
  for (const auto& [name, text] : documents()) {
    INFO(name);
    ordered_json document = ordered_json::parse(text);
    poison(document, hostile);
    const std::string made = report::html_report(document.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
    const XmlPage page(made);
    std::size_t scripts = 0;
    for (const XmlElement& each : page.elements()) {
      scripts += each.name == "script" ? 1 : 0;
      CHECK(each.name != "img");
      for (const auto& [attribute, value] : each.attributes) CHECK_FALSE(attribute.starts_with("on"));
    }
    CHECK(scripts == 2);
    CHECK(made.find("<img") == std::string::npos);
    CHECK(made.find("\xe2\x80\xae") == std::string::npos);
    // The one script that ends is the page's own.
    CHECK(made.find("</script>\n<script>") != std::string::npos);
    CHECK(ordered_json::parse(page.by_id("result").text)["schema"] == document["schema"]);
  }
}

TEST_CASE("What is no whole result has no page") {
  for (const char* text :
       {"", "[]", "{}", "{\"schema\": \"cairn.bound/1\"}", "{\"schema\": 1}", "{\"schema\": \"cairn.sweep/1\"}",
        "{\"schema\": \"cairn.run/1\", \"result\": {\"fits\": 3}}",
        "{\"schema\": \"cairn.run/1\", \"result\": {\"stages\": [], \"timeline\": [{\"from_s\": 0, "
        "\"until_s\": 1, \"passes\": [[7, \"forward\", 0, 0, 0, 1]]}]}}"}) {
    INFO(text);
    CHECK_THROWS_AS(report::html_report(text), core::ConfigurationError);
  }
  // Nothing but the name of a document is a page of dashes.
  CHECK_NOTHROW(XmlPage(report::html_report("{\"schema\": \"cairn.run/1\"}")));
  CHECK_NOTHROW(XmlPage(report::html_report("{\"schema\": \"cairn.search/1\"}")));
}
