// Processes that are threads here, and what carries messages between them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "cairn/search/crew.h"

namespace cairn::search_tests {

// Boxes of letters, one for each rank.
class LetterBoxes {
 public:
  explicit LetterBoxes(std::size_t ranks) : letters_(ranks) {}
  std::size_t ranks() const { return letters_.size(); }
  void put(std::size_t to, search::Message letter) {
    const std::lock_guard lock(mutex_);
    letters_.at(to).push_back(std::move(letter));
  }
  std::optional<search::Message> take(std::size_t rank) {
    const std::lock_guard lock(mutex_);
    if (letters_[rank].empty()) return std::nullopt;
    search::Message letter = std::move(letters_[rank].front());
    letters_[rank].pop_front();
    return letter;
  }
  std::size_t waiting(std::size_t rank) {
    const std::lock_guard lock(mutex_);
    return letters_[rank].size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::deque<search::Message>> letters_;
};

class Letters : public search::Wire {
 public:
  Letters(LetterBoxes& boxes, std::size_t rank) : boxes_(boxes), rank_(rank) {}
  std::size_t rank() const override { return rank_; }
  std::size_t ranks() const override { return boxes_.ranks(); }
  std::size_t ranks_here() const override { return boxes_.ranks(); }
  void send(std::size_t to, std::vector<std::uint8_t> bytes) override {
    boxes_.put(to, {.from = rank_, .bytes = std::move(bytes)});
  }
  std::optional<search::Message> receive() override { return boxes_.take(rank_); }

 private:
  LetterBoxes& boxes_;
  std::size_t rank_;
};

// What the others do, until this goes.
class Others {
 public:
  using Life = std::function<void(search::Wire&)>;
  Others(std::size_t ranks, const Life& life) : boxes_(ranks), first_(boxes_, 0) {
    for (std::size_t rank = 1; rank < ranks; ++rank)
      threads_.emplace_back([this, rank, life] {
        Letters wire(boxes_, rank);
        life(wire);
      });
  }
  ~Others() {
    search::dismiss(first_);
    for (std::thread& each : threads_) each.join();
  }
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;
  search::Wire* wire() { return &first_; }
  // Messages that the first has not received so far.
  std::size_t waiting() { return boxes_.waiting(0); }

 private:
  LetterBoxes boxes_;
  Letters first_;
  std::vector<std::thread> threads_;
};

}  // namespace cairn::search_tests
