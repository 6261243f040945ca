#include "surface.h"

#include <algorithm>
#include <array>

namespace cairn::attack {
namespace {

constexpr std::array k_surfaces{
#define SURFACE(name, grammar, place, command, schemas, seeds) \
  Surface{name, Grammar::grammar, place, command, schemas, seeds},
#include "surfaces.def"
#undef SURFACE
};

}  // namespace

std::span<const Surface> surfaces() { return k_surfaces; }

const Surface* find_surface(std::string_view name) {
  const auto found =
      std::find_if(k_surfaces.begin(), k_surfaces.end(), [&](const Surface& each) { return each.name == name; });
  return found == k_surfaces.end() ? nullptr : found;
}

}  // namespace cairn::attack
