#include "tensor_memory.h"

#include <utility>

namespace cairn::plan {

TensorMemory::TensorMemory(const ir::Graph& graph, StepWriter& writer)
    : graph_(graph), writer_(writer), buffers_(graph.tensors().size()) {}

void TensorMemory::hold(ir::TensorId tensor, Category category, double bytes) {
  Buffer& held = buffer(tensor);
  if (held.bytes > 0.0 || bytes <= 0.0) return;
  held.bytes = bytes;
  held.category = category;
  writer_.hold(category, bytes);
}

void TensorMemory::inherit(ir::TensorId tensor, double bytes) {
  Buffer& held = buffer(tensor);
  held.bytes = bytes;
  held.category = Category::activations;
}

void TensorMemory::release(ir::TensorId tensor) {
  Buffer& held = buffer(tensor);
  if (held.bytes <= 0.0) return;
  if (held.comes_free_late())
    writer_.record(held.bytes);
  else
    writer_.hold_after(held.category, -held.bytes);
  held.bytes = held.grown = 0.0;
}

double TensorMemory::renew(ir::TensorId tensor, double bytes) {
  Buffer& held = buffer(tensor);
  writer_.hold(held.category, bytes);
  return std::exchange(held.bytes, bytes);
}

void TensorMemory::let_go(ir::TensorId tensor, double bytes) { writer_.hold_after(buffer(tensor).category, -bytes); }

void TensorMemory::grow(ir::TensorId tensor, double bytes) {
  Buffer& held = buffer(tensor);
  writer_.hold(held.category, bytes);
  held.bytes += bytes;
  held.grown += bytes;
}

void TensorMemory::shrink(ir::TensorId tensor, double bytes) {
  Buffer& held = buffer(tensor);
  const double there = std::exchange(held.grown, 0.0);
  if (held.bytes <= bytes) return;
  if (held.comes_free_late()) {
    writer_.hold_after(held.category, bytes - there);
    writer_.record(held.bytes - there);
  } else {
    writer_.hold_after(held.category, bytes - held.bytes);
  }
  held.bytes = bytes;
}

}  // namespace cairn::plan
