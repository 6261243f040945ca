#include "rank_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cairn/sequence/folds.h"
#include "rank_pass.h"

namespace cairn::attention_mpi {

using sequence::Parcel;
using sequence::Pass;
using sequence::Place;
using sequence::Tensor;

namespace {

constexpr std::uint64_t k_seed = 20;

std::vector<Tensor> results_of(Pass pass) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < sequence::k_tensors; ++i)
    if (sequence::is_result(pass, static_cast<Tensor>(i))) all.push_back(static_cast<Tensor>(i));
  return all;
}

double difference(const float* numbers, const double* exact, std::int64_t count) {
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double apart = std::abs(static_cast<double>(numbers[i]) - exact[i]);
    if (std::isnan(apart)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, apart);
  }
  return largest;
}

// All results that a rank holds, wherever they belong: what is no whole result anywhere would be wrong by much.
class Comparison {
 public:
  Comparison(const Reference& reference, Pass pass, HeldRows& held, PassOutcome& outcome)
      : reference_(reference), pass_(pass), held_(held), outcome_(outcome) {
    for (const Tensor tensor : results_of(pass))
      for (const double number : reference.exact[tensor].numbers()) magnitude_ = std::max(magnitude_, std::abs(number));
  }

  void run(const sequence::Tokens& owned) {
    std::vector<bool> owns(static_cast<std::size_t>(reference_.problem.tokens), false);
    for (const std::int64_t token : positions(owned)) owns[static_cast<std::size_t>(token)] = true;
    const Parcel everything{.tokens = {{.count = reference_.problem.tokens}}, .heads = all_heads(reference_.problem)};
    for (const Tensor tensor : results_of(pass_)) {
      Parcel rows = everything;
      rows.tensors = set_of(tensor);
      sequence::for_rows(reference_.problem, rows, [&](const Place& place, std::size_t) {
        compare(place, owns[static_cast<std::size_t>(place.token)]);
        return Fault();
      });
    }
    if (!(outcome_.largest_error <= reference_.tolerance))
      outcome_.differences.push_back(
          fmt::format("{} differs from dense attention by {:.3g} of the largest, above {:.3g}", text(worst_),
                      outcome_.largest_error, reference_.tolerance));
  }

 private:
  void compare(const Place& place, bool owned) {
    const float* numbers = held_.find(place);
    if (numbers == nullptr) {
      if (owned && place.tensor != Tensor::logsumexp && missing_++ == 0)
        outcome_.differences.push_back(fmt::format("{} is owned, and was not computed", text(place)));
      return;
    }
    const double* exact = reference_.exact[place.tensor].at(place.token, place.head);
    const double error = difference(numbers, exact, sequence::width(reference_.problem, place.tensor)) / magnitude_;
    if (error <= outcome_.largest_error) return;
    outcome_.largest_error = error;
    worst_ = place;
  }

  const Reference& reference_;
  Pass pass_;
  HeldRows& held_;
  PassOutcome& outcome_;
  double magnitude_ = 0.0;
  Place worst_;
  int missing_ = 0;
};

void compare_bytes(PassOutcome& outcome, std::string_view direction, std::int64_t counted, std::int64_t of_list) {
  if (counted != of_list)
    outcome.differences.push_back(fmt::format("{} {} B, and by its list {} B", direction, counted, of_list));
}

// The inputs of a pass that the rank has from the start.
Fault begin(const Reference& reference, Pass pass, const sequence::Tokens& owned, const Parcel& kept, HeldRows& held) {
  using sequence::set_of;
  const bool forward = pass == Pass::forward;
  HeldRows inputs(reference.problem);
  if (!forward)
    if (auto fault = inputs.keep(kept, held)) return fault;
  inputs.put_all(
      {.tensors = forward ? set_of(Tensor::query, Tensor::key, Tensor::value) : set_of(Tensor::output_gradient),
       .tokens = owned,
       .heads = all_heads(reference.problem)},
      reference.inputs);
  held.exchange(inputs);
  return std::nullopt;
}

}  // namespace

Reference make_reference(const sequence::Problem& problem, const std::vector<Pass>& passes, double tolerance) {
  Reference reference{.problem = problem, .passes = passes, .tolerance = tolerance};
  reference.inputs = sequence::random_inputs(problem, k_seed);
  reference.exact = sequence::dense_attention(problem, sequence::Visible(problem), reference.inputs, passes.back());
  return reference;
}

RankOutcome run_rank(const Reference& reference, const sequence::Scheme& scheme, const sequence::Grid& grid,
                     std::int64_t rank) {
  const sequence::Problem& problem = reference.problem;
  const sequence::Tokens owned = scheme.owned(problem, grid, rank);
  const Parcel kept = scheme.kept(problem, grid, rank);
  RankOutcome outcome;
  HeldRows held(problem);
  for (const Pass pass : reference.passes) {
    const sequence::RankList list = scheme.list(problem, grid, pass, rank);
    PassOutcome& of_pass = outcome.passes.emplace_back();
    Wire wire(problem);
    if ((outcome.fault = begin(reference, pass, owned, kept, held))) return outcome;
    if ((outcome.fault = RankPass(problem, pass, list, held, wire).run())) return outcome;
    of_pass.sent = wire.sent();
    of_pass.received = wire.received();
    compare_bytes(of_pass, "sent", of_pass.sent.nominal, bytes_sent(problem, list));
    compare_bytes(of_pass, "received", of_pass.received.nominal, bytes_received(problem, list));
    Comparison(reference, pass, held, of_pass).run(owned);
  }
  return outcome;
}

}  // namespace cairn::attention_mpi
