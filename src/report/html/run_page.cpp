// A step of training, as a page.
#include <utility>

#include "html/pages.h"
#include "html/run_parts.h"

namespace cairn::report::html {

std::string run_page(const Document& document) {
  const std::string name = document.string("/experiment/name");
  Page page(document, "cairn run", name.empty() ? "One training step" : name);
  add_run_head(page, document);
  add_run_answer(page, document);
  add_run_times(page, document);
  add_run_pipeline(page, document);
  add_run_memory(page, document);
  add_run_bounds(page, document);
  add_run_transfers(page, document);
  add_run_notes(page, document);
  return std::move(page).finish();
}

}  // namespace cairn::report::html
