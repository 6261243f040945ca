#include "context.h"
#include "exit_code.h"

namespace cairn::cli {

int command(const CompletionArguments& /*arguments*/, Context& /*context*/) { return k_usage; }

}  // namespace cairn::cli
