// What operators and tensors of a range cost, by their placements: the model of splits/autoddl.h, and of a stage
// (splits/staged.h), which is the same with a border on either side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/splits/autoddl.h"

namespace cairn::splits {

// Where the tensor of a link is when the link begins.
enum class Origin : std::uint8_t {
  made,      // at the operator that makes it
  kept,      // a parameter: at the first reader of the range
  received,  // made before the range: there, too
  given      // an input of the graph, which comes in any placement: only memory counts readers that differ
};

// A tensor on its way to one of its readers.
struct TensorLink {
  ir::TensorId tensor = ir::k_no_tensor;
  ir::OperatorId from = -1;
  ir::OperatorId to = -1;
  Origin origin = Origin::made;
  friend auto operator<=>(const TensorLink&, const TensorLink&) = default;
};

// What an operator has to do about a tensor that it reads or makes, because of where the range begins and ends.
struct TensorDuty {
  bool first = false;     // it makes the tensor, or is the first of the range to read it
  bool earlier = false;   // it is first and reads; operators before the range make the tensor, or read the parameter
  bool leaves = false;    // it makes the tensor, and something after the range reads it, or nothing at all
  bool gradient = false;  // it is first, and the tensor's gradient crosses the border, too
  bool saved = false;     // it is first, and a derivative in the range reads the tensor
  friend auto operator<=>(const TensorDuty&, const TensorDuty&) = default;
};

struct StoredBytes {
  double parameters = 0.0;  // whatever the micro-batches
  double saved = 0.0;       // of each micro-batch
  double held(double micro_batches) const { return parameters + micro_batches * saved; }
  StoredBytes& operator+=(const StoredBytes& other) {
    parameters += other.parameters;
    saved += other.saved;
    return *this;
  }
};

// Where a parameter that is read so is kept: summands of it are made from the whole.
NdPlacement kept_placement(NdPlacement read);

// Costs of pairs of placements: of the row i at the start of a link and the column j at its reader, at i * columns + j.
struct PairTable {
  std::size_t columns = 0;
  std::vector<core::Picoseconds> times = {};
  std::vector<StoredBytes> bytes = {};
};

// Costs of pairs of options, which have few different placements.
struct PairCosts {
  std::vector<std::size_t> row = {};     // of each option at the start
  std::vector<std::size_t> column = {};  // of each option at the reader
  const PairTable* table = nullptr;
  // `values`: as those of the table.
  std::vector<double> of_pairs(const std::vector<double>& values) const;
};

// What an operator or a link does in each pass, in order.
struct PlacedWorks {
  std::vector<PlacedWork> forward = {};
  std::vector<PlacedWork> backward = {};
};

// Of one option each.
struct StageCosts {
  core::Picoseconds time = 0;  // of a micro-batch
  StoredBytes bytes = {};
};

class PlacementModel {
 public:
  // `graph`: differentiated; `operators`: with their signatures. They and the setup's pricer must outlive this.
  PlacementModel(const ir::Graph& graph, const std::vector<PlacedOperator>& operators, const PlacementSetup& setup);

  // Each from an operator of the range to another.
  std::vector<TensorLink> links(const OperatorRange& range) const;
  PlacedWorks works(ir::OperatorId id, const Signature& signature, const OperatorRange& range);
  PlacedWorks works(const TensorLink& link, const Signature& from, const Signature& to);
  // Of works(), option by option.
  const std::vector<PartTimes>& times(ir::OperatorId id, const OperatorRange& range) {
    return options_of(id, range).times;
  }

  // F over the operators of a range, where the parts that a step takes once are shared out over its micro-batches, and
  // G, where saved tensors of `held` micro-batches are kept. G has no edges where pairs take nothing.
  choice::CostNetwork costs(const OperatorRange& range, std::int64_t micro_batches);
  choice::CostNetwork memory(const OperatorRange& range, std::int64_t held);
  // The same of one choice.
  StageCosts of(const OperatorRange& range, std::int64_t micro_batches, std::span<const choice::Option> options);
  // How many costs of pairs of options both networks hold, at most.
  double pairs(const OperatorRange& range) const;

 private:
  // The placements in which an operator reads a tensor, and in which it makes its gradient, each once.
  struct Reading {
    std::vector<NdPlacement> values;
    std::vector<NdPlacement> gradients;
    friend bool operator==(const Reading&, const Reading&) = default;
  };
  // The placement in which a tensor is received by a stage whose first reader reads it so.
  struct Entry {
    Reading reading;
    NdPlacement place;
  };
  // What a table depends on, beside the tensor's shape.
  struct PairKey {
    Origin origin = Origin::made;
    bool saves = false;
    std::vector<OperandPlacement> starts;
    std::vector<Reading> readings;
    friend bool operator==(const PairKey&, const PairKey&) = default;
  };
  struct OptionCosts {
    std::vector<PartTimes> times;
    std::vector<StoredBytes> bytes;
  };
  struct Borders {
    PlacedWorks in;   // parameters, and what is received
    PlacedWorks out;  // what leaves
  };

  const ir::Operator& op(ir::OperatorId id) const { return graph_.op(id); }
  const std::vector<Signature>& signatures_of(ir::OperatorId id) const {
    return operators_[static_cast<std::size_t>(id)].signatures;
  }
  static choice::Vertex vertex(ir::OperatorId id, const OperatorRange& range) {
    return id - static_cast<choice::Vertex>(range.first);
  }
  bool is_parameter(ir::TensorId id) const { return graph_.tensor(id).role == ir::Role::parameter; }
  TensorBoxing& boxing(ir::TensorId tensor) { return boxings_[boxing_of_[static_cast<std::size_t>(tensor)]]; }
  double part_bytes(ir::TensorId id, const NdPlacement& placement) const;

  void add_derived(ir::OperatorId id);
  ir::OperatorId first_reader(ir::TensorId tensor, const OperatorRange& range) const;
  bool saves(ir::OperatorId id, ir::TensorId tensor) const;  // a derivative of the operator reads the tensor
  bool makes_gradient(ir::OperatorId id, ir::TensorId tensor) const;
  TensorDuty duty(ir::OperatorId id, const ir::Access& access, const OperatorRange& range) const;
  std::vector<TensorDuty> duties(ir::OperatorId id, const OperatorRange& range) const;  // of each access

  Reading reading(ir::OperatorId id, const Signature& signature, ir::TensorId tensor) const;
  NdPlacement entry(ir::TensorId tensor, const Reading& reading);
  OperandPlacement start(const TensorLink& link, const Signature& from);
  program::Transfer message(double bytes) const;
  core::Picoseconds message_time(double bytes);

  Borders borders(ir::OperatorId id, const Signature& signature, const std::vector<TensorDuty>& duties);
  StoredBytes stored(ir::OperatorId id, const Signature& signature, const std::vector<TensorDuty>& duties);
  StoredBytes stored(const TensorLink& link, const OperandPlacement& start, const Reading& read);
  double stored_apart(ir::TensorId tensor, const NdPlacement& place, const Reading& read);
  const OptionCosts& options_of(ir::OperatorId id, const OperatorRange& range);
  const PairCosts& pairs_of(const TensorLink& link);
  const PairTable& table(const TensorLink& link, PairKey key);

  loopnest::Box fullest_part(const ir::Operator& op, const Signature& signature) const;
  loopnest::Box part_of_sum(const ir::Operator& sum, const ir::Operator& op, const Signature& signature) const;
  void add_kernel(PlacedWorks& works, const ir::Operator& op, const ir::Operator& owner, loopnest::Box box);
  void add_kernels(PlacedWorks& works, ir::OperatorId id, const Signature& signature);
  void add_statistics(PlacedWorks& works, const ir::Operator& op, const Signature& signature);
  void add_parameter(PlacedWorks& works, ir::TensorId tensor, const Reading& read, const TensorDuty& duty);
  void add_received(PlacedWorks& works, ir::TensorId tensor, const Reading& read, const TensorDuty& duty);
  void add_leaving(PlacedWorks& works, ir::TensorId tensor, const OperandPlacement& made, const TensorDuty& duty);
  void add_boxing(PlacedWorks& works, ir::TensorId tensor, Part part, ir::Phase phase, const NdPlacement& from,
                  const NdPlacement& to);
  void add_message(PlacedWorks& works, ir::TensorId tensor, Part part, ir::Phase phase, const NdPlacement& place);

  const ir::Graph& graph_;
  const std::vector<PlacedOperator>& operators_;
  PlacementSetup setup_;
  std::vector<TensorBoxing> boxings_;                 // of tensors of different shapes
  std::vector<std::size_t> boxing_of_;                // of each tensor
  std::vector<std::vector<ir::OperatorId>> readers_;  // of each tensor, in order
  std::vector<std::vector<ir::OperatorId>> savers_;   // of each activation: whose derivatives read it
  std::vector<char> is_saved_;                        // once for all aliases
  std::vector<std::vector<ir::OperatorId>> derived_;  // of each forward operator
  std::vector<std::vector<PartTimes>> inner_;         // kernels and statistics, of each option, once asked for
  std::map<ir::TensorId, std::vector<Entry>> entries_;
  std::map<double, core::Picoseconds> message_times_;
  std::map<std::pair<ir::OperatorId, std::vector<TensorDuty>>, OptionCosts> options_;
  std::map<TensorLink, PairCosts> pairs_;
  std::map<std::size_t, std::vector<std::pair<PairKey, std::unique_ptr<PairTable>>>> tables_;  // by shape
};

}  // namespace cairn::splits
