// Messages between the processes of MPI_COMM_WORLD, each process a rank, and what they are counted as where MPI is
// called. All numbers travel in fp32, whatever width the problem gives them.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/sequence/list.h"

namespace cairn::attention_mpi {

// Bytes of one direction.
struct Traffic {
  std::int64_t nominal = 0;  // elements, each as wide as sequence::Wire has it [B]
  std::int64_t fp32 = 0;     // handed to MPI, or got from it [B]
};

// Numbers of a message, tensor by tensor, and how many each tensor has.
struct Cargo {
  std::vector<float> numbers = {};
  std::array<std::int64_t, sequence::k_tensors> elements = {};
};

// A cargo under way. It may move in memory, its numbers may not be touched until it is waited for.
struct Transfer {
  bool receives = false;
  int peer = 0;
  Cargo cargo = {};
  MPI_Request request = MPI_REQUEST_NULL;
};

class Wire {
 public:
  // `problem` outlives this.
  explicit Wire(const sequence::Problem& problem) : problem_(problem) {}

  // Messages from one rank to another with the same tag arrive in the order in which they are sent and awaited.
  Transfer send(int peer, int tag, Cargo cargo);
  // `elements` says how many numbers are awaited.
  Transfer receive(int peer, int tag, const std::array<std::int64_t, sequence::k_tensors>& elements);
  // A fault where another number of bytes came than is awaited.
  std::optional<std::string> wait(Transfer& transfer);

  const Traffic& sent() const { return sent_; }
  const Traffic& received() const { return received_; }

 private:
  void count(Traffic& traffic, const Cargo& cargo, std::int64_t numbers) const;

  const sequence::Problem& problem_;
  Traffic sent_, received_;
};

}  // namespace cairn::attention_mpi
