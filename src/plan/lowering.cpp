#include "cairn/plan/lowering.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/pipeline/generators.h"
#include "parameter_update.h"
#include "step_blocks.h"

namespace cairn::plan {
namespace {

struct WordsHash {
  template <std::size_t N>
  std::size_t operator()(const std::array<std::int64_t, N>& words) const {
    std::uint64_t h = 0x9E3779B97F4A7C15ULL;
    for (const std::int64_t word : words) {
      h ^= static_cast<std::uint64_t>(word) + 0x9E3779B97F4A7C15ULL + (h << 6) + (h >> 2);
      h *= 0xBF58476D1CE4E5B9ULL;
    }
    return h ^ (h >> 31);
  }
};

struct Layer {
  Layer(const ir::LayerClass& layer_class, LayerOptions options)
      : lowering(layer_class, std::move(options)), forward(lowering.forward()), backward(lowering.backward()) {}
  LayerLowering lowering;
  Block forward;
  Block backward;
  std::unordered_map<std::array<std::int64_t, 8>, std::unique_ptr<Block>, WordsHash> synchronised;
};

struct ScheduleEntry {
  std::shared_ptr<const pipeline::Schedule> schedule;
  std::shared_ptr<const pipeline::SweepOrder> order;
  std::shared_ptr<const PassOrder> pass_order;
  std::vector<std::int32_t> devices;  // of virtual stages
  std::vector<std::int32_t> chunks;   // of virtual stages, on their devices
};

std::int64_t bits(double value) {
  std::int64_t result = 0;
  static_assert(sizeof result == sizeof value);
  __builtin_memcpy(&result, &value, sizeof value);
  return result;
}

core::ConfigurationError wrong(const char* key, std::string message, std::string hint) {
  return core::ConfigurationError(std::string("strategy.") + key, std::move(message), std::move(hint));
}

}  // namespace

std::vector<SplitRule> split_rules(const Strategy& strategy) {
  SplitRule rule{.axis = Axis::tensor, .size = strategy.tensor, .dims = {"kv_heads", "ffn"}};
  if (strategy.vocab_parallel) rule.dims.push_back("vocab");
  if (strategy.sequence_parallel) rule.dims.push_back("sequence");
  return {rule};
}

Mesh mesh(const Strategy& strategy) {
  std::array<std::int64_t, k_axes> sizes{1, 1, 1, 1, 1};
  sizes[static_cast<std::size_t>(Axis::tensor)] = strategy.tensor;
  sizes[static_cast<std::size_t>(Axis::data)] = strategy.data;
  sizes[static_cast<std::size_t>(Axis::pipeline)] = strategy.pipeline;
  return Mesh(strategy.order, sizes);
}

std::vector<std::int64_t> even_stages(std::int64_t body_layers, std::int64_t virtual_stages) {
  if (virtual_stages > body_layers)
    throw wrong("pp", fmt::format("{} virtual stages for {} layers", virtual_stages, body_layers),
                fmt::format("use at most {} stages times chunks", body_layers));
  if (body_layers % virtual_stages != 0)
    throw wrong("stages", fmt::format("'even' cannot split {} layers over {} virtual stages", body_layers, virtual_stages),
                fmt::format("write 'balanced', or list the layers of each stage, as in [{}, {}, ...]",
                            body_layers / virtual_stages + 1, body_layers / virtual_stages));
  return std::vector<std::int64_t>(static_cast<std::size_t>(virtual_stages), body_layers / virtual_stages);
}

class Lowering::Implementation {
 public:
  Implementation(const ir::Model& model, std::int64_t sequence, ParameterTreatment treatment, std::int64_t domain)
      : model_(model), sequence_(sequence), treatment_(treatment), domain_(domain), update_(parameter_update(treatment)) {
    for (const ir::LayerRun& run : model.layers) {
      const ir::Position position = model.classes[static_cast<std::size_t>(run.layer_class)].position;
      auto& list = position == ir::Position::entry ? entry_ : position == ir::Position::exit ? exit_ : body_;
      list.push_back(run);
    }
  }

  const Program& lower(const Strategy& strategy) {
    check(strategy);
    const ScheduleEntry& entry = schedule(strategy);
    strategy_ = &strategy;
    layers_now_.assign(2 * model_.classes.size(), nullptr);
    program_.mesh = mesh(strategy);
    program_.schedule = entry.schedule;
    program_.order = entry.order;
    program_.pass_order = entry.pass_order;
    ties_.clear();
    program_.stages.resize(static_cast<std::size_t>(strategy.pipeline));
    parameters_.assign(static_cast<std::size_t>(strategy.pipeline), StageParameters{});
    for (Stage& stage : program_.stages) {
      stage.passes.resize(static_cast<std::size_t>(strategy.chunks));
      stage.body_layers = 0;
    }
    lower_virtual_stages(entry);
    find_tied_stages();
    for (std::int32_t device = 0; device < strategy.pipeline; ++device) finish_stage(device);
    return program_;
  }

  Layer& layer(const Strategy& strategy, std::size_t layer_class, std::uint32_t inputs_held = 0) {
    const std::int64_t stride = mesh(strategy).group(Axis::tensor).stride;
    const std::array<std::int64_t, 6> key{static_cast<std::int64_t>(layer_class), strategy.micro_batch, strategy.tensor, stride, static_cast<std::int64_t>(strategy.recompute),
                                          strategy.sequence_parallel + 2 * strategy.vocab_parallel + 4 * strategy.overlap_tensor +
                                              8 * static_cast<std::int64_t>(inputs_held)};
    auto& slot = layers_[key];
    if (!slot) {
      const Group group{.axis = Axis::tensor, .size = strategy.tensor, .stride = stride};
      LayerOptions options{.sizes = {.batch = strategy.micro_batch, .sequence = sequence_},
                           .rules = split_rules(strategy),
                           .groups = {group},
                           .recompute = {},
                           .recompute_all = strategy.recompute == Recompute::full,
                           .tensor_overlap = strategy.overlap_tensor,
                           .inputs_held = inputs_held};
      if (strategy.recompute == Recompute::attention) options.recompute.emplace_back("attention");
      slot = std::make_unique<Layer>(model_.classes[layer_class], std::move(options));
    }
    return *slot;
  }

  const ir::Model& model_;
  std::int64_t sequence_;
  ParameterTreatment treatment_;
  std::int64_t domain_;

 private:
  // What a stage's parameters come to on one rank.
  struct StageParameters {
    double elements = 0.0;
    double partial_tensor_elements = 0.0;
    friend bool operator==(const StageParameters&, const StageParameters&) = default;
  };

  // Devices around a virtual stage that its passes exchange messages with.
  struct Neighbours {
    std::int32_t below = k_no_stage;
    std::int32_t here = 0;
    std::int32_t above = k_no_stage;
  };

  // A stretch of equal layers inside a virtual stage.
  struct Stretch {
    Layer* layer;
    std::int64_t count;
    bool owns_ties = true;  // the first of the device to hold its tied parameters: the one that gathers and sends them
  };

  // Parameters stored once, and the devices that hold them.
  struct Tie {
    std::string tag;
    double elements = 0.0;
    std::vector<std::int32_t> devices;
  };

  using PassTable = std::array<std::array<const Pass*, 2>, 2>;
  void check(const Strategy& strategy) const {
    if (strategy.tensor < 1 || strategy.pipeline < 1 || strategy.data < 1 || strategy.micro_batch < 1 || strategy.micro_batches < 1 ||
        strategy.chunks < 1)
      throw wrong("tp", "degrees, micro-batch size and chunks must be at least 1", "use 1 where an axis is not wanted");
    const std::int64_t virtual_stages = strategy.pipeline * strategy.chunks;
    if (static_cast<std::int64_t>(strategy.stage_layers.size()) != virtual_stages)
      throw wrong("stages", fmt::format("lists {} virtual stages, but pp x chunks = {}", strategy.stage_layers.size(), virtual_stages),
                  "list one number of layers per virtual stage");
    std::int64_t total = 0;
    for (const std::int64_t layers : strategy.stage_layers) {
      if (layers < 0) throw wrong("stages", "a stage cannot have a negative number of layers", "list counts of 0 or more");
      total += layers;
    }
    if (total != model_.body_layers())
      throw wrong("stages", fmt::format("lists {} layers, the model has {}", total, model_.body_layers()), "make the list add up");
  }

  const ScheduleEntry& schedule(const Strategy& strategy) {
    const auto known = std::find(kinds_.begin(), kinds_.end(), strategy.schedule);
    const std::array<std::int64_t, 4> key{known - kinds_.begin(), strategy.pipeline, strategy.micro_batches, strategy.chunks};
    if (known == kinds_.end()) kinds_.push_back(strategy.schedule);
    auto& slot = schedules_[key];
    if (slot) return *slot;
    const pipeline::Settings settings{.stages = static_cast<std::int32_t>(strategy.pipeline),
                                      .micro_batches = static_cast<std::int32_t>(strategy.micro_batches),
                                      .chunks = static_cast<std::int32_t>(strategy.chunks)};
    auto entry = std::make_unique<ScheduleEntry>();
    entry->schedule = std::make_shared<const pipeline::Schedule>(pipeline::generate(strategy.schedule, settings));
    entry->order = std::make_shared<const pipeline::SweepOrder>(pipeline::sweep_order(*entry->schedule));
    entry->pass_order = std::make_shared<const PassOrder>(PassOrder::of(*entry->schedule, *entry->order));
    entry->devices = pipeline::devices_of_virtual_stages(*entry->schedule);
    entry->chunks.resize(entry->devices.size());
    for (std::int32_t device = 0; device < entry->schedule->stages; ++device)
      for (std::int32_t chunk = 0; chunk < entry->schedule->chunks; ++chunk)
        entry->chunks[static_cast<std::size_t>(entry->schedule->virtual_stage(device, chunk))] = chunk;
    slot = std::move(entry);
    return *slot;
  }

  // The layers of virtual stage `index`, in execution order.
  void collect(std::int64_t index, std::int64_t& run, std::int64_t& used) {
    stretches_.clear();
    const auto last = static_cast<std::int64_t>(strategy_->stage_layers.size()) - 1;
    if (index == 0)
      for (const ir::LayerRun& entry : entry_) add(entry.layer_class, entry.count);
    std::int64_t wanted = strategy_->stage_layers[static_cast<std::size_t>(index)];
    while (wanted > 0) {
      const ir::LayerRun& body = body_[static_cast<std::size_t>(run)];
      const std::int64_t taken = std::min(wanted, body.count - used);
      add(body.layer_class, taken);
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

  void add(std::int32_t layer_class, std::int64_t count) {
    if (count == 0) return;
    Layer& first = layer_now(layer_class);
    // A layer that keeps its own output holds the next layer's input for it.
    const std::uint32_t kept = first.lowering.state().kept_outputs;
    const bool changes = kept != held_below_ && count > 1;
    stretches_.push_back({&first, changes ? 1 : count});
    held_below_ = kept;
    if (changes) add(layer_class, count - 1);
  }

  Layer& layer_now(std::int32_t layer_class) {
    if (held_below_ > 1) return layer(*strategy_, static_cast<std::size_t>(layer_class), held_below_);
    Layer*& known = layers_now_[2 * static_cast<std::size_t>(layer_class) + held_below_];
    if (known == nullptr) known = &layer(*strategy_, static_cast<std::size_t>(layer_class), held_below_);
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

  // The four passes of the layers collected. Stages in the middle of a pipeline equal each other, and those of other plans.
  PassTable pass_table(const Neighbours& neighbours) {
    constexpr std::size_t k_stretches = 4;
    if (stretches_.size() > k_stretches) return make_pass_table(neighbours);
    const Group data = program_.mesh.group(Axis::data);
    const Group none{};
    const Group below = neighbours.below == k_no_stage ? none : send_group(neighbours.here, neighbours.below);
    const Group above = neighbours.above == k_no_stage ? none : send_group(neighbours.here, neighbours.above);
    const bool collective = gathers() || reduces();
    std::array<std::int64_t, 6 + 2 * k_stretches> key{
        below.size * 1'000'003 + below.stride,
        above.size * 1'000'003 + above.stride,
        strategy_->host_waits_for_arrival + 2 * strategy_->scatter_sends + 4 * strategy_->overlap_sends + 8 * gathers() + 16 * reduces() +
            32 * (strategy_->sharded == Sharded::optimizer),
        collective ? data.size : 0,
        collective ? data.stride : 0,
        collective ? bits(strategy_->bucket_bytes) : 0};
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      key[6 + 2 * i] = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(stretches_[i].layer));
      key[7 + 2 * i] = 2 * stretches_[i].count + stretches_[i].owns_ties;
    }
    if (key == last_key_) return last_table_;
    const auto [slot, fresh] = tables_.try_emplace(key);
    if (fresh) slot->second = make_pass_table(neighbours);
    last_key_ = key;
    last_table_ = slot->second;
    return last_table_;
  }

  PassTable make_pass_table(const Neighbours& neighbours) {
    PassTable table{};
    table[0][0] = forward_pass(neighbours, false);
    table[0][1] = gathers() ? forward_pass(neighbours, true) : table[0][0];
    table[1][0] = backward_pass(neighbours, false);
    table[1][1] = reduces() ? backward_pass(neighbours, true) : table[1][0];
    return table;
  }

  bool gathers() const {
    return strategy_->data > 1 && strategy_->sharded == Sharded::optimizer && strategy_->overlap_parameter_gather;
  }
  bool reduces() const { return strategy_->data > 1 && strategy_->overlap_gradient_reduce; }

  const Pass* forward_pass(const Neighbours& neighbours, bool gather) {
    draft_.runs.clear();
    draft_.send = Send::none;
    draft_.runs.push_back({begin_block(neighbours.below != k_no_stage, true), 1});
    for (const Stretch& stretch : stretches_) {
      if (gather)
        add_gathering(draft_, stretch);
      else
        draft_.runs.push_back({&stretch.layer->forward, stretch.count});
    }
    if (neighbours.above != k_no_stage) {
      draft_.runs.push_back({send_block(true, neighbours.here, neighbours.above), 1});
      draft_.send = Send::next;
    }
    return intern();
  }

  const Pass* backward_pass(const Neighbours& neighbours, bool reduce) {
    draft_.runs.clear();
    draft_.send = Send::none;
    draft_.runs.push_back({begin_block(neighbours.above != k_no_stage, false), 1});
    for (auto stretch = stretches_.rbegin(); stretch != stretches_.rend(); ++stretch) {
      if (reduce)
        add_reducing(draft_, *stretch);
      else
        draft_.runs.push_back({&stretch->layer->backward, stretch->count});
    }
    if (neighbours.below != k_no_stage) {
      draft_.runs.push_back({send_block(false, neighbours.here, neighbours.below), 1});
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

  const Block* gathering(Layer& layer, bool without_tied) {
    const GradientSync sync{.collective = Collective::all_gather,
                            .group = program_.mesh.group(Axis::data),
                            .bytes_per_element = numerics::bytes_per_element(treatment_.gather),
                            .without_tied = without_tied};
    return synchronised(layer, true, sync);
  }

  static bool has_ties(const Layer& layer) { return !layer.lowering.state().tied.empty(); }

  // Of layers that share parameters the first to run gathers them, and the last to finish its gradient, the same one, sends it.
  void add_gathering(Pass& pass, const Stretch& stretch) {
    const std::int64_t owners = !has_ties(*stretch.layer) ? stretch.count : stretch.owns_ties ? 1 : 0;
    if (owners > 0) pass.runs.push_back({gathering(*stretch.layer, false), owners});
    if (owners < stretch.count) pass.runs.push_back({gathering(*stretch.layer, true), stretch.count - owners});
  }
  void add_reducing(Pass& pass, const Stretch& stretch) {
    const std::int64_t owners = !has_ties(*stretch.layer) ? stretch.count : stretch.owns_ties ? 1 : 0;
    add_reducing(pass, *stretch.layer, stretch.count - owners, true);
    add_reducing(pass, *stretch.layer, owners, false);
  }

  // Layers smaller than a bucket share one: all but the last of them hold their gradients back.
  void add_reducing(Pass& pass, Layer& layer, std::int64_t count, bool without_tied) {
    if (count == 0) return;
    GradientSync sync = gradient_sync();
    sync.without_tied = without_tied;
    const double elements = layer.lowering.state().parameter_elements - (without_tied ? layer.lowering.state().tied_elements : 0.0);
    const double layer_bytes = elements * sync.bytes_per_element;
    const std::int64_t together =
        layer_bytes > 0.0 ? std::clamp(static_cast<std::int64_t>(sync.bucket_bytes / layer_bytes), std::int64_t{1}, count) : count;
    for (std::int64_t done = 0; done < count; done += together) {
      const std::int64_t bucket = std::min(together, count - done);
      if (bucket > 1) {
        sync.hold = true;
        sync.carried_elements = 0.0;
        pass.runs.push_back({synchronised(layer, false, sync), bucket - 1});
      }
      sync.hold = false;
      sync.carried_elements = static_cast<double>(bucket - 1) * elements;
      const Block* sending = synchronised(layer, false, sync);
      if (!pass.runs.empty() && pass.runs.back().block == sending)
        ++pass.runs.back().count;
      else
        pass.runs.push_back({sending, 1});
    }
  }

  GradientSync gradient_sync() const {
    return GradientSync{.collective = strategy_->sharded == Sharded::optimizer ? Collective::reduce_scatter : Collective::all_reduce,
                        .group = program_.mesh.group(Axis::data),
                        .bytes_per_element = numerics::bytes_per_element(treatment_.reduce),
                        .bucket_bytes = strategy_->bucket_bytes};
  }

  const Block* synchronised(Layer& layer, bool forward, const GradientSync& sync) {
    const std::array<std::int64_t, 8> key{forward,        static_cast<std::int64_t>(sync.collective), sync.group.size,
                                          sync.group.stride, bits(sync.bytes_per_element),            bits(sync.bucket_bytes),
                                          bits(sync.carried_elements), sync.hold + 2 * sync.without_tied};
    auto& slot = layer.synchronised[key];
    if (!slot) slot = std::make_unique<Block>(forward ? layer.lowering.forward(sync) : layer.lowering.backward(sync));
    return slot.get();
  }

  // Bytes handed over at the lower (input) or upper (output) border of the layers collected.
  Border border(bool lower) const {
    const Layer& layer = lower ? *stretches_.front().layer : *stretches_.back().layer;
    const ir::Graph& graph = layer.lowering.layer().graph;
    Border border;
    for (const ir::TensorId tensor : lower ? graph.inputs() : graph.outputs()) {
      border.bytes += layer.lowering.border_bytes(tensor);
      border.sliced = strategy_->scatter_sends && strategy_->tensor > 1 && layer.lowering.border_replicated(tensor, 0);
    }
    return border;
  }

  const Block* begin_block(bool receives, bool forward) {
    const BeginOptions options{.receives = receives,
                               .host_waits = strategy_->host_waits_for_arrival,
                               .border = receives ? border(forward) : Border{},
                               .tensor = program_.mesh.group(Axis::tensor)};
    const std::array<std::int64_t, 6> key{0,
                                          receives + 2 * options.host_waits + 4 * options.border.sliced,
                                          bits(options.border.sliced ? options.border.bytes : 0.0),
                                          options.tensor.size,
                                          options.tensor.stride,
                                          0};
    return special(key, [&] { return begin(options); });
  }

  // Two ranks placed like the sender and the receiver of a message between these stages: inside one domain or not. Where only
  // some of the mesh's pairs cross, the crossing ones decide.
  Group send_group(std::int32_t from, std::int32_t to) const {
    const Group pipeline = program_.mesh.group(Axis::pipeline);
    const std::int64_t stride = pipeline.stride;
    const bool aligned = domain_ == 0 || (domain_ % stride == 0 && (stride * pipeline.size) % domain_ == 0) ||
                         (stride * pipeline.size <= domain_ && domain_ % (stride * pipeline.size) == 0);
    const bool inside = domain_ == 0 || (aligned && stride < domain_ && from * stride / domain_ == to * stride / domain_);
    return {.axis = Axis::pipeline, .size = 2, .stride = inside ? std::min(stride, std::max<std::int64_t>(1, domain_ / 2)) : domain_};
  }

  const Block* send_block(bool forward, std::int32_t from, std::int32_t to) {
    const SendOptions options{.stream = forward ? Stream::next : Stream::previous,
                              .border = border(!forward),
                              .beside_computation = strategy_->overlap_sends,
                              .pipeline = send_group(from, to),
                              .tensor = program_.mesh.group(Axis::tensor)};
    const std::array<std::int64_t, 6> key{1 + forward, bits(options.border.bytes), options.border.sliced + 2 * options.beside_computation,
                                          options.pipeline.size * 1'000'003 + options.pipeline.stride, options.tensor.size,
                                          options.tensor.stride};
    return special(key, [&] { return send(options); });
  }

  template <class Make>
  const Block* special(const std::array<std::int64_t, 6>& key, Make make) {
    auto& slot = special_[key];
    if (!slot) slot = std::make_unique<Block>(make());
    return slot.get();
  }

  // Adds the parameters of the collected layers to their device.
  void account(std::int32_t device) {
    StageParameters& parameters = parameters_[static_cast<std::size_t>(device)];
    for (Stretch& stretch : stretches_) {
      const LayerState& state = stretch.layer->lowering.state();
      const auto count = static_cast<double>(stretch.count);
      parameters.elements += count * (state.parameter_elements - state.tied_elements);
      if (!state.partial_elements.empty()) parameters.partial_tensor_elements += count * state.partial_elements.front();
      if (!state.tied.empty()) stretch.owns_ties = false;
      for (const Tied& tied : state.tied) {
        const bool first = first_holder(tied, device);
        const double partial = tied.partial_elements.empty() ? 0.0 : tied.partial_elements.front();
        parameters.partial_tensor_elements -= (first ? count - 1.0 : count) * partial;
        if (!first) continue;
        parameters.elements += tied.elements;
        stretch.owns_ties = true;
      }
    }
  }

  bool first_holder(const Tied& tied, std::int32_t device) {
    auto tie = std::find_if(ties_.begin(), ties_.end(), [&](const Tie& t) { return t.tag == tied.tag; });
    if (tie == ties_.end()) tie = ties_.insert(tie, Tie{.tag = tied.tag, .elements = tied.elements, .devices = {}});
    if (std::find(tie->devices.begin(), tie->devices.end(), device) != tie->devices.end()) return false;
    tie->devices.push_back(device);
    return true;
  }

  void find_tied_stages() {
    program_.tied_stages = {k_no_stage, k_no_stage};
    exchanged_elements_ = 0.0;
    for (const Tie& tie : ties_) {
      if (tie.devices.size() == 1) continue;
      const std::array<std::int32_t, 2> pair{std::min(tie.devices[0], tie.devices[1]), std::max(tie.devices[0], tie.devices[1])};
      if (tie.devices.size() > 2 || (program_.tied_stages[0] != k_no_stage && program_.tied_stages != pair))
        throw wrong("pp",
                    fmt::format("'{}' and other shared parameters live on more than two stages; their gradients are exchanged "
                                "between two at most",
                                tie.tag),
                    "use fewer stages, or list stages so that the layers that share parameters lie on one or two of them");
      program_.tied_stages = pair;
      exchanged_elements_ += tie.elements;
    }
  }

  bool is_tied(std::int32_t device) const { return device == program_.tied_stages[0] || device == program_.tied_stages[1]; }

  void finish_stage(std::int32_t device) {
    const StageParameters& parameters = parameters_[static_cast<std::size_t>(device)];
    const bool tied = is_tied(device);
    Stage& stage = program_.stages[static_cast<std::size_t>(device)];
    if (device > 0 && !tied && !is_tied(device - 1) && parameters == parameters_[static_cast<std::size_t>(device) - 1]) {
      const Stage& before = program_.stages[static_cast<std::size_t>(device) - 1];
      stage.settle = before.settle;
      stage.update = before.update;
      stage.resident = before.resident;
      return;
    }
    const Group pipeline = program_.mesh.group(Axis::pipeline);
    const auto apart = static_cast<std::int64_t>(program_.tied_stages[1] - program_.tied_stages[0]);
    const double gradient_bytes = numerics::bytes_per_element(treatment_.gradients);
    const double shard = strategy_->sharded == Sharded::optimizer
                             ? std::ceil(parameters.elements / static_cast<double>(strategy_->data))
                             : parameters.elements;
    StepEndOptions options{.sync = gradient_sync(),
                           .already_reduced = reduces(),
                           .elements = parameters.elements,
                           .tensor = program_.mesh.group(Axis::tensor),
                           .partial_bytes = parameters.partial_tensor_elements * gradient_bytes,
                           .tied = {.axis = Axis::pipeline, .size = tied ? 2 : 1, .stride = tied ? pipeline.stride * apart : 1},
                           .tied_bytes = tied ? exchanged_elements_ * gradient_bytes : 0.0,
                           .update = &update_,
                           .updated_elements = static_cast<std::int64_t>(shard),
                           .gather = strategy_->sharded == Sharded::optimizer && strategy_->data > 1 && !gathers(),
                           .gather_bytes_per_element = numerics::bytes_per_element(treatment_.gather)};
    const std::array<std::int64_t, 8> key{bits(options.elements),
                                          options.sync.group.size,
                                          options.sync.group.stride,
                                          static_cast<std::int64_t>(options.sync.collective) + 8 * options.already_reduced +
                                              16 * options.gather,
                                          options.tensor.size * 1'000'003 + options.tensor.stride,
                                          bits(options.partial_bytes),
                                          options.tied.size * 1'000'003 + options.tied.stride,
                                          bits(options.tied_bytes)};
    auto& ends = step_ends_[key];
    if (!ends.settle) {
      ends.settle = std::make_unique<Block>(settle(options));
      ends.update = std::make_unique<Block>(update(options));
      ends.settle_pass = single(ends.settle.get(), tied ? Send::next : Send::none);
      ends.update_pass = single(ends.update.get(), Send::none);
    }
    stage.settle = ends.settle_pass;
    stage.update = ends.update_pass;
    resident(stage, parameters.elements, shard);
  }

  const Pass* single(const Block* block, Send send) {
    draft_.runs.assign(1, BlockRun{block, 1});
    draft_.send = send;
    return intern();
  }

  void resident(Stage& stage, double elements, double updated) const {
    const double states = (treatment_.master ? numerics::bytes_per_element(*treatment_.master) : 0.0) +
                          treatment_.moments * numerics::bytes_per_element(treatment_.moments_format);
    stage.resident = {};
    stage.resident[static_cast<std::size_t>(Category::parameters)] = elements * numerics::bytes_per_element(treatment_.parameters);
    stage.resident[static_cast<std::size_t>(Category::gradients)] = elements * numerics::bytes_per_element(treatment_.gradients);
    stage.resident[static_cast<std::size_t>(Category::optimizer)] = updated * states;
  }

  struct StepEnds {
    std::unique_ptr<Block> settle;
    std::unique_ptr<Block> update;
    const Pass* settle_pass = nullptr;
    const Pass* update_pass = nullptr;
  };

  ir::Graph update_;
  std::vector<ir::LayerRun> entry_;
  std::vector<ir::LayerRun> body_;
  std::vector<ir::LayerRun> exit_;
  std::unordered_map<std::array<std::int64_t, 6>, std::unique_ptr<Layer>, WordsHash> layers_;
  std::unordered_map<std::array<std::int64_t, 6>, std::unique_ptr<Block>, WordsHash> special_;
  std::unordered_map<std::array<std::int64_t, 8>, StepEnds, WordsHash> step_ends_;
  std::vector<std::string> kinds_;
  std::unordered_map<std::array<std::int64_t, 4>, std::unique_ptr<ScheduleEntry>, WordsHash> schedules_;  // by kind, p, m, chunks
  std::unordered_map<std::array<std::int64_t, 14>, PassTable, WordsHash> tables_;
  std::array<std::int64_t, 14> last_key_{};
  PassTable last_table_{};
  std::unordered_multimap<std::uint64_t, std::unique_ptr<Pass>> passes_;

  // The lowering under way.
  const Strategy* strategy_ = nullptr;
  Program program_;
  std::vector<Stretch> stretches_;
  std::vector<Layer*> layers_now_;  // by class and whether the input is held below
  Pass draft_;
  std::vector<StageParameters> parameters_;
  std::vector<Tie> ties_;
  double exchanged_elements_ = 0.0;  // of tied parameters that live on two stages
  std::uint32_t held_below_ = 0;     // outputs that the layer below keeps
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
