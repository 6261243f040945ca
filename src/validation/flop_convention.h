// What a published FLOP/s counts for one token of a model; the conventions are in cairn/validation/family.h.
#pragma once

#include <cstdint>
#include <optional>

#include "cairn/models/transformer_config.h"
#include "cairn/validation/family.h"

namespace cairn::validation {

// [FLOP per token] at sequences of `seq_len` on `tensor` ranks, by which the vocabulary is padded. Empty for `none`, and
// for models with blocks that no convention has a count for (state-space mixers, linear attention, delta rule).
std::optional<double> flops_per_token(FlopConvention convention, const models::TransformerConfig& model, double seq_len,
                                      std::int64_t tensor);

}  // namespace cairn::validation
