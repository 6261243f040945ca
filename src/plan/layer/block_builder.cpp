#include "block_builder.h"

#include <algorithm>
#include <utility>

#include "block_traffic.h"

namespace cairn::plan {

BlockBuilder::BlockBuilder(const LayerPass& pass, std::string name, const UnitTraffic& traffic)
    : pass_(pass),
      traffic_(&traffic),
      writer_(std::move(name)),
      uses_(pass),
      turns_(pass),
      progress_(pass.graph().tensors().size(), pass.options().rules.size()),
      memory_(pass.graph(), writer_),
      tensors_(pass, turns_, writer_, memory_, progress_),
      cuts_(pass, uses_, progress_),
      shared_(pass, writer_),
      gradients_(pass, writer_, progress_) {
  start();
}

// The dependencies on tensor-parallel transfers that the layer before may have left running.
void BlockBuilder::start() {
  if (!pass_.options().settings.asynchronous_tensor)
    for (const SplitRule& rule : pass_.options().rules)
      if (rule.size > 1) progress_.blocking.push_back(entry_of(stream_of(rule.axis)));
  open(writer_, *traffic_, progress_.blocking);
}

// The next block waits first for what start() names.
void BlockBuilder::leave_running() {
  Dependencies awaited;
  if (!pass_.options().settings.asynchronous_tensor)
    for (const SplitRule& rule : pass_.options().rules) awaited.push_back(entry_of(stream_of(rule.axis)));
  writer_.leave_running(awaited);
}

void BlockBuilder::gather_parameters(const GradientSync& sync, const PerGroup<double>& elements) {
  for (const ParameterGroup group : k_all_parameter_groups) {
    const Group& copies = sync.copies[group];
    if (elements[group] > 0.0 && copies.size > 1)
      progress_.blocking.push_back(writer_.transfer(stream_of(copies.axis), sync.collective, copies,
                                                    elements[group] * sync.bytes_per_element, {}));
  }
}

void BlockBuilder::receive(ir::TensorId tensor, bool held_elsewhere) {
  const bool under_way = pass_.options().settings.asynchronous_tensor && pass_.kept.arrives(tensor);
  const Placements border = pass_.layer.border(tensor);
  tensors_.place(tensor, border, under_way ? entry_of(Stream::tensor) : -1);
  if (!pass_.backward && pass_.kept.shared(tensor)) writer_.hold(Category::activations, pass_.kept.bytes(tensor));
  if (!held_elsewhere)
    memory_.hold(tensor, pass_.keeps(tensor) ? Category::activations : Category::workspace,
                 pass_.layer.bytes(tensor, border));
}

void BlockBuilder::restore(ir::TensorId tensor, bool held_elsewhere) {
  tensors_.place(tensor, pass_.kept.settled(tensor));
  // The forward block allocated this buffer; this block only frees it.
  if (pass_.storage(tensor) == tensor && pass_.kept.saved(tensor) && !held_elsewhere)
    memory_.inherit(tensor, pass_.kept.bytes(tensor));
}

void BlockBuilder::run(const OperatorOrder& order, const GradientSync& sync) {
  uses_.note(order);
  gradients_.begin(sync);
  if (turns_.taken())
    run_by_halves(order);
  else
    for (std::size_t position = 0; position < order.size(); ++position) step(position, order);
  if (pass_.backward) gradients_.send_all();
}

void BlockBuilder::run_first(const OperatorOrder& first, const OperatorOrder& second, const GradientSync& sync) {
  uses_.note(first);
  uses_.note(second);
  gradients_.begin(sync);
  gradients_.defer();
  for (std::size_t position = 0; position < first.size(); ++position) step(position, first);
  done_ = first.size();
}

Block BlockBuilder::cut(std::string name_of_second, const UnitTraffic& traffic_of_second) {
  leave_running();
  close(writer_, *traffic_, progress_.computed);
  tensors_.cut();
  Block first = writer_.finish();
  writer_ = StepWriter(std::move(name_of_second));
  traffic_ = &traffic_of_second;
  progress_.blocking.clear();
  progress_.computed = entry_of(Stream::compute);
  progress_.transferred = -1;
  start();
  return first;
}

void BlockBuilder::run_second(const OperatorOrder& second) {
  gradients_.resume();
  for (std::size_t position = 0; position < second.size(); ++position) {
    // The gathers for the next product run beside this one.
    if (pass_.options().settings.overlap_tensor && position + 1 < second.size())
      request(position, position + 2, second);
    step(position, second);
  }
  gradients_.send_all();
}

void BlockBuilder::run_by_halves(const OperatorOrder& order) {
  const std::vector<char> starts = segment_starts(order);
  turns_.begin(progress_);
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && !starts[end]) ++end;
    const std::array<int, 2> halves = turns_.order(order.terms[begin]);
    for (const int half : halves) {
      turns_.turn_to(half, progress_);
      turns_.come_last(half == halves[1]);
      for (std::size_t position = begin; position < end; ++position) step(position, order);
    }
    begin = end;
  }
  turns_.come_last(true);
}

// Marks where the halves take turns: at operators that would wait for a transfer, and behind those that start one.
std::vector<char> BlockBuilder::segment_starts(const OperatorOrder& order) const {
  std::vector<char> starts(order.size() + 1, 0);
  BlockBuilder whole(pass_, {}, *traffic_);
  whole.progress_ = progress_;
  const auto transfers = [&] { return std::exchange(whole.progress_.transferred, -1) >= 0; };
  transfers();
  for (std::size_t position = 0; position < order.size(); ++position) {
    const Pieces made = whole.emit(position, order);
    if (transfers()) starts[position] = 1;
    whole.resolve_partials(position, order, made);
    if (transfers()) starts[position + 1] = 1;
    if (position > 0 && order.terms[position] != order.terms[position - 1]) starts[position] = 1;
  }
  return starts;
}

void BlockBuilder::step(std::size_t position, const OperatorOrder& order) {
  if (position > 0 && order.terms[position] != order.terms[position - 1]) {
    if (order.terms[position] == Term::recompute)
      tensors_.begin_recomputation();
    else
      tensors_.end_recomputation();
  }
  const ir::Operator& op = pass_.op(order, position);
  if (!turns_.has_work(op)) return;
  const Pieces made = emit(position, order);
  resolve_partials(position, order, made);
  release_dead(op, position);
  if (pass_.backward && turns_.last()) complete_gradients(op, position);
}

Pieces BlockBuilder::emit(std::size_t position, const OperatorOrder& order) {
  const ir::Operator& op = pass_.op(order, position);
  const ProductCut cut = cuts_.of(position, order);
  std::vector<Arrival> in_pieces;
  Dependencies waits = obtain_operands(position, order, cut, in_pieces);
  overlap_weight_gradient(position, order);
  waits.insert(waits.end(), progress_.blocking.begin(), progress_.blocking.end());
  progress_.blocking.clear();
  make_results(op);
  if (shared_.shares(op)) {
    progress_.computed = shared_.run(op, order.terms[position], waits);
    progress_.blocking = shared_.under_way();
    return {};
  }
  Pieces made{.count = cut.count, .products = {}};
  for (std::int32_t piece = 0; piece < cut.count; ++piece) {
    for (const Arrival& operand : in_pieces) waits.push_back(operand.parts[static_cast<std::size_t>(piece)]);
    progress_.computed = compute(op, cut, piece, order.terms[position], waits);
    waits.clear();
    if (cut.count > 1) made.products.push_back(progress_.computed);
  }
  return made;
}

// Requests the operands of an operator and returns what it must wait for. Operands that arrive in pieces are returned
// in `in_pieces` instead.
Dependencies BlockBuilder::obtain_operands(std::size_t position, const OperatorOrder& order, const ProductCut& cut,
                                           std::vector<Arrival>& in_pieces) {
  const ir::Operator& op = pass_.op(order, position);
  const bool chunked = pass_.options().settings.tensor_pieces.kind == TensorPieces::Kind::chunked;
  Dependencies waits;
  for (const ir::Access& access : op.accesses) {
    const ir::Tensor& tensor = pass_.graph().tensor(access.tensor);
    if (access.mode != ir::Mode::read || tensor.role == ir::Role::parameter || tensor.role == ir::Role::index ||
        is_fresh_gradient(tensor))
      continue;
    const bool cuts = chunked && cut.dim >= 0 && uses(access.projection, static_cast<loopnest::DimId>(cut.dim));
    const Pieces pieces{.count = cuts ? cut.count : 1, .products = {}};
    Arrival arrival = tensors_.obtain(access.tensor, pass_.layer.placements(op, access), pieces);
    if (!arrival.parts.empty())
      in_pieces.push_back(std::move(arrival));
    else if (arrival.step != -1)
      waits.push_back(arrival.step);
  }
  return waits;
}

void BlockBuilder::make_results(const ir::Operator& op) {
  for (const ir::Access& access : op.accesses) {
    if (access.mode == ir::Mode::read || is_accumulator(pass_.graph(), access.tensor)) continue;
    const Placements made = pass_.layer.placements(op, access);
    tensors_.place(access.tensor, made);
    memory_.hold(access.tensor, pass_.keeps(access.tensor) ? Category::activations : Category::workspace,
                 pass_.layer.bytes(access.tensor, made));
  }
}

Dependency BlockBuilder::compute(const ir::Operator& op, const ProductCut& cut, std::int32_t piece, Term term,
                                 const Dependencies& waits) {
  ir::Shard shard{.op = &op, .graph = &pass_.graph(), .box = turns_.box(op)};
  if (cut.count > 1 && pass_.options().settings.tensor_pieces.kind == TensorPieces::Kind::triggered) {
    shard.part = piece;
    shard.parts = cut.count;
  } else if (cut.count > 1) {
    loopnest::Interval& tokens = shard.box[static_cast<std::size_t>(cut.dim)];
    const std::int64_t length = tokens.extent() / cut.count;
    tokens.begin += piece * length;
    tokens.end = tokens.begin + length;
  }
  const auto launches = static_cast<std::uint16_t>(shard.part == 0 ? 1 : 0);
  return writer_.add(Step{.kind = StepKind::compute, .stream = Stream::compute, .term = term, .launches = launches},
                     std::move(shard), waits);
}

// Input and weight gradient of one contraction follow each other. With overlap, the gathers that the second needs are
// requested before the first runs.
void BlockBuilder::overlap_weight_gradient(std::size_t position, const OperatorOrder& order) {
  if (!pass_.backward || !pass_.options().settings.overlap_tensor || position + 1 >= order.size()) return;
  const ir::Operator& op = pass_.op(order, position);
  if (op.forward < 0 || op.kind != ir::Kind::contraction) return;
  // Between the two may stand operators that prepare the second's operands.
  std::size_t last = position + 1;
  while (last < order.size() && pass_.op(order, last).forward == op.forward &&
         pass_.op(order, last).kind == ir::Kind::pointwise)
    ++last;
  if (last == order.size() || pass_.op(order, last).forward != op.forward) return;
  request(position, last + 1, order);
}

void BlockBuilder::request(std::size_t begin, std::size_t end, const OperatorOrder& order) {
  for (std::size_t reader = begin; reader < end; ++reader)
    for (const ir::Access& access : pass_.op(order, reader).accesses) {
      const ir::Role role = pass_.graph().tensor(access.tensor).role;
      if (access.mode != ir::Mode::read || role == ir::Role::parameter || role == ir::Role::index) continue;
      const auto first = order.operators.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto here = order.operators.begin() + static_cast<std::ptrdiff_t>(reader);
      const bool later = std::find(first, here, pass_.graph().producer(access.tensor)) != here;  // not there yet
      if (!later) tensors_.obtain(access.tensor, pass_.layer.placements(pass_.op(order, reader), access));
    }
}

void BlockBuilder::resolve_partials(std::size_t position, const OperatorOrder& order, const Pieces& pieces) {
  const ir::Graph& graph = pass_.graph();
  for (const ir::Access& written : pass_.op(order, position).accesses) {
    if (written.mode == ir::Mode::read) continue;
    const Placements& have = progress_.placements[at(written.tensor)];
    const bool partial =
        std::any_of(have.begin(), have.end(), [](const Placement& p) { return p.kind == Placement::Kind::partial; });
    const bool routed = pass_.layer.mesh_of(written.tensor) == ParameterGroup::expert;
    if ((!partial && !routed) || is_accumulator(graph, written.tensor) ||
        is_fresh_gradient(graph.tensor(written.tensor)))
      continue;
    if (const auto next = uses_.next_wanted(written.tensor, position, order))
      tensors_.obtain(written.tensor, *next, pieces);
  }
}

void BlockBuilder::release_dead(const ir::Operator& op, std::size_t position) {
  for (const ir::Access& access : op.accesses) {
    if (!is_last_use(access.tensor, position)) continue;
    tensors_.free_copies(access.tensor);
    if (!pass_.keeps(access.tensor) && turns_.last() && !uses_.leaves(access.tensor)) memory_.release(access.tensor);
  }
}

void BlockBuilder::drop_unread() {
  for (std::size_t id = 0; id < pass_.graph().tensors().size(); ++id) {
    const auto tensor = static_cast<ir::TensorId>(id);
    if (pass_.kept.saved(tensor) && !uses_.touched(tensor)) memory_.release(tensor);
  }
}

void BlockBuilder::complete_gradients(const ir::Operator& op, std::size_t position) {
  for (const ir::Access& access : op.accesses)
    if (access.mode != ir::Mode::read && is_accumulator(pass_.graph(), access.tensor) &&
        is_last_use(access.tensor, position))
      gradients_.add(pass_.graph().tensor(access.tensor).of);
  gradients_.send_full();
}

void BlockBuilder::hand_over(ir::TensorId tensor) {
  const auto hand = [&] {
    tensors_.obtain(tensor, pass_.layer.border(tensor));
    tensors_.free_copies(tensor);
  };
  if (turns_.taken())
    for (const int half : turns_.order(Term::compute)) {
      turns_.turn_to(half, progress_);
      hand();
    }
  else
    hand();
  memory_.hand_over(tensor);
  if (!pass_.keeps(tensor)) memory_.release(tensor);
}

Block BlockBuilder::finish() {
  leave_running();
  close(writer_, *traffic_, progress_.computed);
  if (pass_.options().settings.tensor_pieces.kind == TensorPieces::Kind::halves) {
    // The next layer begins with this half.
    if (turns_.taken()) turns_.turn_to(turns_.order(Term::compute)[0], progress_);
    if (progress_.transferred >= 0) writer_.wait(Stream::compute, {progress_.transferred});
  }
  return writer_.finish();
}

}  // namespace cairn::plan
