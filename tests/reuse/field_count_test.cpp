// Counting the fields of an aggregate.
#include "support/field_count.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>

#include "catch.h"

using cairn::testing::field_count;
using cairn::testing::names_every_field;

namespace counted {

enum class Colour : std::uint8_t { red, green };

struct Nothing {};
struct Point {
  int x = 0;
  int y = 0;
};
struct Line {  // structs within a struct are one field each
  Point from;
  Point to;
};
struct Arrays {  // so are arrays, whose elements take an initialiser each when braces are left out
  double first = 0.0;
  int three[3] = {};
  Point points[2] = {};
  std::array<int, 4> four{};
  bool last = false;
};
struct Kinds {
  std::string text;
  std::vector<std::int64_t> list;
  std::optional<Colour> perhaps;
  std::optional<std::int32_t> number = std::nullopt;
  Colour colour = Colour::red;
  boost::container::static_vector<Colour, 3> few;
  boost::container::small_vector<Point, 3> some;
  std::variant<std::monostate, Point, Line> either;
  const Point* place = nullptr;
  float real = 0.0F;
};
struct Methods {  // functions, types and static members are none
  enum class Kind : std::uint8_t { one, two };
  static constexpr int k_most = 3;
  Kind kind = Kind::one;
  bool any() const { return kind == Kind::two; }
  friend bool operator==(const Methods&, const Methods&) = default;
};

}  // namespace counted

using namespace counted;

TEST_CASE("Fields of an aggregate are counted, arrays and structs as one each") {
  STATIC_REQUIRE(field_count<Nothing>() == 0);
  STATIC_REQUIRE(field_count<Point>() == 2);
  STATIC_REQUIRE(field_count<Line>() == 2);
  STATIC_REQUIRE(field_count<Arrays>() == 5);
  STATIC_REQUIRE(field_count<Kinds>() == 10);
  STATIC_REQUIRE(field_count<Methods>() == 1);
}

TEST_CASE("A list of members that leaves a field out, or names one twice, does not name every field") {
  STATIC_REQUIRE(names_every_field<Point, &Point::x, &Point::y>());
  STATIC_REQUIRE(names_every_field<Line, &Line::from, &Line::to>());
  STATIC_REQUIRE(!names_every_field<Point, &Point::x>());
  STATIC_REQUIRE(!names_every_field<Point, &Point::x, &Point::x>());
  STATIC_REQUIRE(names_every_field<Nothing>());
}
