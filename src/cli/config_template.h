#pragma once

#include <string>
#include <vector>

namespace cairn::cli {

// What `cairn config template` knows: experiment, model, cluster, accelerator.
std::vector<std::string> template_kinds();

}  // namespace cairn::cli
