#include "report.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::attention_mpi {
namespace {

constexpr std::string_view k_line = "{:22}  {:42}  {:>9} {:>9}  {:>9} {:>9}  {:>9}  {:>9}";

template <class Number>
Number over_ranks(Number number, MPI_Datatype type, MPI_Op operation) {
  Number result{};
  MPI_Allreduce(&number, &result, 1, type, operation, MPI_COMM_WORLD);
  return result;
}

std::int64_t most(std::int64_t number) { return over_ranks(number, MPI_INT64_T, MPI_MAX); }

std::string text(const std::vector<std::int64_t>& bytes, std::size_t pass) {
  return pass < bytes.size() ? std::to_string(bytes[pass]) : "-";
}

}  // namespace

std::string heading(int ranks) {
  return fmt::format(
             "{} ranks. Bytes of the rank that has most [B], elements as wide as the problem has them; fp32: as "
             "sent by MPI, both passes.\nError: largest difference from dense attention over the largest "
             "magnitude.\n",
             ranks) +
         fmt::format(k_line, "", "", "forward", "forward", "backward", "backward", "fp32", "") + '\n' +
         fmt::format(k_line, "scheme", "grid", "sent", "received", "sent", "received", "sent", "error") + '\n';
}

GroupOutcome gather(const RankOutcome& outcome) {
  GroupOutcome group;
  std::int64_t fp32_sent = 0, differences = 0;
  double error = 0;
  for (const PassOutcome& pass : outcome.passes) {
    group.sent.push_back(most(pass.sent.nominal));
    group.received.push_back(most(pass.received.nominal));
    fp32_sent += pass.sent.fp32;
    error = std::max(error, pass.largest_error);
    differences += static_cast<std::int64_t>(pass.differences.size());
  }
  group.fp32_sent = most(fp32_sent);
  group.largest_error = over_ranks(error, MPI_DOUBLE, MPI_MAX);
  group.differences = over_ranks(differences, MPI_INT64_T, MPI_SUM);
  return group;
}

std::string line(const sequence::Scheme& scheme, const sequence::Grid& grid, const GroupOutcome& outcome) {
  return fmt::format(k_line, scheme.name, sequence::text(grid), text(outcome.sent, 0), text(outcome.received, 0),
                     text(outcome.sent, 1), text(outcome.received, 1), outcome.fp32_sent,
                     fmt::format("{:.1e}", outcome.largest_error)) +
         '\n';
}

}  // namespace cairn::attention_mpi
