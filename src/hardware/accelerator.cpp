#include "cairn/hardware/accelerator.h"

#include <algorithm>

#include "cairn/core/diagnostics.h"
#include "cairn/hardware/formats.h"

namespace cairn::hardware {
namespace {

const config::Choices<Scope> k_scopes{{"device", Scope::device}, {"multiprocessor", Scope::multiprocessor}};

std::optional<core::FlopsPerSecond> find_rate(const PeakRates::Rates& rates, numerics::Format format) {
  const auto found =
      std::find_if(rates.begin(), rates.end(), [format](const auto& rate) { return rate.first == name(format); });
  if (found == rates.end()) return std::nullopt;
  return found->second;
}

// The FP8 encodings share one set of units.
numerics::Format unit_format(numerics::Format format) {
  switch (format) {
    case numerics::Format::fp8_e5m2:
    case numerics::Format::fp8_block:
    case numerics::Format::fp8_block_2d:
      return numerics::Format::fp8_e4m3;
    default:
      return format;
  }
}

void describe_rates(config::Fields& fields, std::string_view key, PeakRates::Rates& rates, config::Rule rule) {
  fields.map(key, rates, rule,
             [](config::Value& value, core::FlopsPerSecond& rate) { value.quantity(rate, {.positive = true}); });
  fields.check(
      key,
      [&rates] {
        return std::all_of(rates.begin(), rates.end(),
                           [](const auto& rate) { return find_format(rate.first).has_value(); });
      },
      "not a number format among the keys", "known: " + format_names());
}

}  // namespace

const MemoryLevel* Accelerator::find_memory(std::string_view level) const {
  const auto found =
      std::find_if(memory.begin(), memory.end(), [level](const MemoryLevel& m) { return m.name == level; });
  return found == memory.end() ? nullptr : &*found;
}

const MemoryLevel* Accelerator::last_level_cache() const {
  return memory.size() > 1 && memory[1].scope == Scope::device ? &memory[1] : nullptr;
}

std::optional<core::FlopsPerSecond> Accelerator::matrix_peak(numerics::Format format) const {
  if (const auto rate = find_rate(peak.tensor, unit_format(format))) return rate;
  return find_rate(peak.vector, format);
}

core::FlopsPerSecond Accelerator::vector_peak(numerics::Format format) const {
  if (const auto rate = find_rate(peak.vector, format)) return *rate;
  return *find_rate(peak.vector, numerics::Format::fp32);
}

core::FlopsPerSecond Accelerator::product_peak(numerics::Format format) const {
  return matrix_peak(format).value_or(vector_peak(format));
}

std::optional<core::Bytes> Accelerator::on_chip_capacity() const {
  if (find_memory("registers") == nullptr) return {};
  core::Bytes sum;
  for (std::size_t i = 1; i < memory.size(); ++i) {
    const double copies = memory[i].scope == Scope::multiprocessor ? static_cast<double>(multiprocessors) : 1.0;
    sum += copies * memory[i].capacity;
  }
  return sum;
}

void describe(config::Fields& fields, MemoryLevel& level) {
  fields.text("name", level.name, {.doc = "hbm, l2, shared, l1, registers", .required = true});
  fields.quantity("capacity", level.capacity, {.doc = "of one copy", .required = true, .positive = true});
  fields.quantity("bandwidth", level.bandwidth, {.doc = "of all copies together", .positive = true});
  fields.choice("scope", level.scope, k_scopes, {.doc = "one copy for the device, or one per multiprocessor"});
}

void describe(config::Fields& fields, ReservedMemory& reserved) {
  fields.quantity("driver", reserved.driver, {.doc = "capacity minus the total the device reports"});
  fields.quantity("context", reserved.context, {.doc = "context of one process"});
  fields.quantity("communicators", reserved.communicators, {.doc = "buffers of the collective library"});
}

void describe(config::Value& value, ReservedMemory& reserved) {
  value.shorthand(config::Form::word, reserved,
                  [&reserved](config::Value& scalar) { scalar.quantity(reserved.driver); });
}

void describe(config::Fields& fields, PeakRates& peak) {
  describe_rates(fields, "tensor", peak.tensor, {.doc = "dense rate of the matrix units by number format"});
  describe_rates(fields, "vector", peak.vector,
                 {.doc = "rate of the ordinary lanes by number format", .required = true});
  fields.check(
      "vector", [&peak] { return find_rate(peak.vector, numerics::Format::fp32).has_value(); }, "no rate for fp32",
      "give the fp32 rate of the ordinary lanes");
}

void describe(config::Fields& fields, Accelerator& accelerator) {
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  fields.text("name", accelerator.name, {.doc = "shown in reports", .required = true});
  fields.text(
      "architecture", accelerator.architecture,
      {.doc = "of its maker, as hopper or cdna3: libraries choose kernels by it, and intervals of predictions are "
              "those of measured runs on it"});
  fields.object("peak", accelerator.peak, {.doc = "dense rates", .required = true});
  fields.count("multiprocessors", accelerator.multiprocessors,
               {.doc = "how many: SMs, compute units", .required = true, .minimum = 1, .maximum = 1 << 20});
  fields.quantity("clock", accelerator.clock, {.doc = "boost clock", .required = true, .positive = true});
  fields.number("exponentials_per_clock", accelerator.exponentials_per_clock,
                {.doc = "special-function results per clock and multiprocessor", .positive = true});
  fields.flag("fp8_summed_innermost", accelerator.fp8_summed_innermost,
              {.doc = "FP8 matrix units take operands only with the summed dimension innermost"});
  fields.objects("memory", accelerator.memory,
                 {.doc = "levels, device memory first", .required = true, .minimum_size = 1});
  fields.check(
      "memory", [&accelerator] { return accelerator.device_memory().bandwidth.has_value(); },
      "the first level, device memory, has no bandwidth", "give memory[0].bandwidth");
  fields.value("reserved_memory", accelerator.reserved_memory, {.doc = "memory a training program cannot allocate"});
  fields.check(
      "reserved_memory", [&accelerator] { return accelerator.usable_memory() > core::Bytes{}; },
      "nothing is left of the memory", "reserve less than memory[0].capacity");
  fields.quantity("power", accelerator.power, {.doc = "board limit", .required = true, .positive = true});
  fields.quantity("hourly_price", accelerator.hourly_price, {.doc = "of renting one for an hour", .positive = true});
  fields.quantity("launch_floor", accelerator.launch_floor,
                  {.doc = "shortest time of a kernel in a stream; gaps between kernels follow it", .required = true});
}

}  // namespace cairn::hardware
