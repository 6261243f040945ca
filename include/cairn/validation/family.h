// A family of measured runs: one CSV file, and what its source leaves to be known about all its rows at once - the
// framework's release, defaults no column states, the convention of its FLOP/s - with the band its predictions must
// keep to. Families are described in validate/published/families.yaml, beside the published tables; a folder of other
// measurements may bring a families.yaml of its own. A file that none of them names is a family with the defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/config/fields.h"

namespace cairn::validation {

// How a published FLOP/s per GPU becomes a step time [s] = F / (FLOP/s x GPUs). B sequences of s tokens, l layers of
// width h with a heads of size d, vocabulary V.
//   recomputed_gpt  F = 96 B s l h^2 (1 + s / 6h + V / 16 l h): executed work, one forward pass repeated
//                   (Narayanan et al. 2021, section 5.1)
//   model           F = B s (6 (l w + V h) + 12 l a d s), w = matrix elements of a layer: no recomputation, attention
//                   counted full (NVIDIA NeMo and Megatron Bridge performance tables)
enum class FlopConvention : std::uint8_t { none, recomputed_gpt, model };

// What passes: errors are |predicted / measured - 1|.
struct Band {
  std::optional<double> mean;
  std::optional<double> max;
};

// Rows that are believed mis-stated: predicted and scored like others, named in the report, and no part of intervals.
struct Doubted {
  std::vector<std::pair<std::string, std::string>> rows;  // column -> value; none: all
  std::optional<double> slower;                           // of them those measured above so many times the prediction
  std::string reason;
};

struct Family {
  std::string name;     // the file's name without .csv
  std::string title;    // shown beside the name
  std::string release;  // of the framework where rows do not name one: megatron + 2022 -> megatron@2022
  std::vector<std::pair<std::string, std::string>> releases;  // attention word of the file -> release, before `release`
  std::string cluster;    // of the latencies and fabric, in place of the one of the row's accelerator
  std::string precision;  // recipe of rows that assume theirs, or say fp8 and not how it scales
  std::string
      gradients;  // format in memory, in place of what the rows assume; then `reduce` on the wire, default the same
  std::string reduce;
  std::vector<std::pair<std::string, std::string>> columns;  // what all rows have in common -> its value
  double dropout = 0.0;                                      // where there is no such column
  std::optional<std::int64_t> vocab_multiple;  // the vocabulary column is not padded; see models::TransformerConfig
  bool framework_cuts = false;  // stages as the framework cuts them, whether layers divide by them or not
  FlopConvention flops = FlopConvention::none;
  std::vector<std::pair<std::string, std::string>> attention;  // word of the file -> kernel of an experiment
  std::vector<std::pair<std::string, std::string>> skip;       // word in a row's notes -> why it is not run
  std::vector<Doubted> doubted;
  Band band;
};

struct Families {
  std::vector<std::pair<std::string, std::string>> clusters;  // accelerator -> cluster of the latencies and fabric
  std::vector<std::pair<std::string, Family>> families;
};

void describe(config::Fields& fields, Band& band);
void describe(config::Fields& fields, Doubted& doubted);
void describe(config::Fields& fields, Family& family);
void describe(config::Fields& fields, Families& families);

}  // namespace cairn::validation
