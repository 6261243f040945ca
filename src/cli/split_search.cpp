#include "split_search.h"

#include <algorithm>
#include <optional>

#include "cairn/models/onnx.h"
#include "cairn/report/splits.h"
#include "cairn/splits/search.h"
#include "exit_code.h"
#include "progress.h"
#include "result_form.h"

namespace cairn::cli {

int search_splits(const SearchArguments& arguments, Context& context) {
  Output output(arguments.result.output, context.read);
  const models::Network network = models::find_network(
      arguments.graph, arguments.batch > 0 ? std::optional<std::int64_t>(arguments.batch) : std::nullopt);
  const splits::PaseRules rules{
      .devices = arguments.devices,
      .least_extent = arguments.least_extent > 0 ? arguments.least_extent : splits::usual_least_extent(network.graph)};
  const splits::SplitProblem problem = splits::pase_problem(network.graph, rules);
  const splits::Method method = *splits::method_of(arguments.method);
  ProgressLine progress(context.common);
  const splits::SplitAnswer answer = splits::search(
      problem, method, static_cast<std::uint64_t>(std::max<std::int64_t>(arguments.seed, 1)),
      [&](double done, double of) {
        progress.show("combinations of splits", static_cast<std::size_t>(done), static_cast<std::size_t>(of));
      });
  progress.clear();
  const report::Splits found{.graph = network.name,
                             .batch = network.batch,
                             .rules = rules,
                             .method = method,
                             .problem = problem,
                             .answer = answer,
                             .tool = context.tool};
  write_answer(found, arguments.result, arguments.full, output, context);
  return k_ok;
}

}  // namespace cairn::cli
