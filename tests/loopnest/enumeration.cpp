// The closed forms against plain enumeration: every point of small random domains visited, every index tuple kept in a
// set.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <set>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/loopnest/domain.h"
#include "catch.h"

using namespace cairn::loopnest;

namespace {

using Point = std::array<std::int64_t, k_max_dims>;

std::int64_t value(const Affine& form, const Point& point) {
  std::int64_t sum = form.offset;
  for (const Term& term : form.terms) sum += term.stride * point[term.dim];
  return sum;
}

void visit_points(const Domain& domain, const Box& box, const std::function<void(const Point&)>& visit) {
  Point point{};
  const std::function<void(std::size_t)> fix = [&](std::size_t dim) {
    if (dim == box.size()) {
      const auto holds = [&](const Guard& guard) { return value(guard, point) >= 0; };
      if (std::all_of(domain.guards().begin(), domain.guards().end(), holds)) visit(point);
      return;
    }
    for (point[dim] = box[dim].begin; point[dim] < box[dim].end; ++point[dim]) fix(dim + 1);
  };
  fix(0);
}

std::int64_t points_by_enumeration(const Domain& domain, const Box& box) {
  std::int64_t points = 0;
  visit_points(domain, box, [&](const Point&) { ++points; });
  return points;
}

std::int64_t footprint_by_enumeration(const Domain& domain, const Projection& projection, const Box& box) {
  std::set<std::vector<std::int64_t>> tuples;
  visit_points(domain, box, [&](const Point& point) {
    std::vector<std::int64_t> tuple;
    for (const Affine& form : projection) tuple.push_back(value(form, point));
    tuples.insert(tuple);
  });
  return static_cast<std::int64_t>(tuples.size());
}

class Cases {
 public:
  explicit Cases(std::uint64_t seed) : random_(seed) {}

  Domain domain(int most_dims, int most_guards, int largest_stride) {
    Domain result;
    const std::int64_t dims = between(1, most_dims);
    for (std::int64_t d = 0; d < dims; ++d)
      result.add(std::string(1, static_cast<char>('i' + d)), Extent::of(between(1, 7)));
    const std::int64_t guards = between(0, most_guards);
    for (std::int64_t g = 0; g < guards; ++g) {
      std::vector<DimId> order = shuffled(dims);
      result.add_guard(form(order, std::min(dims, between(1, 3)), largest_stride, 3 * largest_stride));
    }
    return result;
  }

  // Mostly part of the extents, sometimes shifted, at times empty.
  Box box(const Domain& domain) {
    Box result = domain.box({});
    for (Interval& range : result) {
      const std::int64_t begin = between(0, 7) == 0 ? between(-3, 3) : between(0, range.end / 2);
      range = {begin, begin + between(between(0, 15) == 0 ? 0 : 1, 7)};
    }
    return result;
  }

  // Forms over disjoint dimensions, some dimensions left out.
  Projection projection(const Domain& domain, int largest_stride) {
    std::vector<DimId> order = shuffled(static_cast<std::int64_t>(domain.dims().size()));
    Projection result;
    while (!order.empty()) {
      const std::int64_t terms = std::min<std::int64_t>(static_cast<std::int64_t>(order.size()), between(0, 3));
      if (terms == 0)
        order.pop_back();
      else
        result.push_back(form(order, terms, largest_stride, 3));
    }
    return result;
  }

  std::int64_t between(std::int64_t least, std::int64_t greatest) {
    return least + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(greatest - least + 1)));
  }

 private:
  std::vector<DimId> shuffled(std::int64_t dims) {
    std::vector<DimId> order(static_cast<std::size_t>(dims));
    std::iota(order.begin(), order.end(), DimId{0});
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(i) - 1))]);
    return order;
  }

  // Takes its dimensions from the end of the list. A stride may be 0.
  Affine form(std::vector<DimId>& order, std::int64_t terms, int largest_stride, int largest_offset) {
    Affine result;
    for (std::int64_t t = 0; t < terms; ++t) {
      result.terms.push_back({order.back(), static_cast<std::int32_t>(between(-largest_stride, largest_stride))});
      order.pop_back();
    }
    result.offset = between(-largest_offset, largest_offset);
    return result;
  }

  cairn::core::Random random_;
};

void compare(std::uint64_t seed, int cases, int most_dims, int most_guards, int largest_stride) {
  Cases random(seed);
  int guarded = 0;
  int counted = 0;
  for (int i = 0; i < cases; ++i) {
    const Domain domain = random.domain(most_dims, most_guards, largest_stride);
    const Box box = random.box(domain);
    const Projection projection = random.projection(domain, largest_stride);
    CAPTURE(seed, i);
    const std::int64_t points = points_by_enumeration(domain, box);
    REQUIRE(domain.points(box) == points);
    REQUIRE(domain.footprint(projection, box) == footprint_by_enumeration(domain, projection, box));
    counted += points > 0;
    guarded += points > 0 && points < domain.points_unguarded(box);
  }
  // The cases are worth their name: many hold points, and in many of these the guards remove some but not all.
  REQUIRE(counted > cases / 3);
  REQUIRE(guarded > cases / 8);
}

}  // namespace

TEST_CASE("unit strides, up to two guards") { compare(1, 3000, 4, 2, 1); }

TEST_CASE("strides up to 3, up to two guards") { compare(2, 4000, 4, 2, 3); }

TEST_CASE("strides up to 6, up to four guards over few dimensions") { compare(3, 2000, 3, 4, 6); }

TEST_CASE("two dimensions, two guards, strides up to 9: polygons") { compare(4, 3000, 2, 2, 9); }

TEST_CASE("padded and strided windows: guards along the value of a form") {
  Cases random(5);
  for (int i = 0; i < 1000; ++i) {
    Domain domain;
    for (const char* name : {"x", "t", "c"}) domain.add(name, Extent::of(random.between(1, 7)));
    const auto stride = static_cast<std::int32_t>(random.between(1, 5));
    const auto dilation = static_cast<std::int32_t>(random.between(-4, 4));
    const std::int64_t padding = random.between(0, 6);
    const std::int64_t size = random.between(1, 20);
    const Affine index{{Term{0, stride}, Term{1, dilation}}, -padding};
    domain.add_guard(index);
    domain.add_guard({{Term{0, -stride}, Term{1, -dilation}}, padding + size - 1});
    const Box box = random.box(domain);
    const Projection projection{Affine::of(2), index};
    CAPTURE(i, stride, dilation, padding, size);
    REQUIRE(domain.points(box) == points_by_enumeration(domain, box));
    REQUIRE(domain.footprint(projection, box) == footprint_by_enumeration(domain, projection, box));
  }
}

TEST_CASE("the parts of a split box add up to the whole") {
  Cases random(6);
  for (int i = 0; i < 500; ++i) {
    const Domain domain = random.domain(4, 2, 4);
    const Box whole = random.box(domain);
    const auto dim = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(whole.size()) - 1));
    if (whole[dim].extent() <= 0) continue;
    const std::int64_t cut = whole[dim].begin + random.between(0, whole[dim].extent());
    Box left = whole;
    Box right = whole;
    left[dim].end = cut;
    right[dim].begin = cut;
    REQUIRE(domain.points(left) + domain.points(right) == domain.points(whole));
  }
}
