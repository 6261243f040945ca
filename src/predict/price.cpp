#include "cairn/predict/price.h"

namespace cairn::predict {

const BlockPrices& PriceTable::of(const plan::Block& block) {
  auto& slot = blocks_[&block];
  if (slot) return *slot;
  slot = std::make_unique<BlockPrices>();
  slot->reserve(block.works.size());
  for (const plan::Work& work : block.works) {
    if (const auto* shard = std::get_if<ir::Shard>(&work))
      slot->push_back(pricer_.shard(*shard));
    else if (const auto* transfer = std::get_if<plan::Transfer>(&work))
      slot->push_back(pricer_.transfer(*transfer));
    else if (const auto* host = std::get_if<plan::HostWork>(&work))
      slot->push_back(pricer_.host(*host));
    else
      slot->push_back(Price{});
  }
  return *slot;
}

}  // namespace cairn::predict
