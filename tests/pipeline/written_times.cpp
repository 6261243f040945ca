// Times as people write them.
#include "cairn/pipeline/written_times.h"

#include "catch.h"
#include "support/complaints.h"

using namespace cairn;
using pipeline::Fraction;
using pipeline::WrittenTimes;
using test::complaints;
using test::contains;

TEST_CASE("written times: bare ones as they are, ones with units in nanoseconds") {
  WrittenTimes bare;
  CHECK(bare.read("0", "first") == Fraction{0});
  CHECK_FALSE(bare.unit());
  CHECK(bare.read("2/6", "second") == Fraction{1, 3});
  CHECK(bare.read("0.25", "third") == Fraction{1, 4});
  CHECK_FALSE(bare.unit());

  WrittenTimes measured;
  CHECK(measured.read("3ms", "first") == Fraction{3'000'000});
  CHECK(measured.read("0.25 us", "second") == Fraction{250});
  CHECK(measured.read("1/3 ns", "third") == Fraction{1, 3});
  CHECK(measured.read("2s", "fourth") == Fraction{2'000'000'000});
  CHECK(measured.read("0", "fifth") == Fraction{0});
  CHECK(measured.unit() == core::Seconds::from_base(1e-9));
}

TEST_CASE("written times: what is none is refused where it stands") {
  const auto refusal = [](std::initializer_list<const char*> texts) {
    WrittenTimes times;
    return complaints([&] {
      for (const char* text : texts) times.read(text, "work[2].time");
    });
  };
  for (const char* text : {"", "soon", "ms", "-1", "1/0", "1.2.3"}) CHECK(contains(refusal({text}), "work[2].time: '"));
  CHECK(contains(refusal({"1 parsec"}), "'parsec' is no unit of time"));
  CHECK(contains(refusal({"1ms", "2"}), "some times have a unit and some have none"));
  CHECK(contains(refusal({"2", "1ms"}), "some times have a unit and some have none"));
  CHECK(contains(refusal({"999999999.999999999s"}), "too long to be counted"));
  CHECK(refusal({"1ms", "0", "0.5"}).empty() == false);
  CHECK(refusal({"1ms", "0", "3s"}).empty());
}
