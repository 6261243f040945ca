// What the parameters of every stage come to on one rank, and which stages hold the same ones.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "cairn/plan/layer.h"
#include "cairn/plan/program.h"
#include "cairn/plan/strategy.h"
#include "unit_settings.h"

namespace cairn::plan {

struct StageParameters {
  PerGroup<double> elements;  // parameters stored once are counted once
  PerGroup<double> factored;  // rows and columns of matrices whose second moment is kept as their means
  // Elements whose gradient is Partial over a rule's axis, by rule.
  boost::container::static_vector<double, k_axes> partial_elements;
  double narrow_elements = 0.0;  // of `elements`: products read them in a narrow format
  double narrow_tensors = 0.0;
  friend bool operator==(const StageParameters&, const StageParameters&) = default;
};

// Elements of each group that one rank updates.
//   sharded optimizer: ceil(elements / copies); otherwise every rank updates its copy: elements
PerGroup<double> updated_elements(const StageParameters& parameters, Sharded sharded, const PerGroup<Group>& copies);

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

class ParameterLedger {
 public:
  void start(std::int64_t stages);
  // Adds `count` equal layers to a stage. False when all their tied parameters were there before: the stage stores them
  // once, and the first layers to hold them gather them and send their gradients.
  bool add(std::int32_t stage, const LayerState& state, std::int64_t count);
  const StageParameters& of(std::int32_t stage) const { return stages_[static_cast<std::size_t>(stage)]; }

  // The two stages that hold the same tied parameters, or twice k_no_stage. Throws core::ConfigurationError when more
  // than two would.
  std::array<std::int32_t, 2> tied_stages();
  // Elements that the tied stages exchange the gradients of; after tied_stages().
  double exchanged_elements() const { return exchanged_elements_; }

 private:
  struct Tie {
    std::string tag;
    double elements = 0.0;
    std::vector<std::int32_t> stages;
  };
  bool first_holder(const Tied& tied, std::int32_t stage);

  std::vector<StageParameters> stages_;
  std::vector<Tie> ties_;
  double exchanged_elements_ = 0.0;
};

}  // namespace cairn::plan
