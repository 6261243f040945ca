// The answer of `cairn bound`: lower and upper bound on a computation's data movement, with proof and pebble play.
//
//   intensity = operations / bytes of the lower bound: no schedule does more operations per byte moved      [FLOP/B]
//   balance   = peak rate / memory bandwidth of an accelerator, where one is named                          [FLOP/B]
// A computation whose intensity lies below the balance is limited by memory there, whatever its schedule.
//
//   MUE = (least bytes / memory bandwidth) / predicted time       data-movement utilisation, Ivanov et al., MLSys 2021
// of an operator of a layer, which is their (Q / D) x (achieved bandwidth / peak bandwidth), the bytes D moved
// cancelling out. By class: the same of the sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/bound/request.h"
#include "cairn/cost/layer_floor.h"
#include "cairn/pebble/bound.h"
#include "cairn/pebble/exact.h"

namespace cairn::bound {

// Device-memory bandwidth and peak arithmetic of an accelerator.
struct Machine {
  std::string name;
  double bytes_per_s = 0.0;
  std::optional<double> flop_per_s;  // of matrix products in the words' format
  std::optional<double> balance() const;
};

// Traffic of a trace through a least-recently-used memory. [words]
struct LocalityRow {
  pebble::Words fast = 0;    // size of that memory
  pebble::Words before = 0;  // traffic in the order of the trace
  pebble::Words after = 0;   // and in the best order found
};

// Lower bound at one level of an accelerator's memory: `words` cross the link above the busiest of its `units`, both
// directions together. `fast`: words that fit at and below one unit. `bytes_per_s`: of all units together.
struct LevelRow {
  std::string name;
  std::int64_t units = 1;
  pebble::Words fast = 0;
  pebble::Words words = 0;
  std::string method;
  std::optional<double> bytes_per_s;
  std::optional<double> least_s(double bytes_per_word) const {
    if (!bytes_per_s) return {};
    return static_cast<double>(words) * bytes_per_word * static_cast<double>(units) / *bytes_per_s;
  }
};

// The verdict on a file of moves: their cost, or the first move that the game does not allow.
struct MovesRow {
  std::string file;
  std::size_t moves = 0;
  std::optional<pebble::PlayCost> cost;
  std::int64_t line = 0;  // of the illegal move; the last where the end is not a legal one
  std::string reason;
};

// What the busiest of several devices must move: the bound counts sent and received words together, or each way.
struct DevicesRow {
  // Words that each device moves in a known algorithm. `left_out`: why the premises of the bound exclude the algorithm,
  // if they do.
  struct Algorithm {
    std::string name;
    double words = 0.0;
    std::string left_out = {};
  };
  enum class Counted { both_ways, each_way };
  double devices = 1.0;
  Counted counted = Counted::both_ways;
  double words = 0.0;
  double memory = 0.0;               // words that a device can hold; 0: the bound does not depend on it
  std::string memory_name = {};      // empty: the fast memory of the request
  std::optional<double> total = {};  // words that all devices together receive, where a bound is known
  std::string method;
  std::string premise;
  std::vector<Algorithm> algorithms = {};
  // A lower bound on the busier of the two directions.
  double words_one_way() const { return counted == Counted::each_way ? words : words / 2.0; }
};

// A graph on several nodes (pebble/horizontal.h). The upper side is of plays that a verifier has followed; none where
// the graph is too large to place.
struct NodesRow {
  struct Side {
    pebble::LowerBound lower;
    std::optional<pebble::Words> exact;
    std::optional<pebble::Words> upper;
  };
  std::int64_t nodes = 1;
  std::int64_t most = 0;  // values that one node may compute
  Side received;          // by all nodes together, memories unbounded, at most `most` each
  Side busiest;           // in and out of one node, `fast` words each
};

// Time that the links of one device need for the bound: all its networks together, each direction.
struct NetworkRow {
  std::string name;
  double bytes_per_s = 0.0;
  double lower_s = 0.0;
};

// Of a computation or an exchange.
struct Answer {
  std::string what;
  pebble::Words fast = 0;  // size of the fast memory; 0: an exchange between devices, which depends on no memory
  pebble::Game game;
  std::string format;  // of a word
  double bytes_per_word = 0.0;
  double operations = 0.0;                // FLOP, or vertices of a graph
  std::vector<pebble::LowerBound> lower;  // every bound that holds in this game; at least one
  std::optional<pebble::UpperBound> upper;
  std::optional<pebble::ExactResult> exact;  // when it was asked for
  std::vector<std::string> asymptotic;       // leading terms, one for each contraction
  std::optional<Machine> machine;
  std::optional<MovesRow> moves;
  std::vector<LocalityRow> locality;
  std::vector<LevelRow> levels;
  std::optional<DevicesRow> devices;
  std::optional<NodesRow> nodes;
  std::optional<NetworkRow> network;  // that joins the devices or nodes

  const pebble::LowerBound& best() const;
  // The better of the method's bound and what the exact search proved.
  pebble::Words lower_words() const;
  // Of the cheapest play known: the exact search's, else the upper bound's.
  std::optional<pebble::PlayCost> play() const;
  std::string lower_method() const;                 // how lower_words() was proved
  std::optional<std::string> upper_method() const;  // how play() was found; empty where no play is known
  double bytes(pebble::Words words) const { return static_cast<double>(words) * bytes_per_word; }
  std::optional<double> intensity() const;
  std::optional<double> balance() const;
  // The moves of play(), empty where they are too many to write down. Null: no play is known.
  const pebble::Play* cheapest() const;
};

struct LayerAnswer {
  std::string name;
  std::int64_t count = 1;
  cost::LayerFloor floor;
  std::vector<double> time_s;  // predicted, by operator; empty where no calibration is at hand
  double flops() const;        // of one execution
};

// Data movement of the operators of each layer: each run alone, run fused, and the lower bound of the whole layer.
struct LayersAnswer {
  std::string what;
  double on_chip_bytes = 0.0;
  std::string format;
  double bytes_per_word = 0.0;
  bool backward = false;
  std::optional<Machine> machine;
  std::vector<LayerAnswer> layers;

  // Of all layers, each as often as the model has it.
  double lower_bytes() const;
  double operations() const;  // FLOP
  std::optional<double> intensity() const;
  std::optional<double> balance() const;
  // Of one operator of a layer. Nothing where there are no times.
  std::optional<double> mue(const LayerAnswer& layer, std::size_t op) const;
  struct ClassTime {
    double time_s = 0.0;
    double all_s = 0.0;  // of all classes
    double mue = 0.0;
  };
  std::optional<ClassTime> class_time(const LayerAnswer& layer, cost::OperatorClass kind) const;
};

// Errors (core::ConfigurationError): a memory that holds no word, or not what one value is made of; a graph that the
// exact search or several devices are too large for; more devices than the links join; sizes that cannot be counted.
Answer answer(const ComputationRequest& request);
Answer answer(const ExchangeRequest& request);
// A layer that the model has not got, and a model that does not fit together or is too short for the sequence, besides.
LayersAnswer answer(const LayersRequest& request);

}  // namespace cairn::bound
