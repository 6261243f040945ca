// Names that differ within a graph.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace cairn::models {

// The second "relu" is "relu.2".
class DistinctNames {
 public:
  std::string name(const std::string& wanted) {
    std::string result = wanted;
    for (int& number = numbers_[wanted]; !taken_.insert(result).second; result = wanted + "." + std::to_string(number))
      number = std::max(2, number + 1);
    return result;
  }
  void take(const std::string& name) { taken_.insert(name); }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> numbers_;
};

}  // namespace cairn::models
