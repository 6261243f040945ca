#include "attention_request.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cairn/config/units.h"
#include "cairn/core/printable.h"
#include "cairn/core/read_file.h"
#include "cairn/experiment/parts.h"
#include "cairn/sequence/other_scheme.h"
#include "cairn/sequence/scheme.h"
#include "cairn/software/files.h"

namespace cairn::cli {
namespace {

constexpr std::size_t k_most_points = 256;
constexpr std::string_view k_dots = "..";

// 131072, 128Ki; nothing where it is no whole number above 0.
std::optional<std::int64_t> whole_number(std::string_view text) {
  constexpr double k_exact = 0x1p53;  // doubles below it hold every whole number
  const auto parsed = config::parse_quantity(fmt::format("{} tokens", text), config::Dimension::tokens);
  if (!parsed.base || *parsed.base < 1.0 || *parsed.base > k_exact || std::floor(*parsed.base) != *parsed.base)
    return std::nullopt;
  return static_cast<std::int64_t>(*parsed.base);
}

// Whole numbers as a list or ranges: 131072; 128Ki,256Ki; 128Ki..2Mi; 1..64*2.
class Counts {
 public:
  // `factor`: of a range that names none; 1: every whole number.
  Counts(const char* option, std::int64_t factor) : option_(option), factor_(factor) {}

  std::vector<std::int64_t> read(std::string_view text) {
    for (std::size_t start = 0; start <= text.size();) {
      const std::size_t comma = std::min(text.find(',', start), text.size());
      item(text.substr(start, comma - start));
      start = comma + 1;
    }
    return std::move(all_);
  }

 private:
  [[noreturn]] void refuse(std::string_view text, std::string_view what) const {
    throw core::ConfigurationError(
        option_, fmt::format("{} {}", core::quoted(text), what),
        "write a whole number, as in 131072 or 128Ki, a list, or a range as in 128Ki..2Mi*2");
  }

  void item(std::string_view text) {
    const std::size_t dots = text.find(k_dots);
    if (dots == std::string_view::npos) return add(number(text));
    const std::string_view rest = text.substr(dots + k_dots.size());
    const std::size_t star = rest.find('*');
    const std::int64_t factor = star == std::string_view::npos ? factor_ : number(rest.substr(star + 1));
    if (star != std::string_view::npos && factor < 2) refuse(text, "does not grow");
    const std::int64_t last = number(rest.substr(0, star)), first = number(text.substr(0, dots));
    if (first > last) refuse(text, "runs downwards");
    for (std::int64_t value = first;; value = factor > 1 ? value * factor : value + 1) {
      add(value);
      if (factor > 1 ? value > last / factor : value == last) return;
    }
  }

  std::int64_t number(std::string_view text) const {
    const auto whole = whole_number(text);
    if (!whole) refuse(text, "is no whole number above 0");
    return *whole;
  }

  void add(std::int64_t value) {
    if (all_.size() >= k_most_points)
      throw core::ConfigurationError(option_, fmt::format("more than {} values", k_most_points), "take larger steps");
    if (std::find(all_.begin(), all_.end(), value) == all_.end()) all_.push_back(value);
  }

  const char* option_;
  std::int64_t factor_;
  std::vector<std::int64_t> all_;
};

std::optional<std::int64_t> given(std::int64_t value) { return value == 0 ? std::nullopt : std::optional(value); }

std::optional<sequence::Sides> sides(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t cross = text.find('x');
  const auto number = [&](std::size_t begin, std::size_t end) {
    return begin > end ? std::nullopt : config::parse_whole(std::string_view(text).substr(begin, end - begin));
  };
  const auto rows = cross == std::string::npos ? std::nullopt : number(0, cross);
  const auto columns = cross == std::string::npos ? std::nullopt : number(cross + 1, text.size());
  if (!rows || !columns || *rows < 1 || *columns < 1)
    throw core::ConfigurationError("--grid", fmt::format("{} is no grid of ranks", core::quoted(text)),
                                   "write rows x columns, as in 8x8");
  return sequence::Sides{.rows = *rows, .columns = *columns};
}

std::string known_scheme(const std::string& name) {
  const std::vector<std::string> known = sequence::scheme_names();
  if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) return name;
  if (std::string use = sequence::other_use(name); !use.empty())
    throw core::ConfigurationError("--scheme", std::move(use), "`cairn attention --list` says what each is for");
  const std::string near = core::nearest(name, known);
  throw core::ConfigurationError(
      "--scheme", fmt::format("no scheme is called {}", core::quoted(name)),
      near.empty() ? "`cairn attention --list` has them" : fmt::format("did you mean '{}'?", near));
}

// As `cairn run` has it where an experiment names none; of kernels that keep scores in memory the nearest that does not.
models::AttentionKernel kernel(const std::string& word, const hardware::Accelerator& accelerator,
                               const config::Loader& loader) {
  for (const models::AttentionKernel each : models::k_attention_kernels)
    if (models::name(each) == word) return each;
  const models::AttentionKernel usual =
      software::load_framework(loader, software::k_default_framework).kernels_on(accelerator).attention;
  return models::keeps_scores(usual) ? models::AttentionKernel::flash2 : usual;
}

// A field of a request, and the option that gives it.
struct FieldOption {
  std::string_view field;
  const char* option;
};
constexpr FieldOption k_attention_options[] = {{"request.tokens", "--seq"},
                                               {"request.sequences", "--batch"},
                                               {"request.heads", "--heads"},
                                               {"request.kv_heads", "--kv-heads"},
                                               {"request.head_dim", "--head-dim"},
                                               {"request.tensor_ranks", "--tp"},
                                               {"request.network", "--nodes"},
                                               {"request.kernel", "--kernel"},
                                               {"training.kernels.attention", "--kernel"},
                                               {"request.lengths", "--lengths"},
                                               {"lengths", "--lengths"},
                                               {"request.tokens_per_rank", "--tokens-per-gpu"}};

// On `nodes` nodes of the cluster; 0: as many as it has.
attention::Request on_cluster(const AttentionArguments& arguments, const config::Loader& loader, std::int64_t nodes,
                              std::string& cluster) {
  std::vector<std::string> overrides = arguments.overrides;
  if (nodes > 0) overrides.push_back(fmt::format("nodes={}", nodes));
  const hardware::Machine machine = hardware::load_machine(loader, arguments.cluster, overrides);
  cluster = machine.cluster.value.name;
  experiment::Calibrated calibrated = experiment::load_calibrated(loader, machine);
  attention::Request request{.accelerator = machine.accelerator.value,
                             .network = machine.network,
                             .calibration = std::move(calibrated.calibration),
                             .sequences = arguments.batch,
                             .heads = arguments.heads,
                             .kv_heads = arguments.kv_heads == 0 ? arguments.heads : arguments.kv_heads,
                             .head_dim = arguments.head_dim,
                             .mask = arguments.full_mask ? sequence::Mask::full : sequence::Mask::causal,
                             .backward = !arguments.forward,
                             .fp32_gradients = arguments.fp32_gradients,
                             .eager_joins = arguments.eager_joins,
                             .tensor_ranks = arguments.tp,
                             .kernel = kernel(arguments.kernel, machine.accelerator.value, loader)};
  if (arguments.eager_joins)
    request.assumptions.emplace_back(
        "tiles are joined by one kernel for each operation, as in PyTorch's experimental ring");
  if (!calibrated.carried.empty()) request.assumptions.push_back(std::move(calibrated.carried));
  return request;
}

std::vector<std::int64_t> node_counts(const AttentionArguments& arguments) {
  return arguments.nodes.empty() ? std::vector<std::int64_t>{0} : Counts("--nodes", 1).read(arguments.nodes);
}

std::vector<std::int64_t> lengths_of(const std::string& file) {
  constexpr std::size_t k_most_lengths = 1U << 20U;
  std::istringstream lines(core::read_file(file, core::k_most_listed_bytes, "a list of lengths"));
  std::vector<std::int64_t> lengths;
  int line = 0;
  for (std::string text; std::getline(lines, text);) {
    ++line;
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.pop_back();
    if (text.empty()) continue;
    const auto tokens = whole_number(text);
    if (!tokens || lengths.size() >= k_most_lengths)
      throw core::ConfigurationError(
          {core::Diagnostic::at_line(file, line,
                                     tokens ? fmt::format("more than {} sequences", k_most_lengths)
                                            : fmt::format("{} is no length", core::quoted(text)),
                                     "write one whole number of tokens a line, as in 4096 or 4Ki")});
    lengths.push_back(*tokens);
  }
  return lengths;
}

}  // namespace

AttentionRequests attention_requests(const AttentionArguments& arguments, const config::Loader& loader) {
  const attention::Choice choice{.scheme = known_scheme(arguments.scheme),
                                 .grid = {.sides = sides(arguments.grid),
                                          .head_ranks = given(arguments.heads_split),
                                          .token_ranks = given(arguments.ring),
                                          .window = given(arguments.window)}};
  const std::vector<std::int64_t> lengths = Counts("--seq", 2).read(arguments.sequence);
  const std::vector<std::int64_t> nodes = node_counts(arguments);
  if (lengths.size() * nodes.size() > k_most_points)
    throw core::ConfigurationError("--seq", fmt::format("more than {} lengths and clusters", k_most_points),
                                   "take larger steps");
  AttentionRequests result;
  for (const std::int64_t count : nodes) {
    attention::Request request = on_cluster(arguments, loader, count, result.cluster);
    request.choice = choice;
    for (const std::int64_t tokens : lengths) {
      request.tokens = tokens;
      result.requests.push_back(request);
    }
  }
  return result;
}

BatchedRequest batch_request(const AttentionArguments& arguments, const config::Loader& loader) {
  const std::vector<std::int64_t> nodes = node_counts(arguments);
  if (nodes.size() > 1)
    throw core::ConfigurationError("--nodes", "a batch is shared out on one cluster", "give one number of nodes");
  BatchedRequest result;
  result.request.pool = on_cluster(arguments, loader, nodes.front(), result.cluster);
  result.request.lengths = lengths_of(arguments.lengths);
  result.request.tokens_per_rank = arguments.tokens_per_gpu;
  return result;
}

core::ConfigurationError in_options(const core::ConfigurationError& error, const AttentionArguments& arguments) {
  std::vector<core::Diagnostic> all = error.diagnostics();
  for (core::Diagnostic& each : all) {
    for (const FieldOption& known : k_attention_options)
      if (each.key_path == known.field) each.key_path = known.option;
    if (each.key_path == "request.choice") each.key_path = arguments.scheme.empty() ? "--grid" : "--scheme";
  }
  return core::ConfigurationError(std::move(all));
}

}  // namespace cairn::cli
