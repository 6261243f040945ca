#include "cairn/core/format_units.h"

#include "catch.h"

using namespace cairn::core;

TEST_CASE("times") {
  CHECK(format(Seconds::from_base(1.2341)) == "1.234 s");
  CHECK(format(Seconds::from_base(0.0265)) == "26.5 ms");
  CHECK(format(Seconds::from_base(3.5e-6)) == "3.5 us");
  CHECK(format(Seconds::from_base(2e-12)) == "2 ps");
  CHECK(format(Seconds::from_base(0)) == "0 s");
  CHECK(format(Seconds::from_base(-0.0265)) == "-26.5 ms");
  CHECK(format(Seconds::from_base(90)) == "90 s");
  CHECK(format(Seconds::from_base(5400)) == "90 min");
  CHECK(format(Seconds::from_base(7200)) == "2 h");
  CHECK(format(Seconds::from_base(86400.0 * 30)) == "30 d");
  // 0.99996 s at four digits is 1 s, not 1000 ms.
  CHECK(format(Seconds::from_base(0.99996)) == "1 s");
  CHECK(format(Seconds::from_base(0.9999)) == "999.9 ms");
}

TEST_CASE("amounts and rates") {
  CHECK(format(79.6 * k_gibibyte) == "79.6 GiB");
  CHECK(format(Bytes::from_base(1023)) == "1020 B");  // three digits, below 1 KiB
  CHECK(format(Bytes::from_base(1024)) == "1 KiB");
  CHECK(format(Bytes::from_base(0)) == "0 B");
  CHECK(format(450.0 * k_gigabyte_per_second) == "450 GB/s");
  CHECK(format(BytesPerSecond::from_base(3.35e12)) == "3.35 TB/s");
  CHECK(format(BytesPerSecond::from_base(999.7e9)) == "1 TB/s");
  CHECK(format(FlopsPerSecond::from_base(312e12)) == "312 TFLOP/s");
  CHECK(format(FlopsPerSecond::from_base(989.4e12), 4) == "989.4 TFLOP/s");
  CHECK(format(Flops::from_base(3.14e23)) == "314 ZFLOP");
  CHECK(format(Hertz::from_base(1.41e9)) == "1.41 GHz");
  CHECK(format(Watts::from_base(2400)) == "2.4 kW");
  CHECK(format(Dollars::from_base(2.5)) == "2.50 USD");
  CHECK(format(Dollars::from_base(999.5)) == "999.50 USD");
  CHECK(format(Dollars::from_base(-1234.25)) == "-1,234.25 USD");
  CHECK(format(Dollars::from_base(3824026.35)) == "3,824,026.35 USD");
  CHECK(format(Dollars::from_base(0.00123)) == "0.00123 USD");
}

TEST_CASE("counts") {
  CHECK(format_count(70553706496.0) == "70.6 B");
  CHECK(format_count(124439808.0) == "124 M");
  CHECK(format_count(16384) == "16.4 K");
  CHECK(format_count(4096) == "4096");
  CHECK(format_count(0) == "0");
  CHECK(format_count(1.008e12) == "1.01 T");
}
