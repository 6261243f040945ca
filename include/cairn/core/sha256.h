// SHA-256: names the bytes of a file in a way that anyone can check, `sha256sum FILE`.
//
//   message || 1 || 0... || its length in bits, in blocks of 16 words of 32 bits; each block turns the state of eight
//   words by 64 rounds
//
// Source: FIPS 180-4, sections 4.1.2, 4.2.2, 5.1.1, 5.3.3, 6.2.
#pragma once

#include <string>
#include <string_view>

namespace cairn::core {

// 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace cairn::core
