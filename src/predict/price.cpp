#include "cairn/predict/price.h"

#include <algorithm>

#include "work_text.h"

namespace cairn::predict {
namespace {

// floor(time x part / parts), whose product may be beyond 64 bits.
core::Picoseconds portion(core::Picoseconds time, std::int64_t part, std::int64_t parts) {
  return time / parts * part + time % parts * part / parts;
}

// Shares of one price add up to it.
Price share(const Price& whole, std::int32_t part, std::int32_t parts) {
  const core::Picoseconds begin = portion(whole.duration, part, parts);
  const core::Picoseconds duration = portion(whole.duration, part + 1, parts) - begin;
  return {.duration = duration, .launch = part == 0 ? std::min(whole.launch, duration) : 0};
}

Price price_of(Pricer& pricer, const ir::Shard& shard) {
  if (shard.parts == 1) return pricer.shard(shard);
  ir::Shard whole = shard;
  whole.part = 0;
  whole.parts = 1;
  return share(pricer.in_pieces(whole), shard.part, shard.parts);
}

Price price_of(Pricer& pricer, const program::Transfer& transfer) {
  if (transfer.parts == 1) return pricer.transfer(transfer);
  program::Transfer whole = transfer;
  whole.bytes *= transfer.parts;
  whole.part = 0;
  whole.parts = 1;
  return share(pricer.transfer(whole), transfer.part, transfer.parts);
}

Price price_of(Pricer& pricer, const program::Work& work) {
  if (const auto* shard = std::get_if<ir::Shard>(&work)) return price_of(pricer, *shard);
  if (const auto* transfer = std::get_if<program::Transfer>(&work)) return price_of(pricer, *transfer);
  if (const auto* copy = std::get_if<program::Copy>(&work)) return pricer.copy(*copy);
  if (const auto* processor = std::get_if<program::OnProcessor>(&work)) return pricer.processor(*processor);
  if (const auto* host = std::get_if<program::HostWork>(&work)) return pricer.host(*host);
  return {};
}

}  // namespace

const BlockPrices& PriceTable::of(const program::Block& block) {
  auto& slot = blocks_[&block];
  if (slot) return *slot;
  auto made = std::make_unique<BlockPrices>();
  made->reserve(block.works.size());
  for (const program::Work& work : block.works) {
    try {
      made->push_back(price_of(pricer_, work));
    } catch (const core::OutOfRange& problem) {
      raise_unpriceable(work, problem);
    }
  }
  return *(slot = std::move(made));
}

}  // namespace cairn::predict
