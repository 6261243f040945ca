#include "kinds.h"

namespace cairn::topology {
namespace {

constexpr MakeKind k_kinds[] = {
#define CAIRN_TOPOLOGY_KIND(function) kinds::function,
#include CAIRN_TOPOLOGY_KINDS
#undef CAIRN_TOPOLOGY_KIND
};

}  // namespace

std::span<const MakeKind> all_kinds() { return k_kinds; }

}  // namespace cairn::topology
