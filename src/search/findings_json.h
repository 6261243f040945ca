// What was found of a box, as JSON: a line of a journal (journal.h), and what other processes send (crew.h).
//
//   {"box": [state, first point], "boxes": [[state, first, count, bound, twins], ...],
//    "cells": [[first, count, kind, bound], ...], "computed": [point, time, memory, point, ...],
//    "refusals": [[kind, reason, count, nearest, settings, lacking bytes], ...]}
//
// Readers throw nlohmann::json::exception or std::out_of_range for anything else.
#pragma once

#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "explorer.h"

namespace cairn::search {

// What is found of a box is a matter of its points, and of what was known of them.
using BoxKey = std::pair<int, std::uint64_t>;
inline BoxKey key_of(const Box& box) { return {static_cast<int>(box.state), box.first}; }
// Of a line.
BoxKey key_of(const nlohmann::json& line);

nlohmann::json json_of(const Box& box);
Box box_of(const nlohmann::json& from);

nlohmann::json line_of(const Box& box, const Findings& findings);
Findings findings_of(const nlohmann::json& line, const Box& box);

}  // namespace cairn::search
