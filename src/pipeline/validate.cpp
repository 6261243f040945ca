#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/pipeline/schedule.h"
#include "cairn/pipeline/sweep.h"

namespace cairn::pipeline {
namespace {

class Validator {
 public:
  explicit Validator(const Schedule& schedule) : schedule_(schedule) {}

  void run() {
    check_shape();
    diagnostics_.raise_if_errors();
    check_placement();
    diagnostics_.raise_if_errors();
    check_rows();
    check_waits();
    check_complete();
    diagnostics_.raise_if_errors();
    require_runs_through(schedule_);
  }

 private:
  // What has been seen of one micro-batch on one virtual stage.
  struct Seen {
    bool forward = false;
    bool sent = false;   // backward or input gradient
    bool whole = false;  // backward or weight gradient
  };

  void report(std::string message, std::string hint) {
    if (diagnostics_.all().size() >= core::k_shown_errors) return;
    diagnostics_.add({.severity = core::Severity::error,
                      .file = {},
                      .line = 0,
                      .column = 0,
                      .key_path = "schedule",
                      .message = std::move(message),
                      .hint = std::move(hint)});
  }

  void check_shape() {
    const Schedule& s = schedule_;
    if (s.stages < 1 || s.micro_batches < 1 || s.chunks < 1) {
      report("stages, micro-batches and chunks must be at least 1", "give each of them a positive count");
      return;
    }
    if (s.chunks > k_most_chunks)
      report(std::to_string(s.chunks) + " chunks on a device are more than the " + std::to_string(k_most_chunks) +
                 " that can be listed",
             "use fewer chunks");
    if (std::ssize(s.placement) != s.virtual_stages())
      report("the placement has " + std::to_string(s.placement.size()) + " entries for " +
                 std::to_string(s.virtual_stages()) + " chunks",
             "name one virtual stage for each chunk of each device");
    if (s.chain_length < 1 || s.virtual_stages() % s.chain_length != 0)
      report("the chain length " + std::to_string(s.chain_length) + " does not divide the " +
                 std::to_string(s.virtual_stages()) + " virtual stages",
             "all chains have the same length");
    for (const std::int32_t device : s.side_rows)
      if (device < 0 || device >= s.stages)
        report("a side row belongs to device " + std::to_string(device), "devices count from 0");
    if (s.pieces < 1 || s.micro_batches % s.pieces != 0)
      report(
          "micro-batches of " + std::to_string(s.pieces) + " pieces do not make up " + std::to_string(s.micro_batches),
          "list every piece of every micro-batch");
    const bool offsets = std::ssize(s.row_begin) == s.rows() + 1 && s.row_begin.front() == 0 &&
                         s.row_begin.back() == std::ssize(s.operations) &&
                         std::is_sorted(s.row_begin.begin(), s.row_begin.end());
    if (!offsets) report("there is not one order list per device", "give " + std::to_string(s.rows()) + " lists");
  }

  void check_placement() {
    std::vector<std::uint8_t> placed(schedule_.virtual_stages(), 0);
    for (const std::int32_t stage : schedule_.placement) {
      if (stage < 0 || stage >= schedule_.virtual_stages())
        report("virtual stage " + std::to_string(stage) + " does not exist", "stages count from 0");
      else if (placed[stage]++ > 0)
        report("virtual stage " + std::to_string(stage) + " is placed twice", "every virtual stage has one device");
    }
  }

  void check_rows() {
    seen_.resize(static_cast<std::size_t>(schedule_.virtual_stages()) * schedule_.micro_batches);
    for (std::int32_t row = 0; row < schedule_.rows(); ++row) {
      for (const Operation& operation : schedule_.row(row)) check_operation(row, operation);
      check_joined(row);
    }
  }

  // Pairs, of work on the chain, one behind the other.
  void check_joined(std::int32_t row) {
    const std::span<const Operation> list = schedule_.row(row);
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].joined &&
          (i + 1 == list.size() || list[i + 1].joined || !on_chain(list[i].phase) || !on_chain(list[i + 1].phase)))
        report("device " + std::to_string(schedule_.device_of_row(row)) + ": " + describe(list[i]) +
                   " is joined with nothing it could be joined with",
               "join two operations that stand side by side, forward or backward");
  }

  void check_waits() {
    const auto exists = [&](std::int32_t i) { return i >= 0 && i < std::ssize(schedule_.operations); };
    for (const Wait& wait : schedule_.waits)
      if (!exists(wait.operation) || !exists(wait.on) || wait.operation == wait.on)
        report("operation " + std::to_string(wait.operation) + " awaits operation " + std::to_string(wait.on),
               "name two operations of the schedule by their positions");
    if (!std::is_sorted(schedule_.waits.begin(), schedule_.waits.end()))
      report("the waits are not in ascending order", "sort them");
  }

  void check_operation(std::int32_t row, const Operation& operation) {
    const std::int32_t device = schedule_.device_of_row(row);
    const auto what = [&] { return "device " + std::to_string(device) + ": " + describe(operation); };
    if (operation.chunk < 0 || operation.chunk >= schedule_.chunks || operation.micro_batch < 0 ||
        (on_chain(operation.phase) && operation.micro_batch >= schedule_.micro_batches)) {
      report(what() + " is out of range", "chunks and micro-batches count from 0");
      return;
    }
    if (!on_chain(operation.phase)) {
      if (!others_.emplace(device, operation.phase, operation.chunk, operation.micro_batch).second)
        report(what() + " is listed twice", "list it once");
      return;
    }
    if (row >= schedule_.stages) {
      report(what() + " stands in a side row", "list it among what the device computes");
      return;
    }
    Seen& seen = seen_at(schedule_.virtual_stage(device, operation.chunk), operation.micro_batch);
    const bool forward = operation.phase == Phase::forward;
    const bool sends = sends_gradient(operation.phase);
    const bool completes = operation.phase == Phase::backward || operation.phase == Phase::weight_gradient;
    const char* const once = "list it once";
    if (forward && std::exchange(seen.forward, true)) report(what() + " is listed twice", once);
    if (!forward && !seen.forward) report(what() + " comes before its forward", "move it behind the forward");
    if (operation.phase == Phase::weight_gradient && !seen.sent)
      report(what() + " comes before its input gradient", "move it behind the input gradient");
    if ((sends && std::exchange(seen.sent, true)) | (completes && std::exchange(seen.whole, true)))
      report(what() + " is listed twice", once);
  }

  void check_complete() {
    const std::int32_t chains = schedule_.virtual_stages() / schedule_.chain_length;
    for (std::int32_t i = 0; i < schedule_.micro_batches; ++i) {
      std::int32_t used = 0;
      for (std::int32_t chain = 0; chain < chains; ++chain) used += check_chain(chain, i) ? 1 : 0;
      if (used != 1)
        report("micro-batch " + std::to_string(i) + " passes " + std::to_string(used) + " chains of stages",
               "let it pass exactly one");
    }
  }

  // True when the micro-batch has any operation on the chain; then all of them must be there.
  bool check_chain(std::int32_t chain, std::int32_t micro_batch) {
    const std::int32_t first = chain * schedule_.chain_length;
    std::int32_t complete = 0;
    std::int32_t touched = 0;
    std::int32_t missing = first;
    for (std::int32_t stage = first; stage < first + schedule_.chain_length; ++stage) {
      const Seen& seen = seen_at(stage, micro_batch);
      touched += seen.forward || seen.sent || seen.whole ? 1 : 0;
      if (seen.forward && seen.sent && seen.whole)
        ++complete;
      else
        missing = stage;
    }
    if (touched > 0 && complete != schedule_.chain_length)
      report("micro-batch " + std::to_string(micro_batch) + " lacks an operation on virtual stage " +
                 std::to_string(missing),
             "list its forward and its backward (or both gradients)");
    return touched > 0;
  }

  Seen& seen_at(std::int32_t stage, std::int32_t micro_batch) {
    return seen_[static_cast<std::size_t>(stage) * schedule_.micro_batches + micro_batch];
  }

  const Schedule& schedule_;
  std::vector<Seen> seen_;
  std::set<std::tuple<std::int32_t, Phase, std::int32_t, std::int32_t>> others_;  // what does not belong to the chain
  core::Diagnostics diagnostics_;
};

}  // namespace

void validate(const Schedule& schedule) { Validator(schedule).run(); }

}  // namespace cairn::pipeline
