// Many experiments in one process.
//
// Every line of the file is a JSON object: a whole experiment, or {"file": ..., "set": {"strategy.tp": 4}}. Every line gives one
// line of the result, in the same order: a cairn.run/1 document, or a cairn.error/1 one with the line's number.
#pragma once

#include "arguments.h"
#include "context.h"

namespace cairn::cli {

int run_batch(const RunArguments& arguments, Context& context);

}  // namespace cairn::cli
