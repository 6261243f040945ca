// Flows over a network, as a table:
//
//   src,dst,bytes,start_s,after
//   0,1,1e6,0,
//   1,2,1e6,0,1
//   2,3,1e6,0,1;2
//
// src, dst: endpoints, by number or by the names that a graph gives them. bytes: bare, or with a unit as in 2GB.
// start_s: not before [s], or with a unit as in 5ms. after: rows that must have ended first, counted from 1, the header
// not counted; a file that names row 0 counts from 0. start_s and after may be left out, as columns and as fields.
// Quotes mean nothing and are refused; empty lines are let pass.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::traffic {

struct FlowRow {
  std::int64_t from = 0;
  std::int64_t to = 0;
  double bytes = 0.0;
  double start_s = 0.0;
  int line = 0;  // of the file
};
struct FlowFile {
  std::string file = {};  // as it goes in messages
  std::vector<FlowRow> rows = {};
  std::vector<std::uint32_t> after_begin{0};  // rows + 1 offsets into after
  std::vector<std::uint32_t> after = {};      // rows, from 0
  bool counts_from_zero = false;

  // Appends a row that waits for `earlier`.
  void add(const FlowRow& row, std::span<const std::uint32_t> earlier = {}) {
    rows.push_back(row);
    after.insert(after.end(), earlier.begin(), earlier.end());
    after_begin.push_back(static_cast<std::uint32_t>(after.size()));
  }
  std::span<const std::uint32_t> after_of(std::size_t row) const {
    return std::span(after).subspan(after_begin[row], after_begin[row + 1] - after_begin[row]);
  }
};

// Names of endpoints, by their numbers; empty where they are only numbered.
using EndpointNames = std::vector<std::string>;

// Throws core::ConfigurationError with up to core::k_shown_errors wrong places: fields that are no amounts, negative
// ones, endpoints that no node is called, a flow to itself, a row that is not there or waits for itself.
FlowFile parse_flows(std::string_view text, const std::string& file_name, const EndpointNames& names = {});
// Of a file of at most core::k_most_listed_bytes.
FlowFile read_flows(const std::filesystem::path& file, const EndpointNames& names = {});

}  // namespace cairn::traffic
