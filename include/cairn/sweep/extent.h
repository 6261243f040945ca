// How few accelerators, or how long a sequence: the least cluster, or the greatest length, at which some layout fits.
//
//   fewest-gpus       part of one node (divisors of its accelerators), one node, two, ... up to the cluster's own number, as
//                     far as its file can say so; the first that has a layout that fits. All before it were searched, so
//                     none of them has one.
//   longest-sequence  the experiment's own length, and multiples of k_length_step tokens; of a batch in tokens those that
//                     divide it. From the own one on lengths double while a layout fits, and what lies between the last
//                     that has one and the first that has none is halved until they are neighbours. That longer sequences
//                     take more memory is taken for granted: no length behind one without a layout is looked at.
//
// The batch stays as the experiment says it: sequences, or tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/search/search.h"
#include "cairn/search/space.h"
#include "cairn/sweep/sweep.h"

namespace cairn::sweep {

constexpr std::int64_t k_length_step = 1024;  // tokens

struct ExtentRequest {
  const config::Loader& loader;
  std::string experiment = {};              // as the command line names it
  std::vector<std::string> overrides = {};  // that hold at every size
  Layouts layouts = {};
  search::Objective objective = search::Objective::fewest_gpus;  // or longest_sequence
  std::size_t threads = 1;
  std::function<bool()> stop = {};  // asked often: whether to end with what was found
  std::function<void(std::size_t done, std::size_t of)> progress = {};  // sizes; `of` may be fewer at the end
};

struct Extent {
  struct Tried {
    std::int64_t size = 0;  // accelerators, or tokens of a sequence
    bool fits = false;
    std::string why = {};  // it does not
  };
  search::Objective objective = search::Objective::fewest_gpus;
  std::vector<Tried> tried = {};  // in order
  std::int64_t size = 0;          // the one asked for; 0: no layout fits at any
  // KEY=VALUE, that make the experiment of this size; none where it is, or where no size fits.
  std::vector<std::string> overrides = {};
  search::Answer answer = {};  // of the search at this size: the fastest layout alone
  bool complete = true;        // false: stopped, and `size` is the best so far
};

// Throws core::ConfigurationError where the experiment cannot be read.
Extent extent_that_fits(const ExtentRequest& request);

}  // namespace cairn::sweep
