// Physical quantities in base units. Only the cross-operations that exist in physics compile:
// Bytes / BytesPerSecond = Seconds, Flops / FlopsPerSecond = Seconds, and so on.
// Made by named factories or from_base, read by dividing by a unit (bytes / k_gibibyte) or base().
#pragma once

#include <compare>

namespace cairn::core {

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  static constexpr Quantity from_base(double value) { return Quantity(value); }
  constexpr double base() const { return value_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value_ / k); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }
  constexpr Quantity& operator+=(Quantity b) {
    value_ += b.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity b) {
    value_ -= b.value_;
    return *this;
  }

 private:
  explicit constexpr Quantity(double value) : value_(value) {}
  double value_ = 0.0;
};

using Bytes = Quantity<struct BytesTag>;                    // base: byte
using Flops = Quantity<struct FlopsTag>;                    // base: floating-point operation
using Seconds = Quantity<struct SecondsTag>;                // base: second
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;  // base: byte/s, per direction
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;  // base: FLOP/s
using Hertz = Quantity<struct HertzTag>;                    // base: 1/s
using Watts = Quantity<struct WattsTag>;                    // base: W
using Dollars = Quantity<struct DollarsTag>;                // base: USD

inline constexpr Bytes k_byte = Bytes::from_base(1.0);
inline constexpr Bytes k_mebibyte = Bytes::from_base(1024.0 * 1024.0);
inline constexpr Bytes k_gibibyte = Bytes::from_base(1024.0 * 1024.0 * 1024.0);
inline constexpr Seconds k_second = Seconds::from_base(1.0);
inline constexpr Seconds k_microsecond = Seconds::from_base(1e-6);
inline constexpr BytesPerSecond k_gigabyte_per_second = BytesPerSecond::from_base(1e9);
inline constexpr FlopsPerSecond k_teraflop_per_second = FlopsPerSecond::from_base(1e12);

constexpr Seconds operator/(Bytes amount, BytesPerSecond rate) {
  return Seconds::from_base(amount.base() / rate.base());
}
constexpr Seconds operator/(Flops amount, FlopsPerSecond rate) {
  return Seconds::from_base(amount.base() / rate.base());
}
constexpr BytesPerSecond operator/(Bytes amount, Seconds time) {
  return BytesPerSecond::from_base(amount.base() / time.base());
}
constexpr FlopsPerSecond operator/(Flops amount, Seconds time) {
  return FlopsPerSecond::from_base(amount.base() / time.base());
}
constexpr Bytes operator*(BytesPerSecond rate, Seconds time) { return Bytes::from_base(rate.base() * time.base()); }
constexpr Flops operator*(FlopsPerSecond rate, Seconds time) { return Flops::from_base(rate.base() * time.base()); }

}  // namespace cairn::core
