#include "counted_memory.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> allocated = 0, highest = 0;

void release(void* memory) {
  if (memory != nullptr) allocated -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

namespace counted_memory {

std::size_t begin_peak() { return highest = allocated.load(); }
std::size_t peak() { return highest; }

}  // namespace counted_memory

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* memory = std::malloc(size);
  const std::size_t now = allocated += malloc_usable_size(memory);
  if (now > highest) highest = now;
  return memory;
}
void* operator new(std::size_t size) {
  void* memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
