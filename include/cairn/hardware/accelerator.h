// One accelerator as its data sheet describes it, and what of its memory a training program cannot have.
//
//   usable memory = memory of the first level - (driver + context + communicators)
//   peak(format)  = tensor rate where the machine has tensor units for the format, else the vector rate
//
// Rates are dense (no structured sparsity). Fitted efficiencies are relative to exactly these numbers.
// Files: configs/accelerators/<name>.yaml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/core/quantity.h"
#include "cairn/numerics/format.h"

namespace cairn::hardware {

// Which copies of a memory level exist: one for the whole device, or one in every multiprocessor.
enum class Scope : std::uint8_t { device, multiprocessor };

struct MemoryLevel {
  std::string name = {};                               // hbm, l2, shared, l1, registers
  core::Bytes capacity = {};                           // of one copy
  std::optional<core::BytesPerSecond> bandwidth = {};  // of all copies together
  Scope scope = Scope::device;
};

// Memory the training program cannot allocate. A plain quantity in the file counts wholly as `driver`.
struct ReservedMemory {
  core::Bytes driver = {};   // error correction and driver: data-sheet capacity minus what the device reports as total
  core::Bytes context = {};  // one process's context: kernels, stack, library handles
  core::Bytes communicators = {};  // buffers of the collective library, about three communicators

  core::Bytes of_process() const { return context + communicators; }  // beside what its tensors take
  core::Bytes total() const { return driver + of_process(); }
};

struct PeakRates {
  using Rates = std::vector<std::pair<std::string, core::FlopsPerSecond>>;  // number format -> dense rate
  Rates tensor = {};
  Rates vector = {};
};

struct Accelerator {
  std::string name = {};
  // Of its maker: "hopper", "cdna3". Libraries choose kernels by it, and runs on one are measured alike. Empty: not known.
  std::string architecture = {};
  PeakRates peak = {};
  std::int64_t multiprocessors = 0;
  core::Hertz clock = {};                // boost clock of the data sheet
  double exponentials_per_clock = 16.0;  // special-function results per clock and multiprocessor
  // FP8 matrix units take operands only with the summed dimension innermost: a transposed copy is needed for some
  // products.
  bool fp8_summed_innermost = false;
  std::vector<MemoryLevel> memory = {};  // the first is device memory
  ReservedMemory reserved_memory = {};
  // Board limit: prices the energy of a step alone. The limit that lowers the clock is cost::PowerLaw::limit_w, of the
  // calibration.
  core::Watts power = {};
  std::optional<core::Dollars> hourly_price = {};  // of renting one for an hour
  core::Seconds launch_floor = {};  // shortest time of an empty kernel in a stream: gaps between kernels follow it

  const MemoryLevel& device_memory() const { return memory.front(); }
  // The cache that all multiprocessors share and that lies next to device memory. Null when there is none.
  const MemoryLevel* last_level_cache() const;
  // Null when there is no such level.
  const MemoryLevel* find_memory(std::string_view level) const;
  // Every copy of every level nearer to the arithmetic than device memory: what a program can keep without moving it.
  // Empty when the registers are not among the levels, since nothing could be proved from the rest.
  std::optional<core::Bytes> on_chip_capacity() const;
  // What the device reports as its total: all that processes can have together.
  core::Bytes process_memory() const { return device_memory().capacity - reserved_memory.driver; }
  core::Bytes usable_memory() const { return device_memory().capacity - reserved_memory.total(); }

  // Dense rate of a matrix product with operands of `format` [FLOP/s]. Empty when the data sheet names none: the
  // machine has no units for the format. FP8 with scales applied outside the units runs on the FP8 units; MX and NVFP4
  // blocks need units that apply their scales.
  std::optional<core::FlopsPerSecond> matrix_peak(numerics::Format format) const;
  // Rate of the ordinary lanes; formats that are not listed are computed in fp32.
  core::FlopsPerSecond vector_peak(numerics::Format format) const;
  // What products with operands of `format` run at most at: the matrix units' rate, else that of the lanes.
  core::FlopsPerSecond product_peak(numerics::Format format) const;
};

void describe(config::Fields& fields, MemoryLevel& level);
void describe(config::Value& value, ReservedMemory& reserved);
void describe(config::Fields& fields, ReservedMemory& reserved);
void describe(config::Fields& fields, PeakRates& peak);
void describe(config::Fields& fields, Accelerator& accelerator);

}  // namespace cairn::hardware
