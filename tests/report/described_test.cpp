// A key of a result document is described once: a dummy document shows what follows from that.
#include "described.h"

#include "conforms.h"

using namespace cairn;
using namespace cairn::report::schema;

namespace {

struct Weather {
  std::string place;
  double rain_mm = 0.0;
  std::optional<double> wind_m_per_s = {};
  std::vector<std::int64_t> days = {};
};

const Described<Weather>& weather_keys() {
  static const Described<Weather> keys{
      {"place", text("where it was seen"), &Weather::place},
      Key<Weather>("rain", amount("mm that fell"), &Weather::rain_mm).listed_behind("wet"),
      {"wind", or_null(amount("m/s; null: it was not measured")),
       [](const auto& weather) { return nullable(weather.wind_m_per_s); }},
      {"wet", flag("whether any fell"), [](const auto& weather) { return weather.rain_mm > 0.0; }},
      Key<Weather>("days", list_of(count("of the year")), [](const auto& weather) {
        return weather.days.empty() ? Json() : Json(weather.days);
      }).left_out()};
  return keys;
}

std::vector<std::string> names(const Json& object) {
  std::vector<std::string> result;
  for (const auto& [name, value] : object.items()) result.push_back(name);
  return result;
}

}  // namespace

TEST_CASE("A described object is written as its schema has it", "[described]") {
  const Json dry = weather_keys().json({.place = "Lhasa", .wind_m_per_s = 3.0}),
             wet = weather_keys().json({.place = "Bergen", .rain_mm = 8.5, .days = {3, 4}});
  CHECK(dry.dump() == R"({"place":"Lhasa","rain":0.0,"wind":3.0,"wet":false})");
  CHECK(wet.dump() == R"({"place":"Bergen","rain":8.5,"wind":null,"wet":true,"days":[3,4]})");
  const Json schema = weather_keys().schema();
  CHECK(names(schema["properties"]) == std::vector<std::string>{"place", "wind", "wet", "rain", "days"});
  CHECK(schema["required"] == Json({"place", "wind", "wet", "rain"}));
  for (const Json& each : {dry, wet})
    test::conforms(nlohmann::json::parse(schema.dump()), nlohmann::json::parse(each.dump()), "");
  CHECK(weather_keys().list(std::vector<Weather>{{.place = "Lhasa"}, {.place = "Bergen"}}).size() == 2);
}
