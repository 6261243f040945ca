// The free blocks of an allocator in the order of their sizes, blocks of one size in the order of their addresses.
//
// Runs of up to k_most entries, each run sorted and before the next: with n blocks, finding, putting in and taking out
// compare log2(n) entries and move at most k_most of them. A run that is divided or emptied moves the heads of those
// behind it. Runs are not joined again: after many were taken out there may be as many runs as blocks. A step has tens
// to hundreds of free blocks, for which a tree takes half as long again; a network of many layers has many thousands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cairn::hardware {

class FreeBlocks {
 public:
  struct Entry {
    std::int64_t size = 0;  // [bytes]
    std::int64_t address = 0;
    std::int32_t block = -1;

    friend bool operator<(const Entry& a, const Entry& b) {
      return a.size < b.size || (a.size == b.size && a.address < b.address);
    }
  };
  // Where an entry lies, until the next change.
  struct Place {
    std::size_t run = 0;
    std::size_t entry = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };

  bool empty() const { return runs_.empty(); }
  Place end() const { return {.run = runs_.size()}; }
  Place next(Place place) const;
  const Entry& at(Place place) const { return runs_[place.run][place.entry]; }
  const Entry& largest() const { return runs_.back().back(); }
  // The first that is no less than `least`.
  Place lower_bound(const Entry& least) const;

  void insert(const Entry& entry);
  void erase(Place place);

 private:
  static constexpr std::size_t k_most = 32;
  using Run = std::vector<Entry>;

  std::vector<Run> runs_;  // none is empty
};

inline FreeBlocks::Place FreeBlocks::next(Place place) const {
  if (++place.entry < runs_[place.run].size()) return place;
  return {.run = place.run + 1};
}

inline FreeBlocks::Place FreeBlocks::lower_bound(const Entry& least) const {
  const auto run = std::partition_point(runs_.begin(), runs_.end(), [&](const Run& r) { return r.back() < least; });
  if (run == runs_.end()) return end();
  const auto entry = std::lower_bound(run->begin(), run->end(), least);
  return {.run = static_cast<std::size_t>(run - runs_.begin()),
          .entry = static_cast<std::size_t>(entry - run->begin())};
}

inline void FreeBlocks::insert(const Entry& entry) {
  Place place = lower_bound(entry);
  if (place == end()) {
    if (runs_.empty()) runs_.emplace_back();
    place = {.run = runs_.size() - 1, .entry = runs_.back().size()};
  }
  Run& run = runs_[place.run];
  run.insert(run.begin() + static_cast<std::ptrdiff_t>(place.entry), entry);
  if (run.size() <= k_most) return;
  const auto middle = run.begin() + static_cast<std::ptrdiff_t>(run.size() / 2);
  Run upper(middle, run.end());
  run.erase(middle, run.end());
  runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(place.run) + 1, std::move(upper));
}

inline void FreeBlocks::erase(Place place) {
  Run& run = runs_[place.run];
  run.erase(run.begin() + static_cast<std::ptrdiff_t>(place.entry));
  if (run.empty()) runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(place.run));
}

}  // namespace cairn::hardware
