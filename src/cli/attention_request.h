// The words behind `cairn attention` as requests of module attention. Errors (core::ConfigurationError) are in these
// words.
#pragma once

#include <string>
#include <vector>

#include "arguments.h"
#include "cairn/attention/batch.h"
#include "cairn/attention/request.h"
#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"

namespace cairn::cli {

struct AttentionRequests {
  std::string cluster = {};                       // its name
  std::vector<attention::Request> requests = {};  // by GPUs, then tokens; at least one
};

AttentionRequests attention_requests(const AttentionArguments& arguments, const config::Loader& loader);

// A batch of mixed lengths on one cluster.
struct BatchedRequest {
  std::string cluster = {};
  attention::BatchRequest request = {};
};
BatchedRequest batch_request(const AttentionArguments& arguments, const config::Loader& loader);

// What is wrong with a field of a request, said of the option that gave it.
core::ConfigurationError in_options(const core::ConfigurationError& error, const AttentionArguments& arguments);

}  // namespace cairn::cli
