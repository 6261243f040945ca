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
    touched_ = (touched_ | set_of(matrix.stream(i))) & k_streams_of_a_set;
    for (std::size_t j = 0; j < matrix.size(); ++j)
      if (is_present(matrix.entry(i, j)))
        details_->all.push_back({index(matrix.stream(i)), index(matrix.stream(j)), matrix.entry(i, j)});
  }
  find_slack(matrix);
  find_relied_on(matrix);
}

void PassFunction::find_slack(const Matrix& matrix) {
  const auto below_compute = [&](std::size_t i, std::size_t j) {
    return present(matrix, k_compute, j) && weight(matrix, i, j) <= weight(matrix, k_compute, j) + details_->slack[i];
  };
  const auto confirms = [&](std::size_t i, std::size_t j) {
    if (below_compute(i, j)) return true;
    return has(touched_, j) && details_->slack[j] != k_unbounded &&
           weight(matrix, i, j) + details_->slack[j] <= weight(matrix, k_compute, k_compute) + details_->slack[i];
  };
  const auto sought = [&](std::size_t i) { return i != k_compute && i != k_arrival && has(touched_, i); };
  for (std::size_t i = 0; i < program::k_streams; ++i) {
    if (!sought(i)) continue;
    for (const std::size_t j : {k_compute, k_arrival}) {
      if (!present(matrix, i, j)) continue;
      details_->slack[i] = present(matrix, k_compute, j)
                               ? std::max(details_->slack[i], weight(matrix, i, j) - weight(matrix, k_compute, j))
                               : k_unbounded;
    }
  }
  // The other columns may only confirm; one that does not makes its row unbounded, which may unsettle others.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < program::k_streams; ++i) {
      if (!sought(i) || details_->slack[i] == k_unbounded) continue;
      for (std::size_t position = 0; position < matrix.size(); ++position) {
        const std::size_t j = matrix.stream(position);
        if (j == k_compute || j == k_arrival || !present(matrix, i, j) || confirms(i, j)) continue;
        details_->slack[i] = k_unbounded;
        changed = true;
        break;
      }
    }
  }
}

void PassFunction::find_relied_on(const Matrix& matrix) {
  for (const PassTerm& term : details_->all) {
    const bool bounded = term.column != k_compute && term.column != k_arrival && !reduces(term.column) &&
                         details_->slack[term.column] != k_unbounded && present(matrix, term.row, k_compute);
    if (bounded && term.weight + details_->slack[term.column] <= weight(matrix, term.row, k_compute))
      relied_on_ = (relied_on_ | set_of(term.column)) & k_streams_of_a_set;
    else
      details_->few.push_back(term);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < program::k_streams; ++i)
      for (std::size_t position = 0; position < matrix.size() && has(relied_on_, i); ++position) {
        const std::size_t j = matrix.stream(position);
        const bool rests = !has(relied_on_, j) && j != k_compute && j != k_arrival && i != j && present(matrix, i, j);
        if (!rests || (present(matrix, k_compute, j) &&
                       weight(matrix, i, j) <= weight(matrix, k_compute, j) + details_->slack[i]))
          continue;
        relied_on_ = (relied_on_ | set_of(j)) & k_streams_of_a_set;
        changed = true;
      }
  }
  for (const PassTerm& term : details_->few) needed_ = (needed_ | set_of(term.column)) & k_streams_of_a_set;
  for (std::size_t i = 0; i < program::k_streams; ++i)
    if (has(touched_, i) && details_->slack[i] > 0) needed_ = (needed_ | set_of(i)) & k_streams_of_a_set;
  for (std::size_t i = 0; i < program::k_streams; ++i)
    if (has(touched_ | relied_on_, i) && details_->slack[i] != 0)
      unlevel_ = (unlevel_ | set_of(i)) & k_streams_of_a_set;
  for (std::size_t i = 0; i < program::k_streams; ++i) {
    if (!has(unlevel_, i) || reduces(i)) continue;
    const core::Picoseconds slack = details_->slack[i];
    slack_ = slack != k_unbounded && (slack_ == 0 || slack_ == slack) ? slack : k_mixed;
    if (slack_ == k_mixed) break;
  }
}

void PassFunction::shorten(StreamSet live) {
  std::vector<PassTerm>& living = details_->living;
  living.clear();
  std::uint8_t send = program::k_streams;
  bool four = true;
  for (const PassTerm& term : details_->few) {
    if (!has(live, term.row)) continue;
    living.push_back(term);
    const bool sends = term.row == at(Stream::next) || term.row == at(Stream::previous);
    four = four && (term.row == k_compute || (sends && (send == program::k_streams || send == term.row))) &&
           (term.column == k_compute || term.column == k_arrival);
    if (sends) send = term.row;
  }
  made_for_ = live & k_streams_of_a_set;
  Kernel kernel;
  if (!four) {
    kernel = Kernel::of(living);
  } else {
    Kernel::Four& form = kernel.form.four;
    kernel.send = send;
    if (has(touched_, k_compute)) form.compute_compute = core::k_never;
    if (send != program::k_streams) form.send_compute = core::k_never;
    for (const PassTerm& term : living) {
      if (term.row == k_compute)
        (term.column == k_compute ? form.compute_compute : form.compute_arrival) = term.weight;
      else
        (term.column == k_compute ? form.send_compute : form.send_arrival) = term.weight;
    }
  }
  short_ = kernel.form;
  count_ = kernel.count & k_most_terms;
  send_ = kernel.send & k_most_send;
}

bool PassFunction::Together::agree_one_by_one(std::span<PassFunction* const> passes) const {
  std::array<core::Picoseconds, program::k_streams> common;
  StreamSet known = 0;
  for (const PassFunction* pass : passes)
    for (StreamSet left = relied_on_ & (pass->touched_ | pass->relied_on_); left != 0; left &= left - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(left));
      const core::Picoseconds slack = pass->details_->slack[i];
      if (slack == k_unbounded || (has(known, i) && common[i] != slack)) return false;
      common[i] = slack;
      known |= set_of(i);
    }
  return true;
}

void run_terms(const PassTerm* term, std::size_t count, SweepFrontiers& x) {
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
