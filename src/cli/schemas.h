// The documents Cairn reads and writes, by the name `cairn schema` knows them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::cli {

struct Schema {
  std::string_view name;
  std::string_view summary;
  std::string (*text)();  // JSON Schema, draft 2020-12
};

std::span<const Schema> schemas();
std::vector<std::string> schema_names();

}  // namespace cairn::cli
