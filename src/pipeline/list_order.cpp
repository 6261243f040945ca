#include "list_order.h"

#include <set>
#include <utility>
#include <vector>

#include "cairn/core/assert.h"

namespace cairn::pipeline {
namespace {

class ListOrder {
 public:
  ListOrder(const Settings& settings, const Layout& layout, std::span<const std::int32_t> chain_of,
            std::int32_t most_alive)
      : layout_(layout),
        most_alive_(most_alive),
        home_(layout.placement.size()),
        alive_(settings.stages, 0),
        ready_(settings.stages),
        rows_(settings.stages),
        left_(std::size_t{2} * layout.chain_length * settings.micro_batches) {
    for (std::int32_t i = 0; i < std::ssize(layout.placement); ++i)
      home_[layout.placement[i]] = {i / layout.chunks, i % layout.chunks};
    for (std::int32_t i = 0; i < settings.micro_batches; ++i) add(Phase::forward, chain_of[i] * layout.chain_length, i);
  }

  std::vector<std::vector<Operation>> run() {
    while (left_ > 0) {
      std::vector<std::pair<Operation, std::int32_t>> ended;  // with the virtual stage
      for (std::size_t device = 0; device < rows_.size(); ++device) take(device, ended);
      CAIRN_ASSERT(!ended.empty());
      for (const auto& [operation, stage] : ended) release(operation, stage);
      left_ -= ended.size();
    }
    return std::move(rows_);
  }

 private:
  using Key = std::pair<std::int32_t, std::int32_t>;  // what comes first, in ascending order
  struct Ready {
    std::set<Key> backward;  // micro-batch, -stage
    std::set<Key> forward;   // -stage, micro-batch
  };

  void add(Phase phase, std::int32_t stage, std::int32_t micro_batch) {
    Ready& ready = ready_[home_[stage].first];
    // Chains are told apart by their stages; depth counts within a chain.
    if (phase == Phase::forward)
      ready.forward.insert({-(stage % layout_.chain_length), micro_batch * chains() + stage / layout_.chain_length});
    else
      ready.backward.insert({micro_batch, -stage});
  }

  std::int32_t chains() const { return static_cast<std::int32_t>(layout_.placement.size()) / layout_.chain_length; }

  void take(std::size_t device, std::vector<std::pair<Operation, std::int32_t>>& ended) {
    Ready& ready = ready_[device];
    Operation operation;
    std::int32_t stage = 0;
    if (!ready.backward.empty()) {
      const Key key = *ready.backward.begin();
      ready.backward.erase(ready.backward.begin());
      stage = -key.second;
      operation = {.phase = Phase::backward, .micro_batch = key.first};
      --alive_[device];
    } else if (!ready.forward.empty() && (most_alive_ <= 0 || alive_[device] < most_alive_)) {
      const Key key = *ready.forward.begin();
      ready.forward.erase(ready.forward.begin());
      stage = -key.first + key.second % chains() * layout_.chain_length;
      operation = {.phase = Phase::forward, .micro_batch = key.second / chains()};
      ++alive_[device];
    } else {
      return;
    }
    operation.chunk = home_[stage].second;
    rows_[device].push_back(operation);
    ended.emplace_back(operation, stage);
  }

  void release(const Operation& operation, std::int32_t stage) {
    const std::int32_t place = stage % layout_.chain_length;
    if (operation.phase == Phase::backward) {
      if (place > 0) add(Phase::backward, stage - 1, operation.micro_batch);
    } else if (place + 1 < layout_.chain_length) {
      add(Phase::forward, stage + 1, operation.micro_batch);
    } else {
      add(Phase::backward, stage, operation.micro_batch);
    }
  }

  const Layout& layout_;
  std::int32_t most_alive_;
  std::vector<std::pair<std::int32_t, std::int32_t>> home_;  // device and chunk of every virtual stage
  std::vector<std::int32_t> alive_;
  std::vector<Ready> ready_;
  std::vector<std::vector<Operation>> rows_;
  std::size_t left_;
};

}  // namespace

Schedule list_order(std::string_view kind, const Settings& settings, const Layout& layout,
                    std::span<const std::int32_t> chain_of, std::int32_t most_alive) {
  ScheduleBuilder builder(kind, settings, layout);
  for (const std::vector<Operation>& row : ListOrder(settings, layout, chain_of, most_alive).run()) {
    for (const Operation& operation : row) builder.push(operation);
    builder.end_row();
  }
  return builder.take();
}

}  // namespace cairn::pipeline
