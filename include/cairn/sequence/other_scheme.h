// Schemes that share something else than the softmax attention of long queries, by name. A new one is one function and
// one line in src/sequence/other_schemes.def; the laws in tests/sequence go over all of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/sequence/piece_oracle.h"

namespace cairn::sequence {

struct OtherScheme {
  std::string_view name;
  std::string_view computes;
  std::string_view summary;
  std::string_view source;
  // A small problem that so many ranks can share; verify() proves it.
  Sharing (*example)(std::int64_t ranks);
};

std::span<const OtherScheme> other_schemes();
// Throws core::ConfigurationError for an unknown name.
const OtherScheme& other_scheme(std::string_view name);
// What the scheme of that name is for, as the reason why training does not share softmax attention by it; empty where
// there is none.
std::string other_use(std::string_view name);

}  // namespace cairn::sequence
