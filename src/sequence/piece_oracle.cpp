#include "cairn/sequence/piece_oracle.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "piece_matching.h"
#include "piece_state.h"

namespace cairn::sequence {
namespace {

// What a message carries, and where.
struct Carried {
  std::int64_t source = 0;
  std::int64_t destination = 0;
  std::int32_t arrives = 0;  // when this stage ends
  std::size_t tensor = 0;
  bool gives = false;
  std::vector<std::pair<std::int64_t, HeldElement>> elements = {};
};

class PieceExecution {
 public:
  PieceExecution(const Sharing& sharing, std::uint64_t seed)
      : sharing_(sharing),
        formula_(sharing.formula),
        numbers_(formula_),
        inputs_(random_numbers(formula_, seed)),
        reference_(evaluate(sharing.mathematics(), inputs_).numbers),
        ranks_(sharing.passes.empty() ? 0 : sharing.passes.front().size()),
        states_(ranks_, RankState(formula_, numbers_)) {
    for (const std::string& name : sharing.summed) summed_.push_back(formula_.index(name));
    for (const std::string& name : sharing.results)
      proven_[formula_.index(name)].assign(static_cast<std::size_t>(tensor(formula_.index(name)).elements()), false);
  }

  Proof run() {
    for (std::size_t pass = 0; pass < sharing_.passes.size() && !proof_.fault; ++pass) {
      proof_.fault = run(sharing_.passes[pass]);
      if (proof_.fault && sharing_.passes.size() > 1) proof_.fault = fmt::format("pass {}: {}", pass, *proof_.fault);
    }
    if (!proof_.fault) proof_.fault = unproven();
    if (!proof_.fault) proof_.fault = add_up();
    return proof_;
  }

 private:
  const FormulaTensor& tensor(std::size_t index) const { return formula_.tensors()[index]; }

  std::optional<std::string> run(const std::vector<RankPass>& ranks) {
    if (ranks.size() != ranks_) return "not all ranks have a list";
    if (auto fault = mismatch(formula_, ranks)) return fault;
    std::int32_t stages = 0;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      stages = std::max(stages, ranks[rank].list.stages);
      if (auto fault = give(states_[rank], ranks[rank].given)) return fmt::format("rank {}: {}", rank, *fault);
    }
    for (std::int32_t stage = 0; stage < stages; ++stage)
      if (auto fault = run(ranks, stage)) return fmt::format("stage {}: {}", stage, *fault);
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      if (auto fault = end(states_[rank], ranks[rank].kept)) return fmt::format("rank {}: {}", rank, *fault);
    return std::nullopt;
  }

  std::optional<std::string> give(RankState& state, const std::vector<TensorPiece>& given) {
    for (const TensorPiece& piece : given) {
      if (!tensor(piece.tensor).given)
        return fmt::format("it is given {}, which is a result", tensor(piece.tensor).name);
      const std::vector<float>& numbers = inputs_.at(tensor(piece.tensor).name);
      for_elements(formula_, piece, [&](std::int64_t element) {
        state.give(piece.tensor, element, numbers[static_cast<std::size_t>(element)]);
      });
    }
    return std::nullopt;
  }

  std::optional<std::string> run(const std::vector<RankPass>& ranks, std::int32_t stage) {
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      for (const PieceCall& call : ranks[rank].list.calls)
        if (call.begins == stage)
          if (auto fault = depart(static_cast<std::int64_t>(rank), call)) return fault;
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      for (const Work& work : ranks[rank].list.work)
        if (work.stage == stage)
          if (auto fault = compute(states_[rank], work)) return fmt::format("rank {}: {}", rank, *fault);
    for (const Carried& carried : under_way_)
      if (carried.arrives == stage)
        if (auto fault = arrive(carried)) return fault;
    std::erase_if(under_way_, [&](const Carried& carried) { return carried.arrives == stage; });
    return std::nullopt;
  }

  std::optional<std::string> depart(std::int64_t rank, const PieceCall& call) {
    RankState& state = states_[static_cast<std::size_t>(rank)];
    for (const PieceMessage& message : call.sends) {
      const std::size_t of = message.piece.tensor;
      Carried carried{
          .source = rank, .destination = message.peer, .arrives = call.ends, .tensor = of, .gives = message.gives};
      bool there = true;
      for_elements(formula_, message.piece, [&](std::int64_t element) {
        there = there && (message.gives ? !state.empty(of, element) : state.whole(of, element));
        carried.elements.emplace_back(element, message.gives ? state.take(of, element) : state.at(of, element));
      });
      if (!there)
        return about(carried, message.gives ? "it gives away what is not there" : "it copies what is not whole");
      under_way_.push_back(std::move(carried));
    }
    return std::nullopt;
  }

  std::optional<std::string> compute(RankState& state, const Work& work) {
    for (std::size_t op = 0; op < formula_.operators().size(); ++op)
      if (formula_.operators()[op].label == work.label)
        if (auto fault = state.compute(op, work.box, proof_.points)) return fault;
    return std::nullopt;
  }

  std::optional<std::string> arrive(const Carried& carried) {
    RankState& state = states_[static_cast<std::size_t>(carried.destination)];
    for (const auto& [element, held] : carried.elements) {
      if (!carried.gives && !state.empty(carried.tensor, element)) return about(carried, "it brings what is there");
      if (!state.join(carried.tensor, element, held)) return about(carried, "it adds what is there already");
    }
    return std::nullopt;
  }

  std::string about(const Carried& carried, std::string_view problem) const {
    return fmt::format("{} from rank {} to {}: {}", tensor(carried.tensor).name, carried.source, carried.destination,
                       problem);
  }

  std::optional<std::string> end(RankState& state, const std::vector<TensorPiece>& kept) {
    for (const TensorPiece& piece : kept) {
      bool there = true;
      for_elements(formula_, piece, [&](std::int64_t element) { there = there && state.whole(piece.tensor, element); });
      if (!there) return fmt::format("it ends without all of {}", tensor(piece.tensor).name);
      compare(state, piece);
    }
    for (std::size_t of = 0; of < formula_.tensors().size(); ++of) {
      if (std::find(summed_.begin(), summed_.end(), of) != summed_.end()) continue;
      for (std::int64_t element = 0; element < tensor(of).elements(); ++element)
        if (!state.empty(of, element) && !state.whole(of, element))
          return fmt::format("a part of {} is left", tensor(of).name);
    }
    state.forget_all_but(kept, summed_);
    return std::nullopt;
  }

  void compare(const RankState& state, const TensorPiece& piece) {
    const auto proven = proven_.find(piece.tensor);
    if (proven == proven_.end()) return;
    for_elements(formula_, piece, [&](std::int64_t element) {
      compare(piece.tensor, element, state.at(piece.tensor, element).cell.value);
      proven->second[static_cast<std::size_t>(element)] = true;
    });
  }

  void compare(std::size_t of, std::int64_t element, float value) {
    const std::vector<double>& numbers = reference_.at(tensor(of).name);
    double most = 0;
    for (const double number : numbers) most = std::max(most, std::abs(number));
    const double error = std::abs(static_cast<double>(value) - numbers.at(static_cast<std::size_t>(element))) / most;
    // A number that is none must not pass for a small error.
    proof_.largest_error = std::isfinite(error) ? std::max(proof_.largest_error, error) : HUGE_VAL;
  }

  std::optional<std::string> unproven() const {
    for (const auto& [of, proven] : proven_)
      if (std::find(proven.begin(), proven.end(), false) != proven.end())
        return fmt::format("no rank ends with all of {}", tensor(of).name);
    return std::nullopt;
  }

  // Of the tensors whose parts stay with the ranks.
  std::optional<std::string> add_up() {
    for (const std::size_t of : summed_)
      for (std::int64_t element = 0; element < tensor(of).elements(); ++element) {
        RankState& sum = states_.front();
        for (std::size_t rank = 1; rank < ranks_; ++rank)
          if (!sum.join(of, element, states_[rank].at(of, element)))
            return fmt::format("two ranks have the same part of {}", tensor(of).name);
        if (!sum.whole(of, element)) return fmt::format("the parts of {} are not all of it", tensor(of).name);
        compare(of, element, sum.at(of, element).cell.value);
      }
    return std::nullopt;
  }

  const Sharing& sharing_;
  const Formula& formula_;
  ContributionNumbers numbers_;
  Numbers<float> inputs_;
  Numbers<double> reference_;
  std::size_t ranks_;
  std::vector<RankState> states_;
  std::vector<Carried> under_way_;
  std::vector<std::size_t> summed_;
  std::map<std::size_t, std::vector<bool>> proven_;
  Proof proof_;
};

}  // namespace

Proof verify(const Sharing& sharing, std::uint64_t seed, double tolerance) {
  Proof proof = PieceExecution(sharing, seed).run();
  if (!proof.fault && !(proof.largest_error <= tolerance))
    proof.fault = fmt::format("an error of {:.3g}, above {:.3g}", proof.largest_error, tolerance);
  return proof;
}

}  // namespace cairn::sequence
