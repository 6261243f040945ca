#include "wire.h"

#include <fmt/format.h>

#include <numeric>

namespace cairn::attention_mpi {
namespace {

constexpr std::int64_t k_fp32_bytes = sizeof(float);

// Errors of MPI end the program, for MPI_COMM_WORLD has its handler that does.
int length(const std::vector<float>& numbers) { return static_cast<int>(numbers.size()); }

}  // namespace

Transfer Wire::send(int peer, int tag, Cargo cargo) {
  Transfer transfer{.peer = peer, .cargo = std::move(cargo)};
  const std::vector<float>& numbers = transfer.cargo.numbers;
  MPI_Isend(numbers.data(), length(numbers), MPI_FLOAT, peer, tag, MPI_COMM_WORLD, &transfer.request);
  count(sent_, transfer.cargo, length(numbers));
  return transfer;
}

Transfer Wire::receive(int peer, int tag, const std::array<std::int64_t, sequence::k_tensors>& elements) {
  Transfer transfer{.receives = true, .peer = peer, .cargo = {.elements = elements}};
  std::vector<float>& numbers = transfer.cargo.numbers;
  numbers.resize(static_cast<std::size_t>(std::accumulate(elements.begin(), elements.end(), std::int64_t{0})));
  MPI_Irecv(numbers.data(), length(numbers), MPI_FLOAT, peer, tag, MPI_COMM_WORLD, &transfer.request);
  return transfer;
}

std::optional<std::string> Wire::wait(Transfer& transfer) {
  MPI_Status status;
  MPI_Wait(&transfer.request, &status);
  if (!transfer.receives) return std::nullopt;
  int arrived = 0;
  MPI_Get_count(&status, MPI_FLOAT, &arrived);
  const int awaited = length(transfer.cargo.numbers);
  if (arrived != awaited)
    return fmt::format("{} B came from rank {}, and {} B were awaited", arrived * k_fp32_bytes, transfer.peer,
                       awaited * k_fp32_bytes);
  count(received_, transfer.cargo, arrived);
  return std::nullopt;
}

void Wire::count(Traffic& traffic, const Cargo& cargo, std::int64_t numbers) const {
  traffic.fp32 += numbers * k_fp32_bytes;
  for (std::size_t i = 0; i < sequence::k_tensors; ++i)
    traffic.nominal += cargo.elements[i] * wire_bytes(problem_, static_cast<sequence::Tensor>(i));
}

}  // namespace cairn::attention_mpi
