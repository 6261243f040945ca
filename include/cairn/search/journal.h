// What the boxes of a space were found to hold, a line each, so that a search that was cut off goes on where it was.
//
//   {"journal": "cairn search 3", "of": {...}}      first: all that the answer depends on
//   {"box": [state, first point], "boxes": [...], "cells": [...], "computed": [...], "too_large": [...],
//    "refusals": [...]}                              and then
//
// Which boxes a search asks for follows from what it found of those before, and what it finds of a box from nothing but
// the box. So one that takes some of them from a journal answers as if it had explored them all, byte for byte. A last
// line without its end was cut off while it was written, and counts as absent; so does a first one that begins as it
// should.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cairn::search {

struct Box;       // explorer.h
struct Findings;  // likewise

class Journal {
 public:
  // `of`: JSON on one line. `text`: what `file` holds; empty where it is new. `append`: adds lines to it, told by one
  // thread at a time; what it throws ends the search. Throws core::ConfigurationError where the text is no journal, or
  // one of another search.
  Journal(std::string of, std::string text, std::string file, std::function<void(std::string_view)> append);

  // Bytes of the text that are whole lines. What comes behind is to be cut off before anything is added.
  std::size_t whole_bytes() const { return whole_bytes_; }
  std::size_t boxes() const { return lines_.size(); }
  // Adds the first line where the text has none. The file has been cut to whole_bytes() before.
  void begin();

  bool has(const Box& box) const;
  // Throws core::ConfigurationError, with the line, where it does not say what was found of a box.
  std::optional<Findings> known(const Box& box) const;
  void add(const Box& box, const Findings& findings);

 private:
  struct Line {
    std::size_t number = 0;  // counted from 1
    std::size_t begin = 0, end = 0;
  };
  std::string first_line_;
  std::string text_;
  std::string file_;
  std::function<void(std::string_view)> append_;
  std::size_t whole_bytes_ = 0;
  std::map<std::pair<int, std::uint64_t>, Line> lines_;  // by state and first point of the box
  std::mutex mutex_;
};

}  // namespace cairn::search
