#include "emulator.h"

#include <ucontext.h>

#include <array>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <stdexcept>
#include <vector>

#include "number.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace cairn::probe {

namespace {

constexpr int k_warp = 32;
constexpr std::size_t k_stack = 256 * 1024;

// Tells AddressSanitizer of a change of stacks.
void leave_stack([[maybe_unused]] void** keep, [[maybe_unused]] const void* bottom, [[maybe_unused]] std::size_t size) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(keep, bottom, size);
#endif
}
void enter_stack([[maybe_unused]] void* kept, [[maybe_unused]] const void** bottom,
                 [[maybe_unused]] std::size_t* size) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(kept, bottom, size);
#endif
}

struct Meeting {
  int size = 0;
  int arrived = 0;
  int generation = 0;
};

using Words = std::array<std::uint32_t, 6>;

struct Warp {
  Meeting meeting;
  std::array<std::array<Words, k_warp>, 2> words = {};  // by parity of the generation: nobody is two meetings ahead
  std::array<std::array<const void*, k_warp>, 2> rows = {};
};

struct Landing {
  void* to;
  const void* from;
};

struct Fiber {
  ucontext_t context = {};
  std::vector<char> stack = std::vector<char>(k_stack);
  void* kept = nullptr;
  bool done = false;
  std::vector<Landing> open;
  std::deque<std::vector<Landing>> groups;
};

struct Block {
  Grid grid, at;
  int threads = 0;
  std::vector<std::uint32_t> shared;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Warp> warps;
  Meeting meeting;
  int current = 0;
  bool progress = false;
  ucontext_t scheduler = {};
  void* kept = nullptr;
  const void* bottom = nullptr;
  std::size_t size = 0;
  const std::function<void()>* kernel = nullptr;
  std::exception_ptr failure;
};

Block* g_block = nullptr;  // the block that runs

Fiber& fiber() { return *g_block->fibers[g_block->current]; }
Warp& warp() { return g_block->warps[g_block->current / k_warp]; }
int lane() { return g_block->current % k_warp; }

void yield() {
  Fiber& self = fiber();
  leave_stack(&self.kept, g_block->bottom, g_block->size);
  swapcontext(&self.context, &g_block->scheduler);
  enter_stack(self.kept, &g_block->bottom, &g_block->size);
}

void meet(Meeting& meeting) {
  const int generation = meeting.generation;
  if (++meeting.arrived == meeting.size) {
    meeting.arrived = 0;
    ++meeting.generation;
    g_block->progress = true;
    return;
  }
  while (meeting.generation == generation) yield();
}

void fiber_main() {
  enter_stack(nullptr, &g_block->bottom, &g_block->size);
  try {
    (*g_block->kernel)();
  } catch (...) {
    g_block->failure = std::current_exception();
  }
  Fiber& self = fiber();
  self.done = true;
  g_block->progress = true;
  leave_stack(nullptr, g_block->bottom, g_block->size);
  swapcontext(&self.context, &g_block->scheduler);
}

void resume(Block& block, int index) {
  Fiber& next = *block.fibers[index];
  block.current = index;
  leave_stack(&block.kept, next.stack.data(), next.stack.size());
  swapcontext(&block.scheduler, &next.context);
  enter_stack(block.kept, nullptr, nullptr);
}

void start(Fiber& next) {
  next.done = false;
  next.open.clear();
  next.groups.clear();
  getcontext(&next.context);
  next.context.uc_stack.ss_sp = next.stack.data();
  next.context.uc_stack.ss_size = next.stack.size();
  next.context.uc_link = nullptr;
  makecontext(&next.context, fiber_main, 0);
}

void run_block(Block& block) {
  for (const auto& next : block.fibers) start(*next);
  block.warps.assign(static_cast<std::size_t>(block.threads / k_warp), Warp{});
  for (Warp& w : block.warps) w.meeting.size = k_warp;
  block.meeting = Meeting{block.threads, 0, 0};
  std::fill(block.shared.begin(), block.shared.end(), ~std::uint32_t{0});
  for (bool running = true; running;) {
    running = block.progress = false;
    for (int i = 0; i < block.threads; ++i) {
      if (block.fibers[i]->done) continue;
      resume(block, i);
      running = running || !block.fibers[i]->done;
    }
    if (block.failure) std::rethrow_exception(block.failure);
    if (running && !block.progress) throw std::logic_error("the threads of a block wait for each other for ever");
  }
}

// Deposits this lane's words and returns those of all lanes.
const std::array<Words, k_warp>& exchange(const Words& own) {
  Warp& w = warp();
  const int parity = w.meeting.generation % 2;
  w.words[parity][lane()] = own;
  meet(w.meeting);
  return w.words[parity];
}

float value_of(std::uint32_t pair, int half) {
  const std::uint32_t bits = pair >> (16 * half) << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void load(std::uint32_t (&r)[4], const void* row, bool transposed) {
  Warp& w = warp();
  const int parity = w.meeting.generation % 2;
  w.rows[parity][lane()] = row;
  const int g = lane() / 4, t = lane() % 4;
  meet(w.meeting);
  for (int matrix = 0; matrix < 4; ++matrix) {
    std::array<std::uint16_t, 2> pair{};
    for (int i = 0; i < 2; ++i) {
      const int from_row = transposed ? 2 * t + i : g, from_column = transposed ? g : 2 * t + i;
      const auto* at = static_cast<const char*>(w.rows[parity][8 * matrix + from_row]);
      std::memcpy(&pair[i], at + 2 * from_column, sizeof(std::uint16_t));
    }
    r[matrix] = pair[0] | static_cast<std::uint32_t>(pair[1]) << 16;
  }
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// To nearest even; NaN stays NaN.
std::uint32_t to_bf16(float value) {
  const std::uint32_t bits = bits_of(value);
  if (std::isnan(value)) return bits >> 16 | 0x40U;
  return (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
}

// The nearest of all finite values of the type; of two equally near ones that with an even last bit.
std::uint32_t nearest(Type type, float value, std::uint32_t largest) {
  std::uint32_t best = 0;
  double distance = std::fabs(value);
  for (std::uint32_t bits = 1; bits <= largest; ++bits) {
    const double off = std::fabs(std::fabs(value) - decode(type, &bits));
    if (off < distance || (off == distance && bits % 2 == 0)) best = bits, distance = off;
  }
  return best;
}

}  // namespace

void emulate(Grid grid, int threads, int shared_bytes, const std::function<void()>& kernel) {
  if (threads % k_warp != 0) throw std::logic_error("a block of whole warps");
  Block block;
  block.grid = grid;
  block.threads = threads;
  block.kernel = &kernel;
  block.shared.resize(static_cast<std::size_t>(shared_bytes) / 4 + 32);
  for (int i = 0; i < threads; ++i) block.fibers.push_back(std::make_unique<Fiber>());
  g_block = &block;
  for (block.at.z = 0; block.at.z < grid.z; ++block.at.z)
    for (block.at.y = 0; block.at.y < grid.y; ++block.at.y)
      for (block.at.x = 0; block.at.x < grid.x; ++block.at.x) run_block(block);
  g_block = nullptr;
}

int thread_index() { return g_block->current; }
int thread_count() { return g_block->threads; }
int block_x() { return g_block->at.x; }
int block_y() { return g_block->at.y; }
int block_z() { return g_block->at.z; }
int blocks_x() { return g_block->grid.x; }

char* shared_memory() {
  constexpr std::uintptr_t k_alignment = 128;
  const auto at = reinterpret_cast<std::uintptr_t>(g_block->shared.data());
  return reinterpret_cast<char*>((at + k_alignment - 1) / k_alignment * k_alignment);
}

void barrier() { meet(g_block->meeting); }

std::uint32_t shuffle_xor(std::uint32_t value, int mask) { return exchange({value})[lane() ^ mask][0]; }

float shuffle_xor(float value, int mask) {
  const std::uint32_t bits = shuffle_xor(bits_of(value), mask);
  float out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

void load_matrices(std::uint32_t (&r)[4], const void* row) { load(r, row, false); }
void load_matrices_transposed(std::uint32_t (&r)[4], const void* row) { load(r, row, true); }

void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  const std::array<Words, k_warp>& all = exchange({a[0], a[1], a[2], a[3], b0, b1});
  for (int e = 0; e < 4; ++e) {
    const int row = lane() / 4 + e / 2 * 8, column = lane() % 4 * 2 + e % 2;
    for (int k = 0; k < 16; ++k) {
      const std::uint32_t left = all[row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2];
      const std::uint32_t right = all[column * 4 + k % 8 / 2][4 + k / 8];
      d[e] += value_of(left, k % 2) * value_of(right, k % 2);
    }
  }
}

void copy_async(void* shared, const void* global) { fiber().open.push_back({shared, global}); }

void commit_copies() {
  fiber().groups.push_back(std::move(fiber().open));
  fiber().open.clear();
}

void wait_for_copies(int pending) {
  constexpr std::size_t k_bytes = 16;
  for (std::deque<std::vector<Landing>>& groups = fiber().groups; static_cast<int>(groups.size()) > pending;
       groups.pop_front())
    for (const Landing& copy : groups.front()) std::memcpy(copy.to, copy.from, k_bytes);
}

std::uint32_t pack_bf16(float low, float high) { return to_bf16(low) | to_bf16(high) << 16; }

std::uint16_t to_fp16(float value) {
  return static_cast<std::uint16_t>(nearest(Type::fp16, value, 0x7BFF) | (std::signbit(value) ? 0x8000U : 0U));
}

std::uint8_t to_fp8(float value) {
  return static_cast<std::uint8_t>(nearest(Type::fp8_e4m3, value, 0x7E) | (std::signbit(value) ? 0x80U : 0U));
}

}  // namespace cairn::probe
