#include "cairn/report/html.h"

#include <array>
#include <string_view>

#include "cairn/core/diagnostics.h"
#include "html/pages.h"

namespace cairn::report {
namespace html {
namespace {

struct PageOf {
  std::string_view schema;
  std::string (*make)(const Document& document);
};
constexpr std::array<PageOf, 3> k_pages{
    {{"cairn.run/1", run_page}, {"cairn.search/1", search_page}, {"cairn.sweep/1", sweep_page}}};

std::string page_of(const Json& json) {
  const Document document(json);
  const std::string schema = json.is_object() ? document.string("/schema") : std::string();
  for (const PageOf& each : k_pages)
    if (each.schema == schema) return each.make(document);
  throw core::ConfigurationError("schema", "there is no page for such a document",
                                 "give one of cairn.run/1, cairn.search/1 and cairn.sweep/1");
}

}  // namespace

}  // namespace html

std::string html_report(std::string_view document) {
  try {
    return html::page_of(html::Json::parse(document));
  } catch (const html::Json::exception& problem) {
    throw core::ConfigurationError("document", "is no whole result: " + std::string(problem.what()),
                                   "give what cairn run, search or sweep answers with --json");
  }
}

}  // namespace cairn::report
