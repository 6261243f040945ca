// The rows of pebble_golden.csv, read from the folder that CAIRN_DATA names.
#pragma once

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cairn/pebble/game.h"
#include "cairn/pebble/generators.h"

namespace cairn::pebble::testing {

struct GoldenRow {
  std::string graph;
  Parameters parameters;
  std::string text;  // graph(parameters) S=.. game, for messages
  std::size_t vertices, inputs, outputs, max_in_degree;
  Words fast;
  Game game;
  Words optimal, loads, stores, compulsory;
  std::optional<Words> wavefront, belady;
};

inline std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts(1);
  for (char c : line) {
    if (c == separator) {
      parts.emplace_back();
    } else if (c != '\r') {
      parts.back() += c;
    }
  }
  return parts;
}

// Empty when CAIRN_DATA is not set.
inline std::vector<GoldenRow> golden_rows() {
  const char* folder = std::getenv("CAIRN_DATA");
  if (folder == nullptr) return {};
  std::ifstream file(std::string(folder) + "/pebble_golden.csv");
  std::string line;
  std::getline(file, line);  // header
  std::vector<GoldenRow> rows;
  while (std::getline(file, line)) {
    const auto field = split(line, ',');
    GoldenRow row{};
    row.graph = field.at(0);
    for (const std::string& assignment : split(field.at(1), ';')) {
      const auto pair = split(assignment, '=');
      row.parameters[pair.at(0)] = std::stoi(pair.at(1));
    }
    row.text = field.at(0) + "(" + field.at(1) + ") S=" + field.at(6) + " " + field.at(7);
    row.vertices = std::stoul(field.at(2));
    row.inputs = std::stoul(field.at(3));
    row.outputs = std::stoul(field.at(4));
    row.max_in_degree = std::stoul(field.at(5));
    row.fast = std::stoll(field.at(6));
    row.game = parse_game(field.at(7));
    row.optimal = std::stoll(field.at(8));
    row.loads = std::stoll(field.at(9));
    row.stores = std::stoll(field.at(10));
    row.compulsory = std::stoll(field.at(11));
    if (!field.at(12).empty()) row.wavefront = std::stoll(field.at(12));
    if (!field.at(13).empty()) row.belady = std::stoll(field.at(13));
    rows.push_back(row);
  }
  return rows;
}

}  // namespace cairn::pebble::testing
