// Schemas say what keys mean.
#include <sstream>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;
using nlohmann::json;

TEST_CASE("Every key of what is written, and of the files that people write, says what it means") {
  std::istringstream lines(run({"schema"}).out);
  std::size_t checked = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find(' '));
    if (name == "calibration") continue;  // cairn calibrate writes it
    const auto check = [&](const auto& self, const json& schema, const std::string& path) -> void {
      for (const json& form : schema.value("anyOf", json::array())) self(self, form, path);
      const json properties = schema.value("properties", json::object());
      for (const auto& [key, each] : properties.items()) {
        INFO(name << path << "." << key);
        const std::string meaning = each.value("description", "");
        CHECK(meaning.find(' ') != std::string::npos);  // more than a unit
        ++checked;
        self(self, each, path + "." + key);
      }
      for (const char* below : {"items", "additionalProperties"})
        if (schema.contains(below) && schema[below].is_object()) self(self, schema[below], path + "[]");
    };
    check(check, json::parse(run({"schema", name}).out), "");
  }
  CHECK(checked > 400);
}
