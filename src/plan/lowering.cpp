#include "cairn/plan/lowering.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/block_deque.h"
#include "layer/layer_cache.h"
#include "numbers.h"
#include "stages/pass_assembly.h"
#include "stages/schedule_cache.h"
#include "stages/side_passes.h"
#include "stages/stage_end.h"
#include "strategy/strategy_check.h"

namespace cairn::plan {

// Sums of the same bytes in another order differ by less.
constexpr double k_rounding = 1e-12;

// Lowering reuses parts of earlier plans. The partition numbers the kinds of stages, keys number the settings that
// their parts depend on; a part is looked up by these numbers and made only if there is none yet.
class Lowering::Implementation {
 public:
  Implementation(const ir::Model& model, std::int64_t sequence, ParameterTreatment treatment, std::int64_t domain,
                 const FrameworkBehaviour& behaviour)
      : model_(model),
        sequence_(sequence),
        treatment_(treatment),
        behaviour_(behaviour),
        check_(model),
        layers_(model, sequence, domain, behaviour),
        partitioner_(model),
        domain_(domain),
        assembly_(passes_),
        side_(passes_),
        ends_(treatment_, passes_),
        kernels_{.gather = gather_kernels(treatment_, behaviour_.copies_gathered),
                 .reduction = shard_reduction_kernels(treatment_, behaviour_)} {}

  const Program& lower(const Strategy& strategy) {
    const Plan plan = plan_of(strategy);
    const StagePartition& partition = *pipeline_.partition;
    for (const std::int32_t kind : partition.kinds) prefetch(kind, plan);
    program_.kinds.resize(partition.kinds.size());
    for (std::size_t i = 0; i < partition.kinds.size(); ++i) fill(program_.kinds[i], partition.kinds[i], plan);
    return program_;
  }

  double memory_floor(const Strategy& strategy) {
    const Plan plan = plan_of(strategy);
    const UnitSettings& settings = settings_keys_.key(plan.moves.settings);
    const Kept& kept = kept_of(plan, strategy.offload.activations == Home::device && !plan.schedule.copies);
    std::vector<double> resident;
    for (std::size_t i = 0; i < kept.parameters.size(); ++i)
      resident.push_back(
          resident_at_least(partitioner_.kind(pipeline_.partition->kinds[i]), kept.parameters[i], settings));
    double most = 0.0;
    for (std::size_t stage = 0; stage < kept.activations.size(); ++stage)
      most = std::max(most, resident[pipeline_.partition->kind_of_stage[stage]] + kept.activations[stage]);
    return most * (1.0 - k_rounding);
  }

  void use_schedule(const Structure& structure, std::shared_ptr<const pipeline::Schedule> schedule) {
    schedules_.use_schedule(structure, std::move(schedule));
  }

  LoweredLayer& layer(const Structure& structure, std::size_t layer_class) {
    return layers_.of(layer_key_of(structure, meshes_of(structure)), layer_class, 0);
  }

  const ir::Model& model_;
  std::int64_t sequence_;
  ParameterTreatment treatment_;
  const FrameworkBehaviour behaviour_;

 private:
  // What stages keep between passes whatever is exchanged.
  struct Kept {
    std::int32_t layers = 0;                       // number of the BodyKey
    std::int32_t messages = 0;                     // of the MessageKey
    std::vector<StageParameters> parameters = {};  // by kind of stage, without their tensors
    std::vector<double> activations = {};          // by stage, the most at a time [bytes]
  };

  // What follows from the structure of a strategy alone.
  struct Pipeline {
    const ScheduleEntry* schedule = nullptr;
    const StagePartition* partition = nullptr;  // once it is asked for
    PerGroup<Group> copies = {};                // ranks that hold the same parameters
    Group tensor = {};
    Group sharing_parameters = {};  // stages, where layers of several share some
    LayerKey layer = {};
    // Numbers of keys, 0 until they are asked for: of BodyKey by whether inputs are shared, of the MessageKeys that were
    // made last, the latest first.
    std::array<std::int32_t, 2> layers = {};
    std::array<std::pair<MessageSettings, std::int32_t>, 2> messages = {};
    std::array<Kept, 2> kept = {};  // likewise, once they are asked for
  };

  // Of plans in a row many have the same: a search tries all that is exchanged before it looks at another pipeline.
  Pipeline& pipeline_of(const Structure& structure) {
    if (pipeline_.schedule != nullptr && structure_ == structure) return pipeline_;
    pipeline_.schedule = nullptr;  // until all of it follows from this structure
    check_.check(structure);
    if (layers_.has_experts()) check_expert_mesh(structure);
    if (sequence_ % structure.context != 0)
      throw wrong("cp", fmt::format("{} does not divide the {} tokens of a sequence", structure.context, sequence_),
                  fmt::format("choose a divisor of {}", sequence_));
    const ScheduleEntry& entry = schedules_.of(structure);
    check_stages(structure, entry.schedule->chain_length);
    const Meshes meshes = meshes_of(structure);
    structure_ = structure;
    distances_ = stage_distances(meshes.dense.group(Axis::pipeline), domain_);
    pipeline_ = {.schedule = &entry,
                 .partition = nullptr,
                 .copies = copies_of(meshes, entry),
                 .tensor = meshes.dense.group(Axis::tensor),
                 .sharing_parameters = partitioner_.shares_parameters() ? meshes.dense.group(Axis::pipeline)
                                                                        : Group{.axis = Axis::pipeline},
                 .layer = layer_key_of(structure, meshes)};
    program_.mesh = meshes.dense;
    program_.expert_mesh = meshes.experts;
    program_.schedule = entry.schedule;
    program_.order = entry.order;
    program_.has_model_copies = entry.model_copies.whole;
    return pipeline_;
  }

  const StagePartition& partition_of(Pipeline& pipeline) {
    if (pipeline.partition != nullptr) return *pipeline.partition;
    pipeline.partition = &partitioner_.of(structure_, *pipeline.schedule, distances_.stages_in_domain);
    program_.pass_order = pipeline.partition->pass_order;
    program_.kind_of_stage = pipeline.partition->kind_of_stage;
    return *pipeline.partition;
  }
  std::int32_t layers_of(Pipeline& pipeline, bool shares_inputs) {
    std::int32_t& number = pipeline.layers[shares_inputs ? 1 : 0];
    if (number == 0) number = body_keys_.of({.layer = pipeline.layer, .shares_inputs = shares_inputs});
    return number;
  }
  std::int32_t messages_of(Pipeline& pipeline, const MessageSettings& settings) {
    for (const auto& [known, number] : pipeline.messages)
      if (number != 0 && known == settings) return number;
    const std::int32_t made =
        message_keys_.of(message_key(structure_.chunks, settings, behaviour_, pipeline.tensor, distances_));
    pipeline.messages = {std::pair{settings, made}, pipeline.messages.front()};
    return made;
  }

  PerGroup<Group> copies_of(const Meshes& meshes, const ScheduleEntry& entry) const {
    PerGroup<Group> copies;
    copies[ParameterGroup::dense] = meshes.dense.group(Axis::data, Axis::context);
    copies[ParameterGroup::expert] = meshes.experts.group(Axis::expert_data);
    if (!entry.model_copies.whole) return copies;
    if (copies[ParameterGroup::dense].rows > 1)
      throw wrong("order", "puts the ranks of cp and dp apart, and the schedule has stages that hold copies besides",
                  "let cp and dp stand side by side");
    for (const ParameterGroup group : k_all_parameter_groups)
      copies[group] = over_replicas(copies[group], entry.model_copies, meshes.dense.group(Axis::pipeline));
    return copies;
  }

  // Numbers of PassMoves: of plain passes, of first forward passes (gather), of last backward passes (reduce); the
  // latter two equal `plain` where these passes move nothing more. And the number of UnitSettings.
  struct Moves {
    std::int32_t plain = 0;
    std::int32_t gather = 0;
    std::int32_t reduce = 0;
    std::int32_t settings = 0;
  };

  struct EndKey {
    std::int32_t settings = 0;  // number of UnitSettings
    EndRanks ranks;
    StepEndSettings step_end;
    friend bool operator==(const EndKey&, const EndKey&) = default;
    std::size_t hash() const {
      return core::Hash::of(settings, ranks.tensor.size, ranks.pipeline.stride, step_end.device_every);
    }
  };

  // The lowering under way: numbers of keys.
  struct Plan {
    const ScheduleEntry& schedule;
    std::int32_t layers = 0;    // BodyKey
    std::int32_t messages = 0;  // MessageKey
    Moves moves;
    std::int32_t end = 0;  // EndKey

    // Indices of the tables of passes of a virtual stage, of its layers, and of the end of a kind of stage.
    Numbers passes(std::int32_t moved, std::int32_t stage) const { return {layers, messages, moved, stage}; }
    Numbers body(std::int32_t stage) const { return {layers, stage}; }
    Numbers end_of(std::int32_t kind) const { return {layers, end, kind}; }
  };
  using PassPair = std::array<const Pass*, 2>;  // forward and backward, or input and weight gradient

  const Moves& moves_of(const UnitSettings& settings) {
    const std::int32_t number = settings_keys_.of(settings);
    if (static_cast<std::size_t>(number) <= moves_.size()) return moves_[static_cast<std::size_t>(number) - 1];
    Moves moves{.settings = number};
    if (settings.apply()) {
      moves.plain = move_keys_.of({UnitMoves{.settings = settings, .special = false}});
      moves.gather = moves.reduce = move_keys_.of({UnitMoves{.settings = settings, .special = true}});
    } else {
      moves.plain = moves.gather = moves.reduce = move_keys_.of({});
      if (settings.gathers_in_passes()) moves.gather = move_keys_.of({parameter_gather(settings)});
      if (settings.reduces_in_passes()) moves.reduce = move_keys_.of({gradient_sync(settings)});
    }
    return moves_.emplace_back(moves);
  }

  LayerKey layer_key_of(const Structure& structure, const Meshes& meshes) const {
    LayerKey key = layer_key(structure, meshes, layers_.has_experts());
    const bool across = domain_ > 0 && key.tensor.crosses(domain_);
    const bool per_peer = across ? behaviour_.issues_per_peer_across : behaviour_.issues_per_peer;
    key.issues_per_peer = per_peer && leaves_domain(meshes.dense.group(Axis::pipeline), domain_);
    return key;
  }

  Meshes meshes_of(const Structure& structure) const {
    return {.dense = mesh(structure), .experts = layers_.has_experts() ? expert_mesh(structure) : Mesh{}};
  }

  // All that lower() looks up by, once the strategy is found to contradict nothing.
  Plan plan_of(const Strategy& strategy) {
    Pipeline& pipeline = pipeline_of(strategy);
    const ScheduleEntry& entry = *pipeline.schedule;
    check_side_rows(strategy, entry);
    const UnitSettings settings = unit_settings(
        strategy, treatment_, behaviour_, pipeline.copies, [&entry] { return entry.kept(); },
        sharding(strategy, entry.exchanges), ends_.host_update(), kernels_);
    if (entry.updates && settings.apply() && settings.parameters_move() && !strategy.reshard_after_forward)
      throw wrong("zero.reshard_after_forward", "parameters that stay gathered while updates change them",
                  "leave it true, or use a schedule that updates once");
    if (settings.apply() && recomputes_in_groups(strategy))
      throw wrong("recompute", "layers that move their parameters or activations cannot recompute in groups",
                  "use method: block, or groups of 1");
    partition_of(pipeline);
    const Moves& moves = moves_of(settings);
    return {.schedule = entry,
            .layers = layers_of(pipeline, strategy.offload.activations == Home::device),
            .messages = messages_of(pipeline, strategy),
            .moves = moves,
            .end = end_keys_.of({.settings = moves.settings,
                                 .ranks = {.tensor = pipeline.tensor, .pipeline = pipeline.sharing_parameters},
                                 .step_end = strategy})};
  }

  // What fill() looks up lies anywhere; all of it is fetched at once.
  void prefetch(std::int32_t number, const Plan& plan) const {
    const Moves& moves = plan.moves;
    stage_ends_.prefetch(plan.end_of(number));
    for (const std::int32_t stage : partitioner_.kind(number).virtual_stages) {
      pairs_.prefetch(plan.passes(moves.plain, stage));
      if (moves.gather != moves.plain) pairs_.prefetch(plan.passes(moves.gather, stage));
      if (moves.reduce != moves.plain && moves.reduce != moves.gather)
        pairs_.prefetch(plan.passes(moves.reduce, stage));
    }
  }

  // What side rows move is theirs alone.
  static void check_side_rows(const Strategy& strategy, const ScheduleEntry& entry) {
    const std::string& kind = entry.schedule->kind;
    const Offload& offload = strategy.offload;
    if (entry.copies && offload.activations != Home::device)
      throw wrong("zero.offload.activations", kind + " says itself which activations leave the device",
                  "leave it out, or use interleaved-1f1b");
    if (!entry.exchanges) return;
    if (strategy.sharded == Sharded::optimizer || strategy.sharded == Sharded::gradients)
      throw wrong("zero", kind + " exchanges sharded parameters and gradients, of which less is sharded here",
                  "leave it out, or use stage 3: both are the same under this schedule");
    if (!strategy.reshard_after_forward)
      throw wrong("zero.reshard_after_forward", kind + " gathers parameters before every pass of a chunk",
                  "leave it true, or use breadth-first");
    if (offload.parameters != Home::device || offload.optimizer != Home::device)
      throw wrong("zero.offload", kind + " exchanges parameters and gradients between devices alone",
                  "offload activations only, or use breadth-first with zero: 3");
  }

  void fill(Stage& stage, std::int32_t number, const Plan& plan) {
    const StageKind& kind = partitioner_.kind(number);
    const StageEnd& end = this->end(number, plan);
    __builtin_prefetch(&end);
    stage.body_layers = kind.body_layers;
    const PassLayout& layout = program_.layout();
    stage.passes.resize(static_cast<std::size_t>(layout.size()));
    const auto pass = [&](PassKind what, std::int32_t chunk, bool special) -> const Pass*& {
      return stage.passes[static_cast<std::size_t>(layout.slot({.kind = what, .chunk = chunk, .special = special}))];
    };
    const Moves& moves = plan.moves;
    const bool whole = plan.schedule.whole_backwards;
    for (std::int32_t chunk = 0; chunk < layout.chunks(); ++chunk) {
      const std::int32_t at = kind.virtual_stages[static_cast<std::size_t>(chunk)];
      const PassPair plain = passes(moves.plain, at, true, whole, plan);
      PassPair special = plain;
      if (moves.gather != moves.plain)
        special[0] = passes(moves.gather, at, true, whole && moves.reduce == moves.gather, plan)[0];
      if (whole && moves.reduce != moves.plain)
        special[1] = passes(moves.reduce, at, moves.reduce == moves.gather, true, plan)[1];
      pass(PassKind::forward, chunk, false) = plain[0];
      pass(PassKind::forward, chunk, true) = special[0];
      pass(PassKind::backward, chunk, false) = whole ? plain[1] : passes_.nothing();
      pass(PassKind::backward, chunk, true) = whole ? special[1] : passes_.nothing();
      for (const Pass* each : {plain[0], plain[1], special[0], special[1]}) __builtin_prefetch(each);
      if (!layout.splits()) continue;
      const PassPair parts = halves(moves.plain, at, plan);
      pass(PassKind::input_gradient, chunk, false) = pass(PassKind::input_gradient, chunk, true) = parts[0];
      pass(PassKind::weight_gradient, chunk, false) = parts[1];
      pass(PassKind::weight_gradient, chunk, true) =
          moves.reduce != moves.plain ? halves(moves.reduce, at, plan)[1] : parts[1];
    }
    if (layout.sides()) fill_side(stage, kind, plan);
    pass(PassKind::finalize, 0, false) = end.finalize;
    pass(PassKind::update, 0, false) = end.update;
    for (const Pass* each : {end.finalize, end.update}) __builtin_prefetch(each);
    if (layout.awaits()) pass(PassKind::await, 0, false) = ends_.await_replica();
    stage.resident = end.bytes.device;
    stage.held = end.held;
    stage.host_bytes = end.bytes.host;
    stage.storage_bytes = end.bytes.storage;
    stage.activations_on_drives = settings_keys_.key(plan.moves.settings).offload.activations == Home::storage;
  }

  void fill_side(Stage& stage, const StageKind& kind, const Plan& plan) {
    const PassLayout& layout = program_.layout();
    for (std::int32_t chunk = 0; chunk < layout.chunks(); ++chunk) {
      const std::int32_t at = kind.virtual_stages[static_cast<std::size_t>(chunk)];
      const auto slot = [&](PassKind what) {
        return static_cast<std::size_t>(layout.slot({.kind = what, .chunk = chunk}));
      };
      const bool exchanges = plan.schedule.exchanges;
      SidePasses::Passes& made = exchanges ? exchange_passes_.of(plan.passes(plan.moves.settings, at))
                                           : copy_passes_.of(plan.passes(plan.moves.plain, at));
      if (made.front() == nullptr)
        made = exchanges ? side_.of_parameters(body(at, plan), settings_keys_.key(plan.moves.settings))
                         : side_.of_activations(*stage.passes[slot(PassKind::forward)]);
      std::copy(made.begin(), made.end(), stage.passes.begin() + static_cast<std::ptrdiff_t>(slot(PassKind::fetch)));
    }
  }

  // Plans in a row, which differ in what they exchange, keep the same.
  const Kept& kept_of(const Plan& plan, bool activations_stay) {
    for (const Kept& known : pipeline_.kept)
      if (known.layers == plan.layers && known.messages == plan.messages) return known;
    const StagePartition& partition = *pipeline_.partition;
    Kept made{.layers = plan.layers, .messages = plan.messages};
    std::vector<std::vector<MemoryProfile>> passes;
    for (const std::int32_t number : partition.kinds) {
      const StageKind& kind = partitioner_.kind(number);
      made.parameters.push_back(parameters_of(bodies_of(kind, plan)));
      passes.push_back(left_by_passes(kind, activations_stay, plan));
    }
    for (std::size_t stage = 0; stage < partition.kind_of_stage.size(); ++stage)
      made.activations.push_back(
          profile_of_row(*partition.pass_order, stage, passes[partition.kind_of_stage[stage]].data()).peak);
    pipeline_.kept.back() = std::move(made);
    std::swap(pipeline_.kept.front(), pipeline_.kept.back());
    return pipeline_.kept.front();
  }

  // What the passes of a stage leave behind, by slot, and {}.
  std::vector<MemoryProfile> left_by_passes(const StageKind& kind, bool activations_stay, const Plan& plan) {
    const PassLayout& layout = program_.layout();
    std::vector<MemoryProfile> profiles(static_cast<std::size_t>(layout.size()) + 1);
    std::int32_t last = 0;
    double bytes = 0.0;  // of the virtual stage `last`
    for (std::int32_t chunk = 0; activations_stay && chunk < layout.chunks(); ++chunk) {
      const std::int32_t at = kind.virtual_stages[static_cast<std::size_t>(chunk)];
      if (at != last)
        bytes = assembly_.kept(partitioner_.virtual_stage(at), body(at, plan), message_keys_.key(plan.messages));
      last = at;
      const auto set = [&](PassKind what, const MemoryProfile& profile) {
        for (const bool special : {false, true})
          profiles[static_cast<std::size_t>(layout.slot({.kind = what, .chunk = chunk, .special = special}))] = profile;
      };
      set(PassKind::forward, {.delta = bytes, .peak = bytes});
      set(PassKind::backward, {.delta = -bytes});
      if (layout.splits()) set(PassKind::input_gradient, {.delta = -bytes});
    }
    return profiles;
  }

  // `moved`: the number of a PassMoves.
  const PassPair& passes(std::int32_t moved, std::int32_t stage, bool forward, bool backward, const Plan& plan) {
    PassPair& pair = pairs_.of(plan.passes(moved, stage));
    if ((!forward || pair[0] != nullptr) && (!backward || pair[1] != nullptr)) return pair;
    const VirtualStage& description = partitioner_.virtual_stage(stage);
    const StageBody& layers = body(stage, plan);
    const MessageKey& messages = message_keys_.key(plan.messages);
    const PassMoves& moves = move_keys_.key(moved);
    if (forward) pair[0] = assembly_.forward(description, layers, messages, moves);
    if (backward) pair[1] = assembly_.backward(description, layers, messages, moves, Half::both);
    return pair;
  }

  const PassPair& halves(std::int32_t moved, std::int32_t stage, const Plan& plan) {
    PassPair& pair = halves_.of(plan.passes(moved, stage));
    if (pair[0] != nullptr) return pair;
    const VirtualStage& description = partitioner_.virtual_stage(stage);
    const StageBody& layers = body(stage, plan);
    const MessageKey& messages = message_keys_.key(plan.messages);
    const PassMoves& moves = move_keys_.key(moved);
    return pair = {assembly_.backward(description, layers, messages, moves, Half::input_gradient),
                   assembly_.backward(description, layers, messages, moves, Half::weight_gradient)};
  }

  // The ranks that hold copies of a stage's parameters where other stages (model copies) hold them as well: one row for
  // each stage of a replica group; a single row where all stages do, side by side. Rows lie at least as far apart as in
  // the replica group that is spread over most domains, and a whole number of sections of the pipeline, of size / rows
  // stages. In two sections that follow one another, the first of them section 0, 2, 4 ..., all replica groups have
  // equally many stages; so no unit of ranks is taken to hold more of a group than the emptiest does.
  Group over_replicas(Group ranks, const ReplicaGroups& replicas, const Group& pipeline) const {
    const std::int64_t rows = std::ssize(replicas.groups.front());
    const bool neighbours = rows == pipeline.size && pipeline.stride == ranks.stride * ranks.size;
    ranks.size *= rows;
    if (neighbours) return ranks;
    ranks.rows = rows;
    const std::int64_t section = pipeline.stride * (pipeline.size / rows), together = rows_in_domain(replicas);
    const std::int64_t least = together < rows ? (domain_ + together - 1) / together : section;
    ranks.apart = (least + section - 1) / section * section;
    return ranks;
  }

  std::int64_t rows_in_domain(const ReplicaGroups& replicas) const {
    std::int64_t fewest = std::ssize(replicas.groups.front());
    for (const std::vector<std::int32_t>& group : replicas.groups) {
      std::map<std::int64_t, std::int64_t> stages;  // by domain
      std::int64_t most = 0;
      for (const std::int32_t stage : group) most = std::max(most, ++stages[stage / distances_.stages_in_domain]);
      fewest = std::min(fewest, most);
    }
    return fewest;
  }

  const StageBody& body(std::int32_t stage, const Plan& plan) {
    auto& slot = bodies_.of(plan.body(stage));
    if (!slot)
      slot = std::make_unique<StageBody>(
          stage_body(partitioner_.virtual_stage(stage), body_keys_.key(plan.layers), layers_));
    return *slot;
  }

  // In the order in which a micro-batch passes them.
  std::vector<const StageBody*> bodies_of(const StageKind& kind, const Plan& plan) {
    std::vector<const StageBody*> bodies;
    for (const std::int32_t chunk : kind.order)
      bodies.push_back(&body(kind.virtual_stages[static_cast<std::size_t>(chunk)], plan));
    return bodies;
  }

  const StageEnd& end(std::int32_t number, const Plan& plan) {
    const StageEnd*& slot = stage_ends_.of(plan.end_of(number));
    if (slot != nullptr) return *slot;
    const StageKind& kind = partitioner_.kind(number);
    const EndKey& key = end_keys_.key(plan.end);
    return *(slot = &all_ends_.emplace_back(stage_end(kind, bodies_of(kind, plan), settings_keys_.key(key.settings),
                                                      key.ranks, key.step_end, ends_)));
  }

  StrategyCheck check_;
  LayerCache layers_;
  ScheduleCache schedules_;
  StagePartitioner partitioner_;
  std::int64_t domain_;
  StageDistances distances_;  // of the plan under way
  Structure structure_;       // that pipeline_ follows from, once that has a schedule
  Pipeline pipeline_;
  Interned<BodyKey> body_keys_;
  Interned<MessageKey> message_keys_;
  Interned<UnitSettings> settings_keys_;
  Interned<PassMoves> move_keys_;
  Interned<EndKey> end_keys_;
  std::vector<Moves> moves_;  // by number of UnitSettings
  PassStore passes_;
  PassAssembly assembly_;
  SidePasses side_;
  StepEnds ends_;
  const UnitKernels kernels_;
  Remembered<std::unique_ptr<StageBody>> bodies_;   // by Plan::body
  Remembered<PassPair> pairs_;                      // by Plan::passes
  Remembered<PassPair> halves_;                     // likewise
  Remembered<SidePasses::Passes> exchange_passes_;  // likewise, of UnitSettings
  Remembered<SidePasses::Passes> copy_passes_;      // likewise, of plain passes
  Remembered<const StageEnd*> stage_ends_;          // by Plan::end_of
  core::BlockDeque<StageEnd> all_ends_;
  Program program_;
};

Lowering::Lowering(const ir::Model& model, std::int64_t sequence, ParameterTreatment treatment, std::int64_t domain,
                   const FrameworkBehaviour& behaviour)
    : implementation_(std::make_unique<Implementation>(model, sequence, treatment, domain, behaviour)) {}
Lowering::~Lowering() = default;

const Program& Lowering::lower(const Strategy& strategy) { return implementation_->lower(strategy); }
double Lowering::memory_floor(const Strategy& strategy) { return implementation_->memory_floor(strategy); }
void Lowering::use_schedule(const Structure& structure, std::shared_ptr<const pipeline::Schedule> schedule) {
  implementation_->use_schedule(structure, std::move(schedule));
}
const LayerState& Lowering::layer_state(const Structure& structure, std::size_t layer_class) {
  return implementation_->layer(structure, layer_class).lowering.state();
}
const Block& Lowering::forward_block(const Structure& structure, std::size_t layer_class) {
  return implementation_->layer(structure, layer_class).forward;
}
const Block& Lowering::backward_block(const Structure& structure, std::size_t layer_class) {
  return implementation_->layer(structure, layer_class).backward;
}
const ir::Model& Lowering::model() const { return implementation_->model_; }
std::int64_t Lowering::sequence() const { return implementation_->sequence_; }
const ParameterTreatment& Lowering::treatment() const { return implementation_->treatment_; }
const FrameworkBehaviour& Lowering::behaviour() const { return implementation_->behaviour_; }

}  // namespace cairn::plan
