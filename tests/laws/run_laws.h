// What holds of every run, whatever was asked.
#pragma once

#include <string>
#include <vector>

#include "outcome.h"

namespace cairn::laws {

struct Breach {
  std::string law;  // a short name, the same for every run
  std::string what;
};

// Of an outcome that was accepted or crashed.
std::vector<Breach> breaches(const Outcome& outcome);

// Of the document of an accepted outcome: fed back it gives the same bytes, and so does a second run.
std::vector<Breach> document_breaches(const Json& experiment, const Outcome& outcome, const Shelf& shelf);

// The cause of a breach that is known and not mended yet, by its name; empty: none is.
std::string known_cause(const Json& experiment, const Breach& breach);

}  // namespace cairn::laws
