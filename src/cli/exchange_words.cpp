#include "exchange_words.h"

namespace cairn::cli {
namespace {

using collective::Collective;

constexpr Exchange k_exchanges[] = {{Collective::all_gather, "all-gather"},
                                    {Collective::all_reduce, "all-reduce"},
                                    {Collective::all_to_all, "all-to-all"},
                                    {Collective::broadcast, "broadcast, received"},
                                    {Collective::gather, "gather, received by the root"},
                                    {Collective::reduce, "reduce, sent"},
                                    {Collective::reduce_scatter, "reduce-scatter"}};

constexpr KnownAlgorithm k_known[] = {
    {Collective::all_reduce, "ring", "ring"},
    {Collective::all_reduce, "recursive-doubling", "recursive doubling"},
    {Collective::all_reduce, "switch-to-all", "switches add", "reduces in the network, where the bound has none"},
    {Collective::all_gather, "ring", "ring"},
    {Collective::reduce_scatter, "ring", "ring"},
    {Collective::broadcast, "ring", "chain, piece by piece"},
    {Collective::broadcast, "binomial-tree", "binomial tree"},
    {Collective::reduce, "ring", "chain, piece by piece"},
    {Collective::reduce, "binomial-tree", "binomial tree"},
    {Collective::all_to_all, "direct", "direct"},
    {Collective::all_to_all, "hypercube", "in rounds of halves"},
    {Collective::gather, "direct", "direct"}};

}  // namespace

std::span<const Exchange> exchanges() { return k_exchanges; }
std::span<const KnownAlgorithm> known_algorithms() { return k_known; }

}  // namespace cairn::cli
