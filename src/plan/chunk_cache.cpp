#include "cairn/plan/chunk_cache.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "cairn/core/diagnostics.h"
#include "vocabulary.h"

namespace cairn::plan {

namespace {

struct Resident {
  std::int64_t chunk = 0;
  std::size_t next_use = 0;
  std::size_t last_use = 0;
  std::size_t loaded = 0;
};

// By moment of the trace: when its chunk is wanted next; the end of time for never.
std::vector<std::size_t> next_uses(std::span<const std::int64_t> trace) {
  std::vector<std::size_t> result(trace.size());
  std::unordered_map<std::int64_t, std::size_t> next;
  for (std::size_t moment = trace.size(); moment-- > 0;) {
    const auto [known, fresh] = next.try_emplace(trace[moment], moment);
    result[moment] = fresh ? std::numeric_limits<std::size_t>::max() : known->second;
    known->second = moment;
  }
  return result;
}

// Whether `a` is given up rather than `b`.
bool goes_before(const Resident& a, const Resident& b, Eviction eviction) {
  switch (eviction) {
    case Eviction::farthest_next_use:
      return a.next_use > b.next_use;
    case Eviction::least_recently_used:
      return a.last_use < b.last_use;
    case Eviction::first_in:
      return a.loaded < b.loaded;
  }
  return false;
}

}  // namespace

ChunkTurns take_turns(std::span<const std::int64_t> trace, std::int64_t room, Eviction eviction) {
  if (room < 1) throw core::ConfigurationError("room", "there is room for no chunk", "make room for at least one");
  ChunkTurns result;
  result.missed.assign(trace.size(), 0);
  result.given_up.assign(trace.size(), -1);
  const std::vector<std::size_t> next = next_uses(trace);
  std::vector<Resident> here;
  for (std::size_t moment = 0; moment < trace.size(); ++moment) {
    auto found = std::find_if(here.begin(), here.end(), [&](const Resident& r) { return r.chunk == trace[moment]; });
    if (found == here.end()) {
      result.missed[moment] = 1;
      ++result.misses;
      if (static_cast<std::int64_t>(here.size()) < room) {
        found = here.insert(here.end(), Resident{});
      } else {
        found = std::min_element(here.begin(), here.end(),
                                 [&](const Resident& a, const Resident& b) { return goes_before(a, b, eviction); });
        result.given_up[moment] = found->chunk;
      }
      *found = {.chunk = trace[moment], .next_use = 0, .last_use = 0, .loaded = moment};
    }
    found->next_use = next[moment];
    found->last_use = moment;
  }
  return result;
}

}  // namespace cairn::plan
