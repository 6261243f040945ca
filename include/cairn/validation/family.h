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
//   model           F = B s (6 (l w + V h) + 12 l a d s), w = matrix elements of a layer that a token meets: no
//                   recomputation, attention counted full (NVIDIA NeMo and Megatron Bridge performance tables)
//   megatron        F = B s 6 (l w + l a d s + V h), V as padded: the same with the causal half of attention, and for
//                   each further token that is predicted a layer more, 3 h + 2 h^2 elements and V h (Megatron-LM,
//                   training.py, num_floating_point_operations, 2026). Latent attention: a d is the mean of the
//                   widths of queries and values.
enum class FlopConvention : std::uint8_t { none, recomputed_gpt, model, megatron };

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

// Fields that the file, or the family's own columns, have wrong: rows are read with `columns` in their place, and the
// report says so.
struct Correction {
  std::vector<std::pair<std::string, std::string>> columns;    // column -> value
  std::vector<std::pair<std::string, std::string>> rows = {};  // column -> value of the rows that are meant; none: all
  std::string reason;
};

// What rows name in their notes alone, by option or setting, or their source says of all of them: it holds for those
// whose notes have every one of `words` and none of `without`. Later entries go over earlier ones.
struct Noted {
  std::vector<std::string> words = {};
  std::vector<std::string> without = {};
  config::Node strategy = {};   // keys of an experiment's
  config::Node framework = {};  // keys of a profile, over the row's as config::merge_within_values lays them
  std::vector<std::pair<std::string, std::string>> attention = {};  // word of the file -> kernel of an experiment
};

struct Family {
  std::string name;     // the file's name without .csv
  std::string title;    // shown beside the name
  std::string release;  // of the framework where rows do not name one: megatron + 2022 -> megatron@2022
  std::vector<std::pair<std::string, std::string>> releases;  // attention word of the file -> release, before `release`
  std::vector<std::pair<std::string, std::string>> dated;     // word in a row's `ref` -> release, before both
  std::string cluster;    // of the latencies and fabric, in place of the one of the row's accelerator
  std::string precision;  // recipe of rows that assume theirs, or say fp8 and not how it scales
  std::string
      gradients;  // format in memory, in place of what the rows assume; then `reduce` on the wire, default the same
  std::string reduce;
  std::vector<std::pair<std::string, std::string>> columns;   // what all rows have in common -> its value
  std::vector<std::pair<std::string, double>> dropouts = {};  // beginning of a model's name -> dropout, before that
  double dropout = 0.0;                                       // where there is no such column
  std::optional<std::int64_t> vocab_multiple;  // the vocabulary column is not padded; see models::TransformerConfig
  bool framework_cuts = false;     // stages as the framework cuts them, whether layers divide by them or not
  bool experts_as_tensor = false;  // experts are split as other layers are where notes do not say otherwise: etp = tp
  FlopConvention flops = FlopConvention::none;
  std::vector<std::pair<std::string, std::string>> attention;  // word of the file -> kernel of an experiment
  std::vector<std::pair<std::string, std::string>> skip;       // word in a row's notes -> why it is not run
  std::vector<Noted> noted = {};
  std::vector<Correction> corrected = {};
  std::vector<Doubted> doubted;
  Band band;
};

// What rows write in the words of frameworks, libraries and logs.
struct Words {
  std::vector<std::pair<std::string, std::string>> skip;         // in notes -> why it is no full training; "": it is
  std::vector<std::pair<std::string, std::string>> attention;    // kernel -> the one it is priced as
  std::vector<std::pair<std::string, std::string>> dispatchers;  // of routed tokens -> moe.dispatcher
  std::vector<std::pair<std::string, double>> balance;           // of routing -> moe.imbalance
  std::vector<std::pair<std::string, std::vector<std::string>>> recompute;  // module -> operators of its layers
};

struct Families {
  std::vector<std::pair<std::string, std::string>> clusters;     // accelerator -> cluster of the latencies and fabric
  std::vector<std::pair<std::string, std::int64_t>> racks = {};  // cluster in racks -> GPUs of each, of a larger job
  Words words = {};
  std::vector<std::pair<std::string, Family>> families;
};

void describe(config::Fields& fields, Band& band);
void describe(config::Fields& fields, Doubted& doubted);
void describe(config::Fields& fields, Correction& correction);
void describe(config::Fields& fields, Noted& noted);
void describe(config::Fields& fields, Family& family);
void describe(config::Fields& fields, Words& words);
void describe(config::Fields& fields, Families& families);

}  // namespace cairn::validation
