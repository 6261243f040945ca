#include "cairn/sweep/extent.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "layouts_of.h"

namespace cairn::sweep {
namespace {

class Finder {
 public:
  explicit Finder(const ExtentRequest& request) : request_(request), extent_{.objective = request.objective} {
    const experiment::LoadedExperiment own = experiment::load(request.loader, request.experiment, request.overrides);
    const experiment::Parts parts = experiment::load_parts(own, request.loader);
    gpus_per_node_ = parts.machine.network.gpus_per_node;
    gpus_ = parts.machine.network.gpus();
    length_ = own.experiment.training.seq_len;
    const experiment::GlobalBatch& batch = own.experiment.training.global_batch;
    if (batch.sequences == 0) batch_tokens_ = std::llround(batch.tokens);
  }

  Extent run() {
    CAIRN_ASSERT(search::is_extent(request_.objective));
    request_.objective == search::Objective::fewest_gpus ? fewest() : longest();
    extent_.complete = !stopped();
    return std::move(extent_);
  }

 private:
  bool stopped() const { return request_.stop && request_.stop(); }

  void fewest() {
    struct Size {
      std::int64_t gpus;
      std::vector<std::string> overrides;
    };
    std::vector<Size> sizes;
    for (std::int64_t gpus = 1; gpus < gpus_per_node_; ++gpus)
      if (gpus_per_node_ % gpus == 0)
        sizes.push_back({gpus, {"cluster.nodes=1", fmt::format("cluster.gpus_per_node={}", gpus)}});
    for (std::int64_t nodes = 1; nodes * gpus_per_node_ < gpus_; ++nodes)
      sizes.push_back({nodes * gpus_per_node_, {fmt::format("cluster.nodes={}", nodes)}});
    sizes.push_back({gpus_, {}});
    for (const Size& size : sizes)
      if (stopped() || fits(size.gpus, size.overrides, sizes.size())) return;
  }

  // Whether sequences of so many tokens make up the batch.
  bool divides_batch(std::int64_t tokens) const { return batch_tokens_ == 0 || batch_tokens_ % tokens == 0; }

  // By place in lengths_: what is at `low` fits, what is at `high` does not.
  void longest() {
    for (std::int64_t tokens = k_length_step; tokens <= experiment::k_longest_sequence; tokens += k_length_step)
      if (divides_batch(tokens)) lengths_.push_back(tokens);
    const auto own = std::lower_bound(lengths_.begin(), lengths_.end(), length_);
    std::ptrdiff_t low = -1;
    std::ptrdiff_t high = own - lengths_.begin();
    if (own == lengths_.end() || *own != length_) lengths_.insert(own, length_);
    const auto end = static_cast<std::ptrdiff_t>(lengths_.size());
    while (!stopped() && high < end && fits_at(high, high - low)) {
      low = high;
      high = low + 1 == end ? end : std::clamp(2 * low + 1, low + 1, end - 1);
    }
    while (!stopped() && high - low > 1) {
      const std::ptrdiff_t middle = low + (high - low) / 2;
      (fits_at(middle, high - low) ? low : high) = middle;
    }
  }

  bool fits_at(std::ptrdiff_t place, std::ptrdiff_t between) {
    const std::int64_t tokens = lengths_[static_cast<std::size_t>(place)];
    std::vector<std::string> overrides;
    if (tokens != length_) overrides.push_back(fmt::format("training.seq_len={}", tokens));
    return fits(tokens, std::move(overrides),
                extent_.tried.size() + static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(between))));
  }

  // A size that the experiment's files cannot describe counts as one without a layout, and is no finding.
  bool fits(std::int64_t size, std::vector<std::string> overrides, std::size_t of) {
    if (request_.progress) request_.progress(extent_.tried.size(), of);
    std::vector<std::string> all = request_.overrides;
    all.insert(all.end(), overrides.begin(), overrides.end());
    std::optional<experiment::LoadedExperiment> loaded;
    std::optional<experiment::Parts> parts;
    try {
      loaded = experiment::load(request_.loader, request_.experiment, all);
      parts = experiment::load_parts(*loaded, request_.loader);
    } catch (const core::ConfigurationError&) {
      return false;
    }
    search::Answer answer = best_layout(request_.layouts, loaded->experiment, *parts, request_.threads, request_.stop);
    const bool found = !answer.top.empty();
    if (!found && !answer.complete) return false;  // nothing is known of it
    extent_.tried.push_back({.size = size, .fits = found, .why = found ? "" : words_of(no_layout(answer))});
    if (found) {
      extent_.size = size;
      extent_.overrides = std::move(overrides);
      extent_.answer = std::move(answer);
    }
    return found;
  }

  static std::string words_of(const core::Diagnostic& problem) {
    return problem.hint.empty() ? problem.message : fmt::format("{}: {}", problem.message, problem.hint);
  }

  const ExtentRequest& request_;
  Extent extent_;
  std::int64_t gpus_per_node_ = 1;
  std::int64_t gpus_ = 1;
  std::int64_t length_ = 1;
  std::int64_t batch_tokens_ = 0;      // 0: the batch is in sequences
  std::vector<std::int64_t> lengths_;  // that are looked at, ascending
};

}  // namespace

Extent extent_that_fits(const ExtentRequest& request) { return Finder(request).run(); }

}  // namespace cairn::sweep
