#include "cairn/contrast/explanation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cairn/contrast/settings.h"
#include "cairn/core/diagnostics.h"
#include "cairn/models/kernels.h"
#include "cairn/predict/evaluate/reach.h"
#include "step_time.h"
#include "tree.h"

namespace cairn::contrast {
namespace {

using config::Node;
using core::Picoseconds;

// Keys and their values, as --set writes both.
using Changes = std::vector<std::pair<std::string, Node>>;

Node word(std::string text) { return config::make_scalar(std::move(text), {}); }

// "400 Gb/s" times a factor; empty: it is no such text.
std::string times(const std::string& quantity, double factor) {
  double figure = 0.0;
  const auto [end, error] = std::from_chars(quantity.data(), quantity.data() + quantity.size(), figure);
  if (error != std::errc() || !(figure > 0.0)) return {};
  return fmt::format("{:.6g}{}", figure * factor, std::string_view(end, quantity.data() + quantity.size()));
}

class Explaining {
 public:
  Explaining(const experiment::Job& job, const config::Loader& loader, predict::Engine engine, Explanation& answer,
             const std::function<void(std::size_t, std::size_t)>& progress)
      : job_(job),
        loader_(loader),
        simulates_(engine != predict::Engine::analytic),
        base_(deciding(job, loader).experiment),
        answer_(answer),
        progress_(progress) {
    const bool disturbed = job.experiment().simulation.asks_for_events();
    // Both engines give the same time where nothing is shared and nobody is slow.
    engine_ = simulates_ && disturbed ? predict::Engine::event : predict::Engine::analytic;
  }

  void all() {
    releases();
    kernels();
    overlaps();
    recomputation();
    sharing();
    if (answer_.gap() > 0) {
      slower_links();
      lower_clock();
    }
    std::stable_sort(answer_.facts.begin(), answer_.facts.end(),
                     [](const Fact& a, const Fact& b) { return std::abs(a.residual) < std::abs(b.residual); });
  }

 private:
  std::optional<Picoseconds> time_with(const Changes& changes, predict::Engine engine) {
    ++done_;
    if (progress_) progress_(done_, std::max(done_, k_usual_runs));
    Node changed = base_;
    for (const auto& [key, value] : changes) config::put_path(changed, key, value);
    try {
      return step_time(changed, loader_, engine);
    } catch (const core::ConfigurationError&) {
      return std::nullopt;  // such as a kernel that cannot take the model's heads
    }
  }

  void add(std::string sentence, const Changes& changes, Picoseconds time, std::optional<double> factor = {}) {
    if (time == answer_.predicted) return;
    Fact fact{.sentence = std::move(sentence), .factor = factor, .time = time, .residual = answer_.measured - time};
    for (const auto& [key, value] : changes) fact.settings.push_back(key + "=" + in_one_line(value));
    answer_.facts.push_back(std::move(fact));
  }
  void attempt(std::string sentence, const std::string& key, Node value,
               std::optional<predict::Engine> engine = std::nullopt) {
    const Changes changes{{key, std::move(value)}};
    if (const auto time = time_with(changes, engine.value_or(engine_))) add(std::move(sentence), changes, *time);
  }

  void releases() {
    const Node* now = config::find_path(base_, "training.framework");
    if (now == nullptr || !now->is_scalar()) return;
    const std::string name = now->text.substr(0, now->text.find('@'));
    core::Diagnostics problems;
    const Node file = loader_.load_named(name, "frameworks", problems);
    const Node* releases = file.find("releases");
    if (problems.has_errors() || releases == nullptr) return;
    std::vector<std::string> all{name};
    for (const config::Entry& each : releases->entries) all.push_back(name + "@" + each.key);
    for (const std::string& each : all)
      if (each != now->text) attempt("the framework's release is " + each, "training.framework", word(each));
  }

  void kernels() {
    using models::AttentionKernel;
    constexpr std::array k_kernels{
#define CAIRN_ATTENTION_KERNEL(name, text, scores) AttentionKernel::name,
#include "cairn/models/attention_kernels.def"
#undef CAIRN_ATTENTION_KERNEL
    };
    for (const AttentionKernel kernel : k_kernels)
      if (models::keeps_scores(kernel) ||
          job_.parts().calibrated.calibration.find_flash(models::variant(kernel)) != nullptr)
        attempt(fmt::format("the attention kernel is {}", models::name(kernel)), "training.kernels.attention",
                word(std::string(models::name(kernel))));
  }

  void overlaps() {
    const plan::Strategy& strategy = job_.strategy();
    const auto off = [&](bool exchanges, const char* key, const char* what) {
      if (exchanges)
        attempt(fmt::format("{} do not overlap computation", what), std::string("strategy.overlap.") + key,
                word("false"));
    };
    off(strategy.data > 1, "dp", "data-parallel transfers");
    off(strategy.tensor > 1, "tp", "tensor-parallel transfers");
    off(strategy.pipeline > 1, "pp", "messages between stages");
    off(job_.program().expert_mesh.size(program::Axis::expert) > 1, "ep", "exchanges with experts");
  }

  void recomputation() {
    for (const char* kind : {"none", "attention", "full"})
      attempt(fmt::format("recomputation is {}", kind), "strategy.recompute", word(kind));
  }

  void sharing() {
    const experiment::Simulation& simulation = job_.experiment().simulation;
    if (!simulates_) return;
    if (!simulation.contention)
      attempt("transfers that overlap share links", "simulation.contention", word("true"), predict::Engine::event);
    if (!simulation.interference)
      attempt("transfers share the device with kernels beside them", "simulation.interference", word("true"),
              predict::Engine::event);
  }

  // `changes` of a factor: that at which the step takes what was measured. `what`: a format of the factor.
  template <class Make>
  void close_by(const std::string& what, Make changes) {
    double low = k_least_factor, high = 1.0;
    const auto time_at = [&](double factor) { return time_with(changes(factor), engine_); };
    const auto least = time_at(low);
    if (!least || *least == answer_.predicted) return;
    if (*least > answer_.measured) {
      constexpr int k_halvings = 10;  // of a range of 0.75: to 0.0007
      for (int i = 0; i < k_halvings; ++i) {
        const double middle = 0.5 * (low + high);
        const auto time = time_at(middle);
        if (!time) return;
        (*time > answer_.measured ? low : high) = middle;
      }
      constexpr double k_digits = 1000.0;
      low = std::round(k_digits * 0.5 * (low + high)) / k_digits;
    }
    if (const auto time = time_at(low)) add(fmt::format(fmt::runtime(what), low), changes(low), *time, low);
  }

  void slower_links() {
    const auto slower = [&](const std::string& map, const std::string& what) {
      const std::string key = "cluster." + map + ".bandwidth";
      const Node* bandwidth = config::find_path(base_, key);
      if (bandwidth == nullptr || !bandwidth->is_scalar() || times(bandwidth->text, 1.0).empty()) return;
      close_by(what, [key, text = bandwidth->text](double factor) {
        return Changes{{key, config::make_scalar(times(text, factor), {}, true)}};
      });
    };
    slower("intra", "links inside a node give {:.3g} of their bandwidth");
    slower("inter", "links between nodes give {:.3g} of their bandwidth");
    const Node* levels = config::find_path(base_, "cluster.levels");
    if (levels == nullptr) return;
    for (std::size_t i = 0; i < levels->items.size(); ++i) {
      const Node* bandwidth = levels->items[i].find("bandwidth");
      if (bandwidth == nullptr || times(bandwidth->text, 1.0).empty()) continue;
      close_by(fmt::format("links of cluster.levels[{}] give {{:.3g}} of their bandwidth", i), [&, i](double factor) {
        Node changed = *levels;
        changed.items[i].put("bandwidth", config::make_scalar(times(bandwidth->text, factor), {}, true));
        return Changes{{"cluster.levels", std::move(changed)}};
      });
    }
  }

  void lower_clock() {
    const Node reference = job_.written_out(experiment::Naming::by_name).calibration;
    const double now = job_.parts().calibrated.calibration.sustained;
    close_by("devices sustain {:.3g} of the clock that is assumed", [&](double factor) {
      Node lower = reference;
      if (lower.is_scalar()) {
        lower = config::make_node(config::NodeKind::map, {});
        lower.put("file", reference);
      }
      lower.put("sustained", word(fmt::format("{:.6g}", now * factor)));
      return Changes{{"calibration", std::move(lower)}};
    });
  }

  static constexpr std::size_t k_usual_runs = 50;

  const experiment::Job& job_;
  const config::Loader& loader_;
  bool simulates_;
  predict::Engine engine_ = predict::Engine::analytic;
  Node base_;
  Explanation& answer_;
  const std::function<void(std::size_t, std::size_t)>& progress_;
  std::size_t done_ = 0;
};

}  // namespace

Explanation explain(const experiment::Job& job, const config::Loader& loader, predict::Engine engine,
                    Picoseconds predicted, Picoseconds measured,
                    const std::function<void(std::size_t, std::size_t)>& progress) {
  Explanation answer{.measured = measured, .predicted = predicted};
  answer.tried = predict::pieces_of_work(job.program()) <= experiment::k_most_tried;
  if (answer.tried) Explaining(job, loader, engine, answer, progress).all();
  return answer;
}

}  // namespace cairn::contrast
