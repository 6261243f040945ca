#include "cairn/experiment/job.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "assumptions.h"
#include "cairn/core/assert.h"
#include "cairn/core/format_units.h"
#include "cairn/experiment/stage_costs.h"
#include "cairn/plan/token_halves.h"
#include "cairn/predict/evaluate/reach.h"
#include "cairn/predict/price/machine_demands.h"
#include "open_choices.h"
#include "plan_parts.h"
#include "read_parts.h"
#include "remedies.h"
#include "resolving.h"
#include "run_traits.h"
#include "write_out.h"

namespace cairn::experiment {
namespace {

using core::Picoseconds;

std::string_view category_name(std::size_t category) {
  constexpr std::array<std::string_view, program::k_categories> k_names{"parameters", "gradients", "optimizer",
                                                                        "activations", "workspace"};
  return k_names[category];
}

}  // namespace

class Job::Implementation {
 public:
  Implementation(const LoadedExperiment& loaded, const config::Loader& loader)
      : origins_(loaded.origins), sources_(loaded.sources), home_(loaded.home), loader_(loader) {
    r_.experiment = loaded.experiment;
    r_.parts = read_parts(loaded, loader.noting(sources_), remarks_);
    start();
  }
  Implementation(const Settings& settings, const Parts& parts, std::string name) {
    check_values(settings);
    static_cast<Settings&>(r_.experiment) = settings;
    r_.experiment.name = std::move(name);
    r_.parts = parts;
    start();
  }

  Result run(predict::Engine engine, RunOptions options) {
    predict::EventOptions event = event_options();
    event.all_timelines = options.all_timelines;
    event.progress = std::move(options.progress);
    event.demands = demands_.get();
    const predict::PredictionInput input{
        .program = program_,
        .model = model(),
        .sizes = {.batch = r_.resolved.strategy.micro_batch, .sequence = r_.experiment.training.seq_len},
        .micro_batches = r_.resolved.strategy.micro_batches,
        .data = r_.resolved.strategy.data,
        .pricer = pricing_->pricer,
        .prices = pricing_->prices,
        .analytic = pricing_->analytic,
        .engine = engine,
        .event = event,
        .memory = memory_limits(r_),
        .limits = limits(),
        .detail = options.detail,
        .passes = options.passes};
    Result result;
    in_place([&] { result.prediction = predict::predict(input); });
    const std::int64_t pieces = options.advice == Advice::none ? 0 : predict::pieces_of_work(program_);
    const Advice advice = pieces <= k_most_tried ? options.advice : Advice::none;
    if (!result.prediction.fits) {
      result.why_not = why_not(result.prediction);
      if (advice != Advice::none) result.why_not->changes = remedies(result.prediction.memory.device_peak);
    }
    result.assumptions = assumptions(r_, pricing_->pricer, engine);
    result.intervals = run_intervals(r_);
    find_extrapolations();
    warn_of_masked_pairs(result.prediction);
    warn_of_bounds(result.prediction);
    if (advice != options.advice)
      warnings_.push_back(fmt::format(
          "no other settings were tried: the step has {} pieces of work, and up to {} are run again; a step "
          "of fewer sequences has the same alternatives",
          pieces, k_most_tried));
    if (advice == Advice::effects) result.effects = effects(engine, result);
    return result;
  }

  pipeline::StageCosts stage_costs() {
    pipeline::StageCosts costs;
    in_place([&] { costs = experiment::stage_costs(program_, pricing_->analytic, pricing_->prices); });
    return costs;
  }

  // Full attention counts pairs that kernels skip: with enough of them its FLOPs exceed what the devices could execute.
  void warn_of_masked_pairs(const predict::Prediction& prediction) {
    const double ranks = static_cast<double>(program_.mesh.ranks());
    if (prediction.model_flops <= core::to_seconds(prediction.time) * peak_.rate.base() * ranks) return;
    warnings_.push_back(
        "MFU above 100 %: it counts attention full, as published figures do, and the kernel skips masked pairs; the "
        "causal MFU "
        "counts those that are needed");
  }

  // Warnings of the experiment itself, then of the prices given so far.
  void find_extrapolations() {
    warnings_ = r_.resolved.warnings;
    for (const cost::Extrapolation* each :
         {&pricing_->pricer.shards().extrapolation(), &pricing_->pricer.extrapolation()})
      for (const std::string& sentence : each->sentences()) warnings_.push_back(sentence);
  }

  // A time below a proven bound is wrong, whatever made it so.
  void warn_of_bounds(const predict::Prediction& prediction) {
    const double time_s = core::to_seconds(prediction.time);
    for (const auto& [bounds, of] :
         {std::pair{&prediction.plan_bounds, "this plan"}, std::pair{&prediction.problem_bounds, "any plan"}})
      if (const auto best = bounds->best_s(); best && *best > time_s)
        warnings_.push_back(fmt::format(
            "lower_bounds_s: the step takes {}, but no execution of {} takes less than {}: a price is too low, or a "
            "rank is simulated as too fast",
            core::format(core::Seconds::from_base(time_s)), of, core::format(core::Seconds::from_base(*best))));
  }

  predict::DeviceLimits limits() const {
    const hardware::Accelerator& accelerator = r_.parts.machine.accelerator.value;
    const auto on_chip = accelerator.on_chip_capacity();
    return {.peak_flops = peak_.rate.base(),
            .memory_bytes_per_s = accelerator.device_memory().bandwidth->base(),
            .on_chip_bytes = on_chip ? std::optional(on_chip->base()) : std::nullopt,
            .links_bytes_per_s =
                predict::all_links_bytes_per_s(r_.parts.machine.network, r_.parts.machine.cluster.value.host),
            .words = narrowest_words()};
  }

  // The recipe's narrowest formats, whatever it sends in which.
  predict::WordBytes narrowest_words() const {
    const software::PrecisionRecipe& recipe = r_.parts.software.recipe;
    const auto narrowest = [](std::initializer_list<numerics::Format> formats) {
      double bytes = numerics::bytes_per_element(numerics::Format::fp64);
      for (const numerics::Format format : formats) bytes = std::min(bytes, numerics::bytes_per_element(format));
      return bytes;
    };
    const numerics::Format narrow = recipe.narrow ? recipe.narrow->gradients : recipe.gemm;
    return {.value = narrowest({activation_format(recipe), recipe.tp_wire, recipe.gemm, narrow}),
            .weight_gradient = narrowest({recipe.reduce, recipe.gradients, recipe.parameters})};
  }

  const ir::Model& model() const { return lowered_->model; }
  plan::Lowering& lowering() { return lowered_->lowering; }

  Experiment written_out(Naming naming) const {
    return loader_ ? write_out(r_, {.loader = *loader_, .sources = sources_}, naming) : write_out(r_);
  }

  Case r_;
  config::Origins origins_;  // places of the experiment's keys
  config::Sources sources_;  // every file that this rests on
  std::filesystem::path home_;
  std::optional<config::Loader> loader_;  // none: made from values
  std::vector<std::string> remarks_;      // about the files that were read
  std::vector<std::string> warnings_;
  cost::Peak peak_;
  std::shared_ptr<LoweredModel> lowered_;
  std::shared_ptr<Pricing> pricing_;
  std::unique_ptr<predict::Demands> demands_;  // null: nothing is shared
  program::Program program_;

 private:
  // What goes wrong is an error of the setting that decides it. Counts and times of work that no other setting is known
  // to decide grow with the tokens that are worked on at once.
  template <class Work>
  void in_place(Work work) const {
    try {
      return work();
    } catch (const core::OutOfRange& problem) {
      const bool sequence = r_.experiment.training.seq_len >= r_.resolved.strategy.micro_batch;
      throw placed(problem.at(sequence ? "training.seq_len" : "strategy.micro_batch",
                              fmt::format("with {} tokens at once: use fewer",
                                          r_.experiment.training.seq_len * r_.resolved.strategy.micro_batch)),
                   origins_);
    } catch (const core::ConfigurationError& problem) {
      throw placed(problem, origins_);
    }
  }

  void start() {
    resolve();
    in_place([&] { prepare(); });
    warnings_ = r_.resolved.warnings;
  }

  void resolve() {
    in_place([&] { r_.resolved = resolve_checked(r_.experiment, r_.parts); });
    r_.resolved.warnings.insert(r_.resolved.warnings.end(), remarks_.begin(), remarks_.end());
  }

  void prepare(SharedParts* shared = nullptr) {
    lowered_ = shared != nullptr ? shared->model_of(r_) : std::make_shared<LoweredModel>(r_);
    peak_ = cost::dense_peak(model(), r_.parts.software.recipe.gemm, r_.parts.machine.accelerator.value);
    lowering().use_schedule(r_.resolved.strategy, r_.resolved.schedule);
    make_prices(shared);
    warn_of_whole_layers();
    if (OpenChoices open(r_, lowering(), *pricing_); open.by_price()) {
      open.decide_by_price();
      make_prices(shared);  // what plans that were tried assume is none of this one's
    }
    program_ = OpenChoices(r_, lowering(), *pricing_).lower();
    if (program_.updates_within()) warn_of_filling();
  }

  void make_prices(SharedParts* shared) {
    pricing_ = shared != nullptr ? shared->pricing() : std::make_shared<Pricing>(r_);
    if (shared != nullptr) return;  // such plans are not simulated
    const Simulation& simulation = r_.experiment.simulation;
    if (simulation.contention || simulation.interference)
      demands_ = std::make_unique<predict::MachineDemands>(
          pricing_->pricer, r_.parts.calibrated.calibration.communication, r_.parts.machine.accelerator.value,
          r_.parts.machine.network, r_.parts.machine.cluster.value.host,
          predict::SharingRules{.contention = simulation.contention, .interference = simulation.interference});
  }

  // Halves of the tokens cannot take turns where an operator works on all of them at once.
  void warn_of_whole_layers() {
    if (r_.resolved.strategy.tensor_pieces.kind != plan::TensorPieces::Kind::halves) return;
    for (const ir::LayerClass& layer : model().classes)
      if (const ir::Operator* whole = plan::without_tokens(layer.graph); layer.position == ir::Position::body && whole)
        r_.resolved.warnings.push_back(fmt::format(
            "strategy.overlap.tp: iso leaves layers '{}' in plain order, whose operator '{}' needs all tokens",
            layer.name, whole->name));
  }

  Picoseconds step_time(const program::Program& program) {
    return predict::step_time(program, pricing_->analytic, pricing_->pricer);
  }

  // A pipeline that is never emptied: what another step's micro-batches add to a run.
  void warn_of_filling() {
    plan::Strategy longer = r_.resolved.strategy;
    longer.micro_batches *= 2;
    const Picoseconds more = step_time(lowering().lower(longer)) - step_time(program_);
    r_.resolved.warnings.push_back(
        fmt::format("strategy.schedule: {} is never emptied: the step shown fills and drains its pipeline once; one in "
                    "the midst of a run takes {}",
                    r_.resolved.strategy.schedule, core::format(core::Seconds::from_base(core::to_seconds(more)))));
  }

  predict::EventOptions event_options() const {
    const Simulation& simulation = r_.experiment.simulation;
    predict::EventOptions options{.slow_ranks = {},
                                  .jitter_sigma = simulation.jitter.sigma,
                                  .seed = static_cast<std::uint64_t>(simulation.seed),
                                  .all_timelines = false};
    for (const Fault& fault : simulation.faults)
      options.slow_ranks.push_back({.rank = fault.rank,
                                    .speed = fault.compute,
                                    .from = core::to_picoseconds(fault.from / core::k_second),
                                    .until = fault.until ? core::to_picoseconds(*fault.until / core::k_second)
                                                         : std::numeric_limits<Picoseconds>::max()});
    return options;
  }

  WhyNot why_not(const predict::Prediction& prediction) const {
    const predict::MemoryReport& memory = prediction.memory;
    const predict::StageMemory& worst = memory.stages[static_cast<std::size_t>(memory.peak_stage)];
    const auto largest = std::max_element(worst.at_peak.begin(), worst.at_peak.end()) - worst.at_peak.begin();
    WhyNot result{.term = std::string(category_name(static_cast<std::size_t>(largest))),
                  .stage = memory.peak_stage,
                  .over_by_bytes = -memory.headroom(),
                  .changes = std::nullopt};
    if (memory.headroom() >= 0.0) {
      const bool host = memory.host > memory.host_capacity;
      result.term = host ? "host" : "storage";
      result.over_by_bytes = host ? memory.host - memory.host_capacity : memory.storage - memory.storage_capacity;
    }
    return result;
  }

  // The same job but for one change; of the files nothing is read again. `shared`: with a change of the strategy alone.
  Implementation(const Implementation& other, const std::function<void(Case&)>& change, SharedParts* shared = nullptr)
      : origins_(other.origins_), home_(other.home_), loader_(other.loader_) {
    r_.experiment = other.r_.experiment;
    r_.parts = other.r_.parts;
    remarks_ = other.remarks_;
    change(r_);
    resolve();
    prepare(shared);
  }

  // A plan with some changes: what its fullest device holds, and the remedy it is where it fits.
  struct Trial {
    std::optional<double> memory_bytes;  // none: settings that contradict each other
    std::optional<Remedy> remedy;
  };
  Trial with(std::initializer_list<const Change*> changes, SharedParts& shared) const {
    StrategyChoice strategy = r_.experiment.strategy;
    Remedy remedy;
    for (const Change* change : changes) {
      change->apply(strategy);
      remedy.settings.push_back(change->setting);
    }
    try {
      const auto change = [&](Case& changed) { changed.experiment.strategy = strategy; };
      Implementation changed(*this, change, &shared);
      const predict::MemoryReport memory = predict::memory_report(changed.program_, memory_limits(changed.r_));
      remedy.memory_bytes = memory.device_peak;
      if (!predict::fits(memory)) return {.memory_bytes = memory.device_peak, .remedy = std::nullopt};
      const auto follows = [&](const char* key, std::int64_t value, std::int64_t before) {
        if (value != before) remedy.settings.push_back(fmt::format("strategy.{}={}", key, value));
      };
      follows("dp", changed.r_.resolved.strategy.data, r_.resolved.strategy.data);
      follows("micro_batches", changed.r_.resolved.strategy.micro_batches, r_.resolved.strategy.micro_batches);
      remedy.time_s = core::to_seconds(changed.step_time(changed.program_));
      return {.memory_bytes = memory.device_peak, .remedy = std::move(remedy)};
    } catch (const core::ConfigurationError&) {
      return {};
    }
  }

  // Single changes, then pairs of those that are not enough alone. Two changes seldom save much more together than each
  // saves alone: pairs that would have to are not tried. Measured with every pair on 1,200 lines of a random batch: this
  // leaves out 76 % of the pairs that do not fit, and 2 % of those that do.
  std::vector<Remedy> remedies(double memory_bytes) const {
    constexpr double k_synergy = 0.2;  // of the capacity
    const double enough = (1.0 + k_synergy) * memory_limits(r_).capacity_bytes;
    const std::vector<Change> changes = memory_changes(r_);
    SharedParts shared(r_, lowered_);
    std::vector<Remedy> result;
    const auto attempt = [&](std::initializer_list<const Change*> tried) {
      Trial trial = with(tried, shared);
      if (trial.remedy) result.push_back(*std::move(trial.remedy));
      return trial;
    };
    std::vector<std::pair<const Change*, double>> not_enough;
    for (const Change& change : changes)
      if (const Trial trial = attempt({&change}); !trial.remedy)
        not_enough.emplace_back(&change, memory_bytes - trial.memory_bytes.value_or(memory_bytes));
    for (auto one = not_enough.begin(); one != not_enough.end(); ++one)
      for (auto other = one + 1; other != not_enough.end(); ++other)
        if (one->first->subject != other->first->subject && memory_bytes - one->second - other->second <= enough)
          attempt({one->first, other->first});
    std::stable_sort(result.begin(), result.end(),
                     [](const Remedy& a, const Remedy& b) { return a.time_s < b.time_s; });
    return result;
  }

  std::vector<Effect> effects(predict::Engine engine, const Result& result) const {
    std::vector<std::string> notes = warnings_;
    notes.insert(notes.end(), result.assumptions.begin(), result.assumptions.end());
    std::vector<Effect> all;
    for (const Alternative& each : alternatives(r_, pricing_->pricer, engine)) {
      try {
        Implementation changed(*this, each.apply);
        const Result other = changed.run(engine, {.detail = predict::Detail::stages, .advice = Advice::none});
        Effect effect{.alternative = each.text,
                      .change_s = core::to_seconds(other.prediction.time - result.prediction.time),
                      .about = {}};
        const auto still = [&](const std::vector<std::string>& texts, const std::string& note) {
          return std::find(texts.begin(), texts.end(), note) != texts.end();
        };
        for (const std::string& note : notes)
          if (!still(changed.warnings_, note) && !still(other.assumptions, note)) effect.about.push_back(note);
        all.push_back(std::move(effect));
      } catch (const core::ConfigurationError&) {
        continue;  // a kernel that this model or its numbers cannot take
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Effect& a, const Effect& b) { return std::abs(a.change_s) > std::abs(b.change_s); });
    return all;
  }
};

Job::Job(const LoadedExperiment& loaded, const config::Loader& loader)
    : implementation_(std::make_unique<Implementation>(loaded, loader)) {}
Job::Job(const Settings& settings, const Parts& parts, std::string name)
    : implementation_(std::make_unique<Implementation>(settings, parts, std::move(name))) {}
Job::~Job() = default;

Result Job::run(predict::Engine engine, RunOptions options) { return implementation_->run(engine, std::move(options)); }
const Experiment& Job::experiment() const { return implementation_->r_.experiment; }
const Parts& Job::parts() const { return implementation_->r_.parts; }
const models::TransformerConfig& Job::transformer() const { return implementation_->r_.resolved.model; }
const ir::Model& Job::model() const { return implementation_->model(); }
const hardware::Machine& Job::machine() const { return implementation_->r_.parts.machine; }
const software::PrecisionRecipe& Job::recipe() const { return implementation_->r_.parts.software.recipe; }
const software::FrameworkProfile& Job::framework() const { return implementation_->r_.parts.software.framework; }
const plan::Strategy& Job::strategy() const { return implementation_->r_.resolved.strategy; }
const program::Program& Job::program() const { return implementation_->program_; }
predict::PriceTable& Job::prices() { return implementation_->pricing_->prices; }
pipeline::StageCosts Job::stage_costs() { return implementation_->stage_costs(); }
predict::CostPricer& Job::pricer() { return implementation_->pricing_->pricer; }
const cost::Peak& Job::peak() const { return implementation_->peak_; }
std::int64_t Job::gpus() const { return implementation_->r_.parts.machine.network.gpus(); }
RunTraits Job::traits() const { return run_traits(implementation_->r_); }
std::int64_t Job::global_batch() const { return implementation_->r_.resolved.global_batch; }
const config::Sources& Job::sources() const { return implementation_->sources_; }
const std::filesystem::path& Job::home() const { return implementation_->home_; }
Experiment Job::written_out(Naming naming) const { return implementation_->written_out(naming); }
const std::vector<std::string>& Job::warnings() const { return implementation_->warnings_; }

}  // namespace cairn::experiment
