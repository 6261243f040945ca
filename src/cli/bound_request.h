// The words behind `cairn bound` as requests of module bound. Errors (core::ConfigurationError) are in these words.
#pragma once

#include "arguments.h"
#include "cairn/bound/request.h"
#include "cairn/config/loader.h"

namespace cairn::cli {

bool names_exchange(const BoundArguments& arguments);

bound::ExchangeRequest exchange_request(const BoundArguments& arguments, const config::Loader& loader);
bound::LayersRequest layers_request(const BoundArguments& arguments, const config::Loader& loader);
bound::ComputationRequest computation_request(const BoundArguments& arguments, const config::Loader& loader);

// What is wrong with a field of a request, said of the option that gave it.
core::ConfigurationError in_options(const core::ConfigurationError& error, const BoundArguments& arguments);

}  // namespace cairn::cli
