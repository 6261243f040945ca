// Pages of documents written by hand, so that what their pictures and answers show follows from the few numbers there.
#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cairn/report/html.h"
#include "catch.h"
#include "html/picture.h"
#include "report/xml_page.h"

using namespace cairn;
using nlohmann::ordered_json;
using report_tests::XmlElement;
using report_tests::XmlPage;

TEST_CASE("Labels under a curve stay inside the picture and off one another") {
  const auto labels = [](const std::vector<std::string>& values) {
    const ordered_json document{
        {"schema", "cairn.sweep/1"},
        {"vary", {{{"key", "k"}, {"values", values}}}},
        {"rows",
         {{{"values", {{"k", values.front()}}}, {"result", {{"tokens_per_s", 1.0}, {"gpus", 1}, {"fits", true}}}}}}};
    const XmlPage page(report::html_report(document.dump()));
    std::vector<std::string> shown;
    double free_from = 0.0;
    for (const XmlElement& each : page.elements()) {
      if (each.name != "text" || std::none_of(values.begin(), values.end(), [&](const std::string& value) {
            return each.text.starts_with(value.substr(0, 8));
          }))
        continue;
      INFO(each.text);
      const double half = report::html::k_widest_letter * static_cast<double>(each.text.size()) / 2.0;
      const double middle = std::stod(each.attributes.at("x"));
      constexpr double k_one_digit = 0.051;
      CHECK(middle - half >= free_from - k_one_digit);
      CHECK(middle + half <= report::html::k_picture_width + k_one_digit);
      free_from = middle + half;
      shown.push_back(each.text);
    }
    return shown;
  };
  const std::string first(24, 'A'), last(24, 'C');
  // Long ones at both edges move inside.
  CHECK(labels({first, "B", last}) == std::vector<std::string>{first, "B", last});
  // Moved inside, the last would stand on the one in the middle.
  CHECK(labels({"A", std::string(20, 'B'), last}) == std::vector<std::string>{"A", std::string(20, 'B')});
  CHECK(labels({std::string(200, 'A')}) == std::vector<std::string>{std::string(22, 'A') + ".."});
}

// Two lines of the same rates: the row drawn later does not fit, and the best one lies at its place.
TEST_CASE("The best row of a sweep lies on those that do not fit, with a ring") {
  const auto row = [](const char* kind, bool fits) {
    return ordered_json{{"values", {{"k", "1"}, {"kind", kind}}},
                        {"result", {{"tokens_per_s", 5.0}, {"gpus", 1}, {"fits", fits}}}};
  };
  const ordered_json document{
      {"schema", "cairn.sweep/1"},
      {"vary", {{{"key", "k"}, {"values", {"1"}}}, {{"key", "kind"}, {"values", {"a", "b", "c"}}}}},
      {"rows", ordered_json::array({row("a", true), row("b", true), row("c", false)})},
      {"best", 0}};
  const XmlPage page(report::html_report(document.dump()));
  std::vector<std::string> links, marks, names;
  std::size_t rings = 0;
  for (const XmlElement& each : page.elements()) {
    const auto kind = each.attributes.find("class");
    if (each.name == "li") names.push_back(each.text);
    if (kind == each.attributes.end()) continue;
    if (kind->second == "point") links.push_back(each.attributes.at("href"));
    if (each.name == "circle" && kind->second.starts_with("mark")) marks.push_back(kind->second);
    rings += kind->second == "ring" ? 1 : 0;
  }
  CHECK(links == std::vector<std::string>{"#row-2", "#row-1", "#row-0"});
  CHECK(marks == std::vector<std::string>{"mark hollow", "mark", "mark"});
  CHECK(rings == 1);
  CHECK(names == std::vector<std::string>{"kind a (under kind c)", "kind b (under kind c)", "kind c"});
}

// One plan of 500 s and 70 GiB: the axes run from half of that to half as much again, which is 4.2 to 12.5 min, and up
// to 1.05 x 80 GiB. Ticks a round number of minutes apart are 2 min apart. Of 10 points that do not fit 7 have a reason of
// their own.
TEST_CASE("A picture of plans counts minutes where steps take minutes, and shows the capacity") {
  constexpr double k_gib = 1073741824.0;
  const ordered_json plan{{"time_s", 500.0},
                          {"memory_bytes", 70.0 * k_gib},
                          {"gpus", 2},
                          {"strategy", "tp 2"},
                          {"settings", ordered_json::object()}};
  const ordered_json unfit{{"kind", "unfit"}, {"reason", "memory"}, {"count", 7}, {"nearest", "80 GiB"}};
  const ordered_json document{{"schema", "cairn.search/1"},
                              {"capacity_bytes", 80.0 * k_gib},
                              {"best", plan},
                              {"pareto", ordered_json::array({plan})},
                              {"space", {{"points", 20}, {"unfit", 10}, {"infeasible", ordered_json::array({unfit})}}},
                              {"certificate", {{"complete", true}}}};
  const XmlPage page(report::html_report(document.dump()));
  const std::string picture = page.by_id("front-picture").text;
  for (const char* tick : {"6 min", "8 min", "10 min", "12 min"}) CHECK(picture.find(tick) != std::string::npos);
  CHECK(page.by_id("pareto").text.find("The dashed line is the capacity, 80 GiB.") != std::string::npos);
  CHECK(page.by_id("best").text.find("of 80 GiB") != std::string::npos);
  CHECK(page.by_id("infeasible").text.find("3are the same plan as one that does not fit") != std::string::npos);
}

// Of 10 points 4 do not fit and 6 were left: there is no plan that a bound could prove them slower than.
TEST_CASE("The page of a search that was stopped says so, and of what") {
  const auto page_of = [](const ordered_json& more) {
    ordered_json document{
        {"schema", "cairn.search/1"},
        {"space", {{"points", 10}, {"unfit", 4}, {"pruned", 6}, {"evaluated", 0}, {"computed", 0}, {"collapsed", 0}}},
        {"certificate", {{"complete", false}}}};
    document.update(more);
    return XmlPage(report::html_report(document.dump()));
  };
  const XmlPage none = page_of({{"method", "branch-and-bound"}});
  CHECK(none.by_id("best").text.find("Stopped before a plan was found; 6 of 10 points were not looked at.") !=
        std::string::npos);
  CHECK(none.by_id("space").text.find("pruned") == std::string::npos);
  CHECK(none.by_id("space").text.find("Not looked at when the search was stopped.") != std::string::npos);
  // The last size was searched whole, the sizes were not: the search is not over.
  const auto sized = [&](bool complete) {
    return page_of(
        {{"objective", "longest-sequence"},
         {"extent", {{"size", 286720}, {"complete", complete}, {"tried", ordered_json::array()}}},
         {"best", {{"time_s", 1.0}, {"gpus", 2}, {"strategy", "tp 2"}, {"settings", ordered_json::object()}}},
         {"certificate", {{"complete", true}, {"gap", 0.0}, {"defect", ""}}}});
  };
  const std::string cut = sized(false).by_id("best").text, whole = sized(true).by_id("best").text;
  CHECK(cut.find("tokens of the longest sequence that fits") < cut.find("step time"));
  CHECK(cut.find("286,720") < cut.find("step time"));
  CHECK(cut.find("the whole space was searched") == std::string::npos);
  CHECK(cut.find("as far as was searched") != std::string::npos);
  CHECK(whole.find("the whole space was searched") != std::string::npos);
  CHECK(whole.find("as far as was searched") == std::string::npos);
  for (const std::string& text : {cut, whole}) CHECK(text.find("No plan of this size is faster") != std::string::npos);
}
