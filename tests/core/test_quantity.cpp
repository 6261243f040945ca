#include <limits>
#include <type_traits>

#include "cairn/core/quantity.h"
#include "cairn/core/time.h"
#include "catch.h"

using namespace cairn::core;

namespace {
template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Divisible = requires(A a, B b) {
  a / b;
};
template <class A, class B>
concept Multipliable = requires(A a, B b) {
  a* b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};
}  // namespace

TEST_CASE("only the operations of physics compile") {
  STATIC_REQUIRE(Addable<Bytes, Bytes>);
  STATIC_REQUIRE_FALSE(Addable<Bytes, Seconds>);
  STATIC_REQUIRE_FALSE(Addable<Bytes, double>);
  STATIC_REQUIRE_FALSE(Multipliable<Bytes, Bytes>);
  STATIC_REQUIRE_FALSE(Divisible<Bytes, FlopsPerSecond>);
  STATIC_REQUIRE_FALSE(Divisible<Flops, BytesPerSecond>);
  STATIC_REQUIRE_FALSE(Comparable<Bytes, Flops>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<double, Bytes>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Bytes, double>);
  STATIC_REQUIRE(std::is_same_v<decltype(Bytes() / BytesPerSecond()), Seconds>);
  STATIC_REQUIRE(std::is_same_v<decltype(Flops() / FlopsPerSecond()), Seconds>);
  STATIC_REQUIRE(std::is_same_v<decltype(Bytes() / Bytes()), double>);
}

TEST_CASE("quantities compute in base units") {
  // 900 GB at 450 GB/s take 2 s; 989 TFLOP at 989 TFLOP/s take 1 s.
  CHECK((900.0 * (k_gigabyte_per_second * k_second) / (450.0 * k_gigabyte_per_second)).base() == 2.0);
  CHECK((Flops::from_base(989e12) / (989.0 * k_teraflop_per_second)).base() == 1.0);
  CHECK(80.0 * k_gibibyte / k_mebibyte == 80.0 * 1024.0);
  CHECK((Bytes::from_base(10) / Seconds::from_base(4)).base() == 2.5);
  CHECK((Flops::from_base(10) / Seconds::from_base(4)).base() == 2.5);
  CHECK((Seconds::from_base(4) - Seconds::from_base(1)).base() == 3.0);
  CHECK(Seconds::from_base(1) < Seconds::from_base(2));
  Bytes sum = k_byte;
  sum += 3.0 * k_byte;
  sum -= k_byte;
  CHECK(sum / k_byte == 3.0);
}

TEST_CASE("time is rounded once, half away from zero, to picoseconds") {
  CHECK(to_picoseconds(1.0) == 1'000'000'000'000);
  CHECK(to_picoseconds(3.5e-6) == 3'500'000);
  CHECK(to_picoseconds(0.4e-12) == 0);
  CHECK(to_picoseconds(0.5e-12) == 1);
  CHECK(to_picoseconds(-0.5e-12) == -1);
  CHECK(to_seconds(2'500'000'000'000) == 2.5);
  // The neutral element of max stays below every time even after a long duration is added.
  CHECK(k_never + to_picoseconds(1e6) < 0);
  CHECK(k_never < -to_picoseconds(1e6));
}
