#include "crew.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/core/diagnostics.h"
#include "cairn/core/workers.h"
#include "cairn/search/journal.h"
#include "problem.h"

namespace cairn::search {
namespace {

using nlohmann::json;

constexpr std::chrono::microseconds k_longest_nap{2000};
// Rounds whose boxes it likes to know of: enough for each process to find some of the layers that it knows.
constexpr std::size_t k_rounds_ahead = 4;
// Boxes that a process holds for each of its threads: one that is explored, one that waits.
constexpr std::size_t k_boxes_a_thread = 2;

}  // namespace

std::chrono::microseconds Nap::next() { return std::exchange(length_, std::min(2 * length_, k_longest_nap)); }

// Alone it explores what is asked for and nothing else, which `most` threads do at once; a thread more would have nothing
// to do. How many boxes are asked for together may not depend on the threads, for the answer does not. Beside other
// processes boxes that come next are explored, too, and there is work for every thread.
Crew::Crew(const Request& request, std::size_t most) : request_(request), most_(most) {
  if (request.wire != nullptr) hands_.resize(request.wire->ranks());
  const std::size_t threads = hands_.empty() ? std::min(request.threads, most) : request.threads;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, threads); ++i)
    explorers_.push_back(std::make_unique<Explorer>(request));
}

std::size_t Crew::ahead() const {
  if (hands_.empty()) return 0;
  std::size_t room = explorers_.size();
  for (const Hand& hand : hands_) room += hand.room;
  return k_rounds_ahead * most_ + room;
}

std::vector<std::optional<Findings>> Crew::explored(const std::vector<Box>& boxes, const std::vector<Box>& next) {
  Round round{.boxes = boxes, .found = std::vector<std::optional<Findings>>(boxes.size())};
  open_up(round, next);
  // Where there are other processes, one thread more speaks with them, and sleeps in between.
  const std::size_t all = explorers_.size() + (hands_.empty() ? 0 : 1);
  core::work_on_all(all, all, {}, [&](std::size_t i) {
    if (i < explorers_.size())
      work(round, *explorers_[i]);
    else
      lead(round);
  });
  if (round.problem && round.missing == 0) std::rethrow_exception(round.problem);
  return std::move(round.found);  // where the search was asked to end it may not have come to the problem
}

void Crew::Round::settle(std::size_t place, std::optional<Findings> outcome, const std::exception_ptr& thrown) {
  found[place] = std::move(outcome);
  if (thrown && place < end) {
    problem = thrown;
    end = place;
  }
  missing =
      static_cast<std::size_t>(std::count_if(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(end),
                                             [](const std::optional<Findings>& each) { return !each.has_value(); }));
}

// ---- who explores what ----
// Those of the round that nobody has, then those that come next.
void Crew::open_up(Round& round, const std::vector<Box>& next) {
  const auto open = [&](const Box& box, std::optional<std::size_t> place) {
    round.open.push_back({.box = &box,
                          .place = place,
                          .layers = first().layers_of(box.first),
                          .known = request_.journal != nullptr && request_.journal->has(box)});
  };
  for (std::size_t i = 0; i < round.boxes.size(); ++i) {
    const auto lent = lent_.find(key_of(round.boxes[i]));
    if (lent == lent_.end()) {
      open(round.boxes[i], i);
    } else if (lent->second.settled()) {
      round.settle(i, std::move(lent->second.found), lent->second.problem);
      lent_.erase(lent);
    } else {
      lent->second.place = i;
    }
  }
  for (const Box& each : next)
    if (!lent_.contains(key_of(each))) open(each, {});
}

// The lower, the rather this process should have it; none: it should not. A box of layers that it has had before costs
// it the least. One of layers that only others have had costs all of them together more than it need, for what they
// remember of these layers is found a second time: it is taken when there is nothing else to do for the round, and not
// ahead of it. What the journal has is for the first process to read, once it is asked for.
std::optional<std::size_t> Crew::price(const Open& open, std::size_t rank) const {
  if (open.known) return rank == 0 && open.place ? std::optional<std::size_t>(0) : std::nullopt;
  const auto by = explored_by_.find(open.layers);
  if (by == explored_by_.end()) return open.place ? 1 : 3;
  if (by->second[rank]) return open.place ? 0 : 2;
  return open.place ? std::optional<std::size_t>(4) : std::nullopt;
}

// Takes out the first of those of the lowest price.
std::optional<Crew::Open> Crew::next_of(Round& round, std::size_t rank) {
  if (round.problem) std::erase_if(round.open, [&](const Open& each) { return !round.needs(each); });
  if (hands_.empty()) {
    if (round.open.empty()) return std::nullopt;
    const Open open = round.open.front();
    round.open.erase(round.open.begin());
    return open;
  }
  auto best = round.open.end();
  std::optional<std::size_t> least;
  for (auto each = round.open.begin(); each != round.open.end() && least != std::size_t{0}; ++each) {
    const std::optional<std::size_t> asked = price(*each, rank);
    if (!asked || (least && *asked >= *least)) continue;
    best = each;
    least = asked;
  }
  if (best == round.open.end()) return std::nullopt;
  const Open open = *best;
  round.open.erase(best);
  if (open.known) return open;
  std::vector<bool>& by = explored_by_[open.layers];
  by.resize(hands_.size());
  by[rank] = true;
  return open;
}

// ---- threads of this process ----
void Crew::work(Round& round, Explorer& explorer) {
  std::unique_lock lock(round.mutex);
  while (round.missing > 0 && !round.failed && !stopped()) {
    const std::optional<Open> open = next_of(round, 0);
    if (!open) return;
    ++round.busy;
    lock.unlock();
    std::optional<Findings> found;
    std::exception_ptr problem;
    try {
      found = found_of(*open->box, explorer);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    --round.busy;
    if (open->place)
      round.settle(*open->place, std::move(found), problem);
    else
      lent_.insert_or_assign(key_of(*open->box),
                             Lent{.box = *open->box, .found = std::move(found), .problem = problem});
    if (round.over()) round.changed.notify_all();
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
// Gives them boxes and takes what they find until nothing of the round is missing. One that is stopped (SIGSTOP) with boxes
// of the round is waited for, however long, as one that is slow: until --time-limit or a signal ends the search.
void Crew::lead(Round& round) {
  for (Nap nap;;) {
    try {
      while (hear(round)) nap.wake();
      hand_out(round);
    } catch (...) {
      const std::lock_guard lock(round.mutex);
      round.failed = true;
      throw;
    }
    std::unique_lock lock(round.mutex);
    if (round.over() || stopped()) return;
    round.changed.wait_for(lock, nap.next());
  }
}

// One box to each in turn, so that few are spread over all.
void Crew::hand_out(Round& round) {
  {
    const std::lock_guard lock(round.mutex);
    for (bool given = true; given;) {
      given = false;
      for (std::size_t rank = 1; rank < hands_.size(); ++rank) {
        Hand& hand = hands_[rank];
        if (hand.holds == hand.room) continue;
        const std::optional<Open> open = next_of(round, rank);
        if (!open) continue;
        hand.parcel.push_back(json_of(*open->box));
        ++hand.holds;
        lent_.insert_or_assign(key_of(*open->box), Lent{.box = *open->box, .place = open->place});
        given = true;
      }
    }
  }
  for (std::size_t rank = 1; rank < hands_.size(); ++rank)
    if (!hands_[rank].parcel.empty())
      request_.wire->send(rank, json::to_cbor({{"boxes", std::exchange(hands_[rank].parcel, {})}}));
}

// Takes one message; false: there is none.
bool Crew::hear(Round& round) {
  const std::optional<Message> message = request_.wire->receive();
  if (!message) return false;
  const json words = json::from_cbor(message->bytes);
  if (words.contains("failed")) std::rethrow_exception(problem_of(message->from, words["failed"]));
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
  if (words.contains("threw")) {
    const json& line = words["threw"];
    --hand.holds;
    keep(round, line, problem_of(message->from, line.at("problem")));
    return true;
  }
  for (const json& line : words.at("found")) {
    --hand.holds;
    keep(round, line, {});
  }
  return true;
}

// `line`: what was found of a box, or which it was that threw a problem.
void Crew::keep(Round& round, const json& line, const std::exception_ptr& problem) {
  std::unique_lock lock(round.mutex);
  const auto lent = lent_.find(key_of(line));
  if (lent == lent_.end() || lent->second.settled()) throw std::logic_error("findings of a box that nobody was given");
  lock.unlock();  // no other thread touches what another process has
  std::optional<Findings> found;
  if (!problem) found = findings_of(line, lent->second.box);
  if (found && request_.journal != nullptr) request_.journal->add(lent->second.box, *found);
  lock.lock();
  if (!lent->second.place) {
    lent->second.found = std::move(found);
    lent->second.problem = problem;
    return;
  }
  round.settle(*lent->second.place, std::move(found), problem);
  lent_.erase(lent);
}

}  // namespace cairn::search
