// Networks on a cluster by calibrated prices: the best placements, and given ones.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cairn/config/units.h"
#include "cairn/core/printable.h"
#include "cairn/report/placements.h"
#include "cairn/report/stages.h"
#include "cairn/splits/placed_network.h"
#include "cairn/splits/search.h"
#include "cairn/splits/staged_network.h"
#include "exit_code.h"
#include "progress.h"
#include "result_form.h"
#include "split_search.h"

namespace cairn::cli {
namespace {

// 4x2x4: devices along each axis.
std::vector<std::int64_t> axes_of(const std::string& text) {
  std::vector<std::int64_t> axes;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    const auto size = config::parse_whole(std::string_view(text).substr(begin, end - begin));
    const bool is_size = size && *size >= 1;
    if (!is_size || axes.size() == splits::k_max_mesh_axes)
      throw core::ConfigurationError(
          "--axes",
          is_size ? fmt::format("{} has more than {} axes", core::quoted(text), splits::k_max_mesh_axes)
                  : fmt::format("{} holds something else than whole numbers from 1 on", core::quoted(text)),
          "write the accelerators along each axis, outermost first, as in 4x8");
    axes.push_back(*size);
    begin = end + 1;
  }
  return axes;
}

config::Node cluster_of(const SearchArguments& arguments) {
  config::Node name = config::make_scalar(arguments.cluster, {});
  if (arguments.nodes == 0) return name;
  config::Node cluster = config::make_node(config::NodeKind::map, {});
  cluster.put("file", std::move(name));
  cluster.put("nodes", config::make_scalar(std::to_string(arguments.nodes), {}));
  return cluster;
}

// What `make` finds wrong at a key without a place, told by `say`.
template <class Make, class Say>
auto told(Make make, Say say) {
  try {
    return make();
  } catch (const core::ConfigurationError& error) {
    std::vector<core::Diagnostic> all = error.diagnostics();
    for (core::Diagnostic& each : all)
      if (each.file.empty()) each = say(each);
    throw core::ConfigurationError(std::move(all));
  }
}

// Errors of a strategy's keys name the options that gave them.
core::Diagnostic by_option(core::Diagnostic error) {
  constexpr std::pair<std::string_view, const char*> k_options[] = {{"axes", "--axes"},
                                                                    {"devices", "--devices"},
                                                                    {"cluster", "--cluster"},
                                                                    {"cluster.nodes", "--nodes"},
                                                                    {"training.precision", "--format"},
                                                                    {"layers", "--layers"},
                                                                    {"batch", "--batch"},
                                                                    {"micro_batches", "--micro-batches"}};
  for (const auto& [key, option] : k_options)
    if (error.key_path == key) {
      error.key_path = option;
      break;
    }
  return error;
}

int answer(const ResultArguments& asked, bool full, splits::PlacedNetwork& network,
           const std::vector<choice::Option>& options, std::optional<report::PlacementSearch> search, Output& output,
           Context& context) {
  const splits::PlacementAnswer placed = network.explain(options);
  const core::Picoseconds time = search ? placed.total : network.run(placed);
  const splits::PlacementStrategy strategy = network.strategy(options);
  const report::Placements found{.strategy = strategy,
                                 .cluster = network.cluster(),
                                 .answer = placed,
                                 .time = time,
                                 .memory = core::Bytes::from_base(network.problem().memory.cost(options)),
                                 .capacity = network.memory(),
                                 .search = search,
                                 .assumptions = network.assumptions(),
                                 .warnings = network.warnings(),
                                 .tool = context.tool};
  write_answer(found, asked, full, output, context);
  return found.fits() ? k_ok : k_negative;
}

int answer(const ResultArguments& asked, bool full, splits::StagedNetwork& network,
           const std::optional<splits::NetworkStages>& stages, Output& output, Context& context) {
  const splits::PlacementStrategy strategy = network.strategy(stages.value_or(splits::NetworkStages{}));
  report::Stages found{
      .strategy = strategy, .cluster = network.cluster(), .capacity = network.memory(), .tool = context.tool};
  if (stages) {
    found.answer = &*stages;
    found.assumptions = network.assumptions(*stages);
    found.warnings = network.warnings(*stages);
  }
  write_answer(found, asked, full, output, context);
  return found.fits() ? k_ok : k_negative;
}

}  // namespace

int search_placements(const SearchArguments& arguments, Context& context) {
  Output output(arguments.result.output, context.read);
  splits::PlacementStrategy asked{.network = arguments.graph,
                                  .batch = arguments.batch,
                                  .cluster = cluster_of(arguments),
                                  .axes = axes_of(arguments.axes)};
  if (!arguments.format.empty()) asked.format = arguments.format;
  return told(
      [&] {
        splits::PlacedNetwork network(asked, arguments.devices, context.loader);
        const splits::Method method = *splits::method_of(arguments.method);
        ProgressLine progress(context.common);
        const splits::SplitAnswer best = splits::search(
            network.problem(), method, network.memory().base(),
            static_cast<std::uint64_t>(std::max<std::int64_t>(arguments.seed, 1)), [&](double done, double of) {
              progress.show("combinations of placements", static_cast<std::size_t>(done), static_cast<std::size_t>(of));
            });
        progress.clear();
        return answer(arguments.result, arguments.full, network, best.best.options,
                      report::PlacementSearch{.method = method, .answer = best}, output, context);
      },
      by_option);
}

int search_stages(const SearchArguments& arguments, Context& context) {
  constexpr std::int64_t k_layers = 8;
  Output output(arguments.result.output, context.read);
  splits::PlacementStrategy asked{
      .network = arguments.graph, .batch = arguments.batch, .cluster = cluster_of(arguments)};
  if (!arguments.format.empty()) asked.format = arguments.format;
  if (arguments.micro_batches > 0) asked.micro_batches = arguments.micro_batches;
  return told(
      [&] {
        splits::StagedNetwork network(asked, context.loader);
        ProgressLine progress(context.common);
        const auto layers = static_cast<std::size_t>(arguments.layers > 0 ? arguments.layers : k_layers);
        const std::optional<splits::NetworkStages> found = network.search(
            static_cast<std::int64_t>(layers), [&](std::size_t priced) { progress.show("stages priced", priced, 0); });
        progress.clear();
        return answer(arguments.result, arguments.full, network, found, output, context);
      },
      by_option);
}

int run_placements(const RunArguments& arguments, const config::Node& file, Context& context) {
  const auto [strategy, origins] = splits::read_strategy(file);
  Output output(arguments.result.output, context.read);
  const auto run = [&, &strategy = strategy] {
    if (!strategy.stages.empty()) {
      splits::StagedNetwork network(strategy, context.loader);
      return answer(arguments.result, arguments.full, network, network.asked(), output, context);
    }
    splits::PlacedNetwork network(strategy, 0, context.loader);
    return answer(arguments.result, arguments.full, network, network.asked(), std::nullopt, output, context);
  };
  return told(run, [&origins = origins](const core::Diagnostic& error) {
    const bool of_format = error.key_path == "training.precision";
    return origins.error(of_format ? "format" : error.key_path, error.message, error.hint);
  });
}

}  // namespace cairn::cli
