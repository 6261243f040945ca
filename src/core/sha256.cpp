#include "cairn/core/sha256.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace cairn::core {
namespace {

using Word = std::uint32_t;

constexpr std::size_t k_block = 64;  // bytes
constexpr std::size_t k_rounds = 64;
constexpr std::size_t k_length_bytes = 8;

// Section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<Word, k_rounds> k_keys{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Section 5.3.3: likewise, of the square roots of the first eight primes.
constexpr std::array<Word, 8> k_start{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

Word big_endian(std::string_view bytes) {
  Word word = 0;
  for (const char byte : bytes) word = word << 8 | static_cast<unsigned char>(byte);
  return word;
}

// Section 6.2.2. Functions sigma_0, sigma_1, Sigma_0, Sigma_1, Ch and Maj: section 4.1.2.
void add_block(std::array<Word, 8>& state, std::string_view block) {
  using std::rotr;
  std::array<Word, k_rounds> w{};
  for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(block.substr(4 * t, 4));
  for (std::size_t t = 16; t < k_rounds; ++t) {
    const Word s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    const Word s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < k_rounds; ++t) {
    const Word t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + k_keys[t] + w[t];
    const Word t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<Word, 8> turned{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += turned[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  const std::size_t whole = bytes.size() / k_block * k_block;
  std::string rest(bytes.substr(whole));
  rest += '\x80';
  while (rest.size() % k_block != k_block - k_length_bytes) rest += '\0';
  const std::uint64_t bits = 8 * static_cast<std::uint64_t>(bytes.size());
  for (std::size_t i = 0; i < k_length_bytes; ++i) rest += static_cast<char>(bits >> 8 * (k_length_bytes - 1 - i));
  std::array<Word, 8> state = k_start;
  for (std::size_t at = 0; at < whole; at += k_block) add_block(state, bytes.substr(at, k_block));
  for (std::size_t at = 0; at < rest.size(); at += k_block)
    add_block(state, std::string_view(rest).substr(at, k_block));
  std::string digits;
  for (const Word word : state) digits += fmt::format("{:08x}", word);
  return digits;
}

}  // namespace cairn::core
