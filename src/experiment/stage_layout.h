// A pipeline's layout in one line, as Megatron-LM writes it (option pipeline-model-parallel-layout): what every virtual
// stage holds, in the order in which a micro-batch passes them.
//
//   E embedding   t transformer layer   m module for a further token   L head and loss   | the next virtual stage begins
//   x*n           n times the sign x
//   (...)*n       n times what the parentheses hold, no others among it
//   ,             means nothing
//
// Example: E|(t|)*126L are 128 virtual stages: the embedding, 126 with a layer each, the head.
// Source: NVIDIA Megatron-LM, megatron/core/transformer/pipeline_parallel_layer_layout.py, 2026-08. What it takes and
// does not mean as written is refused: repetitions of repetitions, embedding or head in another virtual stage than the
// first or the last, where it builds them all the same.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cairn/config/fields.h"

namespace cairn::experiment {

inline constexpr config::Notation k_stage_layout{.pattern = "^[EtmL|()*0-9,]+$", .example = "E|(t|)*126L"};

// What a layout must place besides embedding and head.
struct Placed {
  std::int64_t layers = 0;
  std::int64_t further = 0;  // modules for further tokens; they stand with the head
};

// Transformer layers of every virtual stage. Throws core::ConfigurationError at strategy.stages, naming the place in
// the text, for what is no layout and for a layout of another model.
std::vector<std::int64_t> layers_of_layout(std::string_view layout, const Placed& model);

}  // namespace cairn::experiment
