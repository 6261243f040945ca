// In which settings two experiments differ, and experiments in between.
//
// An experiment is taken as what decides it: files that it names under their names where everyone has them and inline
// otherwise, its cluster key by key, and no key that says what would follow without it (a dp that the cluster leaves
// anyway, kernels that are the framework's own). So it does not matter whether a key was left out or written out, and
// what follows from a change goes along with it.
//
// A setting is a key that can be changed by itself:
//
//   model                     whole
//   cluster.KEY               nodes, gpus_per_node, intra, inter, levels, groups, host
//   cluster.accelerator       with `calibration`, which is that of an accelerator
//   training.KEY              seq_len, global_batch, precision, optimizer, framework; kernels.KEY
//   strategy.KEY              one by one; overlap.KEY
//   simulation.KEY            where the event engine runs
//
// Names, prices, power and the length of the training do not bear on the time of a step (`untimed`).
#pragma once

#include <string>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/config/node.h"
#include "cairn/contrast/shares.h"
#include "cairn/experiment/experiment.h"
#include "cairn/experiment/job.h"
#include "cairn/predict/prediction.h"

namespace cairn::contrast {

// An experiment as what decides it.
struct Deciding {
  config::Node experiment = {};  // as a file would say it; its model inline
  config::Node model = {};       // as the model was named
};
Deciding deciding(const experiment::Job& job, const config::Loader& loader);

// A key in which two experiments differ, and its values as a file says them in one line; of maps the keys in which they
// differ. Empty: left out, so that it follows from others.
struct Difference {
  std::string key = {};
  std::string a = {};
  std::string b = {};
};

class Settings {
 public:
  Settings(Deciding a, Deciding b, predict::Engine engine);

  const std::vector<Difference>& timed() const { return timed_; }  // in the order of an experiment's keys
  const std::vector<Difference>& untimed() const { return untimed_; }
  // `a` with these of the timed settings as in `b`.
  config::Node mixed(Coalition changed) const;

 private:
  void add(const std::string& key, const std::vector<std::string>& keys, bool timed);
  void add_below(const std::string& map, const std::vector<std::string>& but, bool timed);

  Deciding a_;
  Deciding b_;
  std::vector<std::vector<std::string>> keys_;  // of each timed setting; whatever moves with it
  std::vector<Difference> timed_;
  std::vector<Difference> untimed_;
};

}  // namespace cairn::contrast
