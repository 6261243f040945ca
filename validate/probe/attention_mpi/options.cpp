#include "options.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "cairn/sequence/scheme.h"

namespace cairn::attention_mpi {
namespace {

constexpr sequence::Problem k_default{.tokens = 128, .heads = 16, .kv_heads = 4, .head_dim = 8};
constexpr double k_tolerance = 1e-5;

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, bool speaks, int& exit_code) {
  Options options{.schemes = sequence::scheme_names(), .problem = k_default, .tolerance = k_tolerance};
  sequence::Problem& problem = options.problem;
  bool full_mask = false, forward = false;
  CLI::App app(
      "Runs the lists of schemes that share attention over MPI, a process a rank, and holds results and bytes "
      "against dense attention and the closed folds. mpirun -np 8 cairn-attention-mpi [OPTIONS]");
  app.add_option("--scheme", options.schemes, "only these (default: all)")
      ->check(CLI::IsMember(sequence::scheme_names()));
  app.add_option("--seq", problem.tokens, "tokens")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--heads", problem.heads, "query heads")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--kv-heads", problem.kv_heads, "key heads, a divisor")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--head-dim", problem.head_dim, "of a head")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_flag("--full-mask", full_mask, "all queries see all keys (default: a causal mask)");
  app.add_flag("--forward", forward, "the forward pass alone (default: the backward pass behind it, too)");
  app.add_option("--tolerance", options.tolerance, "largest error, of the largest magnitude")->capture_default_str();
  try {
    app.parse(argc, argv);
    if (problem.heads % problem.kv_heads != 0)
      throw CLI::ValidationError("--kv-heads", "must divide the number of query heads");
  } catch (const CLI::ParseError& error) {
    std::ostream silent(nullptr);
    const int code = app.exit(error, speaks ? std::cout : silent, speaks ? std::cerr : silent);
    exit_code = code == 0 ? k_agrees : k_usage;
    return std::nullopt;
  }
  if (full_mask) problem.mask = sequence::Mask::full;
  options.passes = {sequence::Pass::forward};
  if (!forward) options.passes.push_back(sequence::Pass::backward);
  return options;
}

}  // namespace cairn::attention_mpi
