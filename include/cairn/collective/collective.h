// The collectives, and what the size S of each one means.
//
// `bytes` of a collective is S, counted as nccl-tests does, in this and in every module that prices:
//   all_reduce      the buffer that every rank holds before and after
//   all_gather      the gathered tensor; every rank contributes S/n
//   reduce_scatter  the tensor before scattering; every rank keeps S/n
//   all_to_all      the send buffer of one rank; it keeps S/n and sends S/n to every other rank
//   broadcast       the tensor of rank 0, which all get
//   reduce          the tensor that every rank holds; the sum ends on rank 0
//   gather          the gathered tensor on rank 0; every rank contributes S/n
//   send            the message from rank 0 to rank 1
// A plan (program::Transfer) counts the whole tensor instead: of an all-to-all what all n ranks hold together, n S.
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn::collective {

enum class Collective : std::uint8_t {
  none,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  reduce,
  gather,
  send
};
inline constexpr Collective k_collectives[] = {
    Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all,
    Collective::broadcast,  Collective::reduce,     Collective::gather,         Collective::send};

// "all-reduce", "reduce-scatter", ...
std::string_view name(Collective collective);
// Throws core::ConfigurationError for an unknown name.
Collective collective_named(std::string_view name);

// Whether values of different ranks are added: all_reduce, reduce_scatter, reduce.
bool reduces(Collective collective);

}  // namespace cairn::collective
