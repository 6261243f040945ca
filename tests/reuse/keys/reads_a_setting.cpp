// A part of a plan reads a setting: what its key lists, it can; what its key leaves out does not compile.
// SETTING: the setting that it reads.
#include "layer/layer_key.h"

namespace cairn::plan {

auto part_of_a_layer(const LayerKey& key) { return key.SETTING; }

}  // namespace cairn::plan
