#include "crew.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/core/diagnostics.h"
#include "cairn/core/workers.h"
#include "cairn/search/journal.h"

namespace cairn::search {
namespace {

using nlohmann::json;

constexpr std::chrono::microseconds k_longest_nap{2000};
// Boxes that a process holds for each of its threads: one that is explored, one that waits.
constexpr std::size_t k_boxes_a_thread = 2;

}  // namespace

std::chrono::microseconds Nap::next() { return std::exchange(length_, std::min(2 * length_, k_longest_nap)); }

Crew::Crew(const Request& request, std::size_t most) : request_(request) {
  for (std::size_t i = 0; i < std::clamp<std::size_t>(request.threads, 1, most); ++i)
    explorers_.push_back(std::make_unique<Explorer>(request));
  if (request.wire != nullptr) hands_.resize(request.wire->ranks());
}

std::size_t Crew::ahead() const {
  std::size_t room = 0;
  for (const Hand& hand : hands_) room += hand.room;
  return room;
}

std::vector<std::optional<Findings>> Crew::explored(const std::vector<Box>& boxes, const std::vector<Box>& next) {
  Round round{.boxes = boxes,
              .found = std::vector<std::optional<Findings>>(boxes.size()),
              .problems = std::vector<std::exception_ptr>(boxes.size()),
              .missing = boxes.size()};
  for (std::size_t i = boxes.size(); i-- > 0;) {
    const auto lent = lent_.find(key_of(boxes[i]));
    if (lent == lent_.end()) {
      round.left.push_back(i);
    } else if (lent->second.found) {
      round.found[i] = std::move(lent->second.found);
      --round.missing;
      lent_.erase(lent);
    } else {
      lent->second.place = i;
    }
  }
  // Where there are other processes, one thread more speaks with them, and sleeps in between.
  const std::size_t all = explorers_.size() + (hands_.empty() ? 0 : 1);
  core::work_on_all(all, all, {}, [&](std::size_t i) {
    if (i < explorers_.size())
      work(round, *explorers_[i]);
    else
      lead(round, next);
  });
  for (const std::exception_ptr& problem : round.problems)
    if (problem) std::rethrow_exception(problem);
  return std::move(round.found);
}

// ---- threads of this process ----
void Crew::work(Round& round, Explorer& explorer) {
  std::unique_lock lock(round.mutex);
  while (!round.left.empty() && !round.failed && !stopped()) {
    const std::size_t i = round.left.back();
    round.left.pop_back();
    lock.unlock();
    std::optional<Findings> found;
    std::exception_ptr problem;
    try {
      found = found_of(round.boxes[i], explorer);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    round.failed = round.failed || problem;
    round.found[i] = std::move(found);
    round.problems[i] = problem;
    if (--round.missing == 0 || round.failed) round.changed.notify_all();
  }
}

// What is found after the search was asked to end may be a part, which no journal must take for the whole.
Findings Crew::found_of(const Box& box, Explorer& explorer) const {
  if (request_.journal == nullptr) return explorer.explored(box);
  if (std::optional<Findings> known = request_.journal->known(box)) return std::move(*known);
  Findings found = explorer.explored(box);
  if (!stopped()) request_.journal->add(box, found);
  return found;
}

// ---- other processes ----
// Gives them boxes and takes what they find until nothing of the round is missing.
void Crew::lead(Round& round, const std::vector<Box>& next) {
  for (Nap nap;;) {
    try {
      while (hear(round)) nap.wake();
      hand_out(round, next);
    } catch (...) {
      const std::lock_guard lock(round.mutex);
      round.failed = true;
      throw;
    }
    std::unique_lock lock(round.mutex);
    if (round.missing == 0 || round.failed || stopped()) return;
    round.changed.wait_for(lock, nap.next());
  }
}

// One box to each in turn, so that few are spread over all.
void Crew::hand_out(Round& round, const std::vector<Box>& next) {
  std::size_t seen = 0;  // of `next`
  for (bool given = true; given;) {
    given = false;
    for (Hand& hand : hands_) {
      if (hand.holds == hand.room) continue;
      const std::optional<Lent> lent = to_lend(round, next, seen);
      if (!lent) break;
      hand.parcel.push_back(json_of(lent->box));
      ++hand.holds;
      lent_.insert_or_assign(key_of(lent->box), *lent);
      given = true;
    }
  }
  for (std::size_t rank = 0; rank < hands_.size(); ++rank)
    if (!hands_[rank].parcel.empty())
      request_.wire->send(rank, json::to_cbor({{"boxes", std::exchange(hands_[rank].parcel, {})}}));
}

// A box of the round, else of those that come next. What the journal has is for this process to read.
std::optional<Crew::Lent> Crew::to_lend(Round& round, const std::vector<Box>& next, std::size_t& seen) {
  const auto known = [&](const Box& box) { return request_.journal != nullptr && request_.journal->has(box); };
  {
    const std::lock_guard lock(round.mutex);
    const auto first =
        std::find_if(round.left.rbegin(), round.left.rend(), [&](std::size_t i) { return !known(round.boxes[i]); });
    if (first != round.left.rend()) {
      const std::size_t place = *first;
      round.left.erase(std::next(first).base());
      return Lent{.box = round.boxes[place], .place = place};
    }
  }
  while (seen < next.size() && (known(next[seen]) || lent_.contains(key_of(next[seen])))) ++seen;
  if (seen == next.size()) return std::nullopt;
  return Lent{.box = next[seen++]};
}

// Takes one message; false: there is none.
bool Crew::hear(Round& round) {
  const std::optional<Message> message = request_.wire->receive();
  if (!message) return false;
  const json words = json::from_cbor(message->bytes);
  if (words.contains("failed"))
    throw core::CapabilityError(fmt::format("process {}: {}", message->from, words["failed"].get<std::string>()));
  Hand& hand = hands_.at(message->from);
  if (words.contains("of")) {
    if (words["of"] != request_.of)
      throw core::CapabilityError(
          fmt::format("process {} has another program, other files or another command than process 0; give all of "
                      "them the same",
                      message->from));
    hand.room = k_boxes_a_thread * words.at("threads").get<std::size_t>();
    return true;
  }
  for (const json& line : words.at("found")) {
    --hand.holds;
    keep(round, line);
  }
  return true;
}

void Crew::keep(Round& round, const json& line) {
  const auto lent = lent_.find(key_of(line));
  if (lent == lent_.end()) throw std::logic_error("findings of a box that nobody was given");
  Findings found = findings_of(line, lent->second.box);
  if (request_.journal != nullptr) request_.journal->add(lent->second.box, found);
  if (!lent->second.place) {
    lent->second.found = std::move(found);
    return;
  }
  const std::lock_guard lock(round.mutex);
  round.found[*lent->second.place] = std::move(found);
  --round.missing;
  lent_.erase(lent);
}

}  // namespace cairn::search
