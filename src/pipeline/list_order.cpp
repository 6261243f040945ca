#include "list_order.h"

#include <functional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "cairn/core/assert.h"

namespace cairn::pipeline {
namespace {

using core::Picoseconds;

class ListOrder {
 public:
  ListOrder(const Settings& settings, const Layout& layout, std::span<const std::int32_t> chain_of,
            const ListRule& rule)
      : layout_(layout), rule_(rule), home_(layout.placement.size()), devices_(settings.stages) {
    for (std::int32_t i = 0; i < std::ssize(layout.placement); ++i)
      home_[layout.placement[i]] = {i / layout.chunks, i % layout.chunks};
    for (std::int32_t i = 0; i < settings.micro_batches; ++i)
      arrive(0, Phase::forward, chain_of[i] * layout.chain_length, i);
  }

  std::vector<std::vector<Operation>> run() {
    std::set<std::int32_t> awake;
    while (!arrivals_.empty()) {
      const Picoseconds now = arrivals_.top().at;
      awake.clear();
      for (; !arrivals_.empty() && arrivals_.top().at == now; arrivals_.pop()) {
        const Arrival& arrival = arrivals_.top();
        awake.insert(arrival.device);
        if (arrival.stage >= 0) enter(arrival);
      }
      for (const std::int32_t device : awake)
        if (devices_[device].free <= now) take(device, now);
    }
    std::vector<std::vector<Operation>> rows;
    for (Device& device : devices_) {
      CAIRN_ASSERT(device.forward.empty() && device.backward.empty() && device.due.empty());
      rows.push_back(std::move(device.row));
    }
    return rows;
  }

 private:
  using Key = std::pair<std::int32_t, std::int32_t>;  // what comes first, in ascending order
  struct Device {
    std::set<Key> backward;     // ready: micro-batch, -stage
    std::set<Key> forward;      // -place in the chain, micro-batch and chain
    std::queue<Operation> due;  // weight gradients
    std::int32_t halves = 0;
    Picoseconds free = 0;
    std::vector<Operation> row;
  };
  struct Arrival {
    Picoseconds at = 0;
    std::int32_t device = 0;
    std::int32_t stage = -1;  // -1: nothing but the end of an operation
    Phase phase = Phase::forward;
    std::int32_t micro_batch = 0;
    bool operator>(const Arrival& other) const { return at > other.at; }
  };

  std::int32_t chains() const { return static_cast<std::int32_t>(layout_.placement.size()) / layout_.chain_length; }

  void arrive(Picoseconds at, Phase phase, std::int32_t stage, std::int32_t micro_batch) {
    arrivals_.push(
        {.at = at, .device = home_[stage].first, .stage = stage, .phase = phase, .micro_batch = micro_batch});
  }

  // Chains are told apart by their stages; depth counts within a chain.
  void enter(const Arrival& arrival) {
    Device& device = devices_[arrival.device];
    const std::int32_t chain = arrival.stage / layout_.chain_length;
    if (arrival.phase == Phase::forward)
      device.forward.insert({-(arrival.stage % layout_.chain_length), arrival.micro_batch * chains() + chain});
    else
      device.backward.insert(rule_.deepest_first ? Key{-arrival.stage, arrival.micro_batch}
                                                 : Key{arrival.micro_batch, -arrival.stage});
  }

  bool has_room(const Device& device, std::int32_t place) const {
    constexpr std::int32_t k_halves = 2;
    const auto stages = static_cast<std::int32_t>(devices_.size());
    const bool last_chunk = place >= layout_.chain_length - stages;
    const std::int32_t needed = rule_.keep_room && !last_chunk ? 2 * k_halves : k_halves;
    return rule_.most_halves <= 0 || device.halves + needed <= rule_.most_halves;
  }

  void take(std::int32_t index, Picoseconds now) {
    Device& device = devices_[index];
    const bool forwards = find_forward(device);
    if (rule_.most_due > 0 && std::ssize(device.due) >= rule_.most_due && device.backward.empty())
      run_weight(index, now);
    else if (forwards && (rule_.forwards_first || device.backward.empty()))
      run_forward(index, now);
    else if (!device.backward.empty())
      run_backward(index, now);
    else if (!device.due.empty())
      run_weight(index, now);
  }

  // Sets next_forward_ to the first ready forward that there is room for; false when there is none.
  bool find_forward(const Device& device) {
    for (auto it = device.forward.begin(); it != device.forward.end();
         it = device.forward.lower_bound({it->first + 1, 0}))
      if (has_room(device, -it->first)) {
        next_forward_ = *it;
        return true;
      }
    return false;
  }

  void occupy(std::int32_t index, Picoseconds until) {
    devices_[index].free = until;
    arrivals_.push({.at = until, .device = index});
  }

  void send(Picoseconds end, Phase phase, std::int32_t from, std::int32_t to, std::int32_t micro_batch) {
    const bool here = home_[from].first == home_[to].first;
    arrive(end + (here ? 0 : rule_.of_operation.delay), phase, to, micro_batch);
  }

  void run_forward(std::int32_t index, Picoseconds now) {
    Device& device = devices_[index];
    device.forward.erase(next_forward_);
    const std::int32_t place = -next_forward_.first;
    const std::int32_t stage = place + next_forward_.second % chains() * layout_.chain_length;
    const std::int32_t micro_batch = next_forward_.second / chains();
    device.row.push_back(
        {.phase = Phase::forward, .chunk = chunk_number(home_[stage].second), .micro_batch = micro_batch});
    device.halves += 2;
    const Picoseconds end = now + rule_.of_operation.forward;
    if (place + 1 < layout_.chain_length)
      send(end, Phase::forward, stage, stage + 1, micro_batch);
    else
      arrive(end, Phase::backward, stage, micro_batch);
    occupy(index, end);
  }

  void run_backward(std::int32_t index, Picoseconds now) {
    Device& device = devices_[index];
    const auto [one, other] = *device.backward.begin();
    device.backward.erase(device.backward.begin());
    const std::int32_t micro_batch = rule_.deepest_first ? other : one;
    const std::int32_t stage = -(rule_.deepest_first ? one : other);
    const Operation operation{.phase = rule_.split ? Phase::input_gradient : Phase::backward,
                              .chunk = chunk_number(home_[stage].second),
                              .micro_batch = micro_batch};
    device.row.push_back(operation);
    device.halves -= rule_.split ? 1 : 2;
    if (rule_.split) device.due.push(operation);
    const Picoseconds end = now + rule_.of_operation.input_gradient;
    if (stage % layout_.chain_length > 0) send(end, Phase::backward, stage, stage - 1, micro_batch);
    occupy(index, end);
  }

  void run_weight(std::int32_t index, Picoseconds now) {
    Device& device = devices_[index];
    Operation operation = device.due.front();
    device.due.pop();
    operation.phase = Phase::weight_gradient;
    device.row.push_back(operation);
    --device.halves;
    occupy(index, now + rule_.of_operation.weight_gradient);
  }

  const Layout& layout_;
  const ListRule& rule_;
  std::vector<std::pair<std::int32_t, std::int32_t>> home_;  // device and chunk of every virtual stage
  std::vector<Device> devices_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  Key next_forward_;
};

}  // namespace

Schedule list_order(std::string_view kind, const Settings& settings, const Layout& layout,
                    std::span<const std::int32_t> chain_of, const ListRule& rule) {
  ScheduleBuilder builder(kind, settings, layout);
  for (const std::vector<Operation>& row : ListOrder(settings, layout, chain_of, rule).run()) {
    for (const Operation& operation : row) builder.push(operation);
    builder.end_row();
  }
  return builder.take();
}

}  // namespace cairn::pipeline
