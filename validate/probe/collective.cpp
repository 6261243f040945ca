// Collectives over the GPUs of this machine, all driven by this process. Each rank's stream times its own run; a sample
// is that of the slowest. Sizes are counted as in nccl-tests.
#include <algorithm>
#include <map>

#include "measure.h"

#ifdef CAIRN_PROBE_NCCL
#include <nccl.h>
#endif

namespace cairn::probe {

#ifdef CAIRN_PROBE_NCCL

namespace {

void check(ncclResult_t status, const char* what) {
  if (status == ncclSuccess || status == ncclInProgress) return;
  throw DeviceError(std::string(what) + ": " + ncclGetErrorString(status));
}

class OnDevice {  // makes a device current for a while
 public:
  explicit OnDevice(int device) {
    probe::check(cudaGetDevice(&before_), "cudaGetDevice");
    probe::check(cudaSetDevice(device), "cudaSetDevice");
  }
  ~OnDevice() { cudaSetDevice(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

struct Rank {
  int device = 0;
  ncclComm_t communicator = nullptr;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Event> begin, end;

  Rank() = default;
  Rank(Rank&& other) noexcept = default;
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  Rank& operator=(Rank&&) = delete;
};

std::vector<Rank> open_ranks(int count) {
  std::vector<ncclComm_t> communicators(static_cast<std::size_t>(count));
  std::vector<int> devices;
  devices.reserve(communicators.size());
  for (int device = 0; device < count; ++device) devices.push_back(device);
  check(ncclCommInitAll(communicators.data(), count, devices.data()), "ncclCommInitAll");
  std::vector<Rank> ranks;
  for (int device = 0; device < count; ++device) {
    const OnDevice current(device);
    Rank& rank = ranks.emplace_back();
    rank.device = device;
    rank.communicator = communicators[device];
    rank.stream = std::make_unique<Stream>();
    rank.begin = std::make_unique<Event>();
    rank.end = std::make_unique<Event>();
  }
  return ranks;
}

}  // namespace

class Collectives {
 public:
  const std::vector<Rank>& ranks(int count) {
    const auto found = ranks_.find(count);
    return found != ranks_.end() ? found->second : ranks_.emplace(count, open_ranks(count)).first->second;
  }
  Collectives() = default;
  ~Collectives() {
    for (auto& [count, ranks] : ranks_)
      for (Rank& rank : ranks) ncclCommDestroy(rank.communicator);
  }
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

 private:
  std::map<int, std::vector<Rank>> ranks_;
};

void CloseCollectives::operator()(Collectives* collectives) const { delete collectives; }

namespace {

// Buffers of n elements in and out on every rank.
class Exchange {
 public:
  Exchange(const Case& row, const std::vector<Rank>& ranks)
      : row_(row),
        ranks_(ranks),
        count_(row.ranks),
        n_(row.shape["n"]),
        part_(n_ / row.ranks),
        element_(size_of(row.type)),
        type_(row.type == Type::bf16 ? ncclBfloat16 : ncclFloat32) {
    for (const Rank& rank : ranks_) {
      const OnDevice current(rank.device);
      in_.emplace_back(n_ * element_);
      out_.emplace_back(n_ * element_);
      fill_normal(in_.back().at(0), row.type, n_, static_cast<std::uint64_t>(rank.device * n_), 1, 0, *rank.stream);
    }
    wait();
  }

  void wait() const {
    for (const Rank& rank : ranks_) rank.stream->wait();
  }
  void poison() const {
    for (const Rank& rank : ranks_) {
      const OnDevice current(rank.device);
      out_[rank.device].poison(*rank.stream);
    }
    wait();
  }

  // `repeats` executions between two events of each rank; the slowest rank's time of one [s].
  double sample(int repeats) const {
    for (const Rank& rank : ranks_) {
      const OnDevice current(rank.device);
      rank.begin->record(*rank.stream);
    }
    for (int i = 0; i < repeats; ++i) execute();
    for (const Rank& rank : ranks_) {
      const OnDevice current(rank.device);
      rank.end->record(*rank.stream);
    }
    wait();
    double slowest = 0;
    for (const Rank& rank : ranks_) slowest = std::max(slowest, rank.end->seconds_since(*rank.begin));
    return slowest / repeats;
  }

  Comparison compare() const {
    constexpr int k_samples = 16;
    Comparison comparison;
    for (const int rank : {0, count_ - 1}) {
      const std::int64_t received = row_.kind == "reduce_scatter" ? part_ : n_;
      for (const std::int64_t i : sample_indices(received, k_samples))
        comparison.add(element(out_[rank], rank, i), expected(rank, i));
    }
    return comparison;
  }

 private:
  void execute() const {
    check(ncclGroupStart(), "ncclGroupStart");
    for (const Rank& rank : ranks_) queue(rank);
    check(ncclGroupEnd(), "ncclGroupEnd");
  }

  void queue(const Rank& rank) const {
    const char* in = in_[rank.device].at(0);
    char* out = out_[rank.device].at(0);
    const auto all = static_cast<std::size_t>(n_), part = static_cast<std::size_t>(part_);
    const ncclComm_t communicator = rank.communicator;
    const cudaStream_t stream = *rank.stream;
    if (row_.kind == "all_reduce") {
      check(ncclAllReduce(in, out, all, type_, ncclSum, communicator, stream), "ncclAllReduce");
    } else if (row_.kind == "all_gather") {
      check(ncclAllGather(in, out, part, type_, communicator, stream), "ncclAllGather");
    } else if (row_.kind == "reduce_scatter") {
      check(ncclReduceScatter(in, out, part, type_, ncclSum, communicator, stream), "ncclReduceScatter");
    } else if (row_.kind == "broadcast") {
      check(ncclBroadcast(in, out, all, type_, 0, communicator, stream), "ncclBroadcast");
    } else if (row_.kind == "all_to_all") {
      for (int peer = 0; peer < count_; ++peer) {
        check(ncclSend(in + peer * part_ * element_, part, type_, peer, communicator, stream), "ncclSend");
        check(ncclRecv(out + peer * part_ * element_, part, type_, peer, communicator, stream), "ncclRecv");
      }
    } else {
      check(ncclSend(in, all, type_, (rank.device + 1) % count_, communicator, stream), "ncclSend");
      check(ncclRecv(out, all, type_, (rank.device + count_ - 1) % count_, communicator, stream), "ncclRecv");
    }
  }

  double element(const Buffer& from, int rank, std::int64_t i) const {
    const OnDevice current(ranks_[rank].device);
    return fetch(from.at(0), row_.type, {.start = i, .count = 1})[0];
  }
  Expected moved(int from, std::int64_t i) const { return {element(in_[from], from, i), 0}; }
  // Every partial sum may be rounded to the type of the elements.
  Expected summed(std::int64_t i) const {
    double value = 0, magnitude = 0;
    for (int rank = 0; rank < count_; ++rank) {
      const double term = element(in_[rank], rank, i);
      value += term;
      magnitude += std::abs(term);
    }
    return {value, count_ * unit_roundoff(row_.type) * magnitude};
  }
  Expected expected(int rank, std::int64_t i) const {
    if (row_.kind == "all_reduce") return summed(i);
    if (row_.kind == "reduce_scatter") return summed(rank * part_ + i);
    if (row_.kind == "all_gather") return moved(static_cast<int>(i / part_), i % part_);
    if (row_.kind == "broadcast") return moved(0, i);
    if (row_.kind == "all_to_all") return moved(static_cast<int>(i / part_), rank * part_ + i % part_);
    return moved((rank + count_ - 1) % count_, i);
  }

  const Case& row_;
  const std::vector<Rank>& ranks_;
  int count_;
  std::int64_t n_, part_, element_;
  ncclDataType_t type_;
  std::vector<Buffer> in_, out_;
};

}  // namespace

Run run_collective(Context& context, const Case& row) {
  if (!context.collectives) context.collectives.reset(new Collectives);
  const Exchange exchange(row, context.collectives->ranks(row.ranks));
  exchange.sample(1);  // connects the ranks
  // All ranks find the same count, for one process asks.
  const int count = repeats(context.timing, exchange.sample(1), 1);
  exchange.poison();
  exchange.sample(count);
  Run run;
  run.samples = collect(context.timing, [&] { return exchange.sample(count); });
  run.comparison = exchange.compare();
  return run;
}

#else

class Collectives {};
void CloseCollectives::operator()(Collectives* collectives) const { delete collectives; }

Run run_collective(Context&, const Case&) { throw NotMeasurable("cairn-probe was built without NCCL"); }

#endif

}  // namespace cairn::probe
