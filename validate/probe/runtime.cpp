#include "runtime.h"

namespace cairn::probe {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error of an allocation does not stick; one of a kernel comes again
  if (status == cudaErrorMemoryAllocation) throw NotMeasurable(std::string("out of memory (") + what + ")");
  throw DeviceError(std::string(what) + ": " + cudaGetErrorString(status));
}

Buffer::Buffer(std::int64_t bytes) : bytes_(bytes) {
  if (bytes > 0) check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)), "cudaMalloc");
}

Buffer::~Buffer() { cudaFree(data_); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void Buffer::poison(cudaStream_t stream) const {
  if (bytes_ > 0) check(cudaMemsetAsync(data_, k_poison_byte, static_cast<std::size_t>(bytes_), stream), "cudaMemset");
}

Stream::Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
Stream::~Stream() { cudaStreamDestroy(stream_); }
void Stream::wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

Event::Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
Event::~Event() { cudaEventDestroy(event_); }
void Event::record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }

double Event::seconds_since(const Event& begin) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

void Graph::begin(cudaStream_t stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}

void Graph::abandon(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream, &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
}

void Graph::end(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  const cudaError_t status = cudaGraphInstantiateWithFlags(&executable_, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "cudaGraphInstantiate");
  check(cudaGraphUpload(executable_, stream), "cudaGraphUpload");
}

Graph::~Graph() {
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
}

void Graph::launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch"); }

std::vector<double> fetch(const void* from, Type type, const Selected& selected) {
  const std::int64_t bytes = selected.count * size_of(type);
  const Buffer staged(bytes);
  const Stream stream;
  staged.poison(stream);
  gather(staged.at(0), from, type, selected, stream);
  stream.wait();
  std::vector<char> bits(static_cast<std::size_t>(bytes));
  check(cudaMemcpy(bits.data(), staged.at(0), bits.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  std::vector<double> out(static_cast<std::size_t>(selected.count));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = decode(type, bits.data() + i * static_cast<std::size_t>(size_of(type)));
  return out;
}

}  // namespace cairn::probe
