// The moments of a filling at which links may be full, earliest first.
#pragma once

#include <algorithm>
#include <vector>

#include "cairn/sim/fair_share.h"

namespace cairn::sim {

class FillMoments {
 public:
  struct Moment {
    double level;
    LinkId link;
  };

  // A filling begins: its moments in any order, then sort().
  void clear() { heap_.clear(); }
  void add(Moment moment) { heap_.push_back(moment); }
  void sort() { std::make_heap(heap_.begin(), heap_.end(), Later()); }

  bool empty() const { return heap_.empty(); }
  const Moment& first() const { return heap_.front(); }
  Moment pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    const Moment moment = heap_.back();
    heap_.pop_back();
    return moment;
  }
  void push(Moment moment) {
    heap_.push_back(moment);
    std::push_heap(heap_.begin(), heap_.end(), Later());
  }

 private:
  struct Later {
    bool operator()(const Moment& a, const Moment& b) const {
      return a.level != b.level ? a.level > b.level : a.link > b.link;
    }
  };
  std::vector<Moment> heap_;
};

}  // namespace cairn::sim
