// cairn-attention-mpi: see validate/README.md.
#include <fmt/format.h>

#include <exception>
#include <iostream>

#include "cairn/sequence/oracle.h"
#include "list_check.h"
#include "options.h"
#include "report.h"

namespace cairn::attention_mpi {
namespace {

int rank_of_this_process() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int ranks_of_world() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

void complain(const std::string& what) { std::cerr << "cairn-attention-mpi: " + what + '\n' << std::flush; }

// Ends all processes: where one of them cannot go on, the others would wait for it.
void give_up(const std::string& what, int code) {
  complain(what);
  MPI_Abort(MPI_COMM_WORLD, code);
}

// Runs every scheme on every grid of all processes.
class Group {
 public:
  explicit Group(const Options& options)
      : rank_(rank_of_this_process()),
        ranks_(ranks_of_world()),
        schemes_(options.schemes),
        reference_(make_reference(options.problem, options.passes, options.tolerance)) {}

  int run() {
    tell(heading(ranks_));
    for (const std::string& name : schemes_) run(sequence::scheme(name));
    tell(fmt::format("{} of {} grids agree; {} were refused\n", run_ - differ_, run_, refused_));
    return differ_ == 0 && without_grid_ == 0 ? k_agrees : k_differs;
  }

 private:
  void tell(const std::string& text) const {
    if (rank_ == 0) std::cout << text << std::flush;
  }

  // A scheme none of whose grids takes the problem has not been shown to agree.
  void run(const sequence::Scheme& scheme) {
    std::string refusal = "it has none";
    const int before = run_;
    for (const sequence::Grid& grid : scheme.grids(ranks_)) {
      if (const auto why = scheme.refusal(reference_.problem, grid)) {
        refusal = *why;
        ++refused_;
      } else {
        run(scheme, grid);
      }
    }
    if (run_ > before) return;
    ++without_grid_;
    if (rank_ == 0)
      complain(fmt::format("{} has no grid of {} ranks for this problem: {}", scheme.name, ranks_, refusal));
  }

  void run(const sequence::Scheme& scheme, const sequence::Grid& grid) {
    const std::string where = fmt::format("rank {}, {} on {}", rank_, scheme.name, text(grid));
    if (rank_ == 0) check_fit(scheme, grid);
    const RankOutcome outcome = run_rank(reference_, scheme, grid, rank_);
    if (outcome.fault)
      give_up(fmt::format("{}, {}: {}", where, pass(outcome.passes.size() - 1), *outcome.fault), k_differs);
    for (std::size_t i = 0; i < outcome.passes.size(); ++i)
      for (const std::string& difference : outcome.passes[i].differences)
        complain(fmt::format("{}, {}: {}", where, pass(i), difference));
    const GroupOutcome group = gather(outcome);
    tell(line(scheme, grid, group));
    ++run_;
    if (group.differences > 0) ++differ_;
  }

  // Of lists that do not fit each other some rank would wait for ever.
  void check_fit(const sequence::Scheme& scheme, const sequence::Grid& grid) const {
    const sequence::Shares all = shares(scheme, reference_.problem, grid, reference_.passes.back());
    for (const sequence::Pass each : reference_.passes)
      if (const auto misfit = find_misfit(reference_.problem, all.lists(each)))
        give_up(fmt::format("{} on {}: {}", scheme.name, text(grid), *misfit), k_differs);
  }

  static std::string_view pass(std::size_t number) { return number == 0 ? "forward" : "backward"; }

  int rank_;
  int ranks_;
  std::vector<std::string> schemes_;
  Reference reference_;
  int run_ = 0, differ_ = 0, refused_ = 0;  // grids
  int without_grid_ = 0;                    // schemes
};

int run(int argc, char** argv) {
  int code = k_bug;
  try {
    const std::optional<Options> options = parse_options(argc, argv, rank_of_this_process() == 0, code);
    return options ? Group(*options).run() : code;
  } catch (const std::exception& error) {
    give_up(fmt::format("rank {}: {}", rank_of_this_process(), error.what()), k_bug);
    return k_bug;
  }
}

}  // namespace
}  // namespace cairn::attention_mpi

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = cairn::attention_mpi::run(argc, argv);
  MPI_Finalize();
  return code;
}
