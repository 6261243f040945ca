#include "cairn/config/read.h"
#include "cairn/config/yaml.h"
#include "cairn/topology/nccl.h"
#include "context.h"
#include "exit_code.h"

namespace cairn::cli {

int command(const ImportArguments& arguments, Context& context) {
  Output output(arguments.output, context.read);
  output.write(topology::graph_text(topology::read_nccl(arguments.file, topology::load_nccl_speeds(context.loader))));
  output.finish();
  return k_ok;
}

}  // namespace cairn::cli
