// Experiments at random over every key of the schemas of experiments, models, clusters, accelerators, recipes and
// frameworks. Most of them are accepted: what contradicts itself is mended while it is drawn. Models are shallow and
// clusters small, as a step's cost grows with them; widths and lengths are those of real models, too.
//
// A key that a schema has and nothing here varies fails a test (laws_of_a_run.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shelf.h"

namespace cairn::laws {

struct Wanted {
  // Written-out stages, and no order of work that is chosen by times: the plan stays the same when prices change.
  bool fixed_plan = false;
};

// One experiment as its file says it. The same seed gives the same experiment.
Json draw_experiment(std::uint64_t seed, const Shelf& shelf, const Wanted& wanted = {});

// The file of a framework.
Json draw_framework(std::uint64_t seed, const std::vector<std::string>& shipped);

// The parts of an experiment.
struct DrawnCluster {
  Json cluster;
  std::string accelerator;  // that the cluster's extends
  bool named = true;        // the accelerator is, so that it has a calibration of its own
  std::int64_t gpus = 1;
  bool host = false;
  bool drives = false;
};
DrawnCluster draw_cluster(Draw& draw, const Shelf& shelf);

// What a model has to go along with.
struct Surroundings {
  std::int64_t tp = 1;
  std::int64_t layers = 1;
  std::int64_t sequence = 1;
  bool separate_ends = false;  // the embedding and the head share nothing
};
struct DrawnModel {
  Json model;
  Json moe;  // of the model, null without experts
  std::int64_t layers = 1;
  bool one_kernel = false;
};
DrawnModel draw_model(Draw& draw, const Shelf& shelf, const Surroundings& around);

// The framework's name, whichever way it is given.
std::string framework_of(const Json& experiment);
// The format of activations under what `training.precision` says.
std::string activations_of(const Shelf& shelf, const Json& precision);
Json draw_precision(Draw& draw, const Shelf& shelf, const std::string& accelerator);

}  // namespace cairn::laws
