#include "cairn/core/content_store.h"

#include <algorithm>
#include <string>
#include <vector>

#include "catch.h"

namespace {

// Texts by their letters, whatever their case; all of one length have one hash.
struct Letters {
  static std::uint64_t hash(const std::string& text) { return text.size(); }
  static bool same(const std::string& a, const std::string& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return (x | 32) == (y | 32); });
  }
};

}  // namespace

TEST_CASE("content is stored once, whatever shares its hash, and stays where it is") {
  cairn::core::ContentStore<std::string, Letters> store;
  const auto [abc, fresh] = store.stored(std::string("abc"));
  CHECK(fresh);
  CHECK(store.stored(std::string("xyz")).second);
  CHECK(store.stored(std::string("")).second);
  for (int i = 0; i < 500; ++i) CHECK(store.stored(std::to_string(1000 + i)).second);
  const auto [again, stored] = store.stored(std::string("ABC"));
  CHECK_FALSE(stored);
  CHECK(again == abc);
  CHECK(*again == "abc");
  CHECK(store.size() == 503);
}

TEST_CASE("hashes of neighbouring words differ in their low bits") {
  // 4096 pairs of small numbers in 2^16 places: 4096^2 / 2 / 65536 = 128 meet at random, of the high halves likewise.
  for (const int shift : {0, 32}) {
    std::vector<bool> taken(1U << 16U, false);
    int met = 0;
    for (std::uint64_t a = 0; a < 64; ++a)
      for (std::uint64_t b = 0; b < 64; ++b) {
        const std::uint64_t place = cairn::core::Hash::of(a << shift, b << shift) % taken.size();
        met += taken[place] ? 1 : 0;
        taken[place] = true;
      }
    CHECK(met < 2 * 128);
  }
}
