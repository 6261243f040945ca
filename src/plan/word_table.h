// Dense numbers for tuples of 64-bit words: what depends on the same words is found by the same number.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "words_hash.h"

namespace cairn::plan {

template <std::size_t N>
class WordTable {
 public:
  using Words = std::array<std::int64_t, N>;
  std::int32_t of(const Words& words) {
    return numbers_.try_emplace(words, static_cast<std::int32_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<Words, std::int32_t, WordsHash> numbers_;
};

// Rows of remembered values, by two dense numbers. What has not been made is Value{}.
template <class Value>
class Remembered {
 public:
  std::vector<Value>& row(std::int32_t number, std::size_t size) {
    const auto index = static_cast<std::size_t>(number);
    if (index >= rows_.size()) rows_.resize(index + 1);
    if (rows_[index].size() < size) rows_[index].resize(size);
    return rows_[index];
  }

 private:
  std::vector<std::vector<Value>> rows_;
};

}  // namespace cairn::plan
