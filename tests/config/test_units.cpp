#include "cairn/config/units.h"

#include <cmath>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "catch.h"

using namespace cairn;
using config::Dimension;

namespace {

double base(std::string_view text, Dimension dimension) {
  const config::ParsedQuantity parsed = config::parse_quantity(text, dimension);
  INFO(text << ": " << parsed.message);
  REQUIRE(parsed.base);
  return *parsed.base;
}

std::string complaint(std::string_view text, Dimension dimension) {
  const config::ParsedQuantity parsed = config::parse_quantity(text, dimension);
  return parsed.base ? "" : parsed.message + " (" + parsed.hint + ")";
}

}  // namespace

TEST_CASE("every dimension reads its units") {
  CHECK(base("400 Gb/s", Dimension::bytes_per_second) == 5e10);  // 400e9 / 8
  CHECK(base("400 Gbps", Dimension::bytes_per_second) == 5e10);
  CHECK(base("450 GB/s", Dimension::bytes_per_second) == 4.5e11);
  CHECK(base("450GBps", Dimension::bytes_per_second) == 4.5e11);
  CHECK(base("3.35 TB/s", Dimension::bytes_per_second) == 3.35e12);
  CHECK(base("1 GiB/s", Dimension::bytes_per_second) == 1073741824.0);
  CHECK(base("80 GiB", Dimension::bytes) == 80.0 * 1073741824.0);
  CHECK(base("40 MB", Dimension::bytes) == 4e7);
  CHECK(base("8 kb", Dimension::bytes) == 1000.0);
  CHECK(base("1 Kib", Dimension::bytes) == 128.0);
  CHECK(base("2 TiB", Dimension::bytes) == 2.0 * 1099511627776.0);
  CHECK(base("12 B", Dimension::bytes) == 12.0);
  CHECK(base("3.5 us", Dimension::seconds) == 3.5e-6);
  CHECK(base("3.5 \u00b5s", Dimension::seconds) == 3.5e-6);
  CHECK(base("1 m s", Dimension::seconds) == 1e-3);
  CHECK(base("30 min", Dimension::seconds) == 1800.0);
  CHECK(base("3 h", Dimension::seconds) == 10800.0);
  CHECK(base("1 d", Dimension::seconds) == 86400.0);
  CHECK(base("0 s", Dimension::seconds) == 0.0);
  CHECK(base("989 TFLOP/s", Dimension::flops_per_second) == 989e12);
  CHECK(base("989 TFLOPS", Dimension::flops_per_second) == 989e12);
  CHECK(base("624 TOP/s", Dimension::flops_per_second) == 624e12);
  CHECK(base("6 GFLOP", Dimension::flops) == 6e9);
  CHECK(base("1.41 GHz", Dimension::hertz) == 1.41e9);
  CHECK(base("2.4 kW", Dimension::watts) == 2400.0);
  CHECK(base("2.5 USD", Dimension::dollars) == 2.5);
  CHECK(base("4 M tokens", Dimension::tokens) == 4e6);
  CHECK(base("  1.5e3 GB  ", Dimension::bytes) == 1.5e12);
  CHECK(base("+.5 GB", Dimension::bytes) == 5e8);
  CHECK(base("1 EB", Dimension::bytes) == 1e18);
  CHECK(base("1EB", Dimension::bytes) == 1e18);  // no exponent without digits
  CHECK(base("-1 s", Dimension::seconds) == -1.0);
}

TEST_CASE("a quantity is rounded once") {
  // The literal is the double nearest to the decimal; 2.039 * 1e12 computed in doubles need not be.
  CHECK(base("2.039 TB/s", Dimension::bytes_per_second) == 2.039e12);
  CHECK(base("1.1 us", Dimension::seconds) == 1.1e-6);
  CHECK(base("0.7 ns", Dimension::seconds) == 0.7e-9);
  CHECK(base("312.3 TFLOP/s", Dimension::flops_per_second) == 312.3e12);
}

TEST_CASE("a bare number, a wrong unit and an unknown unit are told apart") {
  CHECK(complaint("80", Dimension::bytes) ==
        "the unit is missing: an amount of data is due (for example '80 GiB' or '40 MB')");
  CHECK(complaint("80 GB", Dimension::bytes_per_second) ==
        "'GB' is the unit of an amount of data, but a bandwidth is due (for example '450 GB/s' or '400 Gb/s')");
  CHECK(complaint("80 Gbs", Dimension::bytes_per_second) ==
        "unknown unit 'Gbs': a bandwidth is due (did you mean 'Gb/s'?)");
  // What is proposed is the same quantity, however it is spelt; where two readings differ, both are named.
  const auto proposed = [](std::string_view unit, Dimension dimension) {
    const std::string text = complaint("400 " + std::string(unit), dimension);
    const std::size_t at = text.find("did you mean ");
    return at == std::string::npos ? std::string() : text.substr(at + 13, text.rfind(')') - at - 13);
  };
  CHECK(proposed("Gbit/s", Dimension::bytes_per_second) == "'Gb/s'?");
  CHECK(proposed("GBit/s", Dimension::bytes_per_second) == "'Gb/s'?");
  CHECK(proposed("Gbits/sec", Dimension::bytes_per_second) == "'Gb/s'?");
  CHECK(proposed("gbps", Dimension::bytes_per_second) == "'Gbps'?");
  CHECK(proposed("mbps", Dimension::bytes_per_second) == "'Mbps'?");
  CHECK(proposed("GByte/s", Dimension::bytes_per_second) == "'GB/s'?");
  CHECK(proposed("gibit/s", Dimension::bytes_per_second) == "'Gib/s'?");
  CHECK(proposed("gb/s", Dimension::bytes_per_second) == "'GB/s' or 'Gb/s'? They differ");
  CHECK(proposed("KB/s", Dimension::bytes_per_second) == "'kB/s' or 'KiB/s'? They differ");
  CHECK(proposed("GBit", Dimension::bytes_per_second).empty());  // an amount, no rate
  CHECK(proposed("gigs", Dimension::bytes).empty());
  CHECK(proposed("Tflops", Dimension::flops_per_second) == "'TFLOPS'?");
  CHECK(proposed("seconds", Dimension::seconds) == "'s'?");
  CHECK(proposed("hours", Dimension::seconds) == "'h'?");
  CHECK(proposed("mw", Dimension::watts) == "'MW' or 'mW'? They differ");
  CHECK(proposed("Gbs", Dimension::bytes) == "");
  // GiB/s, Mbps and Mi tokens are units themselves.
  CHECK(*parse_quantity("1 GiB/s", Dimension::bytes_per_second).base == 1073741824.0);
  CHECK(*parse_quantity("8 Mbps", Dimension::bytes_per_second).base == 1e6);
  CHECK(*parse_quantity("4 Mi tokens", Dimension::tokens).base == 4194304.0);
  CHECK(config::exact_text(4194304.0, Dimension::tokens) == "4 Mi tokens");
  CHECK(config::exact_text(4000.0, Dimension::tokens) == "4 k tokens");
  CHECK(config::exact_text(40.0, Dimension::tokens) == "40 tokens");
  CHECK(complaint("80 furlongs", Dimension::seconds) ==
        "unknown unit 'furlongs': a time is due (for example '3.5 us' or '30 min')");
  CHECK(complaint("GB", Dimension::bytes) ==
        "expected an amount of data, a number with a unit (for example '80 GiB' or '40 MB')");
  CHECK(complaint("", Dimension::bytes) != "");
  CHECK(complaint("nan s", Dimension::seconds) != "");
  CHECK(complaint("inf GB/s", Dimension::bytes_per_second) != "");
  CHECK(complaint(".inf GB/s", Dimension::bytes_per_second) != "");
  CHECK(complaint("0x10 GB", Dimension::bytes) != "");
  CHECK(complaint("010 GB", Dimension::bytes) != "");
  CHECK(complaint("1,000 GB", Dimension::bytes) != "");
  CHECK(complaint("1e400 GB", Dimension::bytes) ==
        "the number is too large or too small (for example '80 GiB' or '40 MB')");
  CHECK(complaint("1e290 PiB", Dimension::bytes) == "");
  CHECK(complaint("1e300 EB", Dimension::bytes) ==
        "the number is too large or too small (for example '80 GiB' or '40 MB')");
  CHECK(complaint("1 KiFLOP", Dimension::flops) != "");
  CHECK(complaint("1 mB", Dimension::bytes) != "");
  CHECK(complaint("1 Ks", Dimension::seconds) != "");
}

TEST_CASE("a value from the command line raises an error that names its option") {
  CHECK(config::require_quantity<core::Bytes>("1MiB", "--bytes").base() == 1048576.0);
  CHECK_THROWS_WITH(config::require_quantity<core::Seconds>("3", "--time"),
                    "error: --time: the unit is missing: a time is due (for example '3.5 us' or '30 min')");
}

TEST_CASE("exact text is short and reads back to the same double") {
  CHECK(config::exact_text(5e10, Dimension::bytes_per_second) == "50 GB/s");
  CHECK(config::exact_text(5e11, Dimension::bytes_per_second) == "500 GB/s");
  CHECK(config::exact_text(80.0 * 1073741824.0, Dimension::bytes) == "80 GiB");
  CHECK(config::exact_text(3.5e-6, Dimension::seconds) == "3.5 us");
  CHECK(config::exact_text(0.0, Dimension::seconds) == "0 s");
  CHECK(config::exact_text(989e12, Dimension::flops_per_second) == "989 TFLOP/s");
  CHECK(config::exact_text(15.432e9, Dimension::bytes_per_second) == "15.432 GB/s");
  CHECK(config::exact_text(0.05, Dimension::seconds) == "50 ms");
  CHECK(config::exact_text(1024.0, Dimension::bytes) == "1 KiB");
  CHECK(config::exact_text(-2.5, Dimension::dollars) == "-2.5 USD");
  core::Random random(3);
  const Dimension dimensions[] = {Dimension::bytes,
                                  Dimension::flops,
                                  Dimension::seconds,
                                  Dimension::bytes_per_second,
                                  Dimension::flops_per_second,
                                  Dimension::hertz,
                                  Dimension::watts,
                                  Dimension::dollars,
                                  Dimension::tokens};
  for (int i = 0; i < 2000; ++i) {
    const double value = (random.uniform() - 0.5) * std::pow(10.0, static_cast<double>(random.below(40)) - 15.0);
    for (const Dimension dimension : dimensions) {
      REQUIRE(config::parse_quantity(config::exact_text(value, dimension), dimension).base == value);
    }
  }
}

TEST_CASE("plain numbers are decimal") {
  CHECK(config::parse_number("0.5") == 0.5);
  CHECK(config::parse_number("-2") == -2.0);
  CHECK(config::parse_number("1e-3") == 1e-3);
  CHECK(config::parse_number("0") == 0.0);
  CHECK(config::parse_number("00") == std::nullopt);
  CHECK(config::parse_number("0x10") == std::nullopt);
  CHECK(config::parse_number(".nan") == std::nullopt);
  CHECK(config::parse_number("nan") == std::nullopt);
  CHECK(config::parse_number("inf") == std::nullopt);
  CHECK(config::parse_number("1e999") == std::nullopt);
  CHECK(config::parse_number("1.") == 1.0);
  CHECK(config::parse_number(".") == std::nullopt);
  CHECK(config::parse_number("-") == std::nullopt);
  CHECK(config::parse_number("1 ") == std::nullopt);
}
