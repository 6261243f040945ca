// What a command line says of the layouts to search: of which space, and for what.
#pragma once

#include <string>
#include <vector>

#include "cairn/sweep/sweep.h"
#include "context.h"

namespace cairn::cli {

struct LayoutsAsked {
  sweep::Layouts layouts = {};
  search::Objective objective = search::Objective::step_time;
};

// `space`: a file, or empty; `objective`: a word, or empty: as the space says, or the step time. The space is read for
// the experiment as it stands, so that what is wrong with it is said before anything is searched.
LayoutsAsked layouts_asked(const std::string& experiment, const std::vector<std::string>& overrides,
                           const std::string& space, const std::string& objective, const Context& context);

}  // namespace cairn::cli
