// What devices must exchange in attention, forward and backward, against searches and against known schemes.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "cairn/core/diagnostics.h"
#include "cairn/pebble/parallel_bounds.h"
#include "catch.h"

using namespace cairn;
using namespace cairn::pebble;

namespace {

constexpr std::array k_passes = {AttentionPass::forward, AttentionPass::backward};
constexpr double k_rounding = 1e-12;

double exchanged(const ParallelAttention& problem, AttentionPass pass, bool causal = false) {
  return attention_exchange_bound(problem, causal, pass).words;
}

// Tensors of which a scheme moves a row: Q, O | K, V and Q, dO, dQ | K, V, dK, dV.
struct MovedRows {
  double queries, keys;
};
MovedRows moved_rows(AttentionPass pass) {
  return pass == AttentionPass::forward ? MovedRows{.queries = 2, .keys = 2} : MovedRows{.queries = 3, .keys = 4};
}

// Words received per device of p_q x p_kv devices, without statistics.
double grid_closed_form(const ParallelAttention& a, double p_q, AttentionPass pass) {
  const double p_kv = a.devices / p_q, rows = a.tokens / a.devices;
  return rows * (moved_rows(pass).queries * a.width * (p_kv - 1) + moved_rows(pass).keys * a.kv_width * (p_q - 1));
}

// Keys and values pass p - 1 devices; backward their gradients go with them and one hop further, home.
double ring_closed_form(const ParallelAttention& a, AttentionPass pass) {
  const double passed = 2 * a.tokens * a.kv_width * (a.devices - 1) / a.devices;
  return pass == AttentionPass::forward ? passed : passed + 2 * a.tokens * a.kv_width;
}

// Keys and values are gathered; backward again, and their gradients are reduced.
double all_gather_closed_form(const ParallelAttention& a, AttentionPass pass) {
  const double gathered = 2 * a.tokens * a.kv_width * (a.devices - 1) / a.devices;
  return pass == AttentionPass::forward ? gathered : 2 * gathered;
}

std::size_t visible_pairs(unsigned queries, unsigned keys, std::size_t tokens, bool causal) {
  std::size_t pairs = 0;
  for (std::size_t q = 0; q < tokens; ++q)
    for (std::size_t k = 0; k < tokens; ++k)
      pairs += (queries >> q & 1U) != 0 && (keys >> k & 1U) != 0 && (!causal || k <= q) ? 1 : 0;
  return pairs;
}

// Entry x: least words of the rows in which x pairs of one sequence lie, over all sets of query and of key rows.
std::vector<double> least_of_one(std::size_t tokens, double query, double key, bool causal) {
  std::vector<double> least(visible_pairs(~0U, ~0U, tokens, causal) + 1, std::numeric_limits<double>::infinity());
  for (unsigned queries = 0; queries < 1U << tokens; ++queries)
    for (unsigned keys = 0; keys < 1U << tokens; ++keys) {
      const double words = query * std::popcount(queries) + key * std::popcount(keys);
      for (std::size_t x = 0; x <= visible_pairs(queries, keys, tokens, causal); ++x)
        least[x] = std::min(least[x], words);
    }
  return least;
}

// The same of several sequences, whatever number of the pairs lies in each.
std::vector<double> least_of_several(const std::vector<double>& one, std::int64_t sequences) {
  std::vector<double> least = {0.0};
  for (std::int64_t sequence = 0; sequence < sequences; ++sequence) {
    std::vector<double> more(least.size() + one.size() - 1, std::numeric_limits<double>::infinity());
    for (std::size_t x = 0; x < least.size(); ++x)
      for (std::size_t y = 0; y < one.size(); ++y) more[x + y] = std::min(more[x + y], least[x] + one[y]);
    least = std::move(more);
  }
  return least;
}

// Query rows and key rows that a device works on, bit by bit.
struct TouchedRows {
  unsigned queries = 0, keys = 0;
};

// Least words of all devices, over all ways to deal the pairs evenly to devices, whoever owns which tokens.
double least_of_deals(std::size_t tokens, std::size_t devices, double query, double key, bool causal) {
  std::vector<std::array<std::size_t, 2>> pairs;
  for (std::size_t q = 0; q < tokens; ++q)
    for (std::size_t k = 0; k < tokens; ++k)
      if (!causal || k <= q) pairs.push_back({q, k});
  std::vector<std::size_t> device_of;
  for (std::size_t i = 0; i < pairs.size(); ++i) device_of.push_back(i * devices / pairs.size());
  double least = std::numeric_limits<double>::infinity();
  do {
    std::vector<TouchedRows> touched(devices);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      touched[device_of[i]].queries |= 1U << pairs[i][0];
      touched[device_of[i]].keys |= 1U << pairs[i][1];
    }
    double words = 0;
    for (const TouchedRows& each : touched)
      words += query * std::popcount(each.queries) + key * std::popcount(each.keys);
    for (std::size_t token = 0; token < tokens; ++token) {
      double at_owner = 0;
      for (const TouchedRows& each : touched)
        at_owner = std::max(at_owner, query * (each.queries >> token & 1U) + key * (each.keys >> token & 1U));
      words -= at_owner;
    }
    least = std::min(least, words);
  } while (std::next_permutation(device_of.begin(), device_of.end()));
  return least;
}

}  // namespace

TEST_CASE("attention exchange: by hand") {
  // 4 devices, 1000 tokens of 10 words: a device works on 500 query rows and 500 key rows and owns 250 of each.
  // Forward 20 words of each row; backward r c = 250,000 and 30 r + 40 c is least at 30 r = 40 c = 1000 sqrt(300).
  const ParallelAttention four{.tokens = 1000, .width = 10, .kv_width = 10, .devices = 4};
  CHECK(exchanged(four, AttentionPass::forward) == Approx(20 * (500 + 500 - 250 - 250)));
  CHECK(exchanged(four, AttentionPass::backward) == Approx(2000 * std::sqrt(300.0) - (30 + 40) * 250));
  // Causal, half the pairs: rows shrink by sqrt(2).
  CHECK(exchanged(four, AttentionPass::backward, true) == Approx(2000 * std::sqrt(150.0) - (30 + 40) * 250));
  // 2 devices, 8 query heads to a key head: 30 r + 5 c, r c = 500,000 is least beyond c = 1000, so that a device takes
  // its own queries and all keys: K, V, dK and dV of the other half.
  const ParallelAttention grouped{.tokens = 1000, .width = 10, .kv_width = 1.25, .devices = 2};
  CHECK(exchanged(grouped, AttentionPass::backward) == Approx(5 * 500));
  // 3 sequences on 2 devices: one whole and half of another. Words 30 and 40 of the rows of a sequence, of which half a
  // sequence touches 1 / sqrt(2) in the mean, less the share of 1.5 sequences.
  ParallelAttention several = four;
  several.devices = 2;
  several.sequences = 3;
  CHECK(exchanged(several, AttentionPass::backward) ==
        Approx(70000 + 2 * std::sqrt(30000.0 * 40000.0 / 2) - 1.5 * 70000));
  for (const AttentionPass pass : k_passes) {
    CHECK(exchanged({.tokens = 1000, .width = 10, .kv_width = 10, .devices = 1}, pass) == 0.0);
    CHECK(exchanged({.tokens = 1000, .width = 10, .kv_width = 5, .devices = 4, .sequences = 8}, pass) == 0.0);
    CHECK_THROWS_AS(attention_exchange_bound({.tokens = 8, .width = 1, .kv_width = 1, .devices = 0}, false, pass),
                    core::ConfigurationError);
  }
}

TEST_CASE("attention exchange: no sets of rows take less, and some take as much") {
  constexpr std::size_t k_tokens = 5;
  for (const AttentionPass pass : k_passes) {
    int attained = 0;
    for (const bool causal : {false, true})
      for (const double kv : {1.0, 0.5, 0.125}) {
        const MovedRows rows = moved_rows(pass);
        const auto one = least_of_one(k_tokens, rows.queries, kv * rows.keys, causal);
        for (std::int64_t sequences = 1; sequences <= 4; ++sequences) {
          const auto least = least_of_several(one, sequences);
          for (std::size_t devices = 1; devices <= 32; ++devices) {
            const std::size_t pairs = (least.size() - 1 + devices - 1) / devices;  // of the device with most
            const double owned = (rows.queries + kv * rows.keys) * static_cast<double>(sequences) * k_tokens /
                                 static_cast<double>(devices);
            const double bound = exchanged({.tokens = k_tokens,
                                            .width = 1,
                                            .kv_width = kv,
                                            .devices = static_cast<double>(devices),
                                            .sequences = sequences},
                                           pass, causal);
            CAPTURE(causal, kv, sequences, devices, bound, least[pairs], owned);
            REQUIRE(std::max(0.0, least[pairs] - owned) >= bound - k_rounding);
            attained += bound > 0 && least[pairs] - owned <= bound + k_rounding ? 1 : 0;
          }
        }
      }
    CHECK(attained > 0);
  }
}

TEST_CASE("attention exchange: no deal of pairs moves less, whoever owns the tokens") {
  struct Case {
    std::size_t tokens, devices;
    bool causal;
  };
  // Every device does as many pairs: 4, 9 and 16 of a full mask are dealt, 3, 6 and 10 of a causal one.
  for (const Case& each : {Case{2, 2, false}, Case{2, 4, false}, Case{3, 3, false}, Case{4, 2, false}, Case{2, 3, true},
                           Case{3, 2, true}, Case{3, 3, true}, Case{4, 2, true}, Case{4, 5, true}})
    for (const AttentionPass pass : k_passes)
      for (const double kv : {1.0, 0.25}) {
        const auto devices = static_cast<double>(each.devices);
        const MovedRows rows = moved_rows(pass);
        const double moved = least_of_deals(each.tokens, each.devices, rows.queries, kv * rows.keys, each.causal);
        const double bound =
            exchanged({.tokens = static_cast<double>(each.tokens), .width = 1, .kv_width = kv, .devices = devices},
                      pass, each.causal);
        CAPTURE(each.tokens, each.devices, each.causal, kv, bound, moved / devices);
        REQUIRE(moved / devices >= bound - k_rounding);
      }
  // Forward, one pair on each of four devices: two of them own a token, and find all there. 8 words, 2 for each.
  CHECK(least_of_deals(2, 4, 2, 2, false) == 8);
  CHECK(exchanged({.tokens = 2, .width = 1, .kv_width = 1, .devices = 4}, AttentionPass::forward) == Approx(2));
}

TEST_CASE("attention exchange: grids that attain it") {
  const auto problem = [](double group, double devices) {
    return ParallelAttention{.tokens = 8192, .width = 4096, .kv_width = 4096 / group, .devices = devices};
  };
  // Forward p_q = sqrt(g p), backward p_q = sqrt(3 g p / 4).
  for (const double root : {1.0, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0}) {
    const ParallelAttention square = problem(1, root * root);
    const double share = square.tokens * square.width / square.devices;
    CHECK(exchanged(square, AttentionPass::forward) == Approx(4 * (root - 1) * share).margin(1e-6));
    CHECK(grid_closed_form(square, root, AttentionPass::forward) == Approx(4 * (root - 1) * share));
    // Backward a square misses by (7 - 4 sqrt(3)) sqrt(p) of the share, on more than one device.
    CHECK(grid_closed_form(square, root, AttentionPass::backward) == Approx(7 * (root - 1) * share));
    if (root == 1) continue;
    const double backward = exchanged(square, AttentionPass::backward);
    CHECK(7 * (root - 1) * share - backward == Approx((7 - 4 * std::sqrt(3.0)) * root * share));
    // With Q, K and V kept as the forward pass gathered them it would receive 4 (sqrt(p) - 1) of the share: outside.
    CHECK(4 * (root - 1) * share < backward);
  }
  for (const double k : {1.0, 2.0, 3.0, 5.0}) {
    const auto attained = [](const ParallelAttention& a, double p_q, AttentionPass pass) {
      return exchanged(a, pass) == Approx(grid_closed_form(a, p_q, pass));
    };
    CHECK(attained(problem(1, 12 * k * k), 3 * k, AttentionPass::backward));
    CHECK(attained(problem(4, 12 * k * k), 6 * k, AttentionPass::backward));
    CHECK(attained(problem(3, 4 * k * k), 3 * k, AttentionPass::backward));
    CHECK(attained(problem(4, 4 * k * k), 4 * k, AttentionPass::forward));
  }
  // Few devices and many query heads to a key head: gathering keys and values attains it.
  for (double p = 1; p <= 8; ++p)
    CHECK(exchanged(problem(8, p), AttentionPass::forward) ==
          Approx(all_gather_closed_form(problem(8, p), AttentionPass::forward)));
  for (double p = 1; p <= 6; ++p)
    CHECK(exchanged(problem(8, p), AttentionPass::backward) ==
          Approx(all_gather_closed_form(problem(8, p), AttentionPass::backward)));
}

TEST_CASE("attention exchange: no grid, ring or gathering of keys is below it") {
  for (const AttentionPass pass : k_passes)
    for (const double group : {1.0, 2.0, 4.0, 8.0, 64.0})
      for (double p = 1; p <= 1024; ++p) {
        const ParallelAttention problem{.tokens = 65536, .width = 8192, .kv_width = 8192 / group, .devices = p};
        const double bound = exchanged(problem, pass) * (1 - k_rounding);
        CAPTURE(group, p, bound);
        REQUIRE(ring_closed_form(problem, pass) >= bound);
        REQUIRE(all_gather_closed_form(problem, pass) >= bound);
        for (double p_q = 1; p_q <= p; ++p_q)
          if (std::fmod(p, p_q) == 0.0) REQUIRE(grid_closed_form(problem, p_q, pass) >= bound);
        REQUIRE(exchanged(problem, pass, true) <= exchanged(problem, pass));
      }
}

TEST_CASE("attention exchange: all devices together exchange more the more there are, each of them less") {
  for (const AttentionPass pass : k_passes)
    for (const double group : {1.0, 2.0, 8.0})
      for (const bool causal : {false, true}) {
        const double query = moved_rows(pass).queries, key = moved_rows(pass).keys / group;
        // (2 sqrt(a b p / m) - a - b) / p is largest at p = m (a + b)^2 / (a b), with 1 / m of the pairs under the mask.
        const double peak = (causal ? 2.0 : 1.0) * (query + key) * (query + key) / (query * key);
        const auto each = [&](double devices) {
          return exchanged({.tokens = 4096, .width = 64, .kv_width = 64 / group, .devices = devices}, pass, causal);
        };
        for (double p = 1; p < 1024; ++p) {
          CAPTURE(group, causal, p, peak);
          REQUIRE((p + 1) * each(p + 1) >= p * each(p) * (1 - k_rounding));
          if (p >= peak) REQUIRE(each(p + 1) < each(p));
          if (p + 1 <= peak && each(p + 1) > 0) REQUIRE(each(p + 1) > each(p));
        }
      }
}
