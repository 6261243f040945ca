#include "cairn/plan/lowering.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "layer_options.h"
#include "lowered_layer.h"
#include "recompute_layers.h"
#include "schedule_cache.h"
#include "stage_messages.h"
#include "stage_parameters.h"
#include "step_ends.h"
#include "strategy_check.h"
#include "unit_passes.h"
#include "words_hash.h"

namespace cairn::plan {
class Lowering::Implementation {
 public:
  Implementation(const ir::Model& model, std::int64_t sequence, ParameterTreatment treatment, std::int64_t domain)
      : model_(model),
        sequence_(sequence),
        treatment_(treatment),
        domain_(domain),
        has_experts_(has_experts(model)),
        messages_(domain),
        ends_(treatment_) {
    for (const ir::LayerRun& run : model.layers) {
      const ir::Position position = model.classes[static_cast<std::size_t>(run.layer_class)].position;
      auto& list = position == ir::Position::entry ? entry_ : position == ir::Position::exit ? exit_ : body_;
      list.push_back(run);
    }
  }

  const Program& lower(const Strategy& strategy) {
    check(strategy, model_);
    if (has_experts_) check_expert_mesh(strategy);
    const ScheduleEntry& entry = schedules_.of(strategy);
    strategy_ = &strategy;
    layers_now_.assign(4 * model_.classes.size(), nullptr);
    last_stretches_.clear();
    program_.mesh = mesh(strategy);
    program_.expert_mesh = has_experts_ ? expert_mesh(strategy) : Mesh{};
    copies_[ParameterGroup::dense] = program_.mesh.group(Axis::data);
    copies_[ParameterGroup::expert] = program_.expert_mesh.group(Axis::expert_data);
    program_.schedule = entry.schedule;
    program_.order = entry.order;
    program_.pass_order = entry.pass_order;
    program_.stages.resize(static_cast<std::size_t>(strategy.pipeline));
    ledger_.start(strategy.pipeline);
    for (Stage& stage : program_.stages) {
      stage.passes.resize(static_cast<std::size_t>(strategy.chunks));
      stage.body_layers = 0;
    }
    messages_.start(strategy, program_.mesh);
    settings_ = unit_settings(strategy, treatment_, copies_, *entry.schedule);
    settings_.host_update = &ends_.host_update();
    kept_bytes_ = 0.0;
    lower_virtual_stages(entry);
    program_.tied_stages = ledger_.tied_stages();
    for (std::int32_t device = 0; device < strategy.pipeline; ++device) finish_stage(device);
    return program_;
  }

  LoweredLayer& layer(const Strategy& strategy, std::size_t layer_class) {
    return layer(strategy, mesh(strategy), layer_class, 0, true);
  }

  // `recomputes`: the strategy's recomputation applies to this layer.
  LoweredLayer& layer(const Strategy& strategy, const Mesh& mesh, std::size_t layer_class, std::uint32_t inputs_held,
                      bool recomputes) {
    const Group tensor = mesh.group(Axis::tensor);
    const Recompute recompute = recomputes ? strategy.recompute : Recompute::none;
    std::array<std::int64_t, 10> key{
        static_cast<std::int64_t>(layer_class),
        strategy.micro_batch,
        word(tensor),
        static_cast<std::int64_t>(recompute),
        recompute == Recompute::operators ? list_index(strategy.recompute_operators) : 0,
        strategy.asynchronous_tensor +
            2 * (static_cast<std::int64_t>(strategy.tensor_pieces.kind) + 4 * strategy.tensor_pieces.count),
        strategy.share_saved_inputs + 2 * (strategy.sequence_parallel + 2 * strategy.vocab_parallel +
                                           4 * strategy.overlap_tensor + 8 * static_cast<std::int64_t>(inputs_held))};
    if (has_experts_) {
      const Mesh experts = expert_mesh(strategy);
      key[7] = word(experts.group(Axis::expert));
      key[8] = word(experts.group(Axis::expert_tensor));
      key[9] = strategy.expert_copies + (strategy.expert_domains << 24) +
               (static_cast<std::int64_t>(strategy.overlap_experts + 2 * strategy.bilevel_experts) << 48);
    }
    auto& slot = layers_[key];
    if (!slot) {
      LayerOptions options = layer_options(strategy, recompute, tensor, sequence_);
      options.inputs_held = inputs_held;
      if (has_experts_) spread_experts(options, strategy, domain_);
      slot = std::make_unique<LoweredLayer>(model_.classes[layer_class], std::move(options));
    }
    return *slot;
  }

  const ir::Model& model_;
  std::int64_t sequence_;
  ParameterTreatment treatment_;
  std::int64_t domain_;

 private:
  // Devices around a virtual stage that its passes exchange messages with.
  struct Neighbours {
    std::int32_t below = k_no_stage;
    std::int32_t here = 0;
    std::int32_t above = k_no_stage;
  };

  std::int64_t list_index(const std::vector<std::string>& list) {
    const auto known = std::find(lists_.begin(), lists_.end(), list);
    if (known != lists_.end()) return known - lists_.begin();
    lists_.push_back(list);
    return static_cast<std::int64_t>(lists_.size()) - 1;
  }

  using PassTable = std::array<std::array<const Pass*, 2>, 2>;
  // The layers of virtual stage `index`, in execution order.
  void collect(std::int64_t index, std::int64_t& run, std::int64_t& used) {
    stretches_.clear();
    groups_.clear();
    const auto last = static_cast<std::int64_t>(strategy_->stage_layers.size()) - 1;
    const std::int64_t below = strategy_->recompute_layers.ranges.empty()
                                   ? 0
                                   : std::accumulate(strategy_->stage_layers.begin(),
                                                     strategy_->stage_layers.begin() + index, std::int64_t{0});
    if (index == 0)
      for (const ir::LayerRun& entry : entry_) add(entry.layer_class, entry.count);
    std::int64_t wanted = strategy_->stage_layers[static_cast<std::size_t>(index)];
    std::vector<std::int32_t> group;  // classes of layers that recompute together
    while (wanted > 0 && recomputes_in_groups(*strategy_)) {
      const ir::LayerRun& body = body_[static_cast<std::size_t>(run)];
      group.push_back(body.layer_class);
      --wanted;
      if (++used == body.count) {
        ++run;
        used = 0;
      }
      if (wanted > 0 && static_cast<std::int64_t>(group.size()) < strategy_->recompute_layers.count) continue;
      add_group(group);
      group.clear();
    }
    while (wanted > 0) {
      const ir::LayerRun& body = body_[static_cast<std::size_t>(run)];
      const std::int64_t here = strategy_->stage_layers[static_cast<std::size_t>(index)] - wanted;
      const RecomputeStretch next = recompute_stretch(*strategy_, below + here, here);
      const std::int64_t taken = std::min({wanted, body.count - used, next.layers});
      add(body.layer_class, taken, next.recomputes);
      wanted -= taken;
      used += taken;
      if (used == body.count) {
        ++run;
        used = 0;
      }
    }
    if (index == last)
      for (const ir::LayerRun& exit : exit_) add(exit.layer_class, exit.count);
  }

  void add(std::int32_t layer_class, std::int64_t count, bool recomputes = true) {
    if (count == 0) return;
    LoweredLayer& first = layer_now(layer_class, recomputes);
    // A layer that keeps its own output holds the next layer's input for it.
    const std::uint32_t kept = first.lowering.state().kept_outputs;
    const bool changes = strategy_->offload.activations == Home::device && kept != held_below_ && count > 1;
    stretches_.push_back({&first, changes ? 1 : count});
    // Layers whose saved activations leave the device cannot share them.
    if (strategy_->offload.activations == Home::device) held_below_ = kept;
    if (changes) add(layer_class, count - 1, recomputes);
  }

  void add_group(const std::vector<std::int32_t>& classes) {
    if (settings_.apply())
      throw wrong("recompute", "layers that move their parameters or activations cannot recompute in groups",
                  "use method: block, or groups of 1");
    const LayerOf of = [&](std::int32_t layer_class, std::uint32_t held, bool recomputes) -> LoweredLayer& {
      return layer(*strategy_, program_.mesh, static_cast<std::size_t>(layer_class), held, recomputes);
    };
    groups_.push_back(append_group(classes, held_below_, of, stretches_));
    held_below_ = 0;
    for (const Stretch& stretch : groups_.back().backward)
      if (!stretch.layer->lowering.state().tied.empty())
        throw wrong("recompute", "layers that share parameters cannot recompute in groups",
                    "use method: block, or groups of 1");
  }

  LoweredLayer& layer_now(std::int32_t layer_class, bool recomputes) {
    const auto index = static_cast<std::size_t>(layer_class);
    if (held_below_ > 1) return layer(*strategy_, program_.mesh, index, held_below_, recomputes);
    LoweredLayer*& known = layers_now_[4 * index + 2 * recomputes + held_below_];
    if (known == nullptr) known = &layer(*strategy_, program_.mesh, index, held_below_, recomputes);
    return *known;
  }

  void lower_virtual_stages(const ScheduleEntry& entry) {
    const auto count = static_cast<std::int64_t>(strategy_->stage_layers.size());
    std::int64_t run = 0;
    std::int64_t used = 0;
    for (std::int64_t index = 0; index < count; ++index) {
      const std::int32_t device = entry.devices[static_cast<std::size_t>(index)];
      held_below_ = 0;  // what arrives from another stage is this stage's own copy
      collect(index, run, used);
      if (stretches_.empty())
        throw wrong("stages", fmt::format("virtual stage {} of {} would hold no layer", index + 1, count),
                    "give each at least one; only the ends, which hold embedding and head, may have none");
      account(device);
      if (strategy_->offload.resident_units > 0) kept_bytes_ = units_.kept_bytes(stretches_, settings_);
      const bool from_below = index > 0 && entry.devices[static_cast<std::size_t>(index - 1)] != device;
      const bool to_above = index + 1 < count && entry.devices[static_cast<std::size_t>(index + 1)] != device;
      Stage& stage = program_.stages[static_cast<std::size_t>(device)];
      stage.body_layers += strategy_->stage_layers[static_cast<std::size_t>(index)];
      auto& slot = stage.passes[static_cast<std::size_t>(entry.chunks[static_cast<std::size_t>(index)])];
      const Neighbours neighbours{.below = from_below ? entry.devices[static_cast<std::size_t>(index - 1)] : k_no_stage,
                                  .here = device,
                                  .above = to_above ? entry.devices[static_cast<std::size_t>(index + 1)] : k_no_stage};
      slot = pass_table(neighbours);
    }
  }

  // The four passes of the layers collected. Stages in the middle of a pipeline equal each other, and those of other
  // plans: what a pass does not depend on stays out of its key, so that plans that differ elsewhere share it.
  PassTable pass_table(const Neighbours& neighbours) {
    if (settings_.apply())
      return {{{forward_pass(neighbours, false), forward_pass(neighbours, true)},
               {backward_pass(neighbours, false), backward_pass(neighbours, true)}}};
    const Group none{};
    const std::array<Group, 2> sends{
        neighbours.below == k_no_stage ? none : messages_.between(neighbours.here, neighbours.below),
        neighbours.above == k_no_stage ? none : messages_.between(neighbours.here, neighbours.above)};
    if (sends == last_sends_ && stretches_ == last_stretches_) return last_table_;
    PassKey key{word(sends[0]), word(sends[1]),
                strategy_->host_waits_for_arrival + 2 * strategy_->scatter_sends + 4 * strategy_->overlap_sends +
                    k_in_groups * !groups_.empty() + k_synchronises * strategy_->host_waits_for_computation};
    const PassPair plain = remembered(key, [&] {
      return PassPair{forward_pass(neighbours, false), backward_pass(neighbours, false)};
    });
    PassTable table{{{plain[0], plain[0]}, {plain[1], plain[1]}}};
    key[3] = word(copies_[ParameterGroup::dense]);
    key[4] = word(copies_[ParameterGroup::expert]);
    if (gathers()) {
      key[2] += k_gathers;
      table[0][1] = remembered(key, [&] { return PassPair{forward_pass(neighbours, true), nullptr}; })[0];
      key[2] -= k_gathers;
    }
    if (reduces()) {
      key[2] += k_reduces + 2 * k_reduces * (strategy_->sharded == Sharded::optimizer) +
                k_whole * strategy_->reduce_whole_gradients;
      key[5] = bits(strategy_->bucket_bytes);
      table[1][1] = remembered(key, [&] { return PassPair{nullptr, backward_pass(neighbours, true)}; })[1];
    }
    last_sends_ = sends;
    last_stretches_ = stretches_;
    last_table_ = table;
    return table;
  }

  using PassPair = std::array<const Pass*, 2>;
  static constexpr std::size_t k_keyed_stretches = 4;
  using PassKey = std::array<std::int64_t, 6 + 2 * k_keyed_stretches>;
  static constexpr std::int64_t k_gathers = 8;
  static constexpr std::int64_t k_reduces = 16;  // and twice it when the optimizer's state is sharded
  static constexpr std::int64_t k_in_groups = 64;
  static constexpr std::int64_t k_synchronises = 128;
  static constexpr std::int64_t k_whole = 256;

  template <class Make>
  PassPair remembered(PassKey key, Make make) {
    if (stretches_.size() > k_keyed_stretches) return make();
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      key[6 + 2 * i] = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(stretches_[i].layer));
      key[7 + 2 * i] = 2 * stretches_[i].count + stretches_[i].owns_ties;
    }
    PassPair& pair = pairs_[key];
    if (pair == PassPair{}) pair = make();
    return pair;
  }

  bool copied() const {
    return std::any_of(copies_.begin(), copies_.end(), [](const Group& copies) { return copies.size > 1; });
  }
  bool gathers() const {
    return copied() && strategy_->sharded == Sharded::optimizer && strategy_->overlap_parameter_gather;
  }
  bool reduces() const { return copied() && strategy_->overlap_gradient_reduce; }

  const Pass* forward_pass(const Neighbours& neighbours, bool gather) {
    draft_.runs.clear();
    draft_.send = Send::none;
    draft_.runs.push_back({messages_.begin(neighbours.below != k_no_stage, true, border(true)), 1});
    if (settings_.apply()) units_.append_forward(draft_, stretches_, settings_, gather);
    for (auto stretch = stretches_.begin(); stretch != stretches_.end() && !settings_.apply(); ++stretch) {
      if (gather)
        append_gathering(draft_, *stretch, parameter_gather());
      else
        draft_.runs.push_back({&stretch->layer->forward, stretch->count});
    }
    if (neighbours.above != k_no_stage) {
      draft_.runs.push_back(
          {messages_.send(true, messages_.between(neighbours.here, neighbours.above), border(false)), 1});
      draft_.send = Send::next;
    }
    return intern();
  }

  const Pass* backward_pass(const Neighbours& neighbours, bool reduce) {
    draft_.runs.clear();
    draft_.send = Send::none;
    draft_.runs.push_back({messages_.begin(neighbours.above != k_no_stage, false, border(false)), 1});
    if (settings_.apply()) units_.append_backward(draft_, stretches_, settings_, reduce);
    const GradientSync sync = reduce ? gradient_sync() : GradientSync{};
    auto group = groups_.rbegin();
    for (std::size_t end = settings_.apply() ? 0 : stretches_.size(); end > 0;) {
      if (group != groups_.rend() && group->first_stretch + group->stretches == end) {
        append_group_backward(draft_, *group, reduce ? &sync : nullptr);
        end = group->first_stretch;
        ++group;
        continue;
      }
      const Stretch& stretch = stretches_[--end];
      if (reduce)
        append_reducing(draft_, stretch, sync);
      else
        draft_.runs.push_back({&stretch.layer->backward, stretch.count});
    }
    if (neighbours.below != k_no_stage) {
      draft_.runs.push_back(
          {messages_.send(false, messages_.between(neighbours.here, neighbours.below), border(true)), 1});
      draft_.send = Send::previous;
    }
    return intern();
  }

  // The one stored copy of the draft.
  const Pass* intern() {
    std::uint64_t hash = static_cast<std::uint64_t>(draft_.send);
    for (const BlockRun& run : draft_.runs) {
      hash = (hash ^ reinterpret_cast<std::uintptr_t>(run.block)) * 0x9E3779B97F4A7C15ULL;
      hash = ((hash ^ static_cast<std::uint64_t>(run.count)) * 0xBF58476D1CE4E5B9ULL) ^ (hash >> 29);
    }
    const auto [begin, end] = passes_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (it->second->send == draft_.send && it->second->runs == draft_.runs) return it->second.get();
    auto pass = std::make_unique<Pass>(draft_);
    pass->id = static_cast<std::int32_t>(passes_.size());
    for (const BlockRun& run : pass->runs) pass->profile = then(pass->profile, repeated(run.block->profile, run.count));
    return passes_.emplace(hash, std::move(pass))->second.get();
  }

  GradientSync parameter_gather() const {
    return GradientSync{.collective = Collective::all_gather,
                        .copies = copies_,
                        .bytes_per_element = numerics::bytes_per_element(treatment_.gather),
                        .carried_elements = {},
                        .hold = {}};
  }

  GradientSync gradient_sync() const {
    const bool by_shard = strategy_->sharded == Sharded::optimizer && !strategy_->reduce_whole_gradients;
    return GradientSync{.collective = by_shard ? Collective::reduce_scatter : Collective::all_reduce,
                        .copies = copies_,
                        .bytes_per_element = numerics::bytes_per_element(treatment_.reduce),
                        .bucket_bytes = strategy_->bucket_bytes,
                        .carried_elements = {},
                        .hold = {}};
  }

  // What is handed over at the lower (input) or upper (output) border of the layers collected.
  Border border(bool lower) const {
    const LayerBorder& border = lower ? stretches_.front().layer->below : stretches_.back().layer->above;
    return {.bytes = border.bytes, .sliced = strategy_->scatter_sends && strategy_->tensor > 1 && border.replicated};
  }

  // Adds the parameters of the collected layers to their device.
  void account(std::int32_t device) {
    for (Stretch& stretch : stretches_)
      stretch.owns_ties = ledger_.add(device, stretch.layer->lowering.state(), stretch.count);
  }

  bool is_tied(std::int32_t device) const {
    return device == program_.tied_stages[0] || device == program_.tied_stages[1];
  }

  void finish_stage(std::int32_t device) {
    const StageParameters& parameters = ledger_.of(device);
    const bool tied = is_tied(device);
    Stage& stage = program_.stages[static_cast<std::size_t>(device)];
    if (device > 0 && !tied && !is_tied(device - 1) && parameters == ledger_.of(device - 1)) {
      const Stage& before = program_.stages[static_cast<std::size_t>(device) - 1];
      stage.settle = before.settle;
      stage.update = before.update;
      stage.resident = before.resident;
      stage.host_bytes = before.host_bytes;
      stage.storage_bytes = before.storage_bytes;
      return;
    }
    const PerGroup<double> updated = updated_elements(parameters, strategy_->sharded, settings_.shards);
    const StepEndOptions options = step_end(parameters, updated, tied);
    StepEnds::Entry& ends = ends_.of(options, strategy_->offload, kept_bytes_);
    if (ends.settle_pass == nullptr) {
      ends.settle_pass = single(ends.settle.get(), tied ? Send::next : Send::none);
      ends.update_pass = single(ends.update.get(), Send::none);
    }
    stage.settle = ends.settle_pass;
    stage.update = ends.update_pass;
    const StageBytes bytes = stage_bytes(parameters, updated, settings_, kept_bytes_);
    stage.resident = bytes.device;
    stage.host_bytes = bytes.host;
    stage.storage_bytes = bytes.storage;
  }

  StepEndOptions step_end(const StageParameters& parameters, const PerGroup<double>& updated, bool tied) const {
    const Group pipeline = program_.mesh.group(Axis::pipeline);
    const auto apart = static_cast<std::int64_t>(program_.tied_stages[1] - program_.tied_stages[0]);
    const auto dense = ParameterGroup::dense;
    // Of gradients that exist in shards only, only shards are summed over other axes.
    const double share =
        settings_.gradients_pass_through(dense) ? static_cast<double>(settings_.shards[dense].size) : 1.0;
    const double gradient_bytes = numerics::bytes_per_element(treatment_.gradients) / share;
    const double partial = parameters.partial_elements.empty() ? 0.0 : parameters.partial_elements.front();
    const bool units = settings_.apply();
    StepEndOptions options{
        .sync = units ? settings_.sync(true) : gradient_sync(),
        .already_reduced = units ? settings_.reduces_in_passes() : reduces(),
        .elements = parameters.elements,
        .tensor = program_.mesh.group(Axis::tensor),
        .partial_bytes = partial * gradient_bytes,
        .tied = {.axis = Axis::pipeline, .size = tied ? 2 : 1, .stride = tied ? pipeline.stride * apart : 1},
        .tied_bytes = tied ? ledger_.exchanged_elements() * gradient_bytes : 0.0,
        .update = nullptr,
        .updated_elements = static_cast<std::int64_t>(sum(updated)),
        .gather = strategy_->sharded != Sharded::nothing && !settings_.parameters_move() && settings_.copied() &&
                  !strategy_->overlap_parameter_gather,
        .gather_bytes_per_element = numerics::bytes_per_element(treatment_.gather),
        .narrow = nullptr,
        .narrow_elements = static_cast<std::int64_t>(parameters.narrow_elements),
        .maxima_bytes = treatment_.history > 0 ? parameters.narrow_tensors * k_scaled_per_product *
                                                     numerics::bytes_per_element(numerics::Format::fp32)
                                               : 0.0,
        .leaving = {}};
    if (strategy_->offload.parameters != Home::device && strategy_->offload.optimizer == Home::device) {
      const double bytes = sum(updated) * numerics::bytes_per_element(treatment_.parameters);
      options.leaving.push_back(leg(Copy{.lane = Lane::to_host, .bytes = bytes}));
      if (strategy_->offload.parameters == Home::storage)
        options.leaving.push_back(leg(Copy{.lane = Lane::to_storage, .bytes = bytes}));
    }
    return options;
  }

  const Pass* single(const Block* block, Send send) {
    draft_.runs.assign(1, BlockRun{block, 1});
    draft_.send = send;
    return intern();
  }

  bool has_experts_;
  StageMessages messages_;
  StepEnds ends_;
  std::vector<ir::LayerRun> entry_;
  std::vector<ir::LayerRun> body_;
  std::vector<ir::LayerRun> exit_;
  std::unordered_map<std::array<std::int64_t, 10>, std::unique_ptr<LoweredLayer>, WordsHash> layers_;
  UnitPasses units_;
  ScheduleCache schedules_;
  std::unordered_map<PassKey, PassPair, WordsHash> pairs_;
  std::unordered_multimap<std::uint64_t, std::unique_ptr<Pass>> passes_;

  // The lowering under way.
  const Strategy* strategy_ = nullptr;
  UnitSettings settings_;
  double kept_bytes_ = 0.0;  // of offloaded parameters, on the device all the same
  Program program_;
  std::vector<Stretch> stretches_;
  std::vector<RecomputeGroup> groups_;  // of the stretches that recompute together, in order
  // The pass table made last.
  std::vector<Stretch> last_stretches_;
  std::array<Group, 2> last_sends_;
  PassTable last_table_{};
  std::vector<LoweredLayer*> layers_now_;        // by class, whether it recomputes, and whether the input is held below
  std::vector<std::vector<std::string>> lists_;  // of operators to recompute met so far
  Pass draft_;
  ParameterLedger ledger_;
  PerGroup<Group> copies_;        // of the parameters of each group
  std::uint32_t held_below_ = 0;  // outputs that the layer below keeps
};

Lowering::Lowering(const ir::Model& model, std::int64_t sequence, ParameterTreatment treatment, std::int64_t domain)
    : implementation_(std::make_unique<Implementation>(model, sequence, treatment, domain)) {}
Lowering::~Lowering() = default;

const Program& Lowering::lower(const Strategy& strategy) { return implementation_->lower(strategy); }
const LayerState& Lowering::layer_state(const Strategy& strategy, std::size_t layer_class) {
  return implementation_->layer(strategy, layer_class).lowering.state();
}
const Block& Lowering::forward_block(const Strategy& strategy, std::size_t layer_class) {
  return implementation_->layer(strategy, layer_class).forward;
}
const Block& Lowering::backward_block(const Strategy& strategy, std::size_t layer_class) {
  return implementation_->layer(strategy, layer_class).backward;
}
const ir::Model& Lowering::model() const { return implementation_->model_; }
std::int64_t Lowering::sequence() const { return implementation_->sequence_; }
const ParameterTreatment& Lowering::treatment() const { return implementation_->treatment_; }

}  // namespace cairn::plan
