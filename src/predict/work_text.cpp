#include "work_text.h"

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/cost/shard_pricer.h"

namespace cairn::predict {

std::string work_name(const program::Work& work, program::Axis axis) {
  if (const auto* shard = std::get_if<ir::Shard>(&work)) return shard->op->name;
  if (const auto* transfer = std::get_if<program::Transfer>(&work))
    return fmt::format("{} {}", program::label(axis), program::name(transfer->collective));
  if (const auto* copy = std::get_if<program::Copy>(&work)) return fmt::format("copy {}", program::name(copy->lane));
  return "update by the host";
}

std::string work_detail(const program::Work& work) {
  // What each rank ends with, or begins with where a collective leaves it less.
  if (const auto* transfer = std::get_if<program::Transfer>(&work)) {
    const std::string bytes = core::format(core::Bytes::from_base(transfer->bytes));
    return transfer->collective == program::Collective::send
               ? bytes
               : fmt::format("{} at each of {} ranks", bytes, transfer->group.size);
  }
  if (const auto* copy = std::get_if<program::Copy>(&work)) return core::format(core::Bytes::from_base(copy->bytes));
  if (const auto* processor = std::get_if<program::OnProcessor>(&work))
    return fmt::format("{} parameters", core::format_count(static_cast<double>(processor->elements)));
  const auto& shard = std::get<ir::Shard>(work);
  if (!cost::is_attention(shard) && shard.op->is_plain_contraction()) {
    const cost::GemmShape shape = cost::gemm_shape(shard);
    const std::string product = fmt::format("{} x {} x {}", shape.m, shape.n, shape.k);
    return shape.batch > 1 ? fmt::format("{} of {}", shape.batch, product) : product;
  }
  return core::format(core::Bytes::from_base(ir::bytes(shard)));
}

void raise_unpriceable(const program::Work& work, const core::OutOfRange& problem) {
  if (const auto* shard = std::get_if<ir::Shard>(&work))
    throw problem.of(fmt::format("operator '{}'", shard->op->name));
  if (const auto* transfer = std::get_if<program::Transfer>(&work))
    throw problem.of(fmt::format("{} of {}", program::name(transfer->collective), work_detail(work)))
        .at("cluster", "look at the bandwidths and latencies of its networks");
  if (std::holds_alternative<program::HostWork>(work))
    throw problem.of("the host's work").at("training.framework", "look at the profile's host times");
  const auto* copy = std::get_if<program::Copy>(&work);
  throw problem
      .of(copy ? fmt::format("copy {} of {}", program::name(copy->lane), work_detail(work)) : "update by the host")
      .at("cluster.host", "look at its bandwidths and latencies");
}

}  // namespace cairn::predict
