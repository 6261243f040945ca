// The search for the best layout of one experiment that a sweep or an extent asks for.
#pragma once

#include <functional>

#include "cairn/core/diagnostics.h"
#include "cairn/experiment/parts.h"
#include "cairn/search/search.h"
#include "cairn/sweep/sweep.h"

namespace cairn::sweep {

// The fastest alone, by the analytic engine.
search::Answer best_layout(const Layouts& layouts, const experiment::Settings& settings, const experiment::Parts& parts,
                           std::size_t threads, const std::function<bool()>& stop);

// Why a search found nothing: how much the nearest layout lacks, or what most contradict.
core::Diagnostic no_layout(const search::Answer& answer);

}  // namespace cairn::sweep
