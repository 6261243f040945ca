// Exchanges as the command line knows them: what must be moved between devices, and by what algorithms.
#pragma once

#include <span>
#include <string_view>

#include "cairn/collective/collective.h"

namespace cairn::cli {

struct Exchange {
  collective::Collective collective = collective::Collective::none;
  std::string_view counted;  // what the bound counts
};
// In alphabetical order of the names.
std::span<const Exchange> exchanges();

struct KnownAlgorithm {
  collective::Collective collective = collective::Collective::none;
  std::string_view algorithm;  // of collective/algorithms.h
  std::string_view shown;
  std::string_view outside = {};  // why the bound does not hold for it, if so
};
std::span<const KnownAlgorithm> known_algorithms();

}  // namespace cairn::cli
