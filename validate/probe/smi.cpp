#include "smi.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>

#include "statistics.h"

namespace cairn::probe {

namespace {

constexpr double k_mega = 1e6;

std::vector<std::string_view> fields(std::string_view line) {
  std::vector<std::string_view> out;
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    std::string_view field = line.substr(begin, end - begin);
    while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
    while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
    out.push_back(field);
    begin = end + 1;
  }
  return out;
}

std::optional<double> number(std::string_view text, double unit = 1) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value * unit;
}

std::optional<int> integer(std::string_view text) {
  const std::optional<double> value = number(text);
  return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
}

struct Child {
  pid_t id = -1;
  int output = -1;
};

// Starts nvidia-smi with its output in a pipe; id -1 where that fails.
Child start(std::vector<std::string> arguments) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  arguments.insert(arguments.begin(), "nvidia-smi");
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  Child child;
  if (posix_spawnp(&child.id, "nvidia-smi", &actions, nullptr, pointers.data(), environ) != 0) child.id = -1;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (child.id < 0) {
    close(ends[0]);
    return {};
  }
  child.output = ends[0];
  return child;
}

// Calls `take` with every whole line until the other end closes.
template <class Take>
void read_lines(int descriptor, Take take) {
  std::string pending;
  std::array<char, 4096> chunk{};
  for (ssize_t got = 0; (got = read(descriptor, chunk.data(), chunk.size())) > 0;) {
    pending.append(chunk.data(), static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = pending.find('\n')) != std::string::npos;) {
      take(std::string_view(pending).substr(0, end));
      pending.erase(0, end + 1);
    }
  }
}

}  // namespace

std::optional<Reading> parse_reading(std::string_view line) {
  const std::vector<std::string_view> field = fields(line);
  if (field.size() != 4) return std::nullopt;
  const Reading reading{number(field[0], k_mega), number(field[1], k_mega), number(field[2]), number(field[3])};
  if (!reading.clock_hz && !reading.memory_clock_hz && !reading.power_w && !reading.temperature_c) return std::nullopt;
  return reading;
}

std::optional<Reading> median_reading(const std::vector<Reading>& readings) {
  const auto median = [&](std::optional<double> Reading::*member) -> std::optional<double> {
    std::vector<double> known;
    for (const Reading& reading : readings)
      if (reading.*member) known.push_back(*(reading.*member));
    return known.empty() ? std::nullopt : std::optional(quantile(known, 0.5));
  };
  if (readings.empty()) return std::nullopt;
  return Reading{median(&Reading::clock_hz), median(&Reading::memory_clock_hz), median(&Reading::power_w),
                 median(&Reading::temperature_c)};
}

Inventory parse_inventory(std::string_view line) {
  const std::vector<std::string_view> field = fields(line);
  if (field.size() != 7) return {};
  Inventory known;
  if (!field[0].empty() && !field[0].starts_with('[')) known.driver = std::string(field[0]);
  known.clock_hz = number(field[1], k_mega);
  known.memory_clock_hz = number(field[2], k_mega);
  known.power_limit_w = number(field[3]);
  known.pcie_generation = integer(field[4]);
  known.pcie_width = integer(field[5]);
  if (field[6] == "Enabled" || field[6] == "Disabled") known.ecc = field[6] == "Enabled";
  return known;
}

Inventory take_inventory(const std::string& pci) {
  const Child child = start({"-i", pci,
                             "--query-gpu=driver_version,clocks.max.sm,clocks.max.mem,power.limit,pcie.link.gen.max,"
                             "pcie.link.width.max,ecc.mode.current",
                             "--format=csv,noheader,nounits"});
  if (child.id < 0) return {};
  std::string first;
  read_lines(child.output, [&](std::string_view line) {
    if (first.empty()) first = line;
  });
  close(child.output);
  waitpid(child.id, nullptr, 0);
  return parse_inventory(first);
}

Sampler::Sampler(const std::string& pci) {
  constexpr const char* k_period_ms = "50";
  const Child child = start({"-i", pci, "--query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu",
                             "--format=csv,noheader,nounits", "-lms", k_period_ms});
  child_ = child.id;
  pipe_ = child.output;
  if (child_ >= 0) listener_ = std::thread([this] { listen(); });
}

Sampler::~Sampler() {
  if (child_ < 0) return;
  kill(child_, SIGTERM);
  listener_.join();
  close(pipe_);
  waitpid(child_, nullptr, 0);
}

void Sampler::listen() {
  read_lines(pipe_, [this](std::string_view line) {
    const std::optional<Reading> reading = parse_reading(line);
    if (!reading) return;
    const std::lock_guard lock(mutex_);
    readings_.push_back({Clock::now(), *reading});
  });
}

std::optional<Reading> Sampler::between(Clock::time_point begin, Clock::time_point end) const {
  const std::lock_guard lock(mutex_);
  std::vector<Reading> inside;
  for (const Timed& timed : readings_)
    if (timed.at >= begin && timed.at <= end) inside.push_back(timed.reading);
  return median_reading(inside);
}

}  // namespace cairn::probe
