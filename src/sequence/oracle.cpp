#include "cairn/sequence/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "execution.h"
#include "list_check.h"

namespace cairn::sequence {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// The results of a pass as its ranks have them, and how far they are from dense attention.
class Results {
 public:
  Results(const Problem& problem, Pass pass, const OracleState& state, std::int64_t ranks)
      : problem_(problem), state_(state), ranks_(ranks) {
    for (std::size_t i = 0; i < k_tensors; ++i)
      if (is_result(pass, static_cast<Tensor>(i))) results_.push_back(static_cast<Tensor>(i));
  }

  // Whether all owners have them, and nobody a part that is not whole.
  std::optional<std::string> find_missing(const std::vector<Tokens>& owned) const {
    std::vector<std::int64_t> owner(index(problem_.tokens), 0);
    for (std::int64_t rank = 0; rank < ranks_; ++rank)
      for (const std::int64_t token : positions(owned[index(rank)])) owner[index(token)] = rank;
    for (const Tensor tensor : results_)
      for (std::int64_t token = 0; token < problem_.tokens; ++token)
        for (std::int64_t head = 0; head < heads(tensor); ++head)
          for (std::int64_t rank = 0; rank < ranks_; ++rank) {
            const Place place{.tensor = tensor, .token = token, .head = head};
            if (state_.holds(rank, place)) continue;
            const std::int32_t part = state_.part(rank, place);
            const bool wanted = tensor != Tensor::logsumexp && rank == owner[index(token)];
            if (wanted || part > 0)
              return fmt::format("rank {} ends with {} of {} pairs of {} of token {}, head {}", rank, std::max(part, 0),
                                 state_.whole(tensor, token), name(tensor), token, head);
          }
    return std::nullopt;
  }

  // Over all that is whole anywhere. One tensor alone may be all zeros: dQ of a query that sees one key.
  double largest_error(const Tensors<double>& exact) const {
    double largest = 0, magnitude = 0;
    for (const Tensor tensor : results_) {
      for (const double number : exact[tensor].numbers()) magnitude = std::max(magnitude, std::abs(number));
      for (std::int64_t rank = 0; rank < ranks_; ++rank)
        for (std::int64_t token = 0; token < problem_.tokens; ++token)
          for (std::int64_t head = 0; head < heads(tensor); ++head)
            largest = std::max(
                largest, error(rank, {.tensor = tensor, .token = token, .head = head}, exact[tensor].at(token, head)));
    }
    return largest / magnitude;
  }

  // The whole rows, from whoever has them.
  void copy_to(Tensors<float>& tensors) const {
    for (const Tensor tensor : results_) {
      Rows<float>& rows = tensors[tensor] = Rows<float>(problem_, tensor);
      for (std::int64_t rank = 0; rank < ranks_; ++rank)
        for (std::int64_t token = 0; token < problem_.tokens; ++token)
          for (std::int64_t head = 0; head < heads(tensor); ++head)
            if (const Place place{.tensor = tensor, .token = token, .head = head}; state_.holds(rank, place))
              std::copy_n(state_.numbers(rank, place), rows.width(), rows.at(token, head));
    }
  }

 private:
  std::int64_t heads(Tensor tensor) const { return heads_of(problem_, tensor, all_heads(problem_)).count; }

  double error(std::int64_t rank, const Place& place, const double* exact) const {
    if (!state_.holds(rank, place)) return 0;
    const float* numbers = state_.numbers(rank, place);
    double largest = 0;
    for (std::int64_t i = 0; i < width(problem_, place.tensor); ++i) {
      const double difference = std::abs(static_cast<double>(numbers[i]) - exact[i]);
      if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
      largest = std::max(largest, difference);
    }
    return largest;
  }

  const Problem& problem_;
  const OracleState& state_;
  std::int64_t ranks_;
  std::vector<Tensor> results_;
};

std::optional<std::string> find_misowned(const Problem& problem, const std::vector<Tokens>& owned) {
  std::vector<std::int64_t> owners(index(problem.tokens), 0);
  for (const Tokens& tokens : owned)
    for (const std::int64_t token : positions(tokens)) {
      if (token < 0 || token >= problem.tokens) return fmt::format("token {} is owned, and there is none", token);
      ++owners[index(token)];
    }
  for (std::int64_t token = 0; token < problem.tokens; ++token)
    if (owners[index(token)] != 1) return fmt::format("token {} has {} owners", token, owners[index(token)]);
  return std::nullopt;
}

constexpr TensorSet k_operands = set_of(Tensor::query, Tensor::key, Tensor::value);
constexpr TensorSet k_keepable = k_operands | set_of(Tensor::output, Tensor::logsumexp);

// One verification: the pass, and before a backward pass the forward pass that it needs.
class Verification {
 public:
  Verification(const Problem& problem, const Shares& shares, Pass pass, std::uint64_t seed)
      : problem_(problem),
        shares_(shares),
        pass_(pass),
        ranks_(static_cast<std::int64_t>(shares.owned.size())),
        visible_(problem),
        tensors_(random_inputs(problem, seed)),
        exact_(dense_attention(problem, visible_, tensors_, pass)) {}

  Verdict run() {
    Verdict verdict;
    if ((verdict.fault = find_misowned(problem_, shares_.owned))) return verdict;
    if (pass_ == Pass::forward) return run(Pass::forward);
    verdict = run(Pass::forward);
    if (verdict.fault) {
      verdict.fault = "forward: " + *verdict.fault;
      return verdict;
    }
    return run(Pass::backward);
  }

 private:
  Verdict run(Pass pass) {
    Verdict verdict;
    const std::vector<RankList>& lists = shares_.lists(pass);
    if ((verdict.fault = find_misfit(problem_, lists))) return verdict;
    Execution execution(problem_, visible_, pass, tensors_, lists);
    begin(pass, execution);
    verdict.fault = execution.run();
    verdict.pairs = execution.pairs();
    if (verdict.fault) return verdict;
    const Results results(problem_, pass, execution.state(), ranks_);
    if ((verdict.fault = results.find_missing(shares_.owned))) return verdict;
    verdict.largest_error = results.largest_error(exact_);
    if (pass_ == Pass::forward || pass == Pass::backward) return verdict;
    verdict.fault = find_unkept(execution.state());
    results.copy_to(tensors_);
    add_delta();
    return verdict;
  }

  void begin(Pass pass, Execution& execution) const {
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      const Tokens& owned = shares_.owned[index(rank)];
      const bool forward = pass == Pass::forward;
      if (!forward) execution.begin_with(rank, shares_.kept[index(rank)]);
      execution.begin_with(rank, {.tensors = forward ? k_operands : set_of(Tensor::output_gradient),
                                  .tokens = owned,
                                  .heads = all_heads(problem_)});
    }
  }

  std::optional<std::string> find_unkept(const OracleState& state) const {
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      const Parcel& kept = shares_.kept[index(rank)];
      if ((kept.tensors & ~k_keepable) != 0) return fmt::format("rank {} keeps what is of no forward pass", rank);
      if (auto fault = find_misplaced(problem_, kept.tokens, kept.heads))
        return fmt::format("rank {} keeps: {}", rank, *fault);
      for (const Tensor tensor : members(kept.tensors)) {
        const Heads heads = heads_of(problem_, tensor, kept.heads);
        for (const std::int64_t token : positions(kept.tokens))
          for (std::int64_t head = heads.first; head < heads.first + heads.count; ++head)
            if (!state.holds(rank, {.tensor = tensor, .token = token, .head = head}))
              return fmt::format("rank {} keeps {} of token {}, head {}, which it does not hold after the forward pass",
                                 rank, name(tensor), token, head);
      }
    }
    return std::nullopt;
  }

  void add_delta() {
    Rows<float>& delta = tensors_[Tensor::delta] = Rows<float>(problem_, Tensor::delta);
    for (std::int64_t token = 0; token < problem_.tokens; ++token)
      for (std::int64_t head = 0; head < problem_.heads; ++head)
        *delta.at(token, head) = dot<float>(tensors_[Tensor::output].at(token, head),
                                            tensors_[Tensor::output_gradient].at(token, head), problem_.values());
  }

  const Problem& problem_;
  const Shares& shares_;
  Pass pass_;
  std::int64_t ranks_;
  Visible visible_;
  Tensors<float> tensors_;
  Tensors<double> exact_;
};

}  // namespace

Shares shares(const Scheme& scheme, const Problem& problem, const Grid& grid, Pass pass) {
  Shares all;
  for (std::int64_t rank = 0; rank < grid.ranks(); ++rank) {
    all.owned.push_back(scheme.owned(problem, grid, rank));
    all.kept.push_back(scheme.kept(problem, grid, rank));
    all.forward.push_back(scheme.list(problem, grid, Pass::forward, rank));
    if (pass == Pass::backward) all.backward.push_back(scheme.list(problem, grid, Pass::backward, rank));
  }
  return all;
}

Verdict verify(const Problem& problem, const Shares& shares, Pass pass, std::uint64_t seed, double tolerance) {
  Verdict verdict = Verification(problem, shares, pass, seed).run();
  if (!verdict.fault && !(verdict.largest_error <= tolerance))
    verdict.fault = fmt::format("results are wrong by {:.3g} of the largest", verdict.largest_error);
  return verdict;
}

Verdict verify(const Scheme& scheme, const Problem& problem, const Grid& grid, Pass pass, std::uint64_t seed,
               double tolerance) {
  if (auto refusal = scheme.refusal(problem, grid)) return {.fault = std::move(refusal)};
  return verify(problem, shares(scheme, problem, grid, pass), pass, seed, tolerance);
}

}  // namespace cairn::sequence
