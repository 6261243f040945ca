// The network bound of any plan against layouts of small chains, word by word.
#include "cairn/predict/bounds/network_bound.h"

#include <cmath>

#include "cairn/core/random.h"
#include "cairn/predict/bounds/lower_bounds.h"
#include "catch.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

// Which products of a chain of matrices of given widths one device forms, and the words that then enter or leave it.
class ChainLayout {
 public:
  enum class Pass : std::uint8_t { forward, input_gradient, weight_gradient };

  ChainLayout(std::vector<std::size_t> widths, std::size_t tokens)
      : widths_(std::move(widths)), tokens_(tokens), last_(widths_.size() - 2) {
    for (std::size_t l = 0; l <= last_; ++l) {
      first_.push_back(products_);
      products_ += tokens_ * widths_[l] * widths_[l + 1];
    }
    mine_.assign(3 * products_, 0);
  }

  // choose(pass, matrix, token, input, output): whether the device forms the product.
  template <typename Choose>
  void assign(Choose choose) {
    for (const Pass pass : {Pass::forward, Pass::input_gradient, Pass::weight_gradient})
      for (std::size_t l = 0; l <= last_; ++l)
        for (std::size_t t = 0; t < tokens_; ++t)
          for (std::size_t i = 0; i < widths_[l]; ++i)
            for (std::size_t j = 0; j < widths_[l + 1]; ++j) mine_[at(pass, l, t, i, j)] = choose(pass, l, t, i, j);
  }
  // Any one product changes sides.
  std::size_t flip(core::Random& random) {
    const std::size_t which = random.below(mine_.size());
    flip(which);
    return which;
  }
  void flip(std::size_t which) { mine_[which] = mine_[which] == 0 ? 1 : 0; }

  // Each direction needs one word where both sides add to a value or one adds and the other uses it; a weight's
  // gradient whose products are on both sides is summed up by one.
  std::size_t words() const {
    std::size_t total = 0;
    for (std::size_t l = 1; l < last_; ++l) {
      for (std::size_t t = 0; t < tokens_; ++t) {
        for (std::size_t i = 0; i < widths_[l]; ++i) total += of_input(l, t, i);
        for (std::size_t j = 0; j < widths_[l + 1]; ++j) total += of_output_gradient(l, t, j);
      }
      for (std::size_t i = 0; i < widths_[l]; ++i)
        for (std::size_t j = 0; j < widths_[l + 1]; ++j) {
          Sides made;
          for (std::size_t t = 0; t < tokens_; ++t) made.add(mine_[at(Pass::weight_gradient, l, t, i, j)]);
          total += made.mine && made.others ? 1 : 0;
        }
    }
    return total;
  }

  double share() const {
    double mine = 0.0;
    for (std::size_t l = 1; l < last_; ++l)
      for (std::size_t k = 0; k < tokens_ * widths_[l] * widths_[l + 1]; ++k)
        mine += mine_[2 * products_ + first_[l] + k];
    return mine / (chain().weights * static_cast<double>(tokens_));
  }

  predict::ProductChain chain() const {
    predict::ProductChain result{.tokens = static_cast<double>(tokens_), .width = 1e9};
    for (const std::size_t width : widths_) result.width = std::min(result.width, static_cast<double>(width));
    for (std::size_t l = 1; l < last_; ++l) {
      const auto size = static_cast<double>(widths_[l] * widths_[l + 1]);
      result.weights += size;
      result.largest = std::max(result.largest, size);
    }
    return result;
  }

  // The bound for the device, or for the others where it does more than half.
  double bound() const {
    return predict::least_crossing_bytes(chain(), std::min(share(), 1.0 - share()),
                                         {.value = 1.0, .weight_gradient = 1.0});
  }

 private:
  struct Sides {
    bool mine = false, others = false;
    void add(char side) { (side != 0 ? mine : others) = true; }
  };
  static std::size_t crossing(const Sides& made, const Sides& used) {
    return (made.mine && used.others ? 1U : 0U) + (made.others && used.mine ? 1U : 0U);
  }
  std::size_t at(Pass pass, std::size_t l, std::size_t t, std::size_t i, std::size_t j) const {
    return static_cast<std::size_t>(pass) * products_ + first_[l] + (t * widths_[l] + i) * widths_[l + 1] + j;
  }
  std::size_t of_input(std::size_t l, std::size_t t, std::size_t i) const {
    Sides made, used;
    for (std::size_t k = 0; k < widths_[l - 1]; ++k) made.add(mine_[at(Pass::forward, l - 1, t, k, i)]);
    for (std::size_t j = 0; j < widths_[l + 1]; ++j) {
      used.add(mine_[at(Pass::forward, l, t, i, j)]);
      used.add(mine_[at(Pass::weight_gradient, l, t, i, j)]);
    }
    return crossing(made, used);
  }
  std::size_t of_output_gradient(std::size_t l, std::size_t t, std::size_t j) const {
    Sides made, used;
    for (std::size_t k = 0; k < widths_[l + 2]; ++k) made.add(mine_[at(Pass::input_gradient, l + 1, t, j, k)]);
    for (std::size_t i = 0; i < widths_[l]; ++i) {
      used.add(mine_[at(Pass::input_gradient, l, t, i, j)]);
      used.add(mine_[at(Pass::weight_gradient, l, t, i, j)]);
    }
    return crossing(made, used);
  }

  std::vector<std::size_t> widths_;
  std::size_t tokens_ = 0;
  std::size_t last_ = 0;  // matrix
  std::size_t products_ = 0;
  std::vector<std::size_t> first_;  // product of each matrix
  std::vector<char> mine_;
};

using Pass = ChainLayout::Pass;

// Bound over words where something is proved; layouts that keep everything on one side prove nothing.
double closeness(const ChainLayout& layout) {
  const double bound = layout.bound();
  return bound == 0.0 ? 0.0 : bound / static_cast<double>(layout.words());
}

// Walks over layouts towards few words for many products of the device; every layout on the way is checked.
double closest_of_walk(ChainLayout layout, core::Random& random, int moves) {
  constexpr double k_heat = 0.3;
  double closest = 0.0;
  // Words less what is won by an even share: else everything would end on one side.
  const double prize = random.uniform() * 4.0 * static_cast<double>(layout.words() + 1);
  const auto energy = [&] {
    return static_cast<double>(layout.words()) - prize * std::min(layout.share(), 1.0 - layout.share());
  };
  double now = energy();
  for (int i = 0; i < moves; ++i) {
    const std::size_t which = layout.flip(random);
    const double after = energy();
    if (after > now && random.uniform() > std::exp((now - after) / k_heat)) {
      layout.flip(which);
      continue;
    }
    now = after;
    closest = std::max(closest, closeness(layout));
  }
  return closest;
}

}  // namespace

TEST_CASE("Network of any plan: no layout of a small chain sends less") {
  constexpr int k_walks = 12, k_moves = 6'000;
  core::Random random(7);
  double closest = 0.0;
  for (const std::vector<std::size_t>& widths :
       {std::vector<std::size_t>{2, 2, 2, 2}, {2, 2, 2, 2, 2}, {3, 2, 4, 2, 3}, {2, 2, 2, 2, 2, 2, 2}})
    for (const std::size_t tokens : {1U, 2U, 5U})
      for (int walk = 0; walk < k_walks; ++walk) {
        ChainLayout layout(widths, tokens);
        // From random layouts, from cuts between tokens, and from cuts between matrices.
        const std::size_t cut = 1 + random.below(tokens), matrix = 1 + random.below(widths.size() - 2);
        layout.assign([&](Pass, std::size_t l, std::size_t t, std::size_t, std::size_t) {
          if (walk % 3 == 0) return static_cast<char>(random.below(2));
          return static_cast<char>(walk % 3 == 1 ? t < cut : l < matrix);
        });
        closest = std::max({closest, closeness(layout), closest_of_walk(layout, random, k_moves)});
      }
  CHECK(closest <= 1.0 + 1e-12);
  CHECK(closest > 0.9);  // so that a bound that is a tenth too large would be found
}

TEST_CASE("Network of any plan: layouts by hand") {
  // Six matrices of 3 x 3, four counted: W = 36, Lambda = 4, h = 3; four tokens.
  constexpr std::size_t k_tokens = 4;
  ChainLayout layout({3, 3, 3, 3, 3, 3, 3}, k_tokens);
  CHECK(layout.chain().weights == 36.0);

  // A pipeline of two stages: three values and three gradients of each token. Half the products, so Lambda phi = 2, and
  // 2 theta = 2 sqrt(1 - theta) / theta 2 where theta = 0.8620 (0.862^2 = 0.743 = 2 sqrt(0.138)): 12 x 1.724.
  layout.assign(
      [](Pass, std::size_t l, std::size_t, std::size_t, std::size_t) { return static_cast<char>(l < 3 ? 1 : 0); });
  CHECK(layout.share() == 0.5);
  CHECK(layout.words() == 2 * 3 * k_tokens);
  CHECK(layout.bound() == Approx(12.0 * 1.724).epsilon(1e-3));
  CHECK(2.0 * layout.bound() > static_cast<double>(layout.words()));  // twice the bound would be none

  // Each matrix split by inputs or outputs in turn, as in tensor parallelism: 2 x 3 words of a token and matrix and
  // more.
  layout.assign([](Pass, std::size_t l, std::size_t, std::size_t i, std::size_t j) {
    return static_cast<char>((l % 2 == 0 ? j : i) == 0 ? 1 : 0);
  });
  CHECK(layout.share() == Approx(1.0 / 3.0));
  CHECK(layout.words() >= 12 * k_tokens);
  CHECK(layout.bound() <= static_cast<double>(layout.words()));

  // Two copies of the model: one word of each weight, which is the bound once tokens are many.
  ChainLayout copies({3, 3, 3, 3, 3, 3, 3}, 16);
  copies.assign(
      [](Pass, std::size_t, std::size_t t, std::size_t, std::size_t) { return static_cast<char>(t < 8 ? 1 : 0); });
  CHECK(copies.words() == 36);
  CHECK(copies.bound() == 36.0);
}

TEST_CASE("Network of any plan: mixtures of copies and pipelines, step 3 of the proof") {
  // Over shares pi of weights and sigma of split ones that leave phi <= 1/2 for the mean, the words by the tent
  // function.
  constexpr int k_steps = 40;
  double closest = 0.0;
  for (const double phi : {0.01, 0.1, 0.3, 0.5})
    for (const double paths : {0.01, 0.3, 1.0, 2.0, 30.0})  // A, in units of W
      for (int p = 0; p <= k_steps; ++p)
        for (int s = 1; s <= k_steps; ++s) {
          const double pi = phi * p / k_steps;
          const double sigma = (phi - pi) + (1.0 - phi) * s / k_steps;
          const double top = pi + sigma, w = (phi - pi) / sigma;
          const auto tent = [&](double x) { return std::min({1.0, x / phi, (1.0 - x) / phi}); };
          const double words = sigma + paths * ((1.0 - w) * tent(pi) + w * tent(top));
          const double least = std::min({paths, 1.0, 2.0 * std::sqrt(phi * paths)});
          closest = std::max(closest, least / words);
        }
  CHECK(closest <= 1.0 + 1e-12);
  CHECK(closest > 0.99);
}

TEST_CASE("Network of any plan: the chain of a model") {
  // Three layers of 8 x 16 and 16 x 8: six matrices, all but the ends counted.
  const auto chain = predict::product_chain(two_products({.layers = 3}), {.batch = 2, .sequence = 5});
  REQUIRE(chain.has_value());
  CHECK(chain->tokens == 10.0);
  CHECK(chain->width == 8.0);
  CHECK(chain->weights == 4.0 * 128.0);
  CHECK(chain->largest == 128.0);
  CHECK_FALSE(predict::product_chain(two_products({.layers = 1}), {}).has_value());
  CHECK_FALSE(predict::product_chain(convolutional_network(8, 4, 2, {}), {}).has_value());
  // One set of weights for every step: its gradient sums over all of them.
  CHECK_FALSE(predict::product_chain(recurrent_network(4, 6, 2, {}), {}).has_value());
}

TEST_CASE("Network of any plan: seconds") {
  // T = 100, h = 8, W = 512, Lambda = 4; on eight devices Lambda phi = 1/2, so theta = 1/2 and a channel has
  // 2 x 1/2 = 1 word: A = 800 values of two bytes, W = 512 sums of four, 2 sqrt(A W / 8) = 2 sqrt(1600 x 2048 / 8) =
  // 1280.
  const predict::ProductChain chain{.tokens = 100.0, .width = 8.0, .weights = 512.0, .largest = 128.0};
  const predict::WordBytes bytes{.value = 2.0, .weight_gradient = 4.0};
  CHECK(predict::least_crossing_bytes(chain, 1.0 / 8.0, bytes) == Approx(1280.0));
  CHECK(predict::network_bound_s(chain, 8.0, bytes, 64.0, 1000.0) == Approx(10.0));
  CHECK(predict::network_bound_s(chain, 8.0, bytes, 64.0, 51200.0) ==
        Approx(1.0));  // or one does half: 100 x 512 FLOPs

  const ir::Model model = two_products({.layers = 3});
  const predict::Batch batch{.contraction_flops = 1.0, .sizes = {.batch = 4, .sequence = 5}, .passes = 5.0};
  predict::DeviceLimits limits{.peak_flops = 1000.0, .links_bytes_per_s = 64.0, .words = bytes};
  CHECK(*predict::problem_bounds(model, batch, 8.0, limits).network_s == Approx(10.0));
  CHECK_FALSE(predict::problem_bounds(model, batch, 1.0, limits).network_s.has_value());
  limits.links_bytes_per_s.reset();
  CHECK_FALSE(predict::problem_bounds(model, batch, 8.0, limits).network_s.has_value());
}
