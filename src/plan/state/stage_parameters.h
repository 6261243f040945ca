// What the parameters of every stage come to on one rank, and which stages hold the same ones.
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
  double result_bytes = 0.0;             // of one micro-batch, where the stage makes the model's result
  std::vector<EqualParameters> tensors;  // in the order in which their sizes are met

  // Adds `count` equal layers; `met`: shared parameters that the device holds, to which theirs are added. False when
  // all theirs were there before: the stage stores them once, and the first layers to hold them gather them and send
  // their gradients.
  bool add(const LayerState& state, std::int64_t count, std::vector<std::string>& met);
  void add(const StageParameters& others);
  void add_tensors(double each, std::int64_t count);
};

// Elements of each group that one rank updates.
//   sharded optimizer: ceil(elements / copies); otherwise every rank updates its copy: elements
PerGroup<double> updated_elements(const StageParameters& parameters, const UnitSettings& settings);

// Tensors with a scale of their own to a weight: it, what it is multiplied with, and the gradient of the result.
inline constexpr double k_scaled_per_product = 3.0;

// Bytes held for the whole step by one rank: parameters, gradients, and the optimizer state of what the rank updates.
struct StageBytes {
  CategoryBytes device{};
  double host = 0.0;
  double storage = 0.0;
};
// `kept`: parameters on the device although they are offloaded.
//   p elements, f ranks to a copy: parameters p or p/f, gradients p, p/f, or none once they leave with every pass,
//   state of `updated`
StageBytes stage_bytes(const StageParameters& parameters, const PerGroup<double>& updated, const UnitSettings& settings,
                       double kept);

// The tensors of `device`. Parameters and optimizer state are one each, to a parameter, in proportion to
// its elements; gradients lie in one buffer. The optimizer's moments come with the first update.
std::vector<HeldTensors> held_tensors(const CategoryBytes& device, const StageParameters& parameters,
                                      const ParameterTreatment& treatment);

}  // namespace cairn::plan
