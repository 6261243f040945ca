// Transfers over the host link.
#include <chrono>
#include <cstring>

#include "measure.h"

namespace cairn::probe {

namespace {

using Clock = std::chrono::steady_clock;

class HostMemory {
 public:
  HostMemory(std::int64_t bytes, bool pinned) : pinned_(pinned) {
    if (pinned) {
      check(cudaMallocHost(&data_, static_cast<std::size_t>(bytes)), "cudaMallocHost");
    } else {
      pages_.resize(static_cast<std::size_t>(bytes));
      data_ = pages_.data();
    }
  }
  ~HostMemory() {
    if (pinned_) cudaFreeHost(data_);
  }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  unsigned char* bytes() const { return static_cast<unsigned char*>(data_); }

 private:
  bool pinned_;
  void* data_ = nullptr;
  std::vector<char> pages_;
};

unsigned char pattern(std::int64_t i) {
  constexpr std::int64_t k_period = 251;  // a prime: no power of two maps it onto itself
  return static_cast<unsigned char>(i % k_period);
}

struct Link {
  const Case& row;
  std::int64_t n;
  HostMemory to_device, from_device;
  Buffer received, sent;
  Stream down, up;

  explicit Link(const Case& of)
      : row(of),
        n(of.shape["n"]),
        to_device(n, of.memory == "pinned"),
        from_device(n, of.memory == "pinned"),
        received(n),
        sent(n) {
    for (std::int64_t i = 0; i < n; ++i) to_device.bytes()[i] = pattern(i);
    std::memset(from_device.bytes(), k_poison_byte, static_cast<std::size_t>(n));
    received.poison(down);
    check(cudaMemcpy(sent.at(0), to_device.bytes(), static_cast<std::size_t>(n), cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  bool downward() const { return row.kind != "d2h"; }
  bool upward() const { return row.kind != "h2d"; }

  void copy_once() const {
    if (downward())
      check(
          cudaMemcpyAsync(received.at(0), to_device.bytes(), static_cast<std::size_t>(n), cudaMemcpyHostToDevice, down),
          "h2d");
    if (upward())
      check(cudaMemcpyAsync(from_device.bytes(), sent.at(0), static_cast<std::size_t>(n), cudaMemcpyDeviceToHost, up),
            "d2h");
  }
  Comparison compare() const {
    constexpr int k_samples = 16;
    Comparison comparison;
    for (const std::int64_t i : sample_indices(n, k_samples)) {
      if (downward())
        comparison.add(fetch(received.at(0), Type::byte, {.start = i, .count = 1})[0],
                       {static_cast<double>(pattern(i)), 0});
      if (upward()) comparison.add(from_device.bytes()[i], {static_cast<double>(pattern(i)), 0});
    }
    return comparison;
  }
};

}  // namespace

Run run_transfer(Context& context, const Case& row) {
  const Link link(row);
  const Event fork, join, joined;
  // Both directions begin after one event and end before another; pageable memory is copied through the host, so the
  // host's clock counts.
  const auto sample = [&](int count) {
    const Clock::time_point begin = Clock::now();
    fork.record(link.down);
    check(cudaStreamWaitEvent(link.up, fork, 0), "cudaStreamWaitEvent");
    for (int i = 0; i < count; ++i) link.copy_once();
    joined.record(link.up);
    check(cudaStreamWaitEvent(link.down, joined, 0), "cudaStreamWaitEvent");
    join.record(link.down);
    link.down.wait();
    const double by_host = std::chrono::duration<double>(Clock::now() - begin).count();
    return (row.memory == "pinned" ? join.seconds_since(fork) : by_host) / count;
  };
  sample(1);
  const int count = row.memory == "pinned" ? repeats(context.timing, sample(1), 1) : 1;
  Run run{collect(context.timing, [&] { return sample(count); }), link.compare(), {}};
  return run;
}

}  // namespace cairn::probe
