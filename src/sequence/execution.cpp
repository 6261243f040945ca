#include "execution.h"

#include <algorithm>

#include <fmt/format.h>

namespace cairn::sequence {
namespace {

// The other tensor of an unfinished part of O.
Tensor companion(Tensor tensor) { return tensor == Tensor::output ? Tensor::logsumexp : Tensor::output; }

}  // namespace

Execution::Execution(const Problem& problem, const Visible& visible, Pass pass, const Tensors<float>& inputs,
                     std::span<const RankList> lists)
    : problem_(problem),
      visible_(visible),
      pass_(pass),
      inputs_(inputs),
      lists_(lists),
      arithmetic_(problem),
      state_(problem, visible, pass, inputs, static_cast<std::int64_t>(lists.size())),
      computed_(static_cast<std::size_t>(problem.tokens * problem.tokens * problem.heads)),
      output_(static_cast<std::size_t>(problem.values())) {}

void Execution::begin_with(std::int64_t rank, const Parcel& parcel) {
  for_rows(problem_, parcel, [&](const Place& place, std::size_t) {
    state_.set_input(rank, place);
    return Fault();
  });
}

std::optional<std::string> Execution::run() {
  std::int32_t stages = 0;
  for (const RankList& list : lists_) stages = std::max(stages, list.stages);
  std::vector<std::size_t> next(lists_.size(), 0);
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    if (auto fault = leave(stage)) return fault;
    for (std::size_t rank = 0; rank < lists_.size(); ++rank) {
      const std::vector<Tile>& tiles = lists_[rank].tiles;
      for (; next[rank] < tiles.size() && tiles[next[rank]].stage == stage; ++next[rank])
        if (const auto fault = compute(static_cast<std::int64_t>(rank), tiles[next[rank]]))
          return fmt::format("stage {}, rank {}: the tile {}", stage, rank, *fault);
    }
    if (auto fault = arrive(stage)) return fault;
  }
  return std::nullopt;
}

// Copies leave before anything is given away: a stage has no order.
Execution::Fault Execution::leave(std::int32_t stage) {
  for (const bool gives : {false, true})
    for (std::size_t rank = 0; rank < lists_.size(); ++rank)
      for (const Call& call : lists_[rank].calls)
        for (const Message& message : call.sends)
          if (call.begins == stage && message.gives == gives)
            if (const auto fault = take(static_cast<std::int64_t>(rank), call, message))
              return fmt::format("stage {}, {} -> {}: {}", stage, rank, message.peer, *fault);
  return std::nullopt;
}

Execution::Fault Execution::take(std::int64_t rank, const Call& call, const Message& message) {
  Cargo cargo{
      .message = &message, .source = rank, .begins = call.begins, .ends = call.ends, .parts = {}, .numbers = {}};
  const auto fault = for_rows(problem_, message.parcel,
                              [&](const Place& place, std::size_t) { return take(rank, message, place, cargo); });
  if (fault) return fault;
  if (message.gives)
    for_rows(problem_, message.parcel, [&](const Place& place, std::size_t) {
      state_.remove(rank, place);
      return Fault();
    });
  under_way_.push_back(std::move(cargo));
  return std::nullopt;
}

Execution::Fault Execution::take(std::int64_t rank, const Message& message, const Place& place, Cargo& cargo) {
  const bool result = is_result(pass_, place.tensor);
  if (!result && !is_input(pass_, place.tensor)) return fmt::format("there is no {} in this pass", name(place.tensor));
  if (!result) {
    if (message.gives) return fmt::format("gives away {}, which is an operand", name(place.tensor));
    if (!state_.holds(rank, place)) return fmt::format("the source does not hold {}", text(place));
    return std::nullopt;
  }
  const std::int32_t part = state_.part(rank, place);
  const bool whole = state_.holds(rank, place);
  if (part == OracleState::k_absent) return fmt::format("the source does not hold {}", text(place));
  if (!whole && !message.gives) return fmt::format("copies {}, which is not whole", text(place));
  if (!whole && pass_ == Pass::forward && !contains(message.parcel.tensors, companion(place.tensor)))
    return fmt::format("gives away {}, which is not whole, without its {}", text(place), name(companion(place.tensor)));
  const auto of_tensor = static_cast<std::size_t>(place.tensor);
  const float* numbers = state_.numbers(rank, place);
  cargo.parts[of_tensor].push_back(part);
  cargo.numbers[of_tensor].insert(cargo.numbers[of_tensor].end(), numbers, numbers + width(problem_, place.tensor));
  return std::nullopt;
}

Execution::Fault Execution::arrive(std::int32_t stage) {
  for (const Cargo& cargo : under_way_)
    if (cargo.ends == stage)
      if (const auto fault = arrive(cargo))
        return fmt::format("stage {}, {} -> {}: {}", cargo.begins, cargo.source, cargo.message->peer, *fault);
  std::erase_if(under_way_, [&](const Cargo& cargo) { return cargo.ends == stage; });
  return std::nullopt;
}

Execution::Fault Execution::arrive(const Cargo& cargo) {
  bool news = false;
  const auto fault = for_rows(problem_, cargo.message->parcel,
                              [&](const Place& place, std::size_t row) { return arrive(cargo, place, row, news); });
  if (fault) return fault;
  if (!news) return "brings nothing that the destination lacks";
  return std::nullopt;
}

Execution::Fault Execution::arrive(const Cargo& cargo, const Place& place, std::size_t row, bool& news) {
  const std::int64_t rank = cargo.message->peer;
  if (is_input(pass_, place.tensor)) {
    news = news || !state_.holds(rank, place);
    state_.set_input(rank, place);
    return std::nullopt;
  }
  news = true;
  const auto of_tensor = static_cast<std::size_t>(place.tensor);
  const std::int32_t part = cargo.parts[of_tensor][row];
  const std::int64_t sum = std::int64_t{std::max(state_.part(rank, place), 0)} + part;
  if (sum > state_.whole(place.tensor, place.token))
    return fmt::format("adds to {} what the destination has already", text(place));
  const std::vector<float>& logsumexp = cargo.numbers[static_cast<std::size_t>(Tensor::logsumexp)];
  const std::size_t width_of = static_cast<std::size_t>(width(problem_, place.tensor));
  state_.add(rank, place, part, cargo.numbers[of_tensor].data() + row * width_of,
             logsumexp.empty() ? nullptr : logsumexp.data() + row);
  return std::nullopt;
}

Execution::Fault Execution::reads(std::int64_t rank, const Tile& tile) const {
  const auto held = [&](const Place& place, std::size_t) -> Fault {
    if (state_.holds(rank, place)) return std::nullopt;
    return fmt::format("reads {}, which the rank does not hold", text(place));
  };
  return for_rows_read(problem_, pass_, tile, held);
}

Execution::Fault Execution::compute(std::int64_t rank, const Tile& tile) {
  if (auto fault = reads(rank, tile)) return fault;
  keys_ = positions(tile.keys);
  const std::vector<std::int64_t> queries = positions(tile.queries);
  if (pass_ == Pass::backward)
    for_rows(
        problem_,
        {.tensors = set_of(Tensor::key_gradient, Tensor::value_gradient), .tokens = tile.keys, .heads = tile.heads},
        [&](const Place& place, std::size_t) {
          state_.add_pairs(rank, place, 0);
          return Fault();
        });
  for (std::int64_t head = tile.heads.first; head < tile.heads.first + tile.heads.count; ++head)
    for (const std::int64_t q : queries) {
      if (auto fault = find_seen(q, head)) return fault;
      pass_ == Pass::forward ? forward(rank, q, head) : backward(rank, q, head);
    }
  return std::nullopt;
}

Execution::Fault Execution::find_seen(std::int64_t q, std::int64_t head) {
  seen_.clear();
  for (const std::int64_t k : keys_) {
    if (!visible_(q, k)) continue;
    std::uint8_t& computed = computed_[static_cast<std::size_t>((head * problem_.tokens + q) * problem_.tokens + k)];
    if (computed != 0) return fmt::format("computes query {}, key {}, head {} again", q, k, head);
    computed = 1;
    seen_.push_back(k);
  }
  pairs_ += static_cast<std::int64_t>(seen_.size());
  return std::nullopt;
}

void Execution::forward(std::int64_t rank, std::int64_t q, std::int64_t head) {
  const std::int64_t kv_head = head / problem_.group();
  rows_.clear();
  for (const std::int64_t k : seen_)
    rows_.push_back({.key = inputs_[Tensor::key].at(k, kv_head), .value = inputs_[Tensor::value].at(k, kv_head)});
  const float logsumexp = arithmetic_.forward({.query = inputs_[Tensor::query].at(q, head)}, rows_, output_.data());
  const auto pairs = static_cast<std::int32_t>(seen_.size());
  state_.add(rank, {.tensor = Tensor::output, .token = q, .head = head}, pairs, output_.data(), &logsumexp);
  state_.add(rank, {.tensor = Tensor::logsumexp, .token = q, .head = head}, pairs, &logsumexp, &logsumexp);
}

void Execution::backward(std::int64_t rank, std::int64_t q, std::int64_t head) {
  const std::int64_t kv_head = head / problem_.group();
  rows_.clear();
  for (const std::int64_t k : seen_)
    rows_.push_back(
        {.key = inputs_[Tensor::key].at(k, kv_head),
         .value = inputs_[Tensor::value].at(k, kv_head),
         .key_gradient = state_.add_pairs(rank, {.tensor = Tensor::key_gradient, .token = k, .head = kv_head}, 1),
         .value_gradient = state_.add_pairs(rank, {.tensor = Tensor::value_gradient, .token = k, .head = kv_head}, 1)});
  const QueryRow query{.query = inputs_[Tensor::query].at(q, head),
                       .output_gradient = inputs_[Tensor::output_gradient].at(q, head),
                       .logsumexp = *inputs_[Tensor::logsumexp].at(q, head),
                       .delta = *inputs_[Tensor::delta].at(q, head)};
  float* of_query = state_.add_pairs(rank, {.tensor = Tensor::query_gradient, .token = q, .head = head},
                                     static_cast<std::int32_t>(seen_.size()));
  arithmetic_.backward(query, rows_, of_query);
}

}  // namespace cairn::sequence
