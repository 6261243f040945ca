// `cairn search --method`: how each operator of a graph is split over devices; and `cairn run --strategy-file`, which
// runs one of the answers.
#pragma once

#include "context.h"

namespace cairn::cli {

int search_splits(const SearchArguments& arguments, Context& context);
// By calibrated prices on a cluster.
int search_placements(const SearchArguments& arguments, Context& context);
int search_stages(const SearchArguments& arguments, Context& context);
int run_placements(const RunArguments& arguments, const config::Node& file, Context& context);
// Of an experiment: how each of its layers is shared among accelerators.
int search_layers(const SearchArguments& arguments, Context& context);
int search_degrees(const SearchArguments& arguments, Context& context);
int search_shares(const SearchArguments& arguments, Context& context);
int run_layers(const RunArguments& arguments, const config::Node& file, Context& context);
// A strategy file of either kind.
int run_strategy(const RunArguments& arguments, Context& context);

}  // namespace cairn::cli
