// Messages between processes that mpirun or srun has started: a library of its own, cairn-mpi.so, which the program
// loads where it is one of several (cli/processes.h). So the program needs no MPI, and alone it loads none.
//
// Everything is posted and asked after; nothing waits inside MPI, which would keep a core busy.
#include <mpi.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cairn/search/crew.h"

namespace {

constexpr int k_tag = 1;

// Errors of MPI end the program, for MPI_COMM_WORLD has its handler that does.
class MpiWire : public cairn::search::Wire {
 public:
  MpiWire() {
    int rank = 0;
    int ranks = 0;
    int here = 0;
    MPI_Comm neighbours = MPI_COMM_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &neighbours);
    MPI_Comm_size(neighbours, &here);
    MPI_Comm_free(&neighbours);
    rank_ = static_cast<std::size_t>(rank);
    ranks_ = static_cast<std::size_t>(ranks);
    here_ = static_cast<std::size_t>(here);
  }
  ~MpiWire() override {
    for (Sent& each : sent_) MPI_Wait(&each.request, MPI_STATUS_IGNORE);
    MPI_Finalize();
  }

  std::size_t rank() const override { return rank_; }
  std::size_t ranks() const override { return ranks_; }
  std::size_t ranks_here() const override { return here_; }

  void send(std::size_t to, std::vector<std::uint8_t> bytes) override {
    if (bytes.size() > INT_MAX) throw std::length_error("a message of more than 2 GiB");
    Sent& sent = sent_.emplace_back(Sent{.bytes = std::move(bytes)});
    MPI_Isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_BYTE, static_cast<int>(to), k_tag,
              MPI_COMM_WORLD, &sent.request);
  }

  std::optional<cairn::search::Message> receive() override {
    sent_.remove_if([](Sent& each) { return done(each.request); });
    if (!coming_ && !begin_to_receive()) return std::nullopt;
    if (!done(request_)) return std::nullopt;
    return std::exchange(coming_, std::nullopt);
  }

 private:
  struct Sent {
    std::vector<std::uint8_t> bytes;  // MPI reads them until it is done
    MPI_Request request = MPI_REQUEST_NULL;
  };

  static bool done(MPI_Request& request) {
    int flag = 0;
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }

  bool begin_to_receive() {
    int flag = 0;
    int length = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, k_tag, MPI_COMM_WORLD, &flag, &message, &status);
    if (flag == 0) return false;
    MPI_Get_count(&status, MPI_BYTE, &length);
    coming_.emplace();
    coming_->from = static_cast<std::size_t>(status.MPI_SOURCE);
    coming_->bytes.resize(static_cast<std::size_t>(length));
    MPI_Imrecv(coming_->bytes.data(), length, MPI_BYTE, &message, &request_);
    return true;
  }

  std::size_t rank_ = 0;
  std::size_t ranks_ = 1;
  std::size_t here_ = 1;
  std::list<Sent> sent_;
  std::optional<cairn::search::Message> coming_;
  MPI_Request request_ = MPI_REQUEST_NULL;  // of what is coming
};

}  // namespace

// Begins MPI; the wire's end is its end. Null: this MPI allows no threads. The caller owns it.
extern "C" cairn::search::Wire* cairn_mpi_wire() {
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);
  if (given < MPI_THREAD_SERIALIZED) {
    MPI_Finalize();
    return nullptr;
  }
  return new MpiWire;
}
