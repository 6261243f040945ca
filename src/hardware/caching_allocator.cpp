#include "cairn/hardware/caching_allocator.h"

#include <algorithm>
#include <bit>

#include "cairn/core/assert.h"

namespace cairn::hardware {
namespace {

constexpr std::int64_t k_mebibyte = std::int64_t{1} << 20;
constexpr std::int64_t k_least = 512;
constexpr std::int64_t k_largest_small = k_mebibyte;
constexpr std::int64_t k_small_segment = 2 * k_mebibyte;
constexpr std::int64_t k_least_own = 10 * k_mebibyte;
constexpr std::int64_t k_large_unit = 2 * k_mebibyte;
constexpr std::int64_t k_endless = std::int64_t{1} << 50;  // room of an expandable segment

constexpr std::int64_t up(std::int64_t size, std::int64_t unit) { return (size + unit - 1) / unit * unit; }

std::int64_t segment_of(std::int64_t size) {
  if (size <= k_largest_small) return k_small_segment;
  return size < k_least_own ? CachingAllocator::k_shared_segment : up(size, k_large_unit);
}

}  // namespace

std::int64_t CachingAllocator::rounded(std::int64_t bytes, std::int64_t power2_divisions) {
  if (bytes < k_least) return k_least;
  if (power2_divisions <= 1 || bytes <= k_least * power2_divisions) return up(bytes, k_least);
  const auto floor = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
  if (floor == bytes) return bytes;
  const std::int64_t step = floor >> (std::bit_width(static_cast<std::uint64_t>(power2_divisions)) - 1);
  return up(bytes, step);
}

CachingAllocator::Block CachingAllocator::allocate(std::int64_t bytes, std::int32_t stream) {
  const std::int64_t size = rounded(bytes, rules_.power2_divisions);
  const std::int32_t pool = 2 * stream + (size <= k_largest_small ? 0 : 1);
  if (pools_.size() <= index(pool)) pools_.resize(index(pool) + 1);
  Block block = found(size, pool);
  if (block < 0) block = taken(size, pool);
  const std::int64_t rest = node(block).size - size;
  const bool splits = small(pool) || rules_.expandable_segments
                          ? rest >= k_least
                          : size < rules_.max_split_size && rest > k_largest_small;
  if (splits) split(block, size);
  node(block).state = State::live;
  allocated_ += node(block).size;
  allocated_peak_ = std::max(allocated_peak_, allocated_);
  return block;
}

void CachingAllocator::free(Block block) {
  CAIRN_ASSERT(node(block).state == State::live);
  allocated_ -= node(block).size;
  insert(merge(block));
}

// Whether a free block ends where its segment may grow matters: it is taken for as large as it can become.
CachingAllocator::Block CachingAllocator::found(std::int64_t size, std::int32_t pool) {
  FreeBlocks& free = pools_[index(pool)].free;
  FreeBlocks::Place best = free.lower_bound({.size = size, .address = -1});
  if (best == free.end()) return -1;
  if (rules_.expandable_segments) {
    const auto room = [&](FreeBlocks::Place place) {
      const Block behind = node(free.at(place).block).behind;
      return free.at(place).size + (behind >= 0 && node(behind).state == State::unmapped ? node(behind).size : 0);
    };
    for (auto next = free.next(best); next != free.end() && room(next) < room(best); next = free.next(next))
      best = next;
  }
  const FreeBlocks::Entry chosen = free.at(best);
  if (size < rules_.max_split_size && chosen.size >= rules_.max_split_size) return -1;
  if (size >= rules_.max_split_size && chosen.size >= size + k_shared_segment) return -1;
  free.erase(best);
  return chosen.block;
}

CachingAllocator::Block CachingAllocator::taken(std::int64_t size, std::int32_t pool) {
  const std::int64_t segment = segment_of(size);
  // Pages of an expandable segment are mapped as needed, and so is asked for room when that is known.
  if (rules_.expandable_segments) return mapped(size, pool);
  const auto has_room = [&] { return segment <= rules_.capacity - reserved_; };
  if (!has_room() && !(release_large_enough(size, pool) && has_room())) release_cached();
  grow(segment);
  const Block block = new_node({.size = segment, .address = next_address_, .pool = pool});
  next_address_ += segment;
  return block;
}

// Maps pages from the lowest place on that has room, in one piece with what is free before and behind it.
CachingAllocator::Block CachingAllocator::mapped(std::int64_t size, std::int32_t pool) {
  const std::int64_t page = small(pool) ? k_small_segment : k_shared_segment;
  Block block = place_to_map(size, pool);
  const std::int64_t there = node(block).state == State::free ? node(block).size : 0;
  if (up(size - there, page) > rules_.capacity - reserved_) {
    release_cached();
    block = place_to_map(size, pool);
  }
  if (node(block).state == State::unmapped) block = map(block, std::min(size, node(block).size));
  while (node(block).size < size) {
    const Block behind = node(block).behind;
    block = map(behind, std::min(size - node(block).size, node(behind).size));
  }
  erase(block);
  return block;
}

CachingAllocator::Block CachingAllocator::place_to_map(std::int64_t size, std::int32_t pool) {
  std::vector<Block>& unmapped = pools_[index(pool)].unmapped;
  if (unmapped.empty()) {
    unmapped.push_back(new_node({.size = k_endless, .address = next_address_, .pool = pool, .state = State::unmapped}));
    next_address_ += k_endless;
  }
  for (Block place : unmapped) {
    const Block before = node(place).before;
    if (before >= 0 && node(before).state == State::free) place = before;
    std::int64_t room = 0;
    for (Block b = place; b >= 0 && room < size && node(b).state != State::live; b = node(b).behind)
      room += node(b).size;
    if (room >= size) return place;
  }
  CAIRN_ASSERT(false);
  return -1;
}

// The first pages of an unmapped block; returns the free block that they become part of.
CachingAllocator::Block CachingAllocator::map(Block block, std::int64_t size) {
  const std::int32_t pool = node(block).pool;
  const std::int64_t pages = up(size, small(pool) ? k_small_segment : k_shared_segment);
  std::vector<Block>& unmapped = pools_[index(pool)].unmapped;
  const auto place = std::find(unmapped.begin(), unmapped.end(), block);
  CAIRN_ASSERT(place != unmapped.end());
  if (pages < node(block).size) {
    const Node rest{.size = node(block).size - pages,
                    .address = node(block).address + pages,
                    .before = block,
                    .behind = node(block).behind,
                    .pool = pool,
                    .state = State::unmapped};
    const Block remaining = new_node(rest);
    if (rest.behind >= 0) node(rest.behind).before = remaining;
    node(block).behind = remaining;
    node(block).size = pages;
    *place = remaining;
  } else {
    unmapped.erase(place);
  }
  grow(pages);
  node(block).state = State::live;
  block = merge(block);
  insert(block);
  return block;
}

void CachingAllocator::split(Block block, std::int64_t size) {
  const Node whole = node(block);
  const Block rest = new_node({.size = whole.size - size,
                               .address = whole.address + size,
                               .before = block,
                               .behind = whole.behind,
                               .pool = whole.pool});
  if (whole.behind >= 0) node(whole.behind).before = rest;
  node(block).behind = rest;
  node(block).size = size;
  insert(rest);
}

CachingAllocator::Block CachingAllocator::new_node(const Node& node) {
  if (spare_.empty()) {
    nodes_.push_back(node);
    return static_cast<Block>(nodes_.size()) - 1;
  }
  const Block block = spare_.back();
  spare_.pop_back();
  nodes_[index(block)] = node;
  return block;
}

void CachingAllocator::insert(Block block) {
  node(block).state = State::free;
  pools_[index(node(block).pool)].free.insert(
      {.size = node(block).size, .address = node(block).address, .block = block});
}

void CachingAllocator::erase(Block block) {
  FreeBlocks& free = pools_[index(node(block).pool)].free;
  const FreeBlocks::Place place = free.lower_bound({.size = node(block).size, .address = node(block).address});
  CAIRN_ASSERT(place != free.end() && free.at(place).block == block && free.at(place).size == node(block).size);
  free.erase(place);
}

// With the free blocks beside it, which are in the pool; it is not.
CachingAllocator::Block CachingAllocator::merge(Block block) {
  const Block before = node(block).before;
  if (before >= 0 && node(before).state == State::free) absorb(block, before);
  const Block behind = node(block).behind;
  if (behind >= 0 && node(behind).state == State::free) absorb(block, behind);
  return block;
}

void CachingAllocator::absorb(Block block, Block neighbour) {
  erase(neighbour);
  Node& kept = node(block);
  const Node gone = node(neighbour);
  kept.size += gone.size;
  if (gone.behind == block) {
    kept.address = gone.address;
    kept.before = gone.before;
    if (gone.before >= 0) node(gone.before).behind = block;
  } else {
    kept.behind = gone.behind;
    if (gone.behind >= 0) node(gone.behind).before = block;
  }
  spare_.push_back(neighbour);
}

// Of blocks that are not split, the least that holds the request, or as many of the largest as do together.
bool CachingAllocator::release_large_enough(std::int64_t size, std::int32_t pool) {
  if (rules_.max_split_size == k_unlimited) return false;
  FreeBlocks& free = pools_[index(pool)].free;
  const std::int64_t wanted = std::max(size, rules_.max_split_size);
  const FreeBlocks::Place enough = free.lower_bound({.size = wanted, .address = -1});
  if (enough != free.end()) {
    release(free.at(enough).block);
    return true;
  }
  std::int64_t released = 0;
  while (released < wanted && !free.empty() && free.largest().size >= rules_.max_split_size) {
    released += free.largest().size;
    release(free.largest().block);
  }
  return released >= wanted;
}

void CachingAllocator::release(Block block) {
  CAIRN_ASSERT(node(block).before < 0 && node(block).behind < 0);
  erase(block);
  reserved_ -= node(block).size;
  spare_.push_back(block);
}

void CachingAllocator::release_cached() {
  for (Pool& pool : pools_) {
    std::vector<Block> blocks;
    for (FreeBlocks::Place place; place != pool.free.end(); place = pool.free.next(place))
      blocks.push_back(pool.free.at(place).block);
    for (const Block block : blocks) {
      if (rules_.expandable_segments)
        unmap(block);
      else if (node(block).before < 0 && node(block).behind < 0)
        release(block);
    }
  }
}

// The whole pages of a free block; what it has before and behind them stays.
void CachingAllocator::unmap(Block block) {
  const Node whole = node(block);
  const std::int64_t page = small(whole.pool) ? k_small_segment : k_shared_segment;
  Pool& pool = pools_[index(whole.pool)];
  const std::int64_t origin = whole.address & ~(k_endless - 1);
  const std::int64_t begin = origin + up(whole.address - origin, page);
  const std::int64_t end = origin + (whole.address + whole.size - origin) / page * page;
  if (begin >= end) return;
  erase(block);
  const auto beside = [&](std::int64_t address, std::int64_t bytes, Block before, Block behind) {
    const Block part =
        new_node({.size = bytes, .address = address, .before = before, .behind = behind, .pool = whole.pool});
    if (before >= 0) node(before).behind = part;
    if (behind >= 0) node(behind).before = part;
    insert(part);
  };
  if (begin > whole.address) beside(whole.address, begin - whole.address, whole.before, block);
  const std::int64_t tail = whole.address + whole.size - end;
  if (tail > 0) beside(end, tail, block, whole.behind);
  node(block).address = begin;
  node(block).size = end - begin;
  node(block).state = State::unmapped;
  reserved_ -= end - begin;
  // One piece with unmapped pages beside it.
  for (const Block neighbour : {node(block).before, node(block).behind}) {
    if (neighbour < 0 || node(neighbour).state != State::unmapped) continue;
    std::erase(pool.unmapped, neighbour);
    const Node gone = node(neighbour);
    node(block).size += gone.size;
    if (gone.behind == block) {
      node(block).address = gone.address;
      node(block).before = gone.before;
      if (gone.before >= 0) node(gone.before).behind = block;
    } else {
      node(block).behind = gone.behind;
      if (gone.behind >= 0) node(gone.behind).before = block;
    }
    spare_.push_back(neighbour);
  }
  pool.unmapped.insert(std::upper_bound(pool.unmapped.begin(), pool.unmapped.end(), block,
                                        [this](Block a, Block b) { return node(a).address < node(b).address; }),
                       block);
}

void CachingAllocator::grow(std::int64_t bytes) {
  reserved_ += bytes;
  reserved_peak_ = std::max(reserved_peak_, reserved_);
}

}  // namespace cairn::hardware
