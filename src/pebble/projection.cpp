#include "cairn/pebble/projection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <sstream>

#include "cairn/core/diagnostics.h"
#include "checked.h"
#include "exponents.h"
#include "projection_shape.h"
#include "segments.h"

namespace cairn::pebble {

namespace {

constexpr int k_mixtures = 4;           // mixtures of the best corner with each other corner, in quarters
constexpr int k_budget_intervals = 64;  // of the split between whole rows and partial sums

bool is_free(Role role) { return role == Role::read_free || role == Role::result_free; }

long double most_points(const ProjectionShape& shape, const std::vector<double>& s, double budget) {
  Shares shares;
  for (std::size_t j = 0; j < s.size(); ++j) {
    shares.push_back({.exponent = s[j], .charge = shape.operands[j].charge, .limit = shape.operands[j].elements});
  }
  return loop_factor(shape, s) * largest_product(std::move(shares), budget);
}

// The least of `value` over the corners and over mixtures of the best one with the others.
long double least(const std::vector<std::vector<double>>& corners,
                  const std::function<long double(const std::vector<double>&)>& value) {
  const std::vector<double>* best_corner = &corners.front();
  long double best = value(*best_corner);
  for (const auto& corner : corners) {
    const long double here = value(corner);
    if (here < best) {
      best = here;
      best_corner = &corner;
    }
  }
  const std::vector<double> from = *best_corner;
  for (const auto& corner : corners) {
    for (int step = 1; step < k_mixtures; ++step) {
      const double mix = static_cast<double>(step) / k_mixtures;
      std::vector<double> s(from.size());
      for (std::size_t j = 0; j < s.size(); ++j) s[j] = (1.0 - mix) * from[j] + mix * corner[j];
      best = std::min(best, value(s));
    }
  }
  return best;
}

std::vector<std::vector<double>> corners_of(const ProjectionShape& shape) {
  const auto users = shape.users();
  const auto corners = exponent_corners(shape.operands.size(), users);
  // A window's factor jumps where its exponents reach 1, so there no corner is known to be useless.
  return shape.image ? corners : undominated(corners, users);
}

class Deriver {
 public:
  Deriver(const Contraction& contraction, Words fast)
      : contraction_(contraction), fast_(fast), shape_(shape_of(contraction)), corners_(corners_of(shape_)) {
    for (const Access& access : contraction.accesses) {
      if (is_free(access.role)) free_words_ += footprint(contraction, access);
    }
    result_role_ = contraction.accesses[shape_.operands[shape_.result].access].role;
    result_words_ = footprint(contraction, contraction.accesses[shape_.operands[shape_.result].access]);
  }

  std::vector<LowerBound> bounds() {
    bounds_.push_back(compulsory());
    if (result_role_ == Role::result_free) {
      // Cut out of its graph such a part has no output, so with recomputation allowed nothing asks for it.
      bounds_.front().games = GameSet::with_rules(Rules::red_blue_white);
      LowerBound nothing;
      nothing.games = GameSet::with_rules(Rules::hong_kung);
      nothing.method = "none without outputs";
      bounds_.push_back(std::move(nothing));
    }
    if (free_words_ > 0) {
      derive_tagged();
      derive_free();
    } else if (result_role_ == Role::update) {
      const Segments loads = stretches_of_loads(fast_);
      add(GameSet::all(), "projection, by what " + std::to_string(loads.transfers) + " loads in a row allow",
          {{.what = "operands and sums loaded", .words = loads.words},
           {.what = "results stored", .words = result_words_}});
    } else {
      for (Sliding sliding : {Sliding::forbidden, Sliding::allowed}) {
        const Segments loads = stretches_of_loads(fast_ + (sliding == Sliding::allowed ? 1 : 0));
        add(GameSet::of({Rules::red_blue_white, sliding}),
            "projection, by what " + std::to_string(loads.transfers) +
                " loads in a row allow, each store counted as the load of a sum that begins",
            {{.what = "operands, sums and results", .words = loads.words}});
      }
      const Segments all = best_segments(shape_.points, fast_, [&](Words t) { return capacity(2 * fast_ + t); });
      add(GameSet::all(), "projection, by what " + std::to_string(all.transfers) + " transfers in a row allow",
          {{.what = "operands, sums and results", .words = all.words}});
    }
    return std::move(bounds_);
  }

  LowerBound quick() {
    refuse_free();
    const LowerBound least = compulsory();
    const bool update = result_role_ == Role::update;
    const Words fast = fast_ + (update ? 0 : 1);
    const Segments loads = simple_segments(shape_.points, fast, [&](Words t) { return capacity(fast + t); });
    std::vector<Part> parts = {{.what = "operands, sums and results", .words = loads.words}};
    if (update) parts.push_back({.what = "results stored", .words = result_words_});
    add(GameSet::with_rules(Rules::red_blue_white),
        "projection, by what " + std::to_string(loads.transfers) + " loads in a row allow", std::move(parts));
    return bounds_.back().words > least.words ? bounds_.back() : least;
  }

  LowerBound of_share(Words units) {
    refuse_free();
    const Words share = ceil_div(shape_.points, units);
    const Segments all = best_segments(share, fast_, [&](Words t) { return capacity(2 * fast_ + t); });
    add(GameSet::with_rules(Rules::red_blue_white),
        "projection of one unit's share, by what " + std::to_string(all.transfers) + " transfers in a row allow",
        {{.what = "words across the link of the busiest unit", .words = all.words}});
    return bounds_.back();
  }

 private:
  void refuse_free() const {
    if (free_words_ == 0) return;
    throw core::ConfigurationError("contraction." + contraction_.name,
                                   "values that move for nothing where all must be counted",
                                   "give every access the role read, update or produce");
  }

  long double capacity(Words available) const {
    return least(corners_,
                 [&](const std::vector<double>& s) { return most_points(shape_, s, static_cast<double>(available)); });
  }

  Segments stretches_of_loads(Words fast) const {
    return best_segments(shape_.points, fast, [&](Words t) { return capacity(fast + t); });
  }

  void add(GameSet games, std::string method, std::vector<Part> parts) {
    LowerBound bound;
    bound.games = games;
    bound.method = std::move(method);
    bound.assumptions = {contraction_.name + ": one running sum per result, in any order"};
    for (const Part& part : parts) bound.words += part.words;
    if (bound.words < 0) {
      parts.push_back({.what = "not below zero", .words = -bound.words});
      bound.words = 0;
    }
    bound.parts = std::move(parts);
    bounds_.push_back(std::move(bound));
  }

  LowerBound compulsory() const {
    LowerBound bound;
    bound.games = GameSet::all();
    bound.method = "compulsory";
    for (std::size_t at = 0; at < contraction_.accesses.size(); ++at) {
      const Access& access = contraction_.accesses[at];
      if (is_free(access.role)) continue;
      const Words words = footprint(contraction_, access);
      if (access.role == Role::update) bound.parts.push_back({.what = access.array + " loaded", .words = words});
      if (access.role != Role::read) {
        bound.parts.push_back({.what = access.array + " stored", .words = words});
        continue;
      }
      // An array read twice counts once, at the larger of its footprints.
      const std::string what = access.array + " loaded";
      const auto earlier =
          std::find_if(bound.parts.begin(), bound.parts.end(), [&](const Part& part) { return part.what == what; });
      if (earlier == bound.parts.end())
        bound.parts.push_back({.what = what, .words = words});
      else
        earlier->words = std::max(earlier->words, words);
    }
    for (const Part& part : bound.parts) bound.words += part.words;
    return bound;
  }

  // As if every access moved, less the words of those that do not.
  void derive_tagged() {
    for (Sliding sliding : {Sliding::forbidden, Sliding::allowed}) {
      const bool update = result_role_ == Role::update;
      const Segments loads = stretches_of_loads(fast_ + (sliding == Sliding::allowed && !update ? 1 : 0));
      std::vector<Part> parts = {{.what = "operands, sums and results", .words = loads.words}};
      if (update) parts.push_back({.what = "results stored", .words = result_words_});
      parts.push_back({.what = "values of neighbours", .words = -free_words_});
      add(GameSet::of({Rules::red_blue_white, sliding}),
          "projection, by what " + std::to_string(loads.transfers) +
              " loads in a row allow, neighbours' values taken off",
          std::move(parts));
    }
  }

  // The free access told apart: its elements whose points all lie in one stretch, and the others.
  void derive_free() {
    std::size_t free = shape_.operands.size(), frees = 0;
    for (const Access& access : contraction_.accesses) frees += is_free(access.role) ? 1 : 0;
    for (std::size_t j = 0; j < shape_.operands.size(); ++j) {
      if (is_free(contraction_.accesses[shape_.operands[j].access].role)) free = j;
    }
    if (frees != 1 || free == shape_.operands.size() || shape_.image) return;
    const std::uint32_t reused = shape_.loops & ~shape_.operands[free].loops;
    if ((reused & shape_.guarded) != 0) return;
    const bool zeros = result_role_ == Role::produce;
    for (Sliding sliding : {Sliding::forbidden, Sliding::allowed}) {
      const Words fast = fast_ + (sliding == Sliding::allowed && zeros ? 1 : 0);
      const WholeRows rows = whole_rows(free, reused);
      const Segments all =
          best_segments(shape_.points, fast, [&](Words t) { return free_capacity(rows, free, fast, t); });
      std::vector<Part> parts = {{.what = "operands, sums and results", .words = all.words}};
      if (zeros) parts.push_back({.what = k_beginnings_taken_off, .words = -result_words_});
      add(GameSet::of({Rules::red_blue_white, sliding}),
          "projection, by what " + std::to_string(all.transfers) +
              " transfers in a row allow, whole rows and partial sums",
          std::move(parts));
    }
  }

  // The smaller problem "which free elements have all their points in this stretch": the others' rows, one per element
  // of the free access.
  struct WholeRows {
    ProjectionShape shape;
    std::vector<std::vector<double>> corners;
    double points_each = 1.0;
  };

  WholeRows whole_rows(std::size_t free, std::uint32_t reused) const {
    WholeRows rows{.shape = shape_, .corners = {}, .points_each = 1.0};
    rows.shape.operands.clear();
    rows.shape.loops = shape_.operands[free].loops;
    for (std::size_t i = 0; i < shape_.extents.size(); ++i)
      rows.points_each *= (reused >> i & 1U) != 0 ? shape_.extents[i] : 1.0;
    for (std::size_t j = 0; j < shape_.operands.size(); ++j) {
      if (j == free) continue;
      Operand row = shape_.operands[j];
      for (std::size_t i = 0; i < shape_.extents.size(); ++i) {
        if ((row.loops & reused) >> i & 1U) {
          row.charge *= shape_.extents[i];
          row.elements /= shape_.extents[i];
        }
      }
      row.loops &= rows.shape.loops;
      rows.shape.operands.push_back(row);
    }
    rows.corners = corners_of(rows.shape);
    return rows;
  }

  // Others' elements y at hand, free elements cut by an end of the stretch at most 2 S + T - y.
  long double free_capacity(const WholeRows& rows, std::size_t free, Words fast, Words transfers) const {
    const double most = static_cast<double>(fast + transfers), both = static_cast<double>(2 * fast + transfers);
    long double worst = 0.0L;
    for (int step = 0; step < k_budget_intervals; ++step) {
      const double low = most * step / k_budget_intervals, high = most * (step + 1) / k_budget_intervals;
      const long double whole = rows.points_each * least_corner(rows.corners, [&](const std::vector<double>& s) {
                                  return most_points(rows.shape, s, high);
                                });
      const long double cut = least_corner(corners_, [&](const std::vector<double>& s) {
        Shares shares;
        for (std::size_t j = 0; j < s.size(); ++j) {
          if (j != free)
            shares.push_back(
                {.exponent = s[j], .charge = shape_.operands[j].charge, .limit = shape_.operands[j].elements});
        }
        const double pieces = std::min(shape_.operands[free].elements, both - low);
        return loop_factor(shape_, s) * largest_product(std::move(shares), high) * power(pieces, s[free]);
      });
      worst = std::max(worst, whole + cut);
    }
    return worst;
  }

  static long double least_corner(const std::vector<std::vector<double>>& corners,
                                  const std::function<long double(const std::vector<double>&)>& value) {
    long double best = value(corners.front());
    for (const auto& corner : corners) best = std::min(best, value(corner));
    return best;
  }

  const Contraction& contraction_;
  Words fast_;
  ProjectionShape shape_;
  std::vector<std::vector<double>> corners_;
  Words free_words_ = 0;
  Role result_role_ = Role::produce;
  Words result_words_ = 0;
  std::vector<LowerBound> bounds_;
};

std::string number(double value) {
  std::ostringstream text;
  text.precision(6);
  text << value;
  return text.str();
}

}  // namespace

Words footprint(const Contraction& contraction, const Access& access) {
  return contraction.domain.footprint(access.index, contraction.domain.box(contraction.sizes));
}

std::vector<LowerBound> projection_bounds(const Contraction& contraction, Words fast) {
  if (fast < 1)
    throw core::ConfigurationError("fast", "a fast memory of " + std::to_string(fast) + " words",
                                   "give at least 1 word");
  return Deriver(contraction, fast).bounds();
}

LowerBound quick_projection_bound(const Contraction& contraction, Words fast) {
  if (fast < 1)
    throw core::ConfigurationError("fast", "a fast memory of " + std::to_string(fast) + " words",
                                   "give at least 1 word");
  return Deriver(contraction, fast).quick();
}

LowerBound projection_bound_of_share(const Contraction& contraction, Words units, Words fast) {
  if (units < 1 || fast < 1) {
    throw core::ConfigurationError("units", std::to_string(units) + " units of " + std::to_string(fast) + " words",
                                   "give at least 1 of each");
  }
  return Deriver(contraction, fast).of_share(units);
}

LeadingTerm leading_term(const Contraction& contraction) {
  const ProjectionShape shape = shape_of(contraction);
  LeadingTerm best;
  best.shares.assign(contraction.accesses.size(), 0.0);
  double least_sum = static_cast<double>(shape.operands.size()) + 1.0;
  for (const auto& s : exponent_corners(shape.operands.size(), shape.users())) {
    double sum = 0.0, filters = 0.0;
    bool covers = true;
    for (double share : s) sum += share;
    const auto users = shape.users();
    for (std::size_t i = 0; i < shape.extents.size(); ++i) {
      double covered = 0.0;
      for (std::size_t j = 0; j < s.size(); ++j) covered += (users[i] >> j & 1U) != 0 ? s[j] : 0.0;
      covers = covers && ((shape.loops >> i & 1U) == 0 || covered >= 1.0);
    }
    for (std::size_t j = 0; j < s.size(); ++j) filters += shape.operands[j].spans_window ? s[j] : 0.0;
    if (!covers || sum > least_sum || (shape.image && s[*shape.image] + filters < 1.0)) continue;
    double coefficient = 0.0;
    if (sum > 1.0) {
      double points = shape.image ? std::pow(shape.window_reuse, std::max(0.0, 1.0 - filters)) : 1.0;
      for (std::size_t j = 0; j < s.size(); ++j)
        points *= std::pow(s[j] / (shape.operands[j].charge * (sum - 1.0)), s[j]);
      coefficient = (sum / (sum - 1.0) - 1.0) / points;
    }
    if (sum == least_sum && coefficient <= best.coefficient) continue;
    least_sum = sum;
    best.coefficient = coefficient;
    best.exponent = std::max(0.0, sum - 1.0);
    for (std::size_t j = 0; j < s.size(); ++j) best.shares[shape.operands[j].access] = s[j];
  }
  std::string points;
  for (std::size_t i = 0; i < shape.extents.size(); ++i) {
    if (shape.extents[i] > 1.0) points += (points.empty() ? "" : "*") + contraction.domain.dims()[i].name;
  }
  if (!contraction.domain.guards().empty()) points = "points";
  best.expression =
      best.coefficient == 0.0 ? "compulsory" : number(best.coefficient) + "*" + points + "/S^" + number(best.exponent);
  return best;
}

}  // namespace cairn::pebble
