#include "cairn/predict/account/allocator_replay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cairn/core/hash.h"

namespace cairn::predict {
namespace {

using hardware::CachingAllocator;
using program::Category;
using program::PassOrder;

constexpr std::int32_t k_computing = 0;
constexpr std::int32_t k_gathering = 1;
constexpr int k_most_steps = 3;

struct Tensor {
  std::int64_t bytes = 0;
  CachingAllocator::Block block = -1;
};
using Tensors = std::vector<Tensor>;  // in the order in which they were made

std::int64_t whole(double bytes) { return std::llround(bytes); }

// Which of `tensors` come to `bytes`: begin and end, both 0 where no run at either end does.
std::pair<std::size_t, std::size_t> run_of(const Tensors& tensors, std::int64_t bytes) {
  std::int64_t sum = 0;
  for (std::size_t i = tensors.size(); i-- > 0 && sum < bytes;) {
    sum += tensors[i].bytes;
    if (sum == bytes) return {i, tensors.size()};
  }
  sum = 0;
  for (std::size_t i = 0; i < tensors.size() && sum < bytes; ++i) {
    sum += tensors[i].bytes;
    if (sum == bytes) return {0, i + 1};
  }
  return {0, 0};
}

// The tensors of a stage and the allocator that they live in.
class LiveTensors {
 public:
  explicit LiveTensors(const CachingAllocator::Rules& rules) : allocator_(rules) {}

  // Passes of one chain: what they leave behind is theirs.
  struct Chain {
    std::int32_t chunk = 0;
    std::int32_t micro_batch = 0;
    friend auto operator<=>(const Chain&, const Chain&) = default;
  };

  // For the whole step; gradients may go while parameters are updated, and come again.
  void hold(Category category, double bytes) {
    if (category == Category::gradients)
      make(tensors_of(category), category, whole(bytes));
    else if (whole(bytes) > 0)
      allocator_.allocate(whole(bytes));
  }
  // Whose tensors those are that are changed from here on.
  void enter(const Chain& chain) { current_ = &activations_[chain]; }
  void change(Category category, double bytes) {
    if (bytes <= 0.0) {
      freed_.clear();
      drop(category, whole(-bytes));
    } else if (category == Category::gradients && freed_.size() > 1 &&
               std::accumulate(freed_.begin(), freed_.end(), std::int64_t{0}) == whole(bytes)) {
      for (const std::int64_t each : freed_) make(tensors_of(category), category, each);
      freed_.clear();
    } else {
      make(tensors_of(category), category, whole(bytes));
    }
  }
  // Micro-batches of all chains are numbered `by` higher.
  void renumber(std::int32_t by) {
    std::map<Chain, Tensors> moved;
    for (auto& [chain, tensors] : activations_)
      moved.emplace(Chain{.chunk = chain.chunk, .micro_batch = chain.micro_batch + by}, std::move(tensors));
    activations_ = std::move(moved);
  }
  // The same for two states that differ in the numbers of micro-batches alone, counted from `base`.
  std::uint64_t state(std::int32_t base) const {
    core::Hash hash;
    hash.add(allocator_.reserved());
    const auto add = [&](const Tensors& tensors) {
      for (const Tensor& tensor : tensors) hash.add(allocator_.address(tensor.block)).add(tensor.bytes);
    };
    for (const Tensors& tensors : others_) {
      hash.add(tensors.size());
      add(tensors);
    }
    for (const auto& [chain, tensors] : activations_) {
      hash.add(chain.chunk).add(chain.micro_batch - base).add(tensors.size());
      add(tensors);
    }
    return hash.value();
  }
  // The same for two states whose chains hold as many tensors, wherever these lie.
  std::uint64_t shape(std::int32_t base) const {
    core::Hash hash;
    for (const auto& [chain, tensors] : activations_)
      hash.add(chain.chunk).add(chain.micro_batch - base).add(tensors.size());
    return hash.value();
  }
  void leave(const Chain& chain) {
    if (current_->empty()) activations_.erase(chain);
    current_ = nullptr;
  }

  const CachingAllocator& allocator() const { return allocator_; }
  std::int64_t unmatched() const { return unmatched_; }

 private:
  Tensors& tensors_of(Category category) {
    return category == Category::activations ? *current_ : others_[static_cast<std::size_t>(category)];
  }

  void make(Tensors& tensors, Category category, std::int64_t bytes) {
    if (bytes <= 0) return;
    const std::int32_t stream = category == Category::parameters ? k_gathering : k_computing;
    tensors.push_back({.bytes = bytes, .block = allocator_.allocate(bytes, stream)});
  }

  void drop(Category category, std::int64_t bytes) {
    Tensors& tensors = tensors_of(category);
    const auto latest =
        std::find_if(tensors.rbegin(), tensors.rend(), [bytes](const Tensor& each) { return each.bytes == bytes; });
    if (latest != tensors.rend()) {
      allocator_.free(latest->block);
      tensors.erase(std::next(latest).base());
      return;
    }
    bytes = drop_several(tensors, category, bytes);
    if (category == Category::activations)
      for (auto other = activations_.begin(); bytes > 0 && other != activations_.end(); ++other)
        bytes = drop_several(other->second, category, bytes);
    unmatched_ += bytes;
  }

  // What is left of `bytes` when there are no more tensors.
  std::int64_t drop_several(Tensors& tensors, Category category, std::int64_t bytes) {
    const auto [begin, end] = run_of(tensors, bytes);
    if (begin < end) {
      free(tensors, begin, end);
      return 0;
    }
    std::size_t gone = 0;
    while (gone < tensors.size() && tensors[gone].bytes <= bytes) bytes -= tensors[gone++].bytes;
    free(tensors, 0, gone);
    if (bytes <= 0 || tensors.empty()) return bytes;
    // A part of a tensor: what stays is another one.
    const std::int64_t stays = tensors.front().bytes - bytes;
    free(tensors, 0, 1);
    make(tensors, category, stays);
    std::rotate(tensors.begin(), tensors.end() - 1, tensors.end());
    return 0;
  }

  void free(Tensors& tensors, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      allocator_.free(tensors[i].block);
      freed_.push_back(tensors[i].bytes);
    }
    tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(begin),
                  tensors.begin() + static_cast<std::ptrdiff_t>(end));
  }

  CachingAllocator allocator_;
  std::map<Chain, Tensors> activations_;
  Tensors* current_ = nullptr;
  std::array<Tensors, program::k_categories> others_;
  std::vector<std::int64_t> freed_;  // sizes that the latest drop freed
  std::int64_t unmatched_ = 0;
};

constexpr std::int64_t k_quiet = 24;  // passes

class AllocatorReplay {
 public:
  AllocatorReplay(const program::Program& program, std::int32_t stage, const CachingAllocator::Rules& rules,
                  Repetition repetition)
      : program_(program), stage_(stage), row_(program.row(stage)), live_(rules), repetition_(repetition) {}

  AllocatorPeaks run(double library) && {
    live_.hold(Category::workspace, library);
    hold(false);
    for (int step = 0; step < k_most_steps; ++step) {
      const std::int64_t before = live_.allocator().reserved_peak();
      run_step();
      if (step > 0 && live_.allocator().reserved_peak() == before) break;
    }
    const CachingAllocator& allocator = live_.allocator();
    return {.allocated = static_cast<double>(allocator.allocated_peak()),
            .reserved = static_cast<double>(allocator.reserved_peak()),
            .passes = passes_,
            .unmatched = static_cast<double>(live_.unmatched())};
  }

 private:
  using Chain = LiveTensors::Chain;

  Chain chain_of(const PassOrder::Entry& entry) const {
    if (entry.operation < 0) return {.chunk = -1, .micro_batch = 0};
    const pipeline::Operation& operation = program_.schedule->operations[static_cast<std::size_t>(entry.operation)];
    return {.chunk = operation.chunk, .micro_batch = operation.micro_batch};
  }

  // One of every kind in turn, as layers follow each other.
  void hold(bool late) {
    const program::Stage& stage = program_.stage(static_cast<std::size_t>(stage_));
    if (stage.held.empty() && !late)
      for (std::size_t category = 0; category < stage.resident.size(); ++category)
        live_.hold(static_cast<Category>(category), stage.resident[category]);
    std::int64_t most = 0;
    for (const program::HeldTensors& tensors : stage.held)
      if (tensors.late == late) most = std::max(most, tensors.count);
    for (std::int64_t turn = 0; turn < most; ++turn)
      for (const program::HeldTensors& tensors : stage.held)
        if (tensors.late == late && turn < tensors.count) live_.hold(tensors.category, tensors.bytes);
  }

  void run_step() {
    met_.clear();
    seen_.clear();
    for (std::size_t at = 0; at < row_.size(); ++at) {
      if (row_[at].kind == program::PassKind::update && !updated_) {
        hold(true);
        updated_ = true;
      }
      run_pass(program_.pass(stage_, row_[at].slot), chain_of(row_[at]));
      ++passes_;
      at += skipped(at);
    }
  }

  void run_pass(const program::Pass& pass, const Chain& chain) {
    live_.enter(chain);
    for (const program::BlockRun& run : pass.runs)
      for (std::int64_t repeat = 0; repeat < run.count; ++repeat)
        for (const program::MemoryEvent& event : run.block->memory) live_.change(event.category, event.bytes);
    if (pass.recorded > 0.0) live_.change(Category::workspace, -pass.recorded);
    live_.leave(chain);
  }

  // How many entries behind the one at `at` change nothing: where the state recurs. States are compared where as much is
  // allocated as before; once passes have reserved nothing further for as long as k_quiet, it does not matter where tensors
  // lie, only which micro-batches have them.
  std::size_t skipped(std::size_t at) {
    if (repetition_ == Repetition::played || row_[at].operation < 0) return 0;
    if (const std::int64_t peak = live_.allocator().reserved_peak(); peak > peak_) {
      peak_ = peak;
      grown_ = passes_;
    }
    const std::int64_t allocated = live_.allocator().allocated();
    if (met_.insert(core::Hash::of(row_[at].slot, allocated)).second) return 0;
    const std::int32_t base = chain_of(row_[at]).micro_batch;
    const bool quiet = repetition_ == Repetition::quiet_skipped && passes_ - grown_ >= k_quiet;
    const std::uint64_t state = quiet ? core::Hash::of(allocated, live_.shape(base)) : live_.state(base);
    const auto [seen, first] = seen_.try_emplace(core::Hash::of(row_[at].slot, quiet, state), at);
    if (first) return 0;
    const std::size_t behind = skip(std::exchange(seen->second, at), at);
    if (behind > 0) grown_ = passes_;
    return behind;
  }

  // Leaves out what repeats the entries from `earlier` to `at`: how many that is.
  std::size_t skip(std::size_t earlier, std::size_t at) {
    const std::size_t count = repeated(earlier, at) / (at - earlier);
    if (count == 0) return 0;
    const std::int32_t shift = chain_of(row_[at]).micro_batch - chain_of(row_[earlier]).micro_batch;
    live_.renumber(static_cast<std::int32_t>(count) * shift);
    const std::size_t behind = count * (at - earlier);
    met_.clear();
    seen_.clear();
    return behind;
  }

  // How many entries behind `later` repeat those behind `earlier`, by as many micro-batches later.
  std::size_t repeated(std::size_t earlier, std::size_t later) const {
    const std::int32_t shift = chain_of(row_[later]).micro_batch - chain_of(row_[earlier]).micro_batch;
    std::size_t count = 0;
    while (later + count + 1 < row_.size()) {
      const PassOrder::Entry& a = row_[earlier + count + 1];
      const PassOrder::Entry& b = row_[later + count + 1];
      if (a.slot != b.slot || b.operation < 0 || a.operation < 0) break;
      if (chain_of(b).micro_batch - chain_of(a).micro_batch != shift) break;
      ++count;
    }
    return count;
  }

  const program::Program& program_;
  std::int32_t stage_;
  std::span<const PassOrder::Entry> row_;
  LiveTensors live_;
  Repetition repetition_;
  std::unordered_set<std::uint64_t> met_;                // slots, each with the bytes allocated behind it
  std::unordered_map<std::uint64_t, std::size_t> seen_;  // by slot and state: the latest entry that left it
  std::int64_t passes_ = 0;
  std::int64_t peak_ = 0;   // reserved
  std::int64_t grown_ = 0;  // the pass that reserved it
  bool updated_ = false;    // once at least
};

}  // namespace

AllocatorPeaks allocator_peaks(const program::Program& program, std::int32_t stage,
                               const CachingAllocator::Rules& rules, double library, Repetition repetition) {
  return AllocatorReplay(program, stage, rules, repetition).run(library);
}

}  // namespace cairn::predict
