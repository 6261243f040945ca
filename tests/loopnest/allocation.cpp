// Counting sits in the innermost loop of a search: the common paths must not allocate.
#include <cstdlib>
#include <new>

#include "cairn/loopnest/domain.h"
#include "catch.h"

namespace {
std::size_t allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace cairn::loopnest;

TEST_CASE("points and footprints of attention and convolution allocate nothing") {
  Domain attention;
  const DimId q = attention.add("q", Extent::of(4096));
  const DimId k = attention.add("k", Extent::of(4096));
  attention.add_guard({{Term{q, 1}, Term{k, -1}}, 0});
  attention.add_guard({{Term{k, 1}, Term{q, -1}}, 127});

  Domain convolution;
  const DimId x = convolution.add("x", Extent::of(8));
  const DimId t = convolution.add("t", Extent::of(3));
  convolution.add_guard({{Term{x, 2}, Term{t, 1}}, -1});
  convolution.add_guard({{Term{x, -2}, Term{t, -1}}, 15});

  Domain embedding;
  const DimId s = embedding.add("s", Extent::of(32));
  const DimId v = embedding.add("v", Extent::of(1000), 1);
  embedding.choose(v, {s});

  const std::size_t before = allocations;
  std::int64_t sum = attention.points(attention.box({}));
  sum += attention.footprint({Affine::of(k)}, attention.box({}));
  sum += convolution.points(convolution.box({}));
  sum += convolution.footprint({{{Term{x, 2}, Term{t, 1}}, -1}}, convolution.box({}));
  sum += embedding.footprint({Affine::of(v)}, embedding.box({}));
  const std::size_t after = allocations;
  REQUIRE(after == before);
  // 128 * 4096 - 128 * 127 / 2 points, 4096 keys; 24 - 2 points, 15 columns; 32 rows.
  REQUIRE(sum == 128 * 4096 - 128 * 127 / 2 + 4096 + 22 + 15 + 32);
}
