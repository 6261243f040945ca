// References of OmegaConf, which Hydra's configurations have.
#pragma once

#include "cairn/config/node.h"
#include "cairn/launch/launch.h"

namespace cairn::launch {

// The map with references and sums where they are a whole value: ${.hidden_size}, ${multiply:4, ${model.hidden_size}}.
// What leads nowhere stays as it is written; ??? becomes null. References of NeMo's launcher begin with `training`,
// below which it reads its files.
config::Node with_references(const config::Node& root, const Given& given);

}  // namespace cairn::launch
