#include "cairn/sweep/extent.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "layouts_of.h"

namespace cairn::sweep {
namespace {

constexpr std::int64_t k_longest = std::int64_t{1} << 30;  // tokens

class Finder {
 public:
  explicit Finder(const ExtentRequest& request) : request_(request), extent_{.objective = request.objective} {
    const experiment::LoadedExperiment own = experiment::load(request.loader, request.experiment, request.overrides);
    const experiment::Parts parts = experiment::load_parts(own, request.loader);
    gpus_per_node_ = parts.machine.network.gpus_per_node;
    gpus_ = parts.machine.network.gpus();
    length_ = own.experiment.training.seq_len;
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
    for (std::int64_t nodes = 1; nodes * gpus_per_node_ <= gpus_; ++nodes)
      sizes.push_back({nodes * gpus_per_node_, {fmt::format("cluster.nodes={}", nodes)}});
    for (const Size& size : sizes)
      if (stopped() || fits(size.gpus, size.overrides, sizes.size())) return;
  }

  // In steps: fits(low), not fits(high).
  void longest() {
    const auto fits_at = [this](std::int64_t steps, std::int64_t between) {
      return fits(steps * k_length_step, {fmt::format("training.seq_len={}", steps * k_length_step)},
                  extent_.tried.size() + std::bit_width(static_cast<std::uint64_t>(between)));
    };
    std::int64_t low = 0;
    std::int64_t high = std::max<std::int64_t>(1, length_ / k_length_step);
    while (!stopped() && high * k_length_step <= k_longest && fits_at(high, high)) {
      low = high;
      high *= 2;
    }
    while (!stopped() && high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (fits_at(middle, high - low) ? low : high) = middle;
    }
  }

  bool fits(std::int64_t size, std::vector<std::string> overrides, std::size_t of) {
    if (request_.progress) request_.progress(extent_.tried.size(), of);
    Extent::Tried tried{.size = size};
    try {
      std::vector<std::string> all = request_.overrides;
      all.insert(all.end(), overrides.begin(), overrides.end());
      const experiment::LoadedExperiment loaded = experiment::load(request_.loader, request_.experiment, all);
      const experiment::Parts parts = experiment::load_parts(loaded, request_.loader);
      const search::Answer answer =
          best_layout(request_.layouts, loaded.experiment, parts, request_.threads, request_.stop);
      tried.fits = !answer.top.empty();
      if (!tried.fits && !answer.complete) return false;  // nothing is known of it
      if (!tried.fits) tried.why = words_of(no_layout(answer));
    } catch (const core::ConfigurationError& error) {
      if (error.diagnostics().empty()) throw;
      tried.why = words_of(error.diagnostics().front());
    }
    if (tried.fits) {
      extent_.size = size;
      extent_.overrides = std::move(overrides);
    }
    extent_.tried.push_back(std::move(tried));
    return extent_.tried.back().fits;
  }

  static std::string words_of(const core::Diagnostic& problem) {
    return problem.hint.empty() ? problem.message : fmt::format("{}: {}", problem.message, problem.hint);
  }

  const ExtentRequest& request_;
  Extent extent_;
  std::int64_t gpus_per_node_ = 1;
  std::int64_t gpus_ = 1;
  std::int64_t length_ = 1;
};

}  // namespace

Extent extent_that_fits(const ExtentRequest& request) { return Finder(request).run(); }

}  // namespace cairn::sweep
