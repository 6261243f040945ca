#include "completion.h"
#include "context.h"
#include "exit_code.h"

namespace cairn::cli {

int command(const CompletionArguments& arguments, Context& context) {
  Output output("");
  if (arguments.shell == "bash") output.write(bash_completion(context.tree));
  if (arguments.shell == "zsh") output.write(zsh_completion(context.tree));
  if (arguments.shell == "fish") output.write(fish_completion(context.tree));
  output.finish();
  return k_ok;
}

}  // namespace cairn::cli
