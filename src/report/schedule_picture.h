// Who does what when, in characters.
#pragma once

#include <string>
#include <string_view>

#include "cairn/pipeline/exact_run.h"

namespace cairn::report {

// How an operation is shown.
struct PhaseLook {
  std::string_view terminal;  // colours of ISO 6429
  const char* fill;           // of a picture
  const char* name;
};
const PhaseLook& look(pipeline::Phase phase);

// A row per device, at most k_text_width columns, and a legend; of a longer run the beginning and the end. Where an
// operation has room it shows its micro-batch.
std::string schedule_picture(const pipeline::ExactRun& run, bool color);

}  // namespace cairn::report
