// The file of a search's journal: read, held against other writers, cut to its whole lines, and added to line by line.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "cairn/search/journal.h"

namespace cairn::cli {

class JournalFile {
 public:
  // Made where there is none. `of`: what the search's answer depends on, as JSON. Throws core::ConfigurationError where
  // the file is none, or no journal of this search, or another process adds to it; core::InputOutputError where it
  // cannot be written.
  JournalFile(const std::string& file, const std::string& of);
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  search::Journal& journal() { return *journal_; }

 private:
  void append(std::string_view line);

  std::string file_;
  int descriptor_ = -1;
  off_t whole_ = 0;  // bytes of whole lines in the file
  std::unique_ptr<search::Journal> journal_;
};

}  // namespace cairn::cli
