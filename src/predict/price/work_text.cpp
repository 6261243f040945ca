#include "work_text.h"

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/cost/shard_pricer.h"

namespace cairn::predict {

std::string work_detail(const program::Work& work) {
  const auto bytes = [](double count) { return core::format(core::Bytes::from_base(count)); };
  return program::visit(
      work,
      [&](const ir::Shard& shard) {
        if (cost::is_attention(shard) || !shard.op->is_plain_contraction()) return bytes(ir::bytes(shard));
        const cost::GemmShape shape = cost::gemm_shape(shard);
        const std::string product = fmt::format("{} x {} x {}", shape.m, shape.n, shape.k);
        return shape.batch > 1 ? fmt::format("{} of {}", shape.batch, product) : product;
      },
      // What each rank ends with, or begins with where a collective leaves it less.
      [&](const program::Transfer& transfer) {
        return transfer.collective == program::Collective::send
                   ? bytes(transfer.bytes)
                   : fmt::format("{} at each of {} ranks", bytes(transfer.bytes), transfer.group.size);
      },
      [&](const program::Copy& copy) { return bytes(copy.bytes); },
      [](const program::OnProcessor& processor) {
        return fmt::format("{} parameters", core::format_count(static_cast<double>(processor.elements)));
      },
      [](program::HostWork) { return std::string(); },
      [](const program::Interference& beside) { return work_detail(beside.transfer); });
}

void raise_unpriceable(const program::Work& work, const core::OutOfRange& problem) {
  struct Blamed {
    std::string what;
    const char* setting = nullptr;  // that decides it; null: none is known
    const char* hint = nullptr;
  };
  constexpr const char* k_host_hint = "look at its bandwidths and latencies";
  const Blamed blamed = program::visit(
      work, [](const ir::Shard& shard) { return Blamed{.what = fmt::format("operator '{}'", shard.op->name)}; },
      [&](const program::Transfer& transfer) {
        return Blamed{.what = fmt::format("{} of {}", collective::name(transfer.collective), work_detail(work)),
                      .setting = "cluster",
                      .hint = "look at the bandwidths and latencies of its networks"};
      },
      [&](const program::Copy& copy) {
        return Blamed{.what = fmt::format("copy {} of {}", program::name(copy.lane), work_detail(work)),
                      .setting = "cluster.host",
                      .hint = k_host_hint};
      },
      [&](const program::OnProcessor&) {
        return Blamed{.what = "update by the host", .setting = "cluster.host", .hint = k_host_hint};
      },
      [](program::HostWork) {
        return Blamed{
            .what = "the host's work", .setting = "training.framework", .hint = "look at the profile's host times"};
      },
      [](const program::Interference&) { return Blamed{.what = "computation beside transfers"}; });
  const core::OutOfRange named = problem.of(blamed.what);
  if (blamed.setting == nullptr) throw named;
  throw named.at(blamed.setting, blamed.hint);
}

}  // namespace cairn::predict
