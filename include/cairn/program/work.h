// What a step does: a shard of an operator, a transfer, a copy, work of the host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "cairn/ir/graph.h"
#include "cairn/program/mesh.h"
#include "cairn/program/placement.h"
#include "cairn/program/stream.h"

namespace cairn::program {

struct Transfer {
  Collective collective = Collective::none;
  Group group;
  double bytes = 0.0;  // the whole tensor
  // A transfer in pieces, each started as soon as its data exist: this is piece `part` of `parts`, of `bytes` each.
  std::int32_t part = 0;
  std::int32_t parts = 1;
  // all-to-all: share of the bytes for other domains that crosses to them. Below 1 where a token for several ranks of a
  // domain crosses once and is forwarded inside.
  double across = 1.0;
  bool per_peer = false;  // issuing it takes extra host time for every rank of the group
  // send: each rank of the group to the one so many places on, around the ring that they are, all at once. 0: from the
  // first rank of two to the second, and from every rank beside the first as far.
  std::int64_t reach = 0;

  friend bool operator==(const Transfer&, const Transfer&) = default;
};

enum class Lane : std::uint8_t { to_device, to_host, from_storage, to_storage };
std::string_view name(Lane lane);
Stream stream_of(Lane lane);

// One rank's bytes over the host link or to and from the node's drives.
struct Copy {
  Lane lane = Lane::to_device;
  double bytes = 0.0;
  friend bool operator==(const Copy&, const Copy&) = default;
};

// Operators that the host's cores run in one pass over memory: the parameter update of an offloaded optimizer.
struct OnProcessor {
  const ir::Graph* graph = nullptr;
  std::int64_t elements = 0;
  friend bool operator==(const OnProcessor&, const OnProcessor&) = default;
};

enum class HostWork : std::uint8_t { per_micro_batch, per_step };

// What kernels lose to the kernel of a collective that another stream runs beside them, as time of their own stream.
struct Interference {
  Transfer transfer;
  friend bool operator==(const Interference&, const Interference&) = default;
};

using Work = std::variant<ir::Shard, Transfer, Copy, OnProcessor, HostWork, Interference>;

// "qkv", "tp all-gather", "copy to-device"; a transfer is named by the axis it is labelled with.
std::string name(const Work& work, Axis axis);

// Calls the handler whose parameter is the kind of work at hand. A kind without a handler does not compile.
template <class... Handlers>
decltype(auto) visit(const Work& work, const Handlers&... handlers) {
  struct Overloaded : Handlers... {
    using Handlers::operator()...;
  };
  return std::visit(Overloaded{handlers...}, work);
}

}  // namespace cairn::program
