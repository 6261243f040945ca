#include "cairn/predict/price/price.h"

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
  if (part > 0) return {.duration = duration};
  return {.duration = duration, .launch = std::min(whole.launch, duration), .issue = whole.issue};
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
  return program::visit(
      work, [&](const ir::Shard& shard) { return price_of(pricer, shard); },
      [&](const program::Transfer& transfer) { return price_of(pricer, transfer); },
      [&](const program::Copy& copy) { return pricer.copy(copy); },
      [&](const program::OnProcessor& processor) { return pricer.processor(processor); },
      [&](program::HostWork host) { return pricer.host(host); },
      [&](const program::Interference& beside) { return pricer.interference(beside); });
}

// The pricer is inside the block, and leaves it however the pricing ends.
class Inside {
 public:
  Inside(Pricer& pricer, const program::Block& block) : pricer_(pricer) { pricer.enter(block); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { pricer_.leave(); }

 private:
  Pricer& pricer_;
};

}  // namespace

const BlockPrices& PriceTable::of(const program::Block& block) {
  auto& slot = blocks_[&block];
  if (slot) return *slot;
  auto made = std::make_unique<BlockPrices>();
  made->reserve(block.works.size());
  const Inside inside(pricer_, block);
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
