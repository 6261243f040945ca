#include "rank_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace cairn::attention_mpi {

using sequence::Message;
using sequence::Parcel;
using sequence::Pass;
using sequence::Place;
using sequence::Tensor;

namespace {

std::array<std::int64_t, sequence::k_tensors> elements_of(const sequence::Problem& problem, const Parcel& parcel) {
  std::array<std::int64_t, sequence::k_tensors> elements{};
  sequence::for_rows(problem, parcel, [&](const Place& place, std::size_t) {
    elements[static_cast<std::size_t>(place.tensor)] += sequence::width(problem, place.tensor);
    return Fault();
  });
  return elements;
}

}  // namespace

RankPass::RankPass(const sequence::Problem& problem, Pass pass, const sequence::RankList& list, HeldRows& held,
                   Wire& wire)
    : problem_(problem),
      pass_(pass),
      list_(list),
      held_(held),
      wire_(wire),
      arithmetic_(problem),
      output_(static_cast<std::size_t>(problem.values())) {}

Fault RankPass::run() {
  auto tile = list_.tiles.begin();
  for (std::int32_t stage = 0; stage < list_.stages; ++stage) {
    if (const auto fault = leave(stage)) return fmt::format("stage {}: {}", stage, *fault);
    for (; tile != list_.tiles.end() && tile->stage == stage; ++tile)
      if (const auto fault = compute(*tile)) return fmt::format("stage {}: the tile {}", stage, *fault);
    if (const auto fault = arrive(stage)) return fmt::format("stage {}: {}", stage, *fault);
  }
  return std::nullopt;
}

// In an order that both ends of a message find by themselves, copies before what is given away: a stage has no order.
std::vector<RankPass::Planned> RankPass::beginning_with(std::int32_t stage) const {
  std::vector<Planned> all;
  for (const sequence::Call& call : list_.calls) {
    if (call.begins != stage) continue;
    for (const Message& message : call.receives)
      all.push_back({.message = &message, .ends = call.ends, .receives = true});
    for (const Message& message : call.sends) all.push_back({.message = &message, .ends = call.ends});
  }
  const auto order = [](const Planned& planned) {
    const Parcel& parcel = planned.message->parcel;
    return std::tuple(!planned.receives, planned.message->gives, planned.ends, parcel.tensors, parcel.heads.first,
                      parcel.heads.count, positions(parcel.tokens));
  };
  std::sort(all.begin(), all.end(), [&](const Planned& a, const Planned& b) { return order(a) < order(b); });
  return all;
}

Fault RankPass::leave(std::int32_t stage) {
  for (const Planned& planned : beginning_with(stage)) {
    const Message& message = *planned.message;
    const int peer = static_cast<int>(message.peer);
    if (planned.receives) {
      under_way_.push_back({planned, wire_.receive(peer, stage, elements_of(problem_, message.parcel))});
      continue;
    }
    Cargo cargo;
    if (const auto fault = take(message, cargo)) return fmt::format("to rank {}: {}", peer, *fault);
    under_way_.push_back({planned, wire_.send(peer, stage, std::move(cargo))});
  }
  return std::nullopt;
}

Fault RankPass::take(const Message& message, Cargo& cargo) {
  return sequence::for_rows(problem_, message.parcel, [&](const Place& place, std::size_t) -> Fault {
    const float* numbers = held_.find(place);
    if (numbers == nullptr) return fmt::format("sends {}, which the rank does not hold", text(place));
    const std::int64_t width = sequence::width(problem_, place.tensor);
    cargo.numbers.insert(cargo.numbers.end(), numbers, numbers + width);
    cargo.elements[static_cast<std::size_t>(place.tensor)] += width;
    if (message.gives) held_.remove(place);
    return std::nullopt;
  });
}

Fault RankPass::arrive(std::int32_t stage) {
  for (UnderWay& each : under_way_) {
    if (each.planned.ends != stage) continue;
    auto fault = wire_.wait(each.transfer);
    if (!fault && each.planned.receives) fault = arrive(*each.planned.message, each.transfer.cargo);
    if (fault) return fmt::format("with rank {}: {}", each.planned.message->peer, *fault);
  }
  std::erase_if(under_way_, [&](const UnderWay& each) { return each.planned.ends == stage; });
  return std::nullopt;
}

Fault RankPass::arrive(const Message& message, const Cargo& cargo) {
  const float* next = cargo.numbers.data();
  const bool with_logsumexp = contains(message.parcel.tensors, Tensor::logsumexp);
  const float* logsumexp = with_logsumexp ? next + cargo.elements[static_cast<std::size_t>(Tensor::output)] : nullptr;
  return sequence::for_rows(problem_, message.parcel, [&](const Place& place, std::size_t row) -> Fault {
    const float* numbers = next;
    next += sequence::width(problem_, place.tensor);
    if (sequence::is_result(pass_, place.tensor))
      return held_.add(place, numbers, logsumexp == nullptr ? nullptr : logsumexp + row);
    held_.put(place, numbers);
    return std::nullopt;
  });
}

Fault RankPass::compute(const sequence::Tile& tile) {
  const auto held = [&](const Place& place, std::size_t) -> Fault {
    if (held_.find(place) != nullptr) return std::nullopt;
    return fmt::format("reads {}, which the rank does not hold", text(place));
  };
  if (auto fault = sequence::for_rows_read(problem_, pass_, tile, held)) return fault;
  keys_ = positions(tile.keys);
  if (pass_ == Pass::backward)
    sequence::for_rows(
        problem_,
        {.tensors = set_of(Tensor::key_gradient, Tensor::value_gradient), .tokens = tile.keys, .heads = tile.heads},
        [&](const Place& place, std::size_t) {
          held_.sum_at(place);
          return Fault();
        });
  for (std::int64_t head = tile.heads.first; head < tile.heads.first + tile.heads.count; ++head)
    for (const std::int64_t q : positions(tile.queries)) {
      find_seen(q, head);
      if (pass_ == Pass::backward)
        backward(q, head);
      else if (auto fault = forward(q, head))
        return fault;
    }
  return std::nullopt;
}

void RankPass::find_seen(std::int64_t q, std::int64_t head) {
  const std::int64_t kv_head = head / problem_.group();
  seen_.clear();
  for (const std::int64_t k : keys_) {
    if (!problem_.sees(q, k)) continue;
    const auto of = [&](Tensor tensor) { return Place{.tensor = tensor, .token = k, .head = kv_head}; };
    sequence::KeyRow row{.key = held_.find(of(Tensor::key)), .value = held_.find(of(Tensor::value))};
    if (pass_ == Pass::backward) {
      row.key_gradient = held_.sum_at(of(Tensor::key_gradient));
      row.value_gradient = held_.sum_at(of(Tensor::value_gradient));
    }
    seen_.push_back(row);
  }
}

// O joins before its log-sum-exp, which it is weighted by.
Fault RankPass::forward(std::int64_t q, std::int64_t head) {
  const auto of = [&](Tensor tensor) { return Place{.tensor = tensor, .token = q, .head = head}; };
  const float logsumexp = arithmetic_.forward({.query = held_.find(of(Tensor::query))}, seen_, output_.data());
  if (auto fault = held_.add(of(Tensor::output), output_.data(), &logsumexp)) return fault;
  return held_.add(of(Tensor::logsumexp), &logsumexp, &logsumexp);
}

void RankPass::backward(std::int64_t q, std::int64_t head) {
  const auto of = [&](Tensor tensor) { return Place{.tensor = tensor, .token = q, .head = head}; };
  const sequence::QueryRow query{.query = held_.find(of(Tensor::query)),
                                 .output_gradient = held_.find(of(Tensor::output_gradient)),
                                 .logsumexp = *held_.find(of(Tensor::logsumexp)),
                                 .delta = *held_.find(of(Tensor::delta))};
  arithmetic_.backward(query, seen_, held_.sum_at(of(Tensor::query_gradient)));
}

}  // namespace cairn::attention_mpi
