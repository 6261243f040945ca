// Parameter counts of a stage on one rank, and the bytes of parameters, gradients and optimizer state that follow.
#pragma once

#include <string>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "cairn/plan/layer.h"
#include "cairn/plan/strategy.h"
#include "cairn/program/program.h"
#include "unit_settings.h"
#include "vocabulary.h"

namespace cairn::plan {

// Parameters of one size, on one rank.
struct EqualParameters {
  double elements = 0.0;
  std::int64_t count = 0;
};

struct StageParameters {
  PerGroup<double> elements;  // parameters stored once are counted once
  PerGroup<double> factored;  // rows and columns of matrices whose second moment is kept as their means
  // Elements whose gradient is Partial over a rule's axis, by rule.
  boost::container::static_vector<double, k_axes> partial_elements;
  double narrow_elements = 0.0;  // of `elements`: products read them in a narrow format
  double narrow_tensors = 0.0;
  double result_bytes = 0.0;             // logits of one micro-batch, on the stage that computes them
  std::vector<EqualParameters> tensors;  // in the order in which their sizes are met

  // Adds `count` equal layers. `met` lists the tied parameters that the device holds; those of the layers are appended.
  // Returns false when all of theirs were listed before: the device stores them once, and the first layers to hold them
  // gather them and reduce their gradients.
  bool add(const LayerState& state, std::int64_t count, std::vector<std::string>& met);
  void add(const StageParameters& others);
  void add_numbers(const StageParameters& others);  // all but their tensors
  void add_tensors(double each, std::int64_t count);
};

// Elements of each group that one rank updates.
//   sharded optimizer: ceil(elements / copies); otherwise every rank updates its copy: elements
PerGroup<double> updated_elements(const StageParameters& parameters, const UnitSettings& settings);

// Tensors with a scale of their own per matrix product: the weight, its activation, and the gradient of the result.
inline constexpr double k_scaled_per_product = 3.0;

// Bytes held for the whole step by one rank: parameters, gradients, and the optimizer state of what the rank updates.
struct StageBytes {
  CategoryBytes device{};
  double host = 0.0;
  double storage = 0.0;
};
// For p elements and copies sharded over f ranks, times bytes per element of each: parameters p, or p/f if sharded;
// gradients p, p/f if sharded, or 0 if every pass sends them away; optimizer state of `updated`. `kept`: bytes of
// parameters that stay on the device although parameters are offloaded.
StageBytes stage_bytes(const StageParameters& parameters, const PerGroup<double>& updated, const UnitSettings& settings,
                       double kept);

// The tensors of `device`. Parameters and optimizer state are one each, to a parameter, in proportion to
// its elements; gradients lie in one buffer. The optimizer's moments come with the first update.
std::vector<HeldTensors> held_tensors(const CategoryBytes& device, const StageParameters& parameters,
                                      const ParameterTreatment& treatment);

}  // namespace cairn::plan
