// Characters that remember where they were written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/node.h"

namespace cairn::launch {

// Offsets of a text as places in its file.
class Lines {
 public:
  Lines(std::string_view text, const std::string& file) : file_(std::make_shared<const std::string>(file)) {
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') starts_.push_back(i + 1);
  }
  config::Place place(std::size_t offset) const {
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
    return {.file = file_,
            .line = static_cast<int>(next - starts_.begin()),
            .column = static_cast<int>(offset - *(next - 1)) + 1};
  }

 private:
  std::shared_ptr<const std::string> file_;
  std::vector<std::size_t> starts_{0};
};

struct Text {
  std::string characters = {};
  std::vector<std::uint32_t> offsets = {};  // of each character
  std::size_t start = 0;                    // where it begins, also of an empty one

  void add(char character, std::size_t offset) {
    characters += character;
    offsets.push_back(static_cast<std::uint32_t>(offset));
  }
  void add(const Text& other) {
    characters += other.characters;
    offsets.insert(offsets.end(), other.offsets.begin(), other.offsets.end());
  }
  static Text of(std::string_view characters, std::size_t offset) {
    Text result;
    result.start = offset;
    for (const char each : characters) result.add(each, offset);
    return result;
  }
  std::size_t offset() const { return offsets.empty() ? start : offsets.front(); }
};

}  // namespace cairn::launch
