#include "block_builder.h"

#include <algorithm>
#include <utility>

#include "cairn/core/assert.h"

namespace cairn::plan {
BlockBuilder::BlockBuilder(const LayerLowering& layer, std::string name, bool backward)
    : layer_(layer),
      graph_(layer.layer_.graph),
      backward_(backward),
      placements_(graph_.tensors().size(), Placements(layer.options_.rules.size())),
      ready_(graph_.tensors().size(), -1),
      last_use_(graph_.tensors().size(), -1),
      held_(graph_.tensors().size(), 0.0),
      held_as_(graph_.tensors().size(), Category::workspace),
      recorded_(graph_.tensors().size(), 0) {
  block_.name = std::move(name);
  block_.steps.reserve(graph_.operators().size() + 8);
  wait_on_entry();
}

// What the layer below left in flight on the tensor-parallel communicators must have arrived.
void BlockBuilder::wait_on_entry() {
  if (layer_.options_.asynchronous) return;
  for (const SplitRule& rule : layer_.options_.rules)
    if (rule.size > 1) blocking_.push_back(entry_of(stream_of(rule.axis)));
}

ir::TensorId BlockBuilder::storage(ir::TensorId tensor) const {
  while (graph_.tensor(tensor).alias_of != ir::k_no_tensor) tensor = graph_.tensor(tensor).alias_of;
  return tensor;
}

// Kept as it is: of a shared input, its share is.
bool BlockBuilder::saved(ir::TensorId tensor) const {
  return layer_.saved_[at(tensor)] != 0 && (backward_ || !layer_.shared_input(tensor));
}

double BlockBuilder::bytes_at(ir::TensorId tensor, const Placements& placement) const {
  const ir::Tensor& t = graph_.tensor(tensor);
  double bytes = numerics::bytes_per_element(t.format) * static_cast<double>(t.elements(layer_.options_.sizes));
  for (std::size_t rule = 0; rule < placement.size(); ++rule)
    if (placement[rule].kind == Placement::Kind::shard) bytes /= static_cast<double>(layer_.options_.rules[rule].size);
  return bytes;
}

BlockBuilder::Placements BlockBuilder::wanted(const ir::Operator& op, const ir::Access& access) const {
  Placements result;
  for (std::size_t rule = 0; rule < layer_.options_.rules.size(); ++rule)
    result.push_back(layer_.stated(op, access, rule));
  return result;
}

void BlockBuilder::memory(bool after, Category category, double bytes) {
  const auto step = static_cast<std::int32_t>(block_.steps.size()) - (after ? 1 : 0);
  block_.memory.push_back(MemoryEvent{.step = std::max(step, 0), .after = after, .category = category, .bytes = bytes});
}

void BlockBuilder::hold(ir::TensorId tensor, Category category, double bytes) {
  const ir::TensorId root = storage(tensor);
  if (held_[at(root)] > 0.0 || bytes <= 0.0) return;
  held_[at(root)] = bytes;
  held_as_[at(root)] = category;
  memory(false, category, bytes);
}

void BlockBuilder::release(ir::TensorId tensor) {
  const ir::TensorId root = storage(tensor);
  if (held_[at(root)] <= 0.0) return;
  if (recorded_[at(root)] != 0 && held_as_[at(root)] == Category::workspace)
    block_.recorded += held_[at(root)];
  else
    memory(true, held_as_[at(root)], -held_[at(root)]);
  held_[at(root)] = 0.0;
}

void BlockBuilder::receive(ir::TensorId tensor, bool held_elsewhere) {
  placements_[at(tensor)] = border(tensor);
  if (layer_.options_.asynchronous && layer_.arrives(tensor)) ready_[at(tensor)] = entry_of(Stream::tensor);
  if (!backward_ && layer_.shared_input(tensor)) memory(false, Category::activations, layer_.local_bytes(tensor));
  if (!held_elsewhere)
    hold(tensor, !backward_ && saved(tensor) ? Category::activations : Category::workspace,
         bytes_at(tensor, placements_[at(tensor)]));
}

void BlockBuilder::restore(ir::TensorId tensor, bool held_elsewhere) {
  for (std::size_t rule = 0; rule < layer_.options_.rules.size(); ++rule)
    placements_[at(tensor)][rule] = layer_.settled(tensor, rule);
  const ir::TensorId root = storage(tensor);
  if (saved(root) && root == tensor && !held_elsewhere) {
    // Already held on entry: releasing it is this block's business, acquiring it was forward's.
    held_[at(root)] = layer_.local_bytes(tensor);
    held_as_[at(root)] = Category::activations;
  }
}

std::int32_t BlockBuilder::add_step(Step step, const boost::container::small_vector<Dependency, 4>& dependencies) {
  step.first_dependency = static_cast<std::uint32_t>(block_.dependencies.size());
  for (const Dependency dependency : dependencies)
    if (std::find(block_.dependencies.begin() + step.first_dependency, block_.dependencies.end(), dependency) ==
        block_.dependencies.end())
      block_.dependencies.push_back(dependency);
  step.dependencies = static_cast<std::uint16_t>(block_.dependencies.size() - step.first_dependency);
  block_.steps.push_back(step);
  return static_cast<std::int32_t>(block_.steps.size()) - 1;
}

std::int32_t BlockBuilder::transfer(Collective collective, const Group& group, double bytes,
                                    const boost::container::small_vector<Dependency, 4>& after) {
  const double across =
      group.axis == Axis::expert && collective == Collective::all_to_all ? layer_.options_.across : 1.0;
  const std::int32_t count = group.axis == Axis::tensor ? pieces_ : 1;
  const bool triggered = layer_.options_.pieces.kind == TensorPieces::Kind::triggered;
  if (count > 1) moved_pieces_.clear();
  std::int32_t step = -1;
  for (std::int32_t piece = 0; piece < count; ++piece) {
    block_.works.emplace_back(Transfer{.collective = collective,
                                       .group = group,
                                       .bytes = bytes / count,
                                       .part = triggered ? piece : 0,
                                       .parts = triggered ? count : 1,
                                       .across = across,
                                       .per_peer = group.axis == Axis::tensor && layer_.options_.issues_per_peer});
    boost::container::small_vector<Dependency, 4> waits = after;
    if (!piece_steps_.empty()) waits.front() = piece_steps_[static_cast<std::size_t>(piece)];
    step = add_step(Step{.kind = StepKind::transfer,
                         .stream = stream_of(group.axis),
                         .axis = group.axis,
                         .launches = static_cast<std::uint16_t>(triggered && piece > 0 ? 0 : 1),
                         .work = static_cast<std::int32_t>(block_.works.size()) - 1},
                    waits);
    if (count > 1) moved_pieces_.push_back(step);
  }
  if (group.axis == Axis::tensor) last_transfer_ = step;
  return step;
}

std::int32_t BlockBuilder::obtain(ir::TensorId tensor, const Placements& want) {
  Placements& have = placements_[at(tensor)];
  if (have == want) return ready_[at(tensor)];
  for (const TensorCopy& copy : copies_)
    if (copy.tensor == tensor && copy.placement == want) return copy.step;
  if (layer_.mesh_of(tensor) == ParameterGroup::expert) return move(tensor, want);
  std::int32_t step = ready_[at(tensor)];
  Placements now = have;
  bool replaces = false;
  bool moved = false;
  for (std::size_t rule = 0; rule < want.size(); ++rule) {
    const Collective collective = redistribute(now[rule], want[rule]);
    if (collective != Collective::none) {
      // bytes: the whole tensor over this axis.
      Placements whole = now;
      whole[rule] = Placement{};
      const double bytes = share(tensor) * bytes_at(tensor, whole);
      replaces = replaces || now[rule].kind == Placement::Kind::partial;
      if (layer_.options_.records_reductions && now[rule].kind == Placement::Kind::partial &&
          layer_.options_.groups[rule].axis == Axis::tensor)
        recorded_[at(storage(tensor))] = 1;
      if (!replaces) {
        Placements after = now;
        after[rule] = want[rule];
        memory(false, Category::workspace, share(tensor) * bytes_at(tensor, after));
      }
      // A communicator call waits for what its issuer has computed so far, as collective libraries order themselves,
      // and for the tensor.
      boost::container::small_vector<Dependency, 4> after{last_compute_};
      if (step != -1) after.push_back(step);
      step = redistribute_by(collective, layer_.options_.groups[rule], bytes, after);
      moved = true;
      const bool beside = layer_.options_.asynchronous || (backward_ && layer_.options_.tensor_overlap);
      const bool awaited_piecewise = pieces_ > 1 && piece_steps_.empty();
      if (!beside && !awaited_piecewise) blocking_.push_back(step);
    }
    now[rule] = want[rule];
  }
  if (!moved) return step;
  if (replaces) {
    const ir::TensorId root = storage(tensor);
    const double before = held_[at(root)];
    const double bytes = bytes_at(tensor, now);
    if (before > bytes && last_) {
      if (recorded_[at(root)] != 0 && held_as_[at(root)] == Category::workspace) {
        memory(true, Category::workspace, bytes);
        block_.recorded += before;
      } else {
        memory(true, held_as_[at(root)], bytes - before);
      }
      held_[at(root)] = bytes;
    }
    have = now;
    ready_[at(tensor)] = step;
  } else {
    copies_.push_back(
        TensorCopy{.tensor = tensor, .placement = want, .step = step, .bytes = share(tensor) * bytes_at(tensor, now)});
  }
  return step;
}

// A sum that is made whole while the product that makes it still runs: its parts are reduced as they come; gathering
// them again, where they are wanted whole, is left for the end.
std::int32_t BlockBuilder::redistribute_by(Collective collective, const Group& group, double bytes,
                                           const boost::container::small_vector<Dependency, 4>& after) {
  const bool triggered = layer_.options_.pieces.kind == TensorPieces::Kind::triggered;
  if (pieces_ == 1 || !triggered || collective != Collective::all_reduce || group.axis != Axis::tensor)
    return transfer(collective, group, bytes, after);
  const std::int32_t reduced = transfer(Collective::reduce_scatter, group, bytes, after);
  const auto products = std::move(piece_steps_);
  const std::int32_t count = std::exchange(pieces_, 1);
  piece_steps_.clear();
  const std::int32_t gathered = transfer(Collective::all_gather, group, bytes, {reduced});
  pieces_ = count;
  piece_steps_ = products;
  return gathered;
}

// Reductions first, gathers last: what moves in between is smallest.
std::int32_t BlockBuilder::move(ir::TensorId tensor, const Placements& want) {
  Placements& have = placements_[at(tensor)];
  const ir::TensorId root = storage(tensor);
  for (const Collective now :
       {Collective::reduce_scatter, Collective::all_reduce, Collective::all_to_all, Collective::all_gather})
    for (std::size_t rule = 0; rule < want.size(); ++rule) {
      if (redistribute(have[rule], want[rule]) != now) continue;
      Placements whole = have;
      whole[rule] = Placement{};
      boost::container::small_vector<Dependency, 4> after{last_compute_};
      if (ready_[at(tensor)] >= 0) after.push_back(ready_[at(tensor)]);
      const double before = held_[at(root)];
      have[rule] = want[rule];
      held_[at(root)] = bytes_at(tensor, have);
      memory(false, held_as_[at(root)], held_[at(root)]);
      ready_[at(tensor)] = transfer(now, layer_.options_.groups[rule], bytes_at(tensor, whole), after);
      if (before > 0.0) memory(true, held_as_[at(root)], -before);
      if (!layer_.options_.expert_overlap) blocking_.push_back(ready_[at(tensor)]);
    }
  have = want;
  return ready_[at(tensor)];
}

void BlockBuilder::emit(std::size_t position, const std::vector<ir::OperatorId>& order, Term term) {
  const ir::Operator& op = graph_.op(order[position]);
  const Pieces cut = pieces_of(position, order);
  boost::container::small_vector<Dependency, 4> waits;
  std::vector<boost::container::small_vector<std::int32_t, 8>> arrivals;  // pieces of each gathered operand
  piece_steps_.clear();
  for (const ir::Access& access : op.accesses) {
    if (access.mode != ir::Mode::read || graph_.tensor(access.tensor).role == ir::Role::parameter) continue;
    if (graph_.tensor(access.tensor).role == ir::Role::index || is_fresh_gradient(graph_.tensor(access.tensor)))
      continue;
    const bool chunked = layer_.options_.pieces.kind == TensorPieces::Kind::chunked;
    if (chunked && cut.dim >= 0 && uses(access.projection, static_cast<loopnest::DimId>(cut.dim))) pieces_ = cut.count;
    moved_pieces_.clear();
    const std::int32_t step = obtain(access.tensor, wanted(op, access));
    pieces_ = 1;
    if (!moved_pieces_.empty())
      arrivals.push_back(moved_pieces_);
    else if (step != -1)
      waits.push_back(step);
  }
  overlap_weight_gradient(position, order);
  for (const Dependency dependency : blocking_) waits.push_back(dependency);
  blocking_.clear();
  for (const ir::Access& access : op.accesses) {
    if (access.mode == ir::Mode::read || is_accumulator(access.tensor)) continue;
    const Placements produced = wanted(op, access);
    placements_[at(access.tensor)] = produced;
    ready_[at(access.tensor)] = -1;
    const bool keep = !backward_ && saved(storage(access.tensor));
    hold(access.tensor, keep ? Category::activations : Category::workspace, bytes_at(access.tensor, produced));
  }
  const bool triggered = layer_.options_.pieces.kind == TensorPieces::Kind::triggered;
  loopnest::Box whole = box(op);
  for (std::int32_t piece = 0; piece < cut.count; ++piece) {
    for (const auto& operand : arrivals) waits.push_back(operand[static_cast<std::size_t>(piece)]);
    loopnest::Box part = whole;
    if (cut.count > 1 && !triggered) {
      loopnest::Interval& tokens = part[static_cast<std::size_t>(cut.dim)];
      const std::int64_t length = tokens.extent() / cut.count;
      tokens.begin += piece * length;
      tokens.end = tokens.begin + length;
    }
    const std::int32_t made = compute(op, part, term, triggered ? piece : 0, triggered ? cut.count : 1, waits);
    waits.clear();
    if (cut.count > 1) piece_steps_.push_back(made);
  }
}

std::int32_t BlockBuilder::compute(const ir::Operator& op, const loopnest::Box& box, Term term, std::int32_t part,
                                   std::int32_t parts, const boost::container::small_vector<Dependency, 4>& waits) {
  block_.works.emplace_back(ir::Shard{.op = &op, .graph = &graph_, .box = box, .part = part, .parts = parts});
  const std::int32_t step = add_step(Step{.kind = StepKind::compute,
                                          .stream = Stream::compute,
                                          .term = term,
                                          .launches = static_cast<std::uint16_t>(part == 0 ? 1 : 0),
                                          .work = static_cast<std::int32_t>(block_.works.size()) - 1},
                                     waits);
  last_compute_ = step;
  return step;
}

// Input and weight gradient of one contraction come in a row. With overlap, what the second still has to gather is
// requested before the first runs.
void BlockBuilder::overlap_weight_gradient(std::size_t position, const std::vector<ir::OperatorId>& order) {
  if (!backward_ || !layer_.options_.tensor_overlap || position + 1 >= order.size()) return;
  const ir::Operator& op = graph_.op(order[position]);
  if (op.forward < 0 || op.kind != ir::Kind::contraction) return;
  // Between the two may stand operators that prepare the second's operands.
  std::size_t last = position + 1;
  while (last < order.size() && graph_.op(order[last]).forward == op.forward &&
         graph_.op(order[last]).kind == ir::Kind::pointwise)
    ++last;
  if (last == order.size() || graph_.op(order[last]).forward != op.forward) return;
  request(position, last + 1, order);
}

void BlockBuilder::request(std::size_t begin, std::size_t end, const std::vector<ir::OperatorId>& order) {
  for (std::size_t reader = begin; reader < end; ++reader)
    for (const ir::Access& access : graph_.op(order[reader]).accesses) {
      const bool moved = access.mode == ir::Mode::read && graph_.tensor(access.tensor).role != ir::Role::parameter &&
                         graph_.tensor(access.tensor).role != ir::Role::index;
      const auto producer = static_cast<std::int64_t>(graph_.producer(access.tensor));
      const auto made = [&](std::size_t at) { return order[at] == producer; };
      bool later = false;  // not there yet
      for (std::size_t at = begin; at < reader; ++at) later = later || made(at);
      if (moved && !later) obtain(access.tensor, wanted(graph_.op(order[reader]), access));
    }
}

void BlockBuilder::resolve_partials(const ir::Operator& op, std::size_t position,
                                    const std::vector<ir::OperatorId>& order) {
  for (const ir::Access& written : op.accesses) {
    if (written.mode == ir::Mode::read) continue;
    const Placements& have = placements_[at(written.tensor)];
    const bool partial =
        std::any_of(have.begin(), have.end(), [](const Placement& p) { return p.kind == Placement::Kind::partial; });
    const bool routed = layer_.mesh_of(written.tensor) == ParameterGroup::expert;
    if ((!partial && !routed) || is_accumulator(written.tensor) || is_fresh_gradient(graph_.tensor(written.tensor)))
      continue;
    if (const auto next = next_wanted(written.tensor, position, order)) obtain(written.tensor, *next);
  }
}

// Where a result is wanted next: by a later operator of the block, at the border, or by the derivative it is saved for.
std::optional<BlockBuilder::Placements> BlockBuilder::next_wanted(ir::TensorId tensor, std::size_t position,
                                                                  const std::vector<ir::OperatorId>& order) const {
  const auto read_by = [&](const ir::Operator& op) {
    return std::find_if(op.accesses.begin(), op.accesses.end(), [&](const ir::Access& access) {
      return access.mode == ir::Mode::read && access.tensor == tensor;
    });
  };
  for (std::size_t later = position + 1; later < order.size(); ++later) {
    const ir::Operator& op = graph_.op(order[later]);
    if (const auto read = read_by(op); read != op.accesses.end()) return wanted(op, *read);
  }
  if (leaves(tensor)) return border(tensor);
  if (backward_ || !saved(storage(tensor))) return std::nullopt;
  for (std::size_t id = graph_.forward_count(); id < graph_.operators().size(); ++id) {
    const ir::Operator& op = graph_.operators()[id];
    if (const auto read = read_by(op); read != op.accesses.end()) return wanted(op, *read);
  }
  return std::nullopt;
}

// What the block hands over: outputs forward, gradients of inputs backward.
bool BlockBuilder::leaves(ir::TensorId tensor) const {
  const auto& boundary = backward_ ? graph_.inputs() : graph_.outputs();
  return std::any_of(boundary.begin(), boundary.end(), [&](ir::TensorId id) {
    const ir::TensorId handed_over = backward_ ? graph_.gradient(id) : id;
    return handed_over != ir::k_no_tensor && storage(handed_over) == storage(tensor);
  });
}

BlockBuilder::Placements BlockBuilder::border(ir::TensorId tensor) const {
  const ir::TensorId shape = graph_.tensor(tensor).role == ir::Role::gradient ? graph_.tensor(tensor).of : tensor;
  Placements result;
  for (const SplitRule& rule : layer_.options_.rules) result.push_back(border_placement(graph_.tensor(shape), rule));
  return result;
}

void BlockBuilder::drop_copies(std::size_t from) {
  // An input gathered from its shares stays for the whole layer.
  const auto stays = [&](const TensorCopy& copy) { return layer_.shared_input(copy.tensor); };
  for (std::size_t index = from; index < copies_.size(); ++index)
    if (copies_[index].bytes > 0.0 && !stays(copies_[index])) memory(true, Category::workspace, -copies_[index].bytes);
  const auto first = copies_.begin() + static_cast<std::ptrdiff_t>(std::min(from, copies_.size()));
  copies_.erase(std::remove_if(first, copies_.end(), [&](const TensorCopy& copy) { return !stays(copy); }),
                copies_.end());
}

void BlockBuilder::release_dead(const ir::Operator& op, std::size_t position) {
  for (const ir::Access& access : op.accesses) {
    const ir::TensorId root = storage(access.tensor);
    if (!is_last_use(root, position)) continue;
    for (TensorCopy& copy : copies_)
      if (storage(copy.tensor) == root && copy.bytes > 0.0) {
        memory(true, Category::workspace, -copy.bytes);
        copy.bytes = 0.0;
      }
    const bool keep = !backward_ && saved(root);
    if (!keep && last_ && !leaves(root)) release(root);
  }
}

bool BlockBuilder::is_accumulator(ir::TensorId tensor) const {
  const ir::Tensor& gradient = graph_.tensor(tensor);
  return gradient.role == ir::Role::gradient && gradient.of != ir::k_no_tensor &&
         graph_.tensor(gradient.of).role == ir::Role::parameter;
}

void BlockBuilder::gradients_ready(const ir::Operator& op, std::size_t position, const GradientSync& sync) {
  if (sync.collective == Collective::none) return;
  for (const ir::Access& access : op.accesses)
    if (access.mode != ir::Mode::read && is_accumulator(access.tensor) && is_last_use(access.tensor, position) &&
        !(sync.without_tied && !graph_.tensor(graph_.tensor(access.tensor).of).tied.empty())) {
      const std::size_t parameter = at(graph_.tensor(access.tensor).of);
      const double elements = layer_.parameter_local_[parameter];
      unsent_elements_[layer_.mesh_of(graph_.tensor(access.tensor).of)] += elements;
      // Gradients of tied parameters grow over the whole pass: the pass holds their memory.
      const bool own = graph_.tensor(graph_.tensor(access.tensor).of).tied.empty();
      if (own && sync.holds(layer_.mesh_of(graph_.tensor(access.tensor).of))) hold_gradient(elements * sync.held_bytes);
    }
  if (defers_) return;
  const double bucket = sync.bucket_bytes / sync.bytes_per_element;
  for (const ParameterGroup group : k_all_parameter_groups)
    if (unsent_elements_[group] >= bucket) send_gradients(sync, group);
}

void BlockBuilder::hold_gradient(double bytes) {
  if (defers_)
    deferred_bytes_ += bytes;
  else
    memory(true, Category::gradients, bytes);
}

void BlockBuilder::gather_parameters(const GradientSync& sync, const PerGroup<double>& elements) {
  for (const ParameterGroup group : k_all_parameter_groups)
    if (elements[group] > 0.0 && sync.copies[group].size > 1)
      blocking_.push_back(transfer(sync.collective, sync.copies[group], elements[group] * sync.bytes_per_element, {}));
}

void BlockBuilder::note_uses(const std::vector<ir::OperatorId>& order) {
  for (std::size_t position = 0; position < order.size(); ++position)
    for (const ir::Access& access : graph_.op(order[position]).accesses)
      last_use_[at(storage(access.tensor))] = first_position_ + static_cast<std::int32_t>(position);
}

void BlockBuilder::run(const std::vector<ir::OperatorId>& order, const std::vector<Term>& terms,
                       const GradientSync& sync) {
  note_uses(order);
  unsent_elements_ = sync.carried_elements;
  in_flight_ = sync.in_flight;
  if (halves())
    run_halves(order, terms, sync);
  else
    for (std::size_t position = 0; position < order.size(); ++position) step(position, order, terms, sync);
  if (backward_ && sync.collective != Collective::none)
    for (const ParameterGroup group : k_all_parameter_groups) send_gradients(sync, group);
}

void BlockBuilder::step(std::size_t position, const std::vector<ir::OperatorId>& order, const std::vector<Term>& terms,
                        const GradientSync& sync) {
  const ir::Operator& op = graph_.op(order[position]);
  // What recomputation gathered it does not keep, no more than the forward pass does.
  if (position > 0 && terms[position] != terms[position - 1]) {
    if (terms[position] == Term::recompute)
      kept_copies_ = copies_.size();
    else
      drop_copies(kept_copies_);
  }
  if (!has_work(op)) return;
  emit(position, order, terms[position]);
  if (!piece_steps_.empty()) pieces_ = static_cast<std::int32_t>(piece_steps_.size());
  resolve_partials(op, position, order);
  pieces_ = 1;
  piece_steps_.clear();
  release_dead(op, position);
  if (backward_ && last_) gradients_ready(op, position, sync);
}

void BlockBuilder::hand_over(ir::TensorId tensor) {
  const auto hand = [&] {
    obtain(tensor, border(tensor));
    for (TensorCopy& copy : copies_)
      if (copy.tensor == tensor && copy.bytes > 0.0) {
        memory(true, Category::workspace, -copy.bytes);
        copy.bytes = 0.0;
      }
  };
  if (halves())
    for (const int half : half_order(Term::compute)) {
      turn_to(half);
      hand();
    }
  else
    hand();
  const bool keep = !backward_ && saved(storage(tensor));
  recorded_[at(storage(tensor))] = 0;  // the next block's from now on
  if (!keep) release(tensor);
}

Block BlockBuilder::finish() {
  wait_for_first_half();
  block_.profile = profile_of(block_.memory);
  return std::move(block_);
}

}  // namespace cairn::plan
