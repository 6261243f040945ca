// Order lists by list scheduling: whenever a device is free it takes, of what is ready, a backward or input gradient
// (lowest micro-batch, then deepest stage), else a forward (deepest stage, then lowest micro-batch) for whose
// activations there is room, else the oldest weight gradient.
#pragma once

#include <span>

#include "kinds.h"

namespace cairn::pipeline {

struct ListRule {
  Durations of_operation{.forward = 1, .input_gradient = 1, .weight_gradient = 1, .delay = 0};
  bool split = false;  // without, a backward is one operation of the length of an input gradient
  bool forwards_first = false;
  bool deepest_first = false;  // of backwards: before the lowest micro-batch
  // Most activations alive on a device [halves of what one operation saves]; 0: no limit. A forward saves two halves; a
  // backward frees both, an input gradient one and its weight gradient the other.
  std::int32_t most_halves = 0;
  // Keeps room for the forward of a later chunk, without which a V-shaped pipeline may come to a halt.
  bool keep_room = false;
  // Weight gradients are also taken before a forward once this many are due; 0: never.
  std::int32_t most_due = 0;
};

// chain_of: the chain of every micro-batch.
Schedule list_order(std::string_view kind, const Settings& settings, const Layout& layout,
                    std::span<const std::int32_t> chain_of, const ListRule& rule);

}  // namespace cairn::pipeline
