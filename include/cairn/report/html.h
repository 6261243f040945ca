// A result document as a page: one file of HTML that needs no other, no network and no script to be complete.
//
//   cairn.run/1      the answer, where the time goes, when passes ran, memory of the stages against the capacity, lower
//                    bounds beside the prediction, transfers, what the answer rests on
//   cairn.search/1   the best layout, plans that none beats in both time and memory, the best of each kind, what the
//                    space consists of, why points are no plans, the proof
//   cairn.sweep/1    tokens per second over the first key that varies, elasticities, the rows
//
// Figures of the document are rounded as in text reports, and each says which it is; the document is in the page:
//
//   <span data-value="/result/iteration_time_s">9.089 s</span>
//   <span data-value="/result/memory_bytes/capacity" data-less="/a" data-over="/b">12.3 %</span>     (capacity - a) / b
//   <script type="application/json" id="result">{"schema":"cairn.run/1", ...}</script>
//
// Values of data attributes are JSON pointers (RFC 6901) in which a blank is %20 and a percent sign %25. The page is
// well-formed XML as well. A script shows the figures of what a pointer is over; no other can run in the page.
#pragma once

#include <string>
#include <string_view>

namespace cairn::report {

// Throws core::ConfigurationError where the text is not a whole document of these.
std::string html_report(std::string_view document);

}  // namespace cairn::report
