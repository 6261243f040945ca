// Keys of an experiment with the values that they take one after another, as they are written on a command line.
//
//   variation   KEY "=" item { "," item }       commas inside brackets, braces and quotes separate nothing
//   item        FIRST ".." LAST                 every whole number from the first to the last
//               FIRST ".." LAST "*" FACTOR      the first, and each times the factor, as far as the last
//               VALUE                           anything else that an override of the key takes (config/loader.h)
//   Examples: strategy.tp=1..8, cluster.nodes=8..4096*2, cluster.inter.bandwidth=100Gb/s..800Gb/s*2,
//             training.precision=bf16,fp8-delayed
//
// Several variations make rows, one for each combination of their values: the product, in which the first variation
// changes slowest.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::sweep {

struct Variation {
  std::string key = {};                  // a key path: cluster.inter.bandwidth
  std::vector<std::string> values = {};  // as an override takes them, at least one, each once
};

// Most rows of one sweep.
inline constexpr std::size_t k_most_rows = 10'000;

// Throws core::ConfigurationError with what is wrong in the text and how to write it. Whether the key exists and takes
// the values is found by whoever reads the experiment.
Variation read_variation(std::string_view text);

// The number of rows. Throws core::ConfigurationError where there are more than k_most_rows, and for a key that varies
// twice.
std::size_t count_rows(std::span<const Variation> variations);

// The values of one row, parallel to `variations`; row < count_rows.
std::vector<std::string> values_of(std::span<const Variation> variations, std::size_t row);

}  // namespace cairn::sweep
