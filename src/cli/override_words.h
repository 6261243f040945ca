// What may follow --set: every key of a document, and the values of those that take one of a few words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/loader.h"

namespace cairn::cli {

// "strategy.tp=", "strategy.recompute=full", "model.residual=ladder", ...: from the schemas, in their order. Keys of a
// model, cluster and precision recipe stand below the keys that name them; keys that name a file take the names there
// are.
std::vector<std::string> override_words(const config::Loader& loader, std::string_view document);

}  // namespace cairn::cli
