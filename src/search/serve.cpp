#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "cairn/search/crew.h"
#include "cairn/search/search.h"
#include "crew.h"
#include "explorer.h"
#include "findings_json.h"
#include "problem.h"
#include "serving.h"

namespace cairn::search {
namespace {

using nlohmann::json;

void say(Wire& wire, std::size_t to, const json& words) { wire.send(to, json::to_cbor(words)); }

// Waits for a message.
std::pair<std::size_t, json> heard(Wire& wire) {
  for (Nap nap;; std::this_thread::sleep_for(nap.next()))
    if (const std::optional<Message> message = wire.receive()) return {message->from, json::from_cbor(message->bytes)};
}

void leave(Wire& wire) { say(wire, 0, {{"gone", true}}); }

}  // namespace

Serving::Serving(const Request& request) : wire_(*request.wire), request_(request) {
  request_.journal = nullptr;
  request_.progress = {};
  request_.stop = [this] { return over_.load(); };
  for (std::size_t i = 0; i < std::max<std::size_t>(1, request.threads); ++i)
    explorers_.push_back(std::make_unique<Explorer>(request_));
  for (const auto& each : explorers_)
    threads_.emplace_back([this, &explorer = *each](const std::stop_token& stop) { explore(stop, explorer); });
}

// What is under way is of no use, and nothing more is begun.
void Serving::end() {
  const std::lock_guard lock(mutex_);
  over_ = true;
  boxes_.clear();
  for (std::jthread& each : threads_) each.request_stop();
}

void Serving::run() {
  speak();
  end();
}

void Serving::speak() {
  say(wire_, 0, {{"of", request_.of}, {"threads", explorers_.size()}});
  for (Nap nap;; std::this_thread::sleep_for(nap.next())) {
    while (const std::optional<Message> message = wire_.receive()) {
      const json words = json::from_cbor(message->bytes);
      if (words.contains("end")) return;
      take(words.at("boxes"));
      nap.wake();
    }
    if (json::array_t lines = found(); !lines.empty()) {
      say(wire_, 0, {{"found", std::move(lines)}});
      nap.wake();
    }
    for (json& each : thrown()) {
      say(wire_, 0, {{"threw", std::move(each)}});
      nap.wake();
    }
  }
}

void Serving::take(const json& boxes) {
  const std::lock_guard lock(mutex_);
  for (const json& each : boxes) boxes_.push_back(box_of(each));
  come_.notify_all();
}

json::array_t Serving::found() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lines_, {});
}

json::array_t Serving::thrown() {
  const std::lock_guard lock(mutex_);
  return std::exchange(thrown_, {});
}

void Serving::explore(const std::stop_token& stop, Explorer& explorer) {
  std::unique_lock lock(mutex_);
  while (come_.wait(lock, stop, [this] { return !boxes_.empty(); }) && !stop.stop_requested()) {
    const Box box = std::move(boxes_.front());
    boxes_.pop_front();
    lock.unlock();
    json line;
    bool threw = false;
    try {
      line = line_of(box, explorer.explored(box));
    } catch (const std::exception&) {
      const BoxKey key = key_of(box);
      line = {{"box", {key.first, key.second}}, {"problem", json_of_problem(std::current_exception())}};
      threw = true;
    }
    lock.lock();
    (threw ? thrown_ : lines_).push_back(std::move(line));
  }
}

void serve(const Request& request) {
  Serving(request).run();
  leave(*request.wire);
}

void decline(Wire& wire, const std::exception_ptr& problem) {
  say(wire, 0, {{"failed", json_of_problem(problem)}});
  while (!heard(wire).second.contains("end")) {
  }
  leave(wire);
}

void dismiss(Wire& wire) {
  for (std::size_t rank = 1; rank < wire.ranks(); ++rank) say(wire, rank, {{"end", true}});
  for (std::size_t there = wire.ranks() - 1; there > 0;)
    if (heard(wire).second.contains("gone")) --there;
}

}  // namespace cairn::search
