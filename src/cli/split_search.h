// `cairn search --method`: how each operator of a graph is split over devices.
#pragma once

#include "context.h"

namespace cairn::cli {

int search_splits(const SearchArguments& arguments, Context& context);

}  // namespace cairn::cli
