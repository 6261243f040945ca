#include "cairn/predict/bounds/traffic.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "at.h"
#include "cairn/cost/operator_floor.h"

namespace cairn::predict {
namespace {

using program::Category;
using program::PassKind;

// Distinct bytes by what they are. Parameters that several layers share are counted once, by their tag.
struct Shared {
  double own = 0.0;
  std::map<std::string, double> tied;

  void add(const Shared& other, double times) {
    own += times * other.own;
    for (const auto& [tag, bytes] : other.tied) {
      double& here = tied[tag];
      here = std::max(here, bytes);
    }
  }
  double total() const {
    double sum = own;
    for (const auto& [tag, bytes] : tied) sum += bytes;
    return sum;
  }
};

struct Touched {
  Shared parameters;        // read by arithmetic
  Shared gradients;         // of parameters, added to
  double state_read = 0.0;  // optimizer state, gradients and parameters of the update, made before
  double state_written = 0.0;
  double kept = 0.0;        // activations left behind; negative: freed
  cost::WarmBytes kernels;  // each beyond what the chip holds before and after it

  void add(const Touched& other, double times) {
    parameters.add(other.parameters, times);
    gradients.add(other.gradients, times);
    state_read += times * other.state_read;
    state_written += times * other.state_written;
    kept += times * other.kept;
    kernels.loads += times * other.kernels.loads;
    kernels.first_loads += times * other.kernels.first_loads;
    kernels.stores += times * other.kernels.stores;
  }
};

// What one tensor sees within a block.
struct Use {
  const ir::Tensor* tensor = nullptr;
  const ir::Tensor* of = nullptr;  // gradient of a parameter: that parameter
  double bytes = 0.0;
  bool read_first = false;  // its first access is a read
  bool read = false;
  bool written = false;
};

class BlockUses {
 public:
  BlockUses(const program::Block& block, double on_chip) {
    for (const program::Step& step : block.steps) {
      if (step.work < 0) continue;
      const auto* shard = std::get_if<ir::Shard>(&block.works[static_cast<std::size_t>(step.work)]);
      if (shard == nullptr) continue;
      see(*shard);
      if (shard->parts > 1) continue;
      const cost::WarmBytes bytes = cost::warm_bytes(*shard, on_chip);
      kernels_.loads += bytes.loads;
      kernels_.first_loads += bytes.first_loads;
      kernels_.stores += bytes.stores;
    }
    for (const program::MemoryEvent& event : block.memory)
      if (event.category == Category::activations) kept_ += event.bytes;
  }

  Touched touched() const {
    Touched result;
    result.kept = kept_;
    result.kernels = kernels_;
    for (const auto& [key, use] : uses_) {
      switch (use.tensor->role) {
        case ir::Role::parameter:
          if (use.read) shared(result.parameters, *use.tensor, use.bytes);
          break;
        case ir::Role::gradient:
          if (use.of != nullptr && use.written) shared(result.gradients, *use.of, use.bytes);
          break;
        case ir::Role::state:
          if (use.read_first) result.state_read += use.bytes;
          if (use.written && (use.read_first || !use.read)) result.state_written += use.bytes;
          break;
        case ir::Role::activation:
        case ir::Role::index:
          break;
      }
    }
    return result;
  }

 private:
  static void shared(Shared& target, const ir::Tensor& parameter, double bytes) {
    if (parameter.tied.empty()) {
      target.own += bytes;
    } else {
      double& here = target.tied[parameter.tied];
      here = std::max(here, bytes);
    }
  }

  void see(const ir::Shard& shard) {
    const bool lookup = shard.op->kind == ir::Kind::gather || shard.op->kind == ir::Kind::scatter;
    for (const ir::Access& access : shard.op->accesses) {
      const ir::Tensor& tensor = shard.graph->tensor(access.tensor);
      if (lookup && tensor.role != ir::Role::state) continue;
      Use& use = uses_[{shard.graph, access.tensor}];
      const bool reads = access.mode == ir::Mode::read;
      if (use.tensor == nullptr) {
        use.tensor = &tensor;
        use.read_first = reads;
        if (tensor.role == ir::Role::gradient && tensor.of != ir::k_no_tensor &&
            shard.graph->tensor(tensor.of).role == ir::Role::parameter)
          use.of = &shard.graph->tensor(tensor.of);
      }
      (reads ? use.read : use.written) = true;
      // A parameter's own gradient may be written in pieces; the largest is surely distinct.
      const double bytes = static_cast<double>(shard.op->domain.footprint(access.projection, shard.box)) *
                           numerics::bytes_per_element(tensor.format);
      use.bytes = std::max(use.bytes, bytes);
    }
  }

  std::map<std::pair<const ir::Graph*, ir::TensorId>, Use> uses_;
  double kept_ = 0.0;
  cost::WarmBytes kernels_;
};

// Remembers passes and blocks: stages share them.
class Memo {
 public:
  explicit Memo(double on_chip) : on_chip_(on_chip) {}
  const Touched& of(const program::Pass& pass) {
    const auto [slot, fresh] = passes_.try_emplace(&pass);
    if (fresh)
      for (const program::BlockRun& run : pass.runs) slot->second.add(of(*run.block), static_cast<double>(run.count));
    return slot->second;
  }

 private:
  const Touched& of(const program::Block& block) {
    const auto [slot, fresh] = blocks_.try_emplace(&block);
    if (fresh) slot->second = BlockUses(block, on_chip_).touched();
    return slot->second;
  }

  double on_chip_;
  std::unordered_map<const program::Pass*, Touched> passes_;
  std::unordered_map<const program::Block*, Touched> blocks_;
};

class StagePasses {
 public:
  StagePasses(const program::Program& program, std::int32_t stage, Memo& memo)
      : program_(program), stage_(stage), description_(program.stage(static_cast<std::size_t>(stage))), memo_(memo) {
    double parameters = 0.0;
    double gradients = 0.0;
    // Backward passes of a chunk are whole or in two parts, under some schedules the one and the other.
    double whole = 0.0;
    for (std::int32_t chunk = 0; chunk < program.layout().chunks(); ++chunk) {
      parameters += touched(PassKind::forward, chunk).parameters.total();
      whole += touched(PassKind::backward, chunk).gradients.total();
    }
    if (program.layout().splits())
      for (std::int32_t chunk = 0; chunk < program.layout().chunks(); ++chunk)
        gradients += touched(PassKind::input_gradient, chunk).gradients.total() +
                     touched(PassKind::weight_gradient, chunk).gradients.total();
    gradients = std::max(gradients, whole);
    held_parameters_ = share(description_.resident[at(Category::parameters)], parameters);
    held_gradients_ = share(description_.resident[at(Category::gradients)], gradients);
  }

  Traffic traffic(double on_chip) {
    Traffic sum;
    std::vector<char> begun(static_cast<std::size_t>(program_.layout().chunks()), 0);
    for (const program::PassOrder::Entry& entry : program_.row(stage_)) {
      const program::Pass& pass = program_.pass(stage_, entry.slot);
      if (entry.kind == PassKind::update) add_update(pass, on_chip, sum);
      if (!of_chain(entry.kind)) continue;
      const auto& operation = program_.schedule->operations[static_cast<std::size_t>(entry.operation)];
      const Touched& touched = memo_.of(pass);
      const double gradients = held_gradients_ * touched.gradients.total();
      char& added_before = begun[static_cast<std::size_t>(operation.chunk)];
      const double old = held_parameters_ * touched.parameters.total() + std::max(0.0, -touched.kept) +
                         (added_before != 0 ? gradients : 0.0);
      sum.loads += std::max(added_before != 0 ? touched.kernels.loads : touched.kernels.first_loads, old - on_chip);
      if (gradients > 0.0) added_before = 1;
      sum.stores += std::max(touched.kernels.stores, gradients + std::max(0.0, touched.kept) - on_chip);
    }
    return sum;
  }

 private:
  void add_update(const program::Pass& pass, double on_chip, Traffic& sum) {
    const Touched& update = memo_.of(pass);
    const auto& held = description_.resident;
    const double state = held[at(Category::optimizer)] + held[at(Category::parameters)];
    sum.loads +=
        std::max(update.kernels.loads, std::min(update.state_read, state + held[at(Category::gradients)]) - on_chip);
    sum.stores += std::max(update.kernels.stores, std::min(update.state_written, state) - on_chip);
  }
  // A special pass touches the parameters that a plain one does.
  const Touched& touched(PassKind kind, std::int32_t chunk) {
    return memo_.of(program_.pass(stage_, {.kind = kind, .chunk = chunk}));
  }
  static double share(double held, double touched) { return touched > held ? held / touched : 1.0; }

  const program::Program& program_;
  std::int32_t stage_;
  const program::Stage& description_;
  double held_parameters_ = 1.0;  // share of what passes read that the stage holds all the time
  double held_gradients_ = 1.0;
  Memo& memo_;
};

}  // namespace

std::vector<Traffic> least_traffic(const program::Program& program, double on_chip_bytes) {
  std::vector<Traffic> result;
  Memo memo(on_chip_bytes);
  for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(program.stages()); ++stage)
    result.push_back(StagePasses(program, stage, memo).traffic(on_chip_bytes));
  return result;
}

}  // namespace cairn::predict
