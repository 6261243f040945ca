// The sections of a run's page, each from the document.
#pragma once

#include <string>

#include "html/page.h"

namespace cairn::report::html {

// run_answer.cpp
void add_run_head(Page& page, const Document& document);
void add_run_answer(Page& page, const Document& document);
void add_run_notes(Page& page, const Document& document);

// run_times.cpp
void add_run_times(Page& page, const Document& document);
void add_run_bounds(Page& page, const Document& document);
void add_run_transfers(Page& page, const Document& document);

// run_memory.cpp
void add_run_memory(Page& page, const Document& document);

// run_pipeline.cpp: where the document has a timeline.
void add_run_pipeline(Page& page, const Document& document);

}  // namespace cairn::report::html
