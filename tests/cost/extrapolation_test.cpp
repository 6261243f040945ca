#include "cairn/cost/extrapolation.h"

#include "catch.h"

namespace cairn::cost {
namespace {

const FitRecord k_products{.ranges = {{"m", {128, 32768}}, {"n", {32, 65536}}, {"k", {32, 65536}}}};

std::vector<std::string> seen(const GemmShape& shape) {
  Extrapolation extrapolation;
  extrapolation.see("products", shape, k_products);
  return extrapolation.sentences();
}

}  // namespace

TEST_CASE("a size outside the measured range counts by its factor", "[cost]") {
  CHECK(factor_outside(128, {128, 512}) == 1.0);
  CHECK(factor_outside(512, {128, 512}) == 1.0);
  CHECK(factor_outside(1024, {128, 512}) == 2.0);
  CHECK(factor_outside(32, {128, 512}) == 4.0);
}

TEST_CASE("a product lies outside only if it does so with its rows and columns either way round", "[cost]") {
  CHECK(seen({.m = 128, .n = 32, .k = 65536}).empty());
  CHECK(seen({.m = 65536, .n = 32768, .k = 4096}).empty());  // turned round, 32768 x 65536 was measured
  // 131072 columns are twice the largest n; as rows they would be four times the largest m.
  CHECK(seen({.m = 4096, .n = 131072, .k = 4096}) ==
        std::vector<std::string>{"products with n = 131072: measured from 32 to 65536 only; 2 times beyond, the fitted "
                                 "law is taken to go on"});
}

TEST_CASE("of a family its worst shape is told, once", "[cost]") {
  Extrapolation extrapolation;
  for (const std::int64_t n : {131072, 262144, 131072})
    extrapolation.see("products", GemmShape{.m = 4096, .n = n, .k = 4096}, k_products);
  extrapolation.see("products", GemmShape{.m = 4096, .n = 4096, .k = 4}, k_products);  // 32 / 4 = 8, worse than 4
  extrapolation.see("kernels", 1e10, FitRecord{.ranges = {{"bytes", {1e3, 1e9}}}});
  extrapolation.see("kernels", 1e0, FitRecord{.ranges = {{"bytes", {1e3, 1e9}}}});  // a latency
  CHECK(extrapolation.sentences() ==
        std::vector<std::string>{
            "kernels of 9.31 GiB: measured from 1000 B to 954 MiB only; 10 times beyond, the fitted law is taken to go "
            "on",
            "products with k = 4: measured from 32 to 65536 only; 8 times beyond, the fitted law is taken to go on"});
}

TEST_CASE("a collective is judged by what it exchanges inside a domain", "[cost]") {
  const FitRecord sizes{.ranges = {{"bytes", {512, 1e6}}}};
  DomainLaws laws;
  for (const std::int64_t ranks : {2, 8}) {
    laws.fits.push_back({.collective = Collective::all_reduce, .ranks = ranks, .fit = sizes});
    laws.fits.push_back({.collective = Collective::all_to_all, .ranks = ranks, .fit = sizes});
  }
  const auto told = [&](Collective collective, double bytes, const GroupBinding& group) {
    Extrapolation extrapolation;
    extrapolation.see(collective, bytes, group, laws);
    return extrapolation.sentences();
  };
  CHECK(told(Collective::all_reduce, 1e6, {.size = 8, .ranks_per_domain = 8}).empty());
  CHECK(told(Collective::all_reduce, 4e6, {.size = 8, .ranks_per_domain = 1}).empty());  // across domains only
  CHECK(told(Collective::all_reduce, 4e6, {.size = 8, .ranks_per_domain = 8}) ==
        std::vector<std::string>{"all-reduce inside a domain of 3.81 MiB: measured from 512 B to 977 KiB only; 4 times "
                                 "beyond, the fitted law is taken to go on"});
  CHECK(told(Collective::all_reduce, 1e6, {.size = 72, .ranks_per_domain = 72}) ==
        std::vector<std::string>{"all-reduce inside a domain over 72 ranks: measured from 2 to 8 only; 9 times beyond, "
                                 "the fitted law is taken to go on"});
  // Of 4 MB for 32 ranks, the 8 of a domain exchange a quarter.
  CHECK(told(Collective::all_to_all, 4e6, {.size = 32, .ranks_per_domain = 8}).empty());
  CHECK(told(Collective::broadcast, 4e6, {.size = 8, .ranks_per_domain = 8}).empty());  // nothing measured
}

}  // namespace cairn::cost
