#include "bound_request.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "bound_moves.h"
#include "cairn/bound/exchanges.h"
#include "cairn/config/read.h"
#include "cairn/config/units.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/read_file.h"
#include "cairn/hardware/files.h"
#include "cairn/models/huggingface.h"
#include "cairn/pebble/operation_text.h"
#include "cairn/pebble/trace.h"

namespace cairn::cli {
namespace {

constexpr std::string_view k_binary_trace = "CAIRNTR1";

bound::Amount amount(const std::string& text, const std::string& option) {
  if (const auto words = pebble::whole_number(text)) return *words;
  return core::Bytes::from_base(config::require_quantity(text, config::Dimension::bytes, option));
}

std::optional<hardware::Accelerator> named_accelerator(const BoundArguments& arguments, const config::Loader& loader) {
  if (arguments.accelerator.empty()) return {};
  return hardware::load_accelerator(loader, arguments.accelerator);
}

std::optional<bound::Links> named_links(const BoundArguments& arguments, const config::Loader& loader) {
  if (arguments.cluster.empty()) return {};
  return bound::Links{.name = arguments.cluster,
                      .network = hardware::load_machine(loader, arguments.cluster, arguments.overrides).network};
}

bound::Amount fast_memory(const BoundArguments& arguments, const std::optional<hardware::Accelerator>& accelerator) {
  if (!arguments.fast.empty()) return amount(arguments.fast, "--fast");
  if (!accelerator)
    throw core::ConfigurationError("--fast", "the size of the fast memory is missing",
                                   "give --fast 228KiB, a number of words, or --accelerator NAME");
  if (const auto capacity = accelerator->on_chip_capacity()) return *capacity;
  throw core::ConfigurationError(
      "--accelerator", fmt::format("the file of {} does not say how large its registers are", accelerator->name),
      "give --fast");
}

// An exchange, its sizes as they were typed.
struct ExchangeWords {
  std::string kind;
  std::string p, n;
};

[[noreturn]] void refuse_exchange(const std::string& kind, std::string problem) {
  throw core::ConfigurationError(fmt::format("bound.{}", kind), std::move(problem),
                                 fmt::format("write for example '{} p=16 n=1GiB': p devices, n bytes or words", kind));
}

ExchangeWords exchange_words(const BoundArguments& arguments) {
  const auto [kind, rest] = pebble::split_name(arguments.operation_text());
  auto sizes = pebble::parse_values(rest);
  for (const auto& [name, value] : sizes)
    if (name != "p" && name != "n") refuse_exchange(kind, fmt::format("'{}' is no size of an exchange", name));
  for (const char* key : {"p", "n"})
    if (!sizes.contains(key)) refuse_exchange(kind, fmt::format("{} is missing", key));
  return {.kind = kind, .p = sizes.at("p"), .n = sizes.at("n")};
}

void refuse_options_of_memory(const BoundArguments& arguments) {
  const auto needless = [](const char* option) {
    throw core::ConfigurationError(option, "an exchange between devices has no fast memory and no game",
                                   fmt::format("leave {} out", option));
  };
  if (!arguments.fast.empty()) needless("--fast");
  if (!arguments.accelerator.empty()) needless("--accelerator");
  if (arguments.exact) needless("--exact");
  if (arguments.slide) needless("--slide");
  if (arguments.rules != "rbw") needless("--game");
  if (arguments.devices > 0)
    throw core::ConfigurationError("--devices", "an exchange names its devices itself", "write p=N behind its name");
}

const collective::Collective* named_exchange(const BoundArguments& arguments) {
  const std::string name = pebble::split_name(arguments.operation_text()).name;
  const auto known = bound::exchanges();
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const auto& each) { return collective::name(each) == name; });
  return found == known.end() ? nullptr : &*found;
}

std::istringstream opened(const std::string& option, const std::string& file, const char* what) {
  std::string text = core::read_file(file, core::k_most_listed_bytes, what);
  if (text.empty()) throw core::ConfigurationError(option, fmt::format("'{}' holds nothing", file), "name a file");
  return std::istringstream(std::move(text));
}

pebble::Cdag graph_of_trace(const std::string& file) {
  std::istringstream stream = opened("--trace", file, "a trace of reads and writes");
  std::string start(k_binary_trace.size(), '\0');
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  stream.clear();
  stream.seekg(0);
  return cdag_of(start == k_binary_trace ? pebble::read_binary_trace(stream, file) : pebble::read_trace(stream, file));
}

pebble::NamedCdag named_graph(const BoundArguments& arguments) {
  if (arguments.cdag.empty()) return {.graph = graph_of_trace(arguments.trace), .names = {}};
  std::istringstream stream = opened("--cdag", arguments.cdag, "a list of vertices and edges");
  return pebble::read_cdag(stream, arguments.cdag);
}

pebble::Operation named_operation(const BoundArguments& arguments) {
  if (arguments.operation.front() != "einsum") return pebble::parse_operation(arguments.operation_text());
  if (arguments.operation.size() != 2)
    throw core::ConfigurationError("bound.einsum", "an einsum is one expression",
                                   "write einsum 'ik,kj->ij' --sizes i=64,j=64,k=64");
  return pebble::einsum_operation(arguments.operation[1], pebble::parse_sizes(arguments.sizes));
}

bound::Graph graph(const BoundArguments& arguments) {
  const std::filesystem::path file = arguments.cdag.empty() ? arguments.trace : arguments.cdag;
  bound::Graph result{.name = file.filename().string(), .graph = named_graph(arguments), .reorder = arguments.locality};
  if (!arguments.moves.empty()) result.moves = read_moves(arguments.moves, result.graph);
  return result;
}

std::optional<models::AttentionKernel> kernel(const std::string& word) {
  if (word.empty()) return {};
  if (word == "flash2") return models::AttentionKernel::flash2;
  return word == "unfused" ? models::AttentionKernel::unfused : models::AttentionKernel::fused_softmax;
}

// The accelerator's own, where its kernels were calibrated.
std::optional<cost::Calibration> calibration_of(const std::string& accelerator, const config::Loader& loader) {
  const std::vector<std::string> known = loader.names("calibration");
  if (std::find(known.begin(), known.end(), accelerator) == known.end()) return {};
  return cost::load_calibration(loader, accelerator);
}

// A field of a request, the option that gives it, and what the option adds to the remedy.
struct FieldOption {
  std::string_view field, option, remedy = {};
};
constexpr FieldOption k_field_options[] = {
    {"request.fast", "--fast"},       {"request.computation", "--devices", " by --cdag"},
    {"request.devices", "--devices"}, {"request.links", "--cluster", ": --set nodes=N"},
    {"request.layer", "--layer"},     {"request.batch", "--batch"},
    {"request.sequence", "--seq"}};

}  // namespace

bool names_exchange(const BoundArguments& arguments) { return named_exchange(arguments) != nullptr; }

bound::ExchangeRequest exchange_request(const BoundArguments& arguments, const config::Loader& loader) {
  const numerics::Format format = numerics::parse_format(arguments.format);
  refuse_options_of_memory(arguments);
  const ExchangeWords words = exchange_words(arguments);
  return {.collective = *named_exchange(arguments),
          .devices = pebble::whole_number(words.p).value_or(0),
          .amount = amount(words.n, "n"),
          .what = arguments.operation_text(),
          .format = format,
          .links = named_links(arguments, loader)};
}

bound::LayersRequest layers_request(const BoundArguments& arguments, const config::Loader& loader) {
  bound::LayersRequest request{.layer = arguments.layer,
                               .batch = arguments.batch,
                               .backward = arguments.backward,
                               .attention = kernel(arguments.attention),
                               .format = numerics::parse_format(arguments.format),
                               .accelerator = named_accelerator(arguments, loader)};
  request.fast = fast_memory(arguments, request.accelerator);
  if (arguments.sequence > 0) request.sequence = arguments.sequence;
  core::Diagnostics diagnostics;
  request.model = models::read_model(config::make_scalar(arguments.model, {}), loader, diagnostics);
  diagnostics.raise_if_errors();
  request.calibration = calibration_of(arguments.accelerator, loader);
  return request;
}

bound::ComputationRequest computation_request(const BoundArguments& arguments, const config::Loader& loader) {
  bound::ComputationRequest request{
      .format = numerics::parse_format(arguments.format),
      .game = {.rules = arguments.rules == "hk" ? pebble::Rules::hong_kung : pebble::Rules::red_blue_white,
               .sliding = arguments.slide ? pebble::Sliding::allowed : pebble::Sliding::forbidden},
      .accelerator = named_accelerator(arguments, loader)};
  // An operator without its sizes is said to be one before a memory is asked for.
  if (arguments.operation.empty())
    request.computation = graph(arguments);
  else
    request.computation = named_operation(arguments);
  const std::string words = arguments.operation_text();
  request.what = arguments.sizes.empty() ? words : fmt::format("{} {}", words, arguments.sizes);
  request.fast = fast_memory(arguments, request.accelerator);
  if (arguments.exact) request.exact_states = arguments.states > 0 ? arguments.states : pebble::k_default_state_budget;
  if (arguments.devices > 0)
    request.devices = bound::Devices{.count = arguments.devices, .links = named_links(arguments, loader)};
  return request;
}

core::ConfigurationError in_options(const core::ConfigurationError& error, const BoundArguments& arguments) {
  std::vector<core::Diagnostic> all = error.diagnostics();
  for (core::Diagnostic& each : all) {
    if (names_exchange(arguments) && (each.key_path == "request.devices" || each.key_path == "request.amount")) {
      const ExchangeWords words = exchange_words(arguments);
      refuse_exchange(words.kind,
                      each.key_path == "request.devices"
                          ? fmt::format("p={} is no number of devices", words.p)
                          : fmt::format("n={} over p={} is no amount that can be counted", words.n, words.p));
    }
    for (const FieldOption& known : k_field_options) {
      if (each.key_path != known.field) continue;
      each.key_path = known.option;
      each.hint += known.remedy;
    }
  }
  return core::ConfigurationError(std::move(all));
}

}  // namespace cairn::cli
