// CUDA's runtime with errors as exceptions and resources that free themselves.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels.h"
#include "number.h"

namespace cairn::probe {

// The device or a library failed: what comes after cannot be trusted.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// This shape cannot be measured here; the others can. The text is the reason in `skipped`.
class NotMeasurable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws NotMeasurable where memory is out, else DeviceError; `what` names the call.
void check(cudaError_t status, const char* what);

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t bytes);  // on the current device
  ~Buffer();
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Buffer& operator=(Buffer&& other) noexcept;

  char* at(std::int64_t offset) const { return static_cast<char*>(data_) + offset; }
  std::int64_t bytes() const { return bytes_; }
  void poison(cudaStream_t stream) const;

 private:
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

// Several copies of one operand, each on its own 256 bytes (cudaMalloc's alignment).
class Operands {
 public:
  Operands(std::int64_t bytes, int sets) : stride_((bytes + 255) / 256 * 256), buffer_(stride_ * sets) {}
  char* operator[](int set) const { return buffer_.at(stride_ * set); }
  const Buffer& all() const { return buffer_; }
  std::int64_t stride() const { return stride_; }

 private:
  std::int64_t stride_;
  Buffer buffer_;
};

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void wait() const;

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }
  void record(cudaStream_t stream) const;
  double seconds_since(const Event& begin) const;  // both reached

 private:
  cudaEvent_t event_ = nullptr;
};

// A stretch of launches recorded once and replayed.
class Graph {
 public:
  template <class Launches>
  Graph(cudaStream_t stream, Launches launches) {
    begin(stream);
    try {
      launches();
    } catch (...) {
      abandon(stream);
      throw;
    }
    end(stream);
  }
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(cudaStream_t stream) const;

 private:
  static void begin(cudaStream_t stream);
  static void abandon(cudaStream_t stream);
  void end(cudaStream_t stream);
  cudaGraphExec_t executable_ = nullptr;
};

// Elements of a device array, as numbers of the host.
std::vector<double> fetch(const void* from, Type type, const Selected& selected);

}  // namespace cairn::probe
