// Kinds of networks. A kind is one file of src/topology, which holds the keys that describe a network, what follows
// from them, and the graph, and its line in src/topology/kinds.def. Nothing else of the program knows it by its name.
//
//   class Ring final : public KindOf<Ring> {
//    public:
//     std::string_view name() const override { return "ring"; }
//     Entry entry() const override { return Entry::whole; }
//     std::optional<std::int64_t> longest_route(std::int64_t size, std::int64_t) const override { return size / 2; }
//     std::unique_ptr<Topology> build(const LevelInput& level) const override;
//   };
//
// A level of a machine (hardware/cluster.h) holds a Shape: one of these with its keys, as a value.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/config/loader.h"
#include "cairn/core/quantity.h"
#include "cairn/topology/topology.h"

namespace cairn::topology {

// What a network's links are, which decides whether they cost anything (prices.h).
enum class Parts : std::uint8_t {
  of_accelerators,  // the accelerators' own links (NVLink)
  as_given,         // links that a file lists
  bought            // switches and cables; there may be several equal planes of them
};
// How a unit of the level below is attached to the network.
enum class Entry : std::uint8_t {
  by_port,  // every NIC is an endpoint
  by_rail,  // likewise, but NIC r reaches only NICs r: what must leave by another is first forwarded inside the unit
  whole     // all NICs together are one endpoint
};

// The routing algorithm, where a kind has several.
struct Routing {
  std::string_view name;
  std::optional<std::int64_t> seed;  // of an algorithm that chooses at random
};
// A tree of PCIe switches: every switch has one link to the root, which its endpoints share.
struct Uplinks {
  std::int64_t switches = 1;                           // the endpoints are spread over so many
  std::optional<core::BytesPerSecond> bandwidth = {};  // of a switch's own link, per direction; default: an endpoint's
};
struct Pairs;

// One level of a machine, ready to be built.
struct LevelInput {
  const config::Loader& loader;  // finds a file that the level names
  const config::Place& place;    // which is relative to this
  std::string key_path;          // where the file describes it
  std::int64_t size = 1;         // units that it joins
  std::int64_t ports = 1;        // endpoints of each unit, numbered unit by unit: 1 where a unit enters as a whole
  std::int64_t planes = 1;
  double bandwidth = 0.0;  // [byte/s] of one endpoint
  // [s]; of a route between endpoints, or of each of its links.
  double latency = 0.0;
  std::optional<double> hop_latency = {};

  std::int64_t endpoints() const { return size * ports; }
  // Networks with links of endpoints alone at either end carry the latency there, half each.
  double end_latency() const { return hop_latency ? *hop_latency : latency / 2.0; }
  double inner_latency() const { return hop_latency.value_or(0.0); }
  // Direct networks share it among the links of their longest route.
  double link_latency(std::int64_t longest_route) const {
    return hop_latency ? *hop_latency : latency / static_cast<double>(longest_route > 0 ? longest_route : 1);
  }
};

// A network of one kind, by its keys.
class Kind {
 public:
  virtual ~Kind() = default;
  virtual std::unique_ptr<Kind> copy() const = 0;

  virtual std::string_view name() const = 0;  // the word of `kind`
  virtual Parts parts() const { return Parts::bought; }
  virtual Entry entry() const { return Entry::by_port; }

  // Its own keys, and the planes of what is bought.
  void describe(config::Fields& fields);
  std::int64_t planes() const { return planes_.value_or(1); }

  // The number of units that it joins, where its keys fix it (any number above 2^40 for more); empty: any number.
  virtual std::optional<std::int64_t> size() const { return {}; }
  // Throws core::ConfigurationError below `key_path` where the keys do not make a network of `size` units.
  virtual void check(std::int64_t /*size*/, const std::string& /*key_path*/) const {}
  // Links of the longest minimal route between two endpoints, of `size` units with `nics` each; empty without a closed
  // form.
  virtual std::optional<std::int64_t> longest_route(std::int64_t size, std::int64_t nics) const = 0;
  // Throws core::ConfigurationError at the keys of the level.
  virtual std::unique_ptr<Topology> build(const LevelInput& level) const = 0;

  // Downward over upward bandwidth where endpoints leave their first switch; 1 = none.
  virtual double oversubscription() const { return 1.0; }
  virtual Uplinks uplinks() const { return {}; }
  virtual std::optional<Pairs> pairs() const;
  virtual std::optional<Routing> routing() const { return {}; }
  // Assumptions behind the figures of the level `name`; `only`: it is the machine's only level.
  virtual std::vector<std::string> assumptions(std::string_view /*name*/, const Topology& /*network*/,
                                               bool /*only*/) const {
    return {};
  }

 private:
  virtual void describe_own(config::Fields& /*fields*/) {}

  std::optional<std::int64_t> planes_ = {};
};

// A kind that is copied as itself.
template <class Self>
class KindOf : public Kind {
 public:
  std::unique_ptr<Kind> copy() const override { return std::make_unique<Self>(static_cast<const Self&>(*this)); }
};

// A kind with its keys, as a value.
class Shape {
 public:
  Shape();  // of the first kind
  explicit Shape(std::unique_ptr<Kind> kind) : kind_(std::move(kind)) {}
  Shape(const Shape& other) : kind_(other.kind_->copy()) {}
  Shape(Shape&&) = default;
  Shape& operator=(Shape other) {
    kind_ = std::move(other.kind_);
    return *this;
  }
  ~Shape() = default;

  const Kind* operator->() const { return kind_.get(); }

  friend config::KindAccess kind_access(Shape& shape);

 private:
  std::unique_ptr<Kind> kind_;
};

// Direct links between units 2i and 2i + 1 (NVLink bridges): they make a level of pairs below this one.
struct Pairs {
  Shape shape;
  core::BytesPerSecond bandwidth = {};
  core::Seconds latency = {};
};

// Each with its keys at their defaults, in the order of kinds.def.
using MakeKind = std::unique_ptr<Kind> (*)();
std::span<const MakeKind> all_kinds();

}  // namespace cairn::topology
