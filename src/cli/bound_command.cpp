// `cairn bound`: an operator, an einsum, a graph or an execution, and the provable bracket of its data movement.
#include <cmath>
#include <filesystem>
#include <functional>
#include <sstream>
#include <variant>

#include <fmt/format.h>

#include "bound_moves.h"
#include "cairn/config/units.h"
#include "cairn/core/assert.h"
#include "cairn/core/read_file.h"
#include "cairn/hardware/files.h"
#include "cairn/numerics/format.h"
#include "cairn/pebble/cdag_file.h"
#include "cairn/pebble/graph_bracket.h"
#include "cairn/pebble/locality.h"
#include "cairn/pebble/operation_text.h"
#include "cairn/pebble/schedule.h"
#include "cairn/pebble/trace.h"
#include "cairn/pebble/vertical.h"
#include "cairn/report/bound.h"
#include "context.h"
#include "devices_bound.h"
#include "exchange_bound.h"
#include "exit_code.h"
#include "layer_bound.h"
#include "result_form.h"

namespace cairn::cli {
namespace {

using pebble::Cdag;
using pebble::Operation;
using pebble::Words;

constexpr std::string_view k_binary_trace = "CAIRNTR1";
constexpr double k_most_words = 1e18;
constexpr Words k_first_memory = 16;  // words, in the table of localities; each next is four times as large
constexpr Words k_memory_step = 4;

std::istringstream opened(const std::string& option, const std::string& file, const char* what) {
  std::string text = core::read_file(file, core::k_most_listed_bytes, what);
  if (text.empty()) throw core::ConfigurationError(option, fmt::format("'{}' holds nothing", file), "name a file");
  return std::istringstream(std::move(text));
}

Cdag graph_of_trace(const std::string& file) {
  std::istringstream stream = opened("--trace", file, "a trace of reads and writes");
  std::string start(k_binary_trace.size(), '\0');
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  stream.clear();
  stream.seekg(0);
  return cdag_of(start == k_binary_trace ? pebble::read_binary_trace(stream, file) : pebble::read_trace(stream, file));
}

Operation named_operation(const BoundArguments& arguments) {
  if (arguments.operation.front() != "einsum") return pebble::parse_operation(arguments.operation_text());
  if (arguments.operation.size() != 2)
    throw core::ConfigurationError("bound.einsum", "an einsum is one expression",
                                   "write einsum 'ik,kj->ij' --sizes i=64,j=64,k=64");
  return pebble::einsum_operation(arguments.operation[1], pebble::parse_sizes(arguments.sizes));
}

std::variant<Operation, pebble::NamedCdag> source(const BoundArguments& arguments) {
  if (!arguments.cdag.empty()) {
    std::istringstream stream = opened("--cdag", arguments.cdag, "a list of vertices and edges");
    return pebble::read_cdag(stream, arguments.cdag);
  }
  if (!arguments.trace.empty()) return pebble::NamedCdag{.graph = graph_of_trace(arguments.trace), .names = {}};
  return named_operation(arguments);
}

Words whole_words(double bytes, double bytes_per_word) {
  const double words = std::floor(bytes / bytes_per_word);
  if (words >= 1.0 && words < k_most_words) return static_cast<Words>(words);
  throw core::ConfigurationError("--fast", fmt::format("{:.3g} bytes are no number of words", bytes),
                                 "give at least one word");
}

double on_chip_bytes(const hardware::Accelerator& accelerator) {
  if (const auto capacity = accelerator.on_chip_capacity()) return capacity->base();
  throw core::ConfigurationError(
      "--accelerator", fmt::format("the file of {} does not say how large its registers are", accelerator.name),
      "give --fast");
}

Words fast_words(const BoundArguments& arguments, double bytes_per_word,
                 const std::optional<hardware::Accelerator>& accelerator) {
  const std::string& text = arguments.fast;
  if (text.empty() && !accelerator)
    throw core::ConfigurationError("--fast", "the size of the fast memory is missing",
                                   "give --fast 228KiB, a number of words, or --accelerator NAME");
  if (text.empty()) return whole_words(on_chip_bytes(*accelerator), bytes_per_word);
  if (const auto words = pebble::whole_number(text)) {
    if (*words >= 1 && static_cast<double>(*words) < k_most_words) return *words;
    throw core::ConfigurationError("--fast", fmt::format("{} words", *words), "give at least 1");
  }
  return whole_words(config::require_quantity(text, config::Dimension::bytes, "--fast"), bytes_per_word);
}

void solve(report::BoundAnswer& answer, const Cdag& graph, const BoundArguments& arguments) {
  const std::size_t budget = arguments.states > 0 ? arguments.states : pebble::k_default_state_budget;
  answer.exact = pebble::solve_exactly(graph, answer.game, answer.fast, budget);
  pebble::UpperBound play = best_ordered_play(graph, answer.game.sliding, answer.fast);
  if (!answer.upper || play.words < answer.upper->words) answer.upper = std::move(play);
}

// Of a product on its own: those of several, each loaded and stored apart, add up to more than is moved when they are
// fused.
void add_leading_term(report::BoundAnswer& answer, const Operation& operation) {
  if (operation.contractions.size() != 1) return;
  const pebble::Contraction& product = operation.contractions.front();
  answer.asymptotic.push_back(fmt::format("{}: {}", product.name, leading_term(product).expression));
}

void bound(report::BoundAnswer& answer, const Operation& operation, const BoundArguments& arguments) {
  const Words minimum = minimum_fast_words(operation, answer.game);
  if (answer.fast < minimum)
    throw core::ConfigurationError(
        "--fast", fmt::format("{} words cannot hold what one value of {} is made of", answer.fast, operation.name),
        fmt::format("give at least {} words", minimum));
  const std::string words = arguments.operation_text();
  answer.what = arguments.sizes.empty() ? words : fmt::format("{} {}", words, arguments.sizes);
  answer.operations = static_cast<double>(operation.flops);
  for (pebble::LowerBound& each : lower_bounds(operation, answer.fast))
    if (each.games.contains(answer.game)) answer.lower.push_back(std::move(each));
  answer.upper = bracket(operation, answer.fast, answer.game).upper;
  add_leading_term(answer, operation);
  if (arguments.exact) solve(answer, small_graph(operation), arguments);
}

// Words across one link of a memory hierarchy, `fast` words below it: a lower bound of the whole computation.
using WholeBound = std::function<pebble::LowerBound(Words fast)>;

// The links of an accelerator: from device memory through its caches to each multiprocessor. Registers are left out,
// since tensor units read operands past them; the time of a multiprocessor's link, since neighbours may pass words on.
// Of several units: a share of what crosses when they are one memory (vertical.h), or one unit's share of the points.
void add_levels(report::BoundAnswer& answer, const WholeBound& whole, const pebble::Contraction* product,
                const hardware::Accelerator& accelerator) {
  if (!accelerator.on_chip_capacity()) return;
  const auto& memory = accelerator.memory;
  const auto in_each = [&](std::size_t i) { return memory[i].scope == hardware::Scope::multiprocessor; };
  for (std::size_t i = 1; i < memory.size(); ++i) {
    if (in_each(i) && in_each(i - 1)) continue;  // memories of one multiprocessor lie beside each other
    const std::int64_t units = in_each(i) ? accelerator.multiprocessors : 1;
    double bytes = 0.0;
    for (std::size_t below = i; below < memory.size(); ++below)
      bytes += memory[below].capacity.base() *
               (in_each(below) && units == 1 ? static_cast<double>(accelerator.multiprocessors) : 1.0);
    const Words fast = whole_words(bytes, answer.bytes_per_word);
    pebble::LowerBound bound = whole(whole_words(bytes * static_cast<double>(units), answer.bytes_per_word));
    if (units > 1) {
      bound.words = (bound.words + units - 1) / units;
      bound.method += ", all units as one memory";
    }
    if (product != nullptr) bound = larger(bound, projection_bound_of_share(*product, units, fast));
    report::LevelRow row{.name = units == 1 ? memory[i].name : "multiprocessor",
                         .units = units,
                         .fast = fast,
                         .words = bound.words,
                         .method = bound.method,
                         .bytes_per_s = {}};
    if (units == 1 && memory[i - 1].bandwidth) row.bytes_per_s = memory[i - 1].bandwidth->base();
    answer.levels.push_back(std::move(row));
  }
}

void add_levels(report::BoundAnswer& answer, const Operation& operation, const hardware::Accelerator& accelerator) {
  const auto whole = [&](Words fast) {
    return best_for(lower_bounds(operation, fast), {pebble::Rules::red_blue_white, pebble::Sliding::allowed});
  };
  const bool single = operation.contractions.size() == 1;
  add_levels(answer, whole, single ? &operation.contractions.front() : nullptr, accelerator);
}

void add_levels(report::BoundAnswer& answer, const pebble::NamedCdag& named, const hardware::Accelerator& accelerator) {
  const auto whole = [&](Words fast) {
    const pebble::Machine machine{.levels = {{.units = 1, .capacity = fast}, {.units = 1, .capacity = fast}}};
    return best_for(vertical_lower_bounds(named.graph, machine, 0),
                    {pebble::Rules::red_blue_white, pebble::Sliding::forbidden});
  };
  add_levels(answer, whole, nullptr, accelerator);
}

// What a device moves passes its links both ways at once; of what all nodes receive, the busiest gets its share at
// least. What enters from slow memory crosses no link between nodes.
void add_network(report::BoundAnswer& answer, const BoundArguments& arguments, const hardware::Machine& machine) {
  double rate = 0.0;
  for (const hardware::NetworkLevel& level : machine.network.levels)
    rate += level.gpu_bandwidth().base() / level.oversubscription;
  double words = 0.0;
  if (answer.devices) words = answer.devices->words_one_way();
  if (answer.nodes)
    words = std::ceil(static_cast<double>(answer.nodes->received.lower.words) / static_cast<double>(arguments.devices));
  answer.network = {.name = arguments.cluster, .bytes_per_s = rate, .lower_s = words * answer.bytes_per_word / rate};
}

void reorder(report::BoundAnswer& answer, const Cdag& graph) {
  const pebble::Replay before = pebble::replay(graph, graph.order());
  const pebble::Replay after = pebble::replay(graph, pebble::convex_partition_order(graph, answer.fast));
  CAIRN_ASSERT(before.fingerprint == after.fingerprint);
  const auto add = [&](Words fast) {
    answer.locality.push_back(
        {.fast = fast, .before = before.profile.traffic(fast), .after = after.profile.traffic(fast)});
  };
  const auto words = static_cast<Words>(before.words);
  for (Words fast = k_first_memory; fast < words; fast *= k_memory_step) {
    if (fast > answer.fast && fast / k_memory_step < answer.fast) add(answer.fast);
    add(fast);
  }
  if (answer.locality.empty() || answer.locality.back().fast < answer.fast) add(answer.fast);
}

void bound(report::BoundAnswer& answer, const pebble::NamedCdag& named, const BoundArguments& arguments) {
  const Cdag& graph = named.graph;
  const std::filesystem::path file = arguments.cdag.empty() ? arguments.trace : arguments.cdag;
  if (const Words minimum = minimum_fast_words(graph, answer.game); answer.fast < minimum)
    throw core::ConfigurationError(
        "--fast",
        fmt::format("{} words cannot hold what one value of {} is made of", answer.fast, file.filename().string()),
        fmt::format("give at least {} words", minimum));
  answer.what = fmt::format("{}: {} values, {} inputs, {} outputs", file.filename().string(), graph.size(),
                            graph.input_count(), graph.output_count());
  answer.operations = static_cast<double>(graph.size() - graph.input_count());
  answer.lower = lower_bounds(graph, answer.fast, answer.game);
  answer.upper = best_ordered_play(graph, answer.game.sliding, answer.fast);
  if (arguments.exact) solve(answer, graph, arguments);
  if (!arguments.moves.empty()) verify_moves(answer, named, arguments.moves);
  if (arguments.locality) reorder(answer, graph);
}

void add_exchange_network(report::BoundAnswer& answer, const BoundArguments& arguments, Context& context) {
  const hardware::Machine machine = hardware::load_machine(context.loader, arguments.cluster, arguments.overrides);
  if (answer.devices->devices > static_cast<double>(machine.network.gpus()))
    throw core::ConfigurationError("--cluster",
                                   fmt::format("{} has {} accelerators", arguments.cluster, machine.network.gpus()),
                                   "exchange between fewer, or set more nodes: --set nodes=N");
  add_network(answer, arguments, machine);
}

int answered(const report::BoundAnswer& answer, const BoundArguments& arguments, Context& context) {
  Output output(arguments.result.output, context.read);
  output.write(in_form(
      arguments.result, [&] { return report::json(answer, context.tool); },
      [&] { return report::text(answer, {.color = context.color(output)}); }));
  output.finish();
  return answer.moves && !answer.moves->cost ? k_negative : k_ok;
}

}  // namespace

int command(const BoundArguments& arguments, Context& context) {
  const numerics::Format format = numerics::parse_format(arguments.format);
  std::optional<hardware::Accelerator> accelerator;
  if (!arguments.accelerator.empty()) accelerator = hardware::load_accelerator(context.loader, arguments.accelerator);

  report::BoundAnswer answer;
  answer.format = std::string(numerics::name(format));
  answer.bytes_per_word = numerics::bytes_per_element(format);
  if (names_exchange(arguments)) {
    bound_exchange(answer, arguments);
    if (!arguments.cluster.empty()) add_exchange_network(answer, arguments, context);
    return answered(answer, arguments, context);
  }
  // An operator without its sizes is said to be one before a memory is asked for.
  std::variant<Operation, pebble::NamedCdag> what;
  if (arguments.model.empty()) what = source(arguments);
  answer.fast = fast_words(arguments, answer.bytes_per_word, accelerator);
  if (!arguments.model.empty())
    return bound_layers(arguments, accelerator, static_cast<double>(answer.fast) * answer.bytes_per_word, context);
  answer.game = {.rules = arguments.rules == "hk" ? pebble::Rules::hong_kung : pebble::Rules::red_blue_white,
                 .sliding = arguments.slide ? pebble::Sliding::allowed : pebble::Sliding::forbidden};
  if (accelerator) {
    const auto peak = accelerator->matrix_peak(format);
    answer.machine = {.name = accelerator->name,
                      .bytes_per_s = accelerator->device_memory().bandwidth->base(),
                      .flop_per_s = peak ? std::optional(peak->base()) : std::nullopt};
  }
  std::visit([&](const auto& each) { bound(answer, each, arguments); }, what);
  if (accelerator) std::visit([&](const auto& each) { add_levels(answer, each, *accelerator); }, what);
  if (arguments.devices > 0) {
    if (const auto* operation = std::get_if<Operation>(&what))
      add_devices(answer, *operation, arguments, accelerator);
    else
      add_nodes(answer, std::get<pebble::NamedCdag>(what).graph, arguments.devices);
    if (!arguments.cluster.empty())
      add_network(answer, arguments, hardware::load_machine(context.loader, arguments.cluster, arguments.overrides));
  }
  const auto* graph = std::get_if<pebble::NamedCdag>(&what);
  if (graph != nullptr && !arguments.write_moves.empty())
    write_moves(answer, *graph, arguments.write_moves, context.read);
  return answered(answer, arguments, context);
}

}  // namespace cairn::cli
