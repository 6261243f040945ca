#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/sim/event_queue.h"
#include "cairn/swarm/swarm.h"
#include "check.h"
#include "stage_loads.h"
#include "wiring.h"

namespace cairn::swarm {
namespace {

constexpr std::int32_t k_none = -1;

// A micro-batch has one request at a time: the operation that it needs next.
struct Request {
  std::int32_t stage = 0;
  bool backward = false;
  std::int32_t sender = k_none;  // peer that ran the one before
  std::int32_t holder = k_none;  // peer that it was given to; k_none: under no peer's care
  std::int32_t attempt = 0;      // counts its sendings: what belongs to an earlier one is stale
  std::int64_t sending = 0;      // the latest of these, counted over all requests
};

struct PeerState {
  std::int32_t stage = k_none;  // that it serves or is on its way to; k_none: away
  bool serving = false;
  std::int32_t term = 0;          // counts the stages that it was to serve: what belongs to an earlier one is stale
  std::int32_t life = 0;          // counts the times that it came
  std::int32_t running = k_none;  // position in the outcome's runs
  // Micro-batches given to it, on their way, waiting or running, by their sending.
  std::map<std::int64_t, std::int32_t> held = {};
  std::set<std::pair<bool, std::int32_t>> waiting = {};  // of these, that have arrived and do not run: forward, which
};

struct Event {
  enum Kind : std::uint8_t { arrive, end, fail, come, serve, rebalance } kind = arrive;
  std::int32_t subject = 0;  // micro-batch of arrive, else peer
  std::int32_t count = 0;    // attempt of arrive, run of end, term of serve, life of fail (k_none: whichever)
};

class Swarm {
 public:
  explicit Swarm(const Problem& problem)
      : problem_(problem),
        random_(problem.seed),
        wiring_(problem.stages),
        stranded_(problem.stages),
        loads_(problem.stages),
        requests_(problem.micro_batches),
        peers_(problem.peers.size()),
        expected_runs_(std::int64_t{2} * problem.stages * problem.micro_batches) {
    outcome_.busy.assign(peers_.size(), 0);
    outcome_.lost.assign(peers_.size(), 0);
    outcome_.most_held.assign(peers_.size(), 0);
    outcome_.runs.reserve(static_cast<std::size_t>(expected_runs_));
  }

  Outcome run() {
    begin();
    while (completed_ < problem_.micro_batches) {
      if (queue_.empty()) raise_stuck();
      const Event event = queue_.pop();
      if (resting_since_ && event.kind != Event::rebalance) resume_rebalancing();
      handle(event);
      if (!queue_.pending_now()) start_all();
    }
    outcome_.makespan = queue_.now();
    return std::move(outcome_);
  }

 private:
  core::Picoseconds now() const { return queue_.now(); }

  void push_after(core::Picoseconds delay, const Event& event) {
    if (delay > k_end - now()) raise_endless();
    queue_.push(now() + delay, event);
  }

  void begin() {
    std::int32_t present = 0;
    for (std::int32_t peer = 0; peer < std::ssize(problem_.peers); ++peer) {
      const Peer& given = problem_.peers[peer];
      if (given.joins > 0) {
        queue_.push(given.joins, {.kind = Event::come, .subject = peer, .count = 0});
        continue;
      }
      ++present;
      settle(peer, given.stage);
      serve(peer);
      foresee_failure(peer);
    }
    for (const Failure& failure : problem_.failures)
      queue_.push(failure.time, {.kind = Event::fail, .subject = failure.peer, .count = k_none});
    if (problem_.rebalance) queue_.push(*problem_.rebalance, {.kind = Event::rebalance, .subject = 0, .count = 0});
    constexpr std::int32_t k_per_peer = 2;  // one at work, one waiting
    const std::int32_t most = problem_.in_flight > 0 ? problem_.in_flight : k_per_peer * present;
    while (injected_ < std::min(most, problem_.micro_batches)) send(injected_++);
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Event::arrive:
        return arrive(event.subject, event.count);
      case Event::end:
        if (peers_[event.subject].running == event.count) end_run(event.subject);
        return;
      case Event::fail:
        if (event.count == k_none || peers_[event.subject].life == event.count) fail(event.subject);
        return;
      case Event::come:
        return come(event.subject);
      case Event::serve:
        if (peers_[event.subject].term == event.count) serve(event.subject);
        return;
      case Event::rebalance:
        return rebalance();
    }
  }

  // --- requests ---

  core::Picoseconds work(const Request& request) const {
    return request.backward ? problem_.backward : problem_.forward;
  }

  core::Picoseconds duration(std::int32_t peer, const Request& request) const {
    const Speed& speed = problem_.peers[peer].speed;
    const long double time = static_cast<long double>(work(request)) * speed.denominator / speed.numerator;
    if (time > static_cast<long double>(k_end)) raise_endless();
    return std::llround(time);
  }

  // Gives the micro-batch's request to a peer of its stage.
  void send(std::int32_t micro_batch) {
    Request& request = requests_[micro_batch];
    ++request.attempt;
    if (wiring_[request.stage].empty()) {
      request.holder = k_none;
      stranded_[request.stage].push_back(micro_batch);
      loads_.add(request.stage, 1, 0);
      return;
    }
    request.holder = wiring_[request.stage].choose(static_cast<double>(work(request)), random_);
    PeerState& peer = peers_[request.holder];
    request.sending = sendings_++;
    peer.held.emplace(request.sending, micro_batch);
    loads_.add(peer.stage, 1, 0);
    outcome_.most_held[request.holder] =
        std::max(outcome_.most_held[request.holder], static_cast<std::int32_t>(peer.held.size()));
    const bool message = request.sender != k_none && request.sender != request.holder;
    if (message) ++outcome_.messages;
    push_after(message ? problem_.delay : 0, {.kind = Event::arrive, .subject = micro_batch, .count = request.attempt});
  }

  void arrive(std::int32_t micro_batch, std::int32_t attempt) {
    const Request& request = requests_[micro_batch];
    if (request.attempt != attempt) return;
    peers_[request.holder].waiting.emplace(!request.backward, micro_batch);
    to_start_.push_back(request.holder);
  }

  // At the end of an instant, in the order of the peers: whoever may have become able to run something.
  void start_all() {
    std::sort(to_start_.begin(), to_start_.end());
    for (const std::int32_t peer : to_start_) start_next(peer);
    to_start_.clear();
  }

  void start_next(std::int32_t index) {
    PeerState& peer = peers_[index];
    if (!peer.serving || peer.running != k_none || peer.waiting.empty()) return;
    const std::int32_t micro_batch = peer.waiting.begin()->second;
    peer.waiting.erase(peer.waiting.begin());
    const Request& request = requests_[micro_batch];
    peer.running = static_cast<std::int32_t>(outcome_.runs.size());
    if (resting_since_) resume_rebalancing();
    const core::Picoseconds time = duration(index, request);
    push_after(time, {.kind = Event::end, .subject = index, .count = peer.running});
    outcome_.runs.push_back({.peer = index,
                             .stage = request.stage,
                             .micro_batch = micro_batch,
                             .backward = request.backward,
                             .lost = false,
                             .start = now(),
                             .end = now() + time});
  }

  void end_run(std::int32_t index) {
    PeerState& peer = peers_[index];
    const Run& run = outcome_.runs[static_cast<std::size_t>(peer.running)];
    peer.running = k_none;
    to_start_.push_back(index);
    Request& request = requests_[run.micro_batch];
    peer.held.erase(request.sending);
    loads_.add(peer.stage, -1, 0);
    if (peer.serving) wiring_[run.stage].release(index);
    outcome_.busy[index] += run.end - run.start;
    if (work(request) > 0)
      wiring_[run.stage].measured(index, static_cast<double>(run.end - run.start) / static_cast<double>(work(request)),
                                  problem_.smoothing);
    request.sender = index;
    if (request.backward && request.stage == 0) {
      ++completed_;
      if (injected_ < problem_.micro_batches) send(injected_++);
      return;
    }
    if (request.backward)
      --request.stage;
    else if (request.stage + 1 < problem_.stages)
      ++request.stage;
    else
      request.backward = true;
    send(run.micro_batch);
  }

  // --- peers ---

  // Where it counts from now on, with what it holds; k_none: nowhere.
  void settle(std::int32_t index, std::int32_t stage) {
    PeerState& peer = peers_[index];
    const std::int64_t held = std::ssize(peer.held);
    if (peer.stage != k_none) loads_.add(peer.stage, -held, -1);
    peer.stage = stage;
    if (stage != k_none) loads_.add(stage, held, 1);
  }

  void serve(std::int32_t index) {
    PeerState& peer = peers_[index];
    peer.serving = true;
    to_start_.push_back(index);
    wiring_[peer.stage].add(index, random_);
    const std::vector<std::int32_t> stranded = std::exchange(stranded_[peer.stage], {});
    loads_.add(peer.stage, -std::ssize(stranded), 0);
    for (const std::int32_t micro_batch : stranded) send(micro_batch);
  }

  void send_again(std::int32_t micro_batch) {
    ++outcome_.resent;
    require_progress();
    send(micro_batch);
  }

  // Takes no more at its stage; what it held and does not run is sent to others.
  void leave(std::int32_t index) {
    PeerState& peer = peers_[index];
    if (peer.serving) wiring_[peer.stage].remove(index);
    peer.serving = false;
    ++peer.term;
    peer.waiting.clear();
    auto held = std::exchange(peer.held, {});
    if (peer.running != k_none) {
      const std::int32_t runs = outcome_.runs[static_cast<std::size_t>(peer.running)].micro_batch;
      peer.held.insert(held.extract(requests_[runs].sending));
    }
    loads_.add(peer.stage, -std::ssize(held), 0);
    for (const auto& [sending, micro_batch] : held) send_again(micro_batch);
  }

  // What it runs is lost.
  void cut_short(std::int32_t index) {
    PeerState& peer = peers_[index];
    if (peer.running == k_none) return;
    Run& run = outcome_.runs[static_cast<std::size_t>(std::exchange(peer.running, k_none))];
    run.lost = true;
    run.end = now();
    outcome_.lost[index] += run.end - run.start;
  }

  void foresee_failure(std::int32_t index) {
    if (!problem_.mean_life) return;
    const double life = -std::log1p(-random_.uniform()) * static_cast<double>(*problem_.mean_life);
    push_after(std::max<core::Picoseconds>(std::llround(life), 1),
               {.kind = Event::fail, .subject = index, .count = peers_[index].life});
  }

  void fail(std::int32_t index) {
    PeerState& peer = peers_[index];
    if (peer.stage == k_none) return;
    ++outcome_.failures;
    require_progress();
    ++peer.life;
    cut_short(index);
    leave(index);
    settle(index, k_none);
    if (problem_.repair) push_after(*problem_.repair, {.kind = Event::come, .subject = index, .count = 0});
  }

  void come(std::int32_t index) {
    PeerState& peer = peers_[index];
    if (peer.stage != k_none) return;
    ++peer.life;
    ++peer.term;
    settle(index, loads_.most());
    push_after(problem_.migration, {.kind = Event::serve, .subject = index, .count = peer.term});
    foresee_failure(index);
  }

  // --- rebalancing ---

  // From the stage that can spare a peer and is loaded least.
  void rebalance() {
    const std::int32_t to = loads_.most();
    const std::int32_t from = loads_.any_can_spare() ? loads_.least() : k_none;
    const bool needed = from != k_none && (loads_.deserted(to) || loads_.requests(from) < loads_.requests(to));
    if (!needed || wiring_[from].size() < 2) {
      // The next period would find what this one did, until something else happens.
      resting_since_ = now();
      return;
    }
    const std::int32_t peer = wiring_[from].idlest();
    outcome_.moves.push_back({.peer = peer, .from = from, .to = to, .time = now()});
    leave(peer);
    settle(peer, to);
    const PeerState& mover = peers_[peer];
    const core::Picoseconds rest =
        mover.running == k_none ? 0 : outcome_.runs[static_cast<std::size_t>(mover.running)].end - now();
    push_after(rest + problem_.migration, {.kind = Event::serve, .subject = peer, .count = mover.term});
    push_after(*problem_.rebalance, {.kind = Event::rebalance, .subject = 0, .count = 0});
  }

  // At the next multiple of the period, before what happens now brings anything about.
  void resume_rebalancing() {
    const core::Picoseconds period = *problem_.rebalance;
    const bool done = resting_since_ == now();
    resting_since_.reset();
    push_after(done ? period : (period - now() % period) % period,
               {.kind = Event::rebalance, .subject = 0, .count = 0});
  }

  [[noreturn]] void raise_stuck() const {
    std::int32_t stage = 0;
    while (stranded_[stage].empty()) ++stage;
    throw core::ConfigurationError("swarm",
                                   "no peer is left for stage " + std::to_string(stage) + " and " +
                                       std::to_string(problem_.micro_batches - completed_) +
                                       " micro-batches are not done",
                                   "let peers come back (repair), move between stages (rebalance) or join");
  }
  void require_progress() const {
    constexpr std::int64_t k_most_repetition = 100;
    constexpr std::int64_t k_most = std::int64_t{1} << 18;
    const std::int64_t events = std::max<std::int64_t>(outcome_.failures, outcome_.resent);
    if (events > k_most_repetition * (expected_runs_ + std::ssize(peers_)))
      throw core::ConfigurationError("swarm",
                                     "peers fail or move faster than they work: nearly everything runs again and again",
                                     "a longer mtbf or period of rebalancing, or more peers");
    if (events > k_most)
      throw core::ConfigurationError(
          "swarm",
          "more than " + std::to_string(k_most) + " failures or repetitions, the most that one simulation takes",
          "a longer mtbf or period of rebalancing, fewer stages, micro-batches or peers");
  }
  [[noreturn]] static void raise_endless() {
    throw core::ConfigurationError("swarm", "the times are too long to be added up",
                                   "give fewer digits or faster peers");
  }

  static constexpr core::Picoseconds k_end = core::Picoseconds{1} << 62;

  const Problem& problem_;
  core::Random random_;
  sim::EventQueue<Event> queue_;
  std::vector<Wiring> wiring_;                       // by stage
  std::vector<std::vector<std::int32_t>> stranded_;  // by stage: micro-batches that no peer could be given
  StageLoads loads_;
  std::vector<Request> requests_;  // by micro-batch
  std::vector<PeerState> peers_;
  std::int64_t expected_runs_;
  std::int32_t injected_ = 0;
  std::int32_t completed_ = 0;
  std::int64_t sendings_ = 0;
  std::vector<std::int32_t> to_start_;                             // peers with something new since the instant began
  std::optional<core::Picoseconds> resting_since_ = std::nullopt;  // no rebalancing is foreseen
  Outcome outcome_;
};

}  // namespace

Outcome run(const Problem& problem) {
  check(problem);
  return Swarm(problem).run();
}

}  // namespace cairn::swarm
