#include "cairn/plan/lowering.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cairn/core/block_deque.h"
#include "layer/layer_cache.h"
#include "numbers.h"
#include "stages/pass_assembly.h"
#include "stages/schedule_cache.h"
#include "stages/side_passes.h"
#include "stages/stage_end.h"
#include "strategy/strategy_check.h"
#include "strategy/structure_hash.h"

namespace cairn::plan {

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
                 .reduction = reduction_kernels(treatment_, behaviour_)} {}

  const Program& lower(const Strategy& strategy) {
    Pipeline& pipeline = pipeline_of(strategy);
    const ScheduleEntry& entry = *pipeline.schedule;
    check_side_rows(strategy, entry);
    const UnitSettings settings = unit_settings(strategy, treatment_, behaviour_, pipeline.copies, *entry.schedule,
                                                sharding(strategy, entry.exchanges), ends_.host_update(), kernels_);
    if (entry.updates && settings.apply() && settings.parameters_move() && !strategy.reshard_after_forward)
      throw wrong("zero.reshard_after_forward", "parameters that stay gathered while updates change them",
                  "leave it true, or use a schedule that updates once");
    if (settings.apply() && recomputes_in_groups(strategy))
      throw wrong("recompute", "layers that move their parameters or activations cannot recompute in groups",
                  "use method: block, or groups of 1");
    const Moves& moves = moves_of(settings);
    const Plan plan{
        .program = pipeline.program,
        .schedule = entry,
        .partition = partition_of(pipeline),
        .layers = layers_of(pipeline, strategy.offload.activations == Home::device),
        .messages = messages_of(pipeline, strategy.overlap_sends),
        .moves = moves,
        .end = end_keys_.of({.settings = moves.settings,
                             .ranks = {.tensor = pipeline.tensor, .pipeline = pipeline.sharing_parameters}})};
    // What these look up lies anywhere; both is fetched at once.
    courses_.prefetch(plan.course());
    ends_of_partitions_.prefetch(plan.ends());
    Program& program = plan.program;
    program.course = &course_of(plan);
    const PartitionEnd& end = end_of(plan);
    program.end = end.passes;
    program.kinds = end.stages;
    return program;
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
  // What follows from the structure of a strategy alone.
  struct Pipeline {
    const Structure* structure = nullptr;
    const ScheduleEntry* schedule = nullptr;
    const StagePartition* partition = nullptr;  // once it is asked for
    StageDistances distances = {};
    PerGroup<Group> copies = {};  // ranks that hold the same parameters
    Group tensor = {};
    Group sharing_parameters = {};  // stages, where layers of several share some
    LayerKey layer = {};
    // Numbers of keys, 0 until they are asked for: of BodyKey by whether inputs are shared, of MessageKey by whether sends
    // overlap.
    std::array<std::int32_t, 2> layers = {};
    std::array<std::int32_t, 2> messages = {};
    Program program = {};  // of the last plan
  };

  // Many plans have the same: a search tries all that is exchanged with every pipeline.
  Pipeline& pipeline_of(const Structure& structure) {
    if (const std::int32_t known = structures_.find(structure); known > 0)
      return pipelines_[static_cast<std::size_t>(known) - 1];
    check_.check(structure);
    if (layers_.has_experts()) check_expert_mesh(structure);
    if (sequence_ % structure.context != 0)
      throw wrong("cp", fmt::format("{} does not divide the {} tokens of a sequence", structure.context, sequence_),
                  fmt::format("choose a divisor of {}", sequence_));
    const ScheduleEntry& entry = schedules_.of(structure);
    check_stages(structure, entry.schedule->chain_length);
    const Meshes meshes = meshes_of(structure);
    const StageDistances distances = stage_distances(meshes.dense.group(Axis::pipeline), domain_);
    Pipeline made{.schedule = &entry,
                  .distances = distances,
                  .copies = copies_of(meshes, entry, distances),
                  .tensor = meshes.dense.group(Axis::tensor),
                  .sharing_parameters = partitioner_.shares_parameters() ? meshes.dense.group(Axis::pipeline)
                                                                         : Group{.axis = Axis::pipeline},
                  .layer = layer_key_of(structure, meshes)};
    made.program.mesh = meshes.dense;
    made.program.expert_mesh = meshes.experts;
    made.program.schedule = entry.schedule;
    made.program.order = entry.order;
    made.program.has_model_copies = entry.model_copies.whole;
    made.structure = &structures_.key(structures_.of(structure));
    return pipelines_.emplace_back(std::move(made));
  }

  const StagePartition& partition_of(Pipeline& pipeline) {
    if (pipeline.partition != nullptr) return *pipeline.partition;
    pipeline.partition = &partitioner_.of(*pipeline.structure, *pipeline.schedule, pipeline.distances.stages_in_domain);
    pipeline.program.pass_order = pipeline.partition->pass_order;
    pipeline.program.kind_of_stage = pipeline.partition->kind_of_stage;
    return *pipeline.partition;
  }
  std::int32_t layers_of(Pipeline& pipeline, bool shares_inputs) {
    std::int32_t& number = pipeline.layers[shares_inputs ? 1 : 0];
    if (number == 0) number = body_keys_.of({.layer = pipeline.layer, .shares_inputs = shares_inputs});
    return number;
  }
  std::int32_t messages_of(Pipeline& pipeline, bool overlap_sends) {
    std::int32_t& number = pipeline.messages[overlap_sends ? 1 : 0];
    if (number == 0)
      number = message_keys_.of(
          message_key(pipeline.structure->chunks, overlap_sends, behaviour_, pipeline.tensor, pipeline.distances));
    return number;
  }

  PerGroup<Group> copies_of(const Meshes& meshes, const ScheduleEntry& entry, const StageDistances& distances) const {
    PerGroup<Group> copies;
    copies[ParameterGroup::dense] = meshes.dense.group(Axis::data, Axis::context);
    copies[ParameterGroup::expert] = meshes.experts.group(Axis::expert_data);
    if (!entry.model_copies.whole) return copies;
    if (copies[ParameterGroup::dense].rows > 1)
      throw wrong("order", "puts the ranks of cp and dp apart, and the schedule has stages that hold copies besides",
                  "let cp and dp stand side by side");
    for (const ParameterGroup group : k_all_parameter_groups)
      copies[group] = over_replicas(copies[group], entry.model_copies, meshes.dense.group(Axis::pipeline), distances);
    return copies;
  }

  // Numbers of PassMoves: of plain passes, of first forward passes (gather), of last backward passes (reduce); the
  // latter two equal `plain` where these passes move nothing more. Then the number of these three, and that of
  // UnitSettings.
  struct Moves {
    std::int32_t plain = 0;
    std::int32_t gather = 0;
    std::int32_t reduce = 0;
    std::int32_t all = 0;
    std::int32_t settings = 0;
  };

  // Those three.
  struct MoveTriple {
    std::int32_t plain = 0;
    std::int32_t gather = 0;
    std::int32_t reduce = 0;
    friend bool operator==(const MoveTriple&, const MoveTriple&) = default;
    std::size_t hash() const { return core::Hash::of(plain, gather, reduce); }
  };

  struct EndKey {
    std::int32_t settings = 0;  // number of UnitSettings
    EndRanks ranks;
    friend bool operator==(const EndKey&, const EndKey&) = default;
    std::size_t hash() const { return core::Hash::of(settings, ranks.tensor.size, ranks.pipeline.stride); }
  };

  // The lowering under way: numbers of keys.
  struct Plan {
    Program& program;
    const ScheduleEntry& schedule;
    const StagePartition& partition;
    std::int32_t layers = 0;    // BodyKey
    std::int32_t messages = 0;  // MessageKey
    Moves moves;
    std::int32_t end = 0;  // EndKey

    // Indices of the tables of what all stages run before the end of a step, of one part of it, of their ends, of passes
    // of a virtual stage, of its layers, and of the end of a kind of stage.
    Numbers course() const {
      return {layers, messages, schedule.exchanges ? moves.settings : moves.all, partition.number};
    }
    Numbers set(std::int32_t moved) const { return {layers, messages, moved, partition.number}; }
    Numbers ends() const { return {layers, end, partition.number}; }
    Numbers passes(std::int32_t moved, std::int32_t stage) const { return {layers, messages, moved, stage}; }
    Numbers body(std::int32_t stage) const { return {layers, stage}; }
    Numbers end_of(std::int32_t kind) const { return {layers, end, kind}; }
  };
  // How all stages of a partition end a step.
  struct PartitionEnd {
    const PassSet* passes = nullptr;
    std::vector<Stage> stages;  // by kind
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
    moves.all = triples_.of({.plain = moves.plain, .gather = moves.gather, .reduce = moves.reduce});
    return moves_.emplace_back(moves);
  }

  LayerKey layer_key_of(const Structure& structure, const Meshes& meshes) const {
    LayerKey key = layer_key(structure, meshes, layers_.has_experts());
    key.issues_per_peer = behaviour_.issues_per_peer && leaves_domain(meshes.dense.group(Axis::pipeline), domain_);
    return key;
  }

  Meshes meshes_of(const Structure& structure) const {
    return {.dense = mesh(structure), .experts = layers_.has_experts() ? expert_mesh(structure) : Mesh{}};
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

  const Course& course_of(const Plan& plan) {
    const Course*& slot = courses_.of(plan.course());
    if (slot != nullptr) return *slot;
    Course& made = all_courses_.emplace_back();
    made.id = static_cast<std::int32_t>(all_courses_.size()) - 1;
    const auto set = [&](PassPart part, std::int32_t moved) {
      made.sets[static_cast<std::size_t>(part)] = &set_of(part, moved, plan);
    };
    set(PassPart::plain, plan.moves.plain);
    set(PassPart::first, plan.moves.gather);
    set(PassPart::last, plan.moves.reduce);
    if (plan.program.layout().sides())
      set(PassPart::beside, plan.schedule.exchanges ? plan.moves.settings : plan.moves.plain);
    plan.program.course = &made;
    made.memory = plan.program.memory_before_ends();
    return *(slot = &made);
  }

  // `moved`: the number of a PassMoves; of UnitSettings where side rows exchange.
  const PassSet& set_of(PassPart part, std::int32_t moved, const Plan& plan) {
    const PassSet*& set = sets_[static_cast<std::size_t>(part)].of(plan.set(moved));
    if (set == nullptr)
      set = stored(part, plan, [&](std::int32_t kind, auto pass) { fill(part, moved, kind, plan, pass); });
    return *set;
  }

  // `fill(kind, pass)` sets the passes of a kind of stage: `pass(key)` is the place of one.
  template <class Fill>
  const PassSet* stored(PassPart part, const Plan& plan, Fill fill) {
    const PassLayout& layout = plan.program.layout();
    PassSet set;
    set.id = static_cast<std::int32_t>(all_sets_.size());
    set.passes.resize(plan.partition.kinds.size() * layout.width(part));
    const Pass** passes = set.passes.data();
    for (const std::int32_t kind : plan.partition.kinds) {
      fill(kind, [&](const PassKey& key) -> const Pass*& {
        return passes[static_cast<std::size_t>(layout.slot(key)) - layout.begin(part)];
      });
      passes += layout.width(part);
    }
    for (const Pass* pass : set.passes) set.profiles.push_back(pass->profile);
    return &all_sets_.emplace_back(std::move(set));
  }

  template <class Place>
  void fill(PassPart part, std::int32_t moved, std::int32_t number, const Plan& plan, Place pass) {
    const bool whole = plan.schedule.whole_backwards;
    const bool splits = plan.program.layout().splits();
    const std::vector<std::int32_t>& stages = partitioner_.kind(number).virtual_stages;
    for (std::int32_t chunk = 0; chunk < plan.program.layout().chunks(); ++chunk) {
      const std::int32_t at = stages[static_cast<std::size_t>(chunk)];
      if (part == PassPart::beside) {
        std::int32_t kind = static_cast<std::int32_t>(PassKind::fetch);
        for (const Pass* each : side(moved, at, plan))
          pass({.kind = static_cast<PassKind>(kind++), .chunk = chunk}) = each;
        continue;
      }
      const bool special = part != PassPart::plain;
      const bool forward = part != PassPart::last;
      const bool backward = part != PassPart::first;
      const PassPair pair = passes(moved, at, forward, backward && whole, plan);
      if (forward) pass({.kind = PassKind::forward, .chunk = chunk, .special = special}) = pair[0];
      if (!backward) continue;
      pass({.kind = PassKind::backward, .chunk = chunk, .special = special}) = whole ? pair[1] : passes_.nothing();
      if (!splits) continue;
      const PassPair parts = halves(moved, at, plan);
      pass({.kind = PassKind::weight_gradient, .chunk = chunk, .special = special}) = parts[1];
      if (special) continue;
      for (const bool either : {false, true})
        pass({.kind = PassKind::input_gradient, .chunk = chunk, .special = either}) = parts[0];
    }
  }

  const PartitionEnd& end_of(const Plan& plan) {
    std::unique_ptr<PartitionEnd>& slot = ends_of_partitions_.of(plan.ends());
    if (slot) return *slot;
    auto made = std::make_unique<PartitionEnd>();
    made->passes = stored(PassPart::end, plan, [&](std::int32_t kind, auto pass) {
      const StageEnd& end = this->end(kind, plan);
      pass({.kind = PassKind::finalize}) = end.finalize;
      pass({.kind = PassKind::update}) = end.update;
      if (plan.program.layout().awaits()) pass({.kind = PassKind::await}) = ends_.await_replica();
      made->stages.push_back(
          {.resident = end.bytes.device,
           .held = end.held,
           .host_bytes = end.bytes.host,
           .storage_bytes = end.bytes.storage,
           .activations_on_drives = settings_keys_.key(plan.moves.settings).offload.activations == Home::storage,
           .body_layers = partitioner_.kind(kind).body_layers});
    });
    return *(slot = std::move(made));
  }

  const SidePasses::Passes& side(std::int32_t moved, std::int32_t stage, const Plan& plan) {
    const bool exchanges = plan.schedule.exchanges;
    SidePasses::Passes& made = (exchanges ? exchange_passes_ : copy_passes_).of(plan.passes(moved, stage));
    if (made.front() == nullptr)
      made = exchanges ? side_.of_parameters(body(stage, plan), settings_keys_.key(moved))
                       : side_.of_activations(*passes(moved, stage, true, false, plan)[0]);
    return made;
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
  // each stage of a replica group. The rows lie as far apart as in the replica group that is spread over most domains.
  Group over_replicas(Group ranks, const ReplicaGroups& replicas, const Group& pipeline,
                      const StageDistances& distances) const {
    ranks.rows = std::ssize(replicas.groups.front());
    ranks.size *= ranks.rows;
    ranks.apart = pipeline.stride * (pipeline.size / ranks.rows);
    const std::int64_t together = rows_in_domain(replicas, distances);
    if (together < ranks.rows) ranks.apart = std::max(ranks.apart, (domain_ + together - 1) / together);
    return ranks;
  }

  std::int64_t rows_in_domain(const ReplicaGroups& replicas, const StageDistances& distances) const {
    std::int64_t fewest = std::ssize(replicas.groups.front());
    for (const std::vector<std::int32_t>& group : replicas.groups) {
      std::map<std::int64_t, std::int64_t> stages;  // by domain
      std::int64_t most = 0;
      for (const std::int32_t stage : group) most = std::max(most, ++stages[stage / distances.stages_in_domain]);
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

  const StageEnd& end(std::int32_t number, const Plan& plan) {
    const StageEnd*& slot = stage_ends_.of(plan.end_of(number));
    if (slot != nullptr) return *slot;
    const StageKind& kind = partitioner_.kind(number);
    std::vector<const StageBody*> bodies;
    for (const std::int32_t chunk : kind.order)
      bodies.push_back(&body(kind.virtual_stages[static_cast<std::size_t>(chunk)], plan));
    return *(slot = &all_ends_.emplace_back(stage_end(kind, bodies, settings_keys_.key(plan.moves.settings),
                                                      end_keys_.key(plan.end).ranks, ends_)));
  }

  StrategyCheck check_;
  LayerCache layers_;
  ScheduleCache schedules_;
  StagePartitioner partitioner_;
  std::int64_t domain_;
  Interned<Structure, StructureHash> structures_;
  core::BlockDeque<Pipeline> pipelines_;  // by number of the structure
  Interned<BodyKey> body_keys_;
  Interned<MessageKey> message_keys_;
  Interned<UnitSettings> settings_keys_;
  Interned<PassMoves> move_keys_;
  Interned<EndKey> end_keys_;
  Interned<MoveTriple> triples_;
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
  std::array<Remembered<const PassSet*>, k_pass_parts> sets_;     // by part, by Plan::set; not of the end
  Remembered<std::unique_ptr<PartitionEnd>> ends_of_partitions_;  // by Plan::ends
  Remembered<const Course*> courses_;                             // by Plan::course
  core::BlockDeque<PassSet> all_sets_;
  core::BlockDeque<Course> all_courses_;
};

Lowering::Lowering(const ir::Model& model, std::int64_t sequence, ParameterTreatment treatment, std::int64_t domain,
                   const FrameworkBehaviour& behaviour)
    : implementation_(std::make_unique<Implementation>(model, sequence, treatment, domain, behaviour)) {}
Lowering::~Lowering() = default;

const Program& Lowering::lower(const Strategy& strategy) { return implementation_->lower(strategy); }
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
