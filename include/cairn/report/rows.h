// A result document as a table, the same for every command.
//
//   rows      what the document lists: networks, schedules, operations, measured runs; one for a document that lists nothing
//   columns   each number, text and flag that the schema has for a row, by its key path from there: result.time_s.bubble.
//             They depend on the schema alone, so tables of many runs stand on one another.
//   fields    as in the document; empty for null and for what is absent; a list of numbers as 1;2;3
//
// Left to the document: lists of texts and of objects, and maps whose keys are data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn::report {

using Record = std::vector<std::string>;

// Columns and rows of a result document that `cairn schema` names: one record of as many fields for each row.
struct Rows {
  Record columns = {};
  std::vector<Record> records = {};
};
Rows rows(std::string_view document);
// The columns of a document that lists nothing, before there is one.
Record columns(std::string_view schema);

// RFC 4180: a field with a comma, a quote or a line break stands in quotes. Ends in a line feed.
std::string csv_line(const Record& record);
// A header and a line for each row.
std::string csv(std::string_view document);

}  // namespace cairn::report
