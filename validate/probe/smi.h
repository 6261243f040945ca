// Clocks, power and temperature as nvidia-smi tells them, and what it knows of the device. NVML's header is often
// absent where CUDA is installed; the command comes with the driver.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace cairn::probe {

using Clock = std::chrono::steady_clock;

struct Reading {  // nullopt: "[N/A]" or the like
  std::optional<double> clock_hz, memory_clock_hz, power_w, temperature_c;
};

// A line "1980, 2619, 345.12, 45" of clocks.sm, clocks.mem [MHz], power.draw [W], temperature.gpu [C]; nullopt if it is
// none.
std::optional<Reading> parse_reading(std::string_view line);

// Each field's median over the readings that have it; nullopt of none.
std::optional<Reading> median_reading(const std::vector<Reading>& readings);

struct Inventory {
  std::optional<std::string> driver;
  std::optional<double> clock_hz, memory_clock_hz;  // the largest it allows
  std::optional<double> power_limit_w;
  std::optional<int> pcie_generation, pcie_width;
  std::optional<bool> ecc;
};

// A line of driver_version, clocks.max.sm, clocks.max.mem, power.limit, pcie.link.gen.max, pcie.link.width.max,
// ecc.mode.current.
Inventory parse_inventory(std::string_view line);

// Of the GPU at that PCI address; all empty where nvidia-smi cannot be run.
Inventory take_inventory(const std::string& pci);

// Runs nvidia-smi beside the measurement and keeps what it says, with the time at which it said it.
class Sampler {
 public:
  explicit Sampler(const std::string& pci);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  std::optional<Reading> between(Clock::time_point begin, Clock::time_point end) const;

 private:
  void listen();

  struct Timed {
    Clock::time_point at;
    Reading reading;
  };
  pid_t child_ = -1;
  int pipe_ = -1;
  std::thread listener_;
  mutable std::mutex mutex_;
  std::vector<Timed> readings_;
};

}  // namespace cairn::probe
