// Many experiments in one process.
//
// Every line of the file is a JSON object: a whole experiment, which may extend another, or {"file": ..., "set":
// {"strategy.tp": 4}}. Every line gives one line of the result, in the same order: a cairn.run/1 document, or a
// cairn.error/1 one with the line's number, whatever went wrong with it. With --csv these are rows of one table,
// between the columns `line` and `error`. The exit code is the greatest that a line would have ended with on its own: 0
// all fit, 1 one does not fit, 2 one was refused, 70 one met a bug.
// Lines are run at once, on as many threads as --threads says or the machine runs at once; the bytes of the result are
// the same for any number, where there is memory for as many lines.
//
// With -o FILE the answers gather in FILE.tmp.PROCESS, which takes FILE's name after the last; cut off, it keeps those
// before the first line that was being run, in whole lines, and FILE stays as it was.
#pragma once

#include "arguments.h"
#include "context.h"

namespace cairn::cli {

int run_batch(const RunArguments& arguments, const Context& context);

}  // namespace cairn::cli
