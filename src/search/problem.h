// What a process cannot do, as JSON: how another process tells the first (cairn/search/crew.h).
//
//   {"fault": fault, "why": why}
//   {"fault": fault, "diagnostics": [[severity, file, line, column, key path, message, hint], ...]}
//
// The second form is of what a user can get wrong.
#pragma once

#include <cstddef>
#include <exception>

#include <nlohmann/json.hpp>

namespace cairn::search {

nlohmann::json json_of_problem(const std::exception_ptr& problem);
// An exception of a type that ends the program with the same exit code, whose text names the process.
std::exception_ptr problem_of(std::size_t rank, const nlohmann::json& from);

}  // namespace cairn::search
