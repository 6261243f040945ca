#include "pass_function.h"

#include <algorithm>
#include <bit>

#include "at.h"

namespace cairn::predict {
namespace {

using program::Stream;

constexpr core::Picoseconds k_unbounded = -core::k_never;

// Gathers on this stream are waited for at once, reductions run on: passes never agree on it, so nothing rests on it.
constexpr bool reduces(std::size_t stream) { return stream == at(Stream::data); }

std::uint8_t index(std::size_t i) { return static_cast<std::uint8_t>(i); }
core::Picoseconds weight(const Matrix& matrix, std::size_t row, std::size_t column) {
  return matrix.weight(row, column);
}
bool is_present(core::Picoseconds weight) { return weight > core::k_never / 2; }
bool present(const Matrix& matrix, std::size_t row, std::size_t column) {
  return is_present(matrix.weight(row, column));
}
bool leaves_alone(const Matrix& matrix, std::size_t row) {
  for (std::size_t j = 0; j < matrix.size(); ++j)
    if (matrix.entry(row, j) != (row == j ? 0 : core::k_never)) return false;
  return true;
}

}  // namespace

PassFunction::PassFunction(const Matrix& matrix) {
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    if (leaves_alone(matrix, i)) continue;
    touched_ |= set_of(matrix.stream(i));
    for (std::size_t j = 0; j < matrix.size(); ++j)
      if (is_present(matrix.entry(i, j)))
        all_.push_back({index(matrix.stream(i)), index(matrix.stream(j)), matrix.entry(i, j)});
  }
  find_slack(matrix);
  find_relied_on(matrix);
}

void PassFunction::find_slack(const Matrix& matrix) {
  const auto below_compute = [&](std::size_t i, std::size_t j) {
    return present(matrix, k_compute, j) && weight(matrix, i, j) <= weight(matrix, k_compute, j) + slack_[i];
  };
  const auto confirms = [&](std::size_t i, std::size_t j) {
    if (below_compute(i, j)) return true;
    return has(touched_, j) && slack_[j] != k_unbounded &&
           weight(matrix, i, j) + slack_[j] <= weight(matrix, k_compute, k_compute) + slack_[i];
  };
  const auto sought = [&](std::size_t i) { return i != k_compute && i != k_arrival && has(touched_, i); };
  for (std::size_t i = 0; i < program::k_streams; ++i) {
    if (!sought(i)) continue;
    for (const std::size_t j : {k_compute, k_arrival}) {
      if (!present(matrix, i, j)) continue;
      slack_[i] = present(matrix, k_compute, j)
                      ? std::max(slack_[i], weight(matrix, i, j) - weight(matrix, k_compute, j))
                      : k_unbounded;
    }
  }
  // The other columns may only confirm; one that does not makes its row unbounded, which may unsettle others.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < program::k_streams; ++i) {
      if (!sought(i) || slack_[i] == k_unbounded) continue;
      for (std::size_t position = 0; position < matrix.size(); ++position) {
        const std::size_t j = matrix.stream(position);
        if (j == k_compute || j == k_arrival || !present(matrix, i, j) || confirms(i, j)) continue;
        slack_[i] = k_unbounded;
        changed = true;
        break;
      }
    }
  }
}

void PassFunction::find_relied_on(const Matrix& matrix) {
  for (const PassTerm& term : all_) {
    const bool bounded = term.column != k_compute && term.column != k_arrival && !reduces(term.column) &&
                         slack_[term.column] != k_unbounded && present(matrix, term.row, k_compute);
    if (bounded && term.weight + slack_[term.column] <= weight(matrix, term.row, k_compute))
      relied_on_ |= set_of(term.column);
    else
      few_.push_back(term);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < program::k_streams; ++i)
      for (std::size_t position = 0; position < matrix.size() && has(relied_on_, i); ++position) {
        const std::size_t j = matrix.stream(position);
        const bool rests = !has(relied_on_, j) && j != k_compute && j != k_arrival && i != j && present(matrix, i, j);
        if (!rests ||
            (present(matrix, k_compute, j) && weight(matrix, i, j) <= weight(matrix, k_compute, j) + slack_[i]))
          continue;
        relied_on_ |= set_of(j);
        changed = true;
      }
  }
  for (const PassTerm& term : few_) needed_ |= set_of(term.column);
  for (std::size_t i = 0; i < program::k_streams; ++i)
    if (has(touched_, i) && slack_[i] > 0) needed_ |= set_of(i);
  for (std::size_t i = 0; i < program::k_streams; ++i)
    if (has(touched_ | relied_on_, i) && slack_[i] != 0) unlevel_ |= set_of(i);
  for (std::size_t i = 0; i < program::k_streams; ++i) {
    if (!has(unlevel_, i) || reduces(i)) continue;
    const core::Picoseconds slack = slack_[i];
    common_slack_ = slack != k_unbounded && (common_slack_ == 0 || common_slack_ == slack) ? slack : k_mixed;
    if (common_slack_ == k_mixed) break;
  }
}

Kernel PassFunction::shortened(StreamSet live) {
  live &= touched_;
  const auto known =
      std::find_if(short_.begin(), short_.end(), [live](const Short& each) { return each.live == live; });
  return known != short_.end() ? known->kernel : short_.emplace_back(made_short(live)).kernel;
}

PassFunction::Short PassFunction::made_short(StreamSet live) const {
  Short made{.live = live, .terms = {}, .kernel = {}};
  std::uint8_t send = Kernel::k_no_send;
  bool four = true;
  for (const PassTerm& term : few_) {
    if (!has(live, term.row)) continue;
    made.terms.push_back(term);
    const bool sends = term.row == at(Stream::next) || term.row == at(Stream::previous);
    four = four && (term.row == k_compute || (sends && (send == Kernel::k_no_send || send == term.row))) &&
           (term.column == k_compute || term.column == k_arrival);
    if (sends) send = term.row;
  }
  if (!four) {
    made.kernel = Kernel::of(made.terms);
    return made;
  }
  Kernel::Four& form = made.kernel.form.four;
  made.kernel.send = send;
  if (has(touched_, k_compute)) form.compute_compute = core::k_never;
  if (send != Kernel::k_no_send) form.send_compute = core::k_never;
  for (const PassTerm& term : made.terms) {
    if (term.row == k_compute)
      (term.column == k_compute ? form.compute_compute : form.compute_arrival) = term.weight;
    else
      (term.column == k_compute ? form.send_compute : form.send_arrival) = term.weight;
  }
  return made;
}

void PassFunction::Together::add(const PassFunction& pass) {
  relied_on_ |= pass.relied_on_;
  touched_ |= pass.touched_;
  unlevel_ |= pass.unlevel_;
  level_ |= (pass.touched_ | pass.relied_on_) & ~pass.unlevel_;
  needed_ |= pass.needed_;
  add_slack(pass.common_slack_);
}

void PassFunction::Together::add(const Together& others) {
  relied_on_ |= others.relied_on_;
  touched_ |= others.touched_;
  unlevel_ |= others.unlevel_;
  level_ |= others.level_;
  needed_ |= others.needed_;
  one_slack_ = one_slack_ && others.one_slack_;
  add_slack(others.slack_);
}

void PassFunction::Together::add_slack(core::Picoseconds slack) {
  if (slack == 0) return;
  if (slack_ == 0) slack_ = slack;
  one_slack_ = one_slack_ && slack == slack_ && slack != k_mixed;
}

bool PassFunction::Together::agree_one_by_one(const std::vector<PassFunction*>& passes) const {
  std::array<core::Picoseconds, program::k_streams> common;
  StreamSet known = 0;
  for (const PassFunction* pass : passes)
    for (StreamSet left = relied_on_ & (pass->touched_ | pass->relied_on_); left != 0; left &= left - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(left));
      const core::Picoseconds slack = pass->slack_[i];
      if (slack == k_unbounded || (has(known, i) && common[i] != slack)) return false;
      common[i] = slack;
      known |= set_of(i);
    }
  return true;
}

void run_terms(const PassTerm* term, std::size_t count, Frontiers& x) {
  std::array<core::Picoseconds, program::k_streams> value;
  std::array<std::uint8_t, program::k_streams> changed;
  std::size_t rows = 0;
  const PassTerm* const end = term + count;
  while (term != end) {
    const std::uint8_t row = term->row;
    core::Picoseconds time = term->weight + x[term->column];
    for (++term; term != end && term->row == row; ++term) time = std::max(time, term->weight + x[term->column]);
    value[rows] = time;
    changed[rows++] = row;
  }
  for (std::size_t i = 0; i < rows; ++i) x[changed[i]] = value[i];
}

}  // namespace cairn::predict
