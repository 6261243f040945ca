// The rows of one table of nccl-tests. A row is printed in pieces, before the collective runs, after it ran out of
// place and after it ran in place, so messages of NCCL's log and a launcher's prefixes may stand in between:
//
//   |<- opening ->| |<- figures of one run ->| |<- of the other ->|
//   size count type redop root  time algbw busbw #wrong  time algbw busbw #wrong
//
// A row begins where a size, a count and a type follow each other, whatever stands in front of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::measure {

// Where in `words` a row begins; npos where none does.
std::size_t row_start(const std::vector<std::string_view>& words);

struct NcclRow {
  int line = 0;                           // where it begins
  std::vector<std::string> figures = {};  // by column; fewer or more where the row is broken
};

class NcclRows {
 public:
  // Names of the columns in their order, one of them `time`.
  explicit NcclRows(std::vector<std::string> columns);

  const std::vector<std::string>& columns() const { return columns_; }
  bool is_whole(const NcclRow& row) const { return row.figures.size() == columns_.size(); }
  // The rows that end with this line, or that a new one breaks off.
  std::vector<NcclRow> take(const std::vector<std::string_view>& words, int line);
  // A row that is still waiting for figures.
  std::optional<NcclRow> rest();

 private:
  bool fits(std::size_t figures) const;

  std::vector<std::string> columns_;
  std::size_t opening_ = 0;  // columns before the first time
  std::size_t run_ = 0;      // columns of one run
  bool is_stamped_ = false;  // rows end with a date and a clock
  std::optional<NcclRow> open_ = {};
};

}  // namespace cairn::measure
