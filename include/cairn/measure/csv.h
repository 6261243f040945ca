// Comma-separated values as RFC 4180 has them: a header line, then one record per line. A field in double quotes may
// hold commas, line breaks and doubled quotes; lines end in LF or CRLF; empty lines and a UTF-8 byte order mark are let
// pass. Everything else irregular is an error with its line: a stray quote, a quote that never closes, a record longer
// or shorter than the header, a column named twice.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::measure {

struct CsvRecord {
  int line = 0;  // 1-based, where the record starts
  std::vector<std::string> fields;
};

struct CsvTable {
  std::string file;  // as given, for messages
  std::vector<std::string> header;
  std::vector<CsvRecord> records;
};

// Throws core::ConfigurationError with every irregular line.
CsvTable parse_csv(std::string_view text, const std::string& file_name);

// Reads a file of at most config::k_file_limit bytes. In messages it goes by its own name, without folders.
CsvTable read_csv(const std::filesystem::path& file);

}  // namespace cairn::measure
