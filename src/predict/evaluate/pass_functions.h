// Passes and sets of passes as functions of their stage's frontiers, each worked out once.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "cairn/core/block_deque.h"
#include "cairn/core/content_store.h"
#include "cairn/core/flat_table.h"
#include "cairn/predict/evaluate/max_plus.h"
#include "cairn/predict/price/price.h"
#include "cairn/program/program.h"
#include "pass_function.h"

namespace cairn::predict {

// What the tail of a row does to its stage: streams busy until x_j end at max_j ( x_j + finish_j ).
using Finish = std::array<core::Picoseconds, program::k_streams>;

// The passes of a set, and what they come to together on each kind of stage.
struct SetFunctions {
  const program::PassSet* of = nullptr;
  std::vector<PassFunction*> passes;             // as in the set
  std::vector<PassFunction::Together> together;  // by kind of stage
  std::vector<const Finish*> finishes;           // by kind of stage, where the set ends steps
  StreamSet touched = 0;                         // streams that some pass sets
  // Their short kernels, and those of these streams that were live when they were made.
  std::vector<Kernel> kernels;
  StreamSet live = 0;

  const std::vector<Kernel>& shortened(StreamSet live);
};

class PassFunctions {
 public:
  explicit PassFunctions(PriceTable& prices) : prices_(prices) {}

  // Dense by ids; what another lowering gave the same id takes their place.
  PassFunction& of(const program::Pass& pass);
  SetFunctions& of(const program::Program& program, program::PassPart part);
  const Matrix& of(const program::Block& block) { return stretch(block, 1).matrix; }
  // Of all passes so far, the work of the longest in a row [ps].
  double longest_pass() const { return longest_pass_; }

 private:
  // A block some times in a row, and all its work one after the other [ps].
  struct Stretch {
    Matrix matrix;
    double in_a_row = 0.0;
  };
  struct RunHash {
    std::size_t operator()(const program::BlockRun& run) const { return core::Hash::of(run.block, run.count); }
  };
  using PassPair = std::pair<const program::Pass*, const program::Pass*>;
  struct PairHash {
    std::size_t operator()(const PassPair& pair) const { return core::Hash::of(pair.first, pair.second); }
  };
  // Passes whose steps take the same times share one function, though their memory or zero-time steps may differ.
  struct Terms {
    static std::uint64_t hash(const PassFunction& function);
    static bool same(const PassFunction& a, const PassFunction& b) { return a.terms() == b.terms(); }
  };

  const Finish& finish(const program::Pass& finalize, const program::Pass& update);
  Matrix matrix_of(const program::Pass& pass);
  const Stretch& stretch(const program::Block& block, std::int64_t count);
  Matrix symbolic(const program::Block& block);
  template <std::size_t N>
  void run_symbolically(const program::Block& block, Matrix& matrix);

  PriceTable& prices_;
  core::ContentStore<PassFunction, Terms> functions_;
  std::vector<std::pair<const program::Pass*, PassFunction*>> passes_;  // by id
  core::BlockDeque<SetFunctions> sets_;                                 // by id
  core::FlatTable<program::BlockRun, std::unique_ptr<Stretch>, RunHash> stretches_;
  core::FlatTable<PassPair, std::unique_ptr<Finish>, PairHash> finishes_;
  double longest_pass_ = 0.0;
};

}  // namespace cairn::predict
