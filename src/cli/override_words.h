// What may follow --set: every key of an experiment, and the values of those that take one of a few words.
#pragma once

#include <string>
#include <vector>

namespace cairn::cli {

// "strategy.tp=", "strategy.recompute=full", "model.residual=ladder", ...: from the schemas, in their order. Keys of a
// model, cluster and precision recipe stand below the keys that name them.
std::vector<std::string> override_words();

}  // namespace cairn::cli
