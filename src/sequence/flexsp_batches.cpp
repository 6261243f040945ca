// Micro-batches: cuts through the sequences in order of length.
#include <algorithm>

#include "cairn/core/diagnostics.h"
#include "flexsp.h"

namespace cairn::sequence {

namespace flexsp {

namespace {

// Sequences first, ..., last - 1.
Table slice(const Table& table, std::size_t first, std::size_t last) {
  const auto part = [&](const auto& values, std::size_t each) {
    const auto begin = values.begin();
    return std::vector(begin + static_cast<std::ptrdiff_t>(first * each),
                       begin + static_cast<std::ptrdiff_t>(last * each));
  };
  Table slice = table;
  slice.index = part(table.index, 1);
  slice.tokens = part(table.tokens, 1);
  slice.times = part(table.times, table.degrees.size());
  return slice;
}

// Ends of `parts` parts of about equal tokens; a part that would be empty is left out.
std::vector<std::size_t> cuts(const Table& table, std::int64_t parts) {
  std::vector<std::size_t> ends;
  const Wide all = all_tokens(table);
  Wide tokens = 0;
  for (std::size_t k = 0; k < table.sequences(); ++k) {
    tokens += table.tokens[k];
    if (tokens * parts >= all * static_cast<std::int64_t>(ends.size() + 1)) ends.push_back(k + 1);
  }
  return ends;
}

std::optional<MicroBatches> in_parts(const Table& table, std::int64_t parts) {
  MicroBatches answer;
  std::size_t first = 0;
  for (const std::size_t last : cuts(table, parts)) {
    std::optional<GroupedBatch> batch = shared(slice(table, first, last));
    if (!batch) return std::nullopt;
    answer.time += batch->time;
    answer.batches.push_back(*std::move(batch));
    first = last;
  }
  return answer;
}

core::Picoseconds bound_of(const Table& table) {
  Wide work = 0;
  for (std::size_t k = 0; k < table.sequences(); ++k) {
    std::optional<Wide> least;
    for (std::size_t j = 0; j < table.degrees.size(); ++j)
      if (table.fits(k, j) && (!least || table.work(k, j) < *least)) least = table.work(k, j);
    work += *least;
  }
  return ceil_divide(all_tokens(table), table.pool_capacity) * table.fixed + ceil_divide(work, table.ranks);
}

}  // namespace

}  // namespace flexsp

MicroBatches share_in_micro_batches(std::span<const std::int64_t> lengths, std::int64_t ranks,
                                    const GroupCosts& costs) {
  const flexsp::Table table = flexsp::table_of(lengths, ranks, costs);
  const auto most = static_cast<std::int64_t>(lengths.size());
  const std::int64_t least = ceil_divide(flexsp::all_tokens(table), table.pool_capacity);
  std::optional<MicroBatches> best;
  std::int64_t last = most;
  for (std::int64_t parts = std::min(least, most); parts <= last; ++parts) {
    std::optional<MicroBatches> answer = flexsp::in_parts(table, parts);
    if (!answer) continue;
    if (!best) last = std::min(most, parts + k_more_micro_batches);
    if (!best || answer->time < best->time) best = std::move(answer);
  }
  if (!best)
    throw core::ConfigurationError("lengths", "no micro-batches were found that memory holds",
                                   "allow larger groups, or give the ranks more memory");
  best->lower_bound = flexsp::bound_of(table);
  return *std::move(best);
}

}  // namespace cairn::sequence
