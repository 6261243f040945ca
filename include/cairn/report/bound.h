// What `cairn bound` prints of the answers of module bound, as JSON (cairn.bound/1, of a model with `layers`) and as
// text.
#pragma once

#include <string>

#include "cairn/bound/answer.h"
#include "cairn/report/run.h"

namespace cairn::report {

std::string json(const bound::Answer& answer, const Tool& tool, int indent = 2);
std::string text(const bound::Answer& answer, const TextStyle& style = {});
std::string json(const bound::LayersAnswer& answer, const Tool& tool, int indent = 2);
std::string text(const bound::LayersAnswer& answer, const TextStyle& style = {});

}  // namespace cairn::report
