// What is wrong with an answer of the program, whatever it was asked.
#pragma once

#include <optional>
#include <string>

#include "call.h"

namespace cairn::attack {

// Nothing, or what is wrong with:
//   the exit code       0 to 4 (done, negative answer, bad input, files, a capability that is missing); never 70, a bug
//   the streams         UTF-8 without control characters but line breaks, and without those that turn the direction of
//                       writing; a refusal says why on standard error; only answers stand on standard output
//   JSON documents      every line of standard output, or all of it, after its schema in `cairn schema`: no NaN (it
//   would
//                       be null), nothing negative that cannot be, no key that is not described
//   predictions         the parts of the time add up to the time, those of the memory to the memory
std::optional<std::string> complaint(const Answer& answer);

// Whether the complaint is one of those in known.def.
bool is_known(const std::string& complaint);

}  // namespace cairn::attack
