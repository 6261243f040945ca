// libFuzzer over one surface: --surface=NAME, else the first; every other option is libFuzzer's own.
//
//   attack_libfuzzer --surface=cluster -max_total_time=60 -rss_limit_mb=4096 -timeout=80 FOLDERS
//
// Folders are given by their whole path: the working folder becomes one of its own.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "fuzz/attack/attack.h"
#include "fuzz/attack/call.h"
#include "fuzz/attack/judge.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using namespace cairn::attack;

const Surface* surface = &surfaces().front();
std::unique_ptr<Mutator> mutator;
std::unique_ptr<Scratch> scratch;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr const char* k_option = "--surface=";
  for (int i = 1; i < *argc; ++i)
    if (std::strncmp((*argv)[i], k_option, std::strlen(k_option)) == 0)
      surface = find_surface((*argv)[i] + std::strlen(k_option));
  if (surface == nullptr) {
    std::fprintf(stderr, "no such surface\n");
    std::exit(2);
  }
  mutator = std::make_unique<Mutator>(mutator_of(*surface));
  scratch = std::make_unique<Scratch>();
  std::atexit([] { scratch.reset(); });
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  cairn::core::Random random(seed);
  if (random.below(4) == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string text = size < 2 ? mutator->input(seed, 0)
                                    : mutator->changed(std::string(reinterpret_cast<const char*>(data), size), random);
  const std::size_t length = std::min(text.size(), most);
  std::memcpy(data, text.data(), length);
  return length;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> command = scratch->command(*surface, input);
  Answer answer = call_here(command);
  answer.written = scratch->take_written(command);
  const auto wrong = complaint(answer);
  if (!wrong || is_known(*wrong)) return 0;
  std::fprintf(stderr, "complaint: %s\n", wrong->c_str());
  std::abort();
}
