// Lowering: model + strategy -> Program.
//
// A Lowering belongs to one model, sequence length and treatment of parameters, and remembers every block it has made,
// so that lowering the next strategy costs only what is new in it. Programs refer to its blocks and to the model: both
// must outlive them.
#pragma once

#include <memory>

#include "cairn/ir/model.h"
#include "cairn/plan/framework_behaviour.h"
#include "cairn/plan/layer.h"
#include "cairn/plan/strategy.h"
#include "cairn/program/program.h"

namespace cairn::plan {

class Lowering {
 public:
  // `domain`: ranks joined by the fastest links; neighbouring stages inside one domain send over them. 0: all ranks.
  Lowering(const ir::Model& model, std::int64_t sequence, ParameterTreatment treatment, std::int64_t domain = 0,
           const FrameworkBehaviour& behaviour = {});
  ~Lowering();
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;

  // Throws core::ConfigurationError for settings that contradict the model (a dimension that does not split evenly,
  // stage_layers that do not add up, a schedule's own conditions).
  const program::Program& lower(const Strategy& strategy);

  // Bytes that some device holds at least: what stays for the whole step, and what forward passes leave behind for
  // backward passes that are still to come. With allocated_peak of predict/account/memory.h,
  //   memory_floor(strategy) <= max over stages of allocated_peak(lower(strategy))
  // Gathered parameters, and what is alive within a pass alone, are not counted, nor activations that leave the device.
  // No pass is made, which is most of what lower() takes; so what contradicts itself within a pass alone (the split of
  // a backward block, subgroups of an offloaded update) is not found. Else throws like lower(). A Program that lower()
  // gave before is not valid after it.
  double memory_floor(const Strategy& strategy);

  // Hands over a schedule that was already generated from schedule_settings(structure), so that lower() need not.
  void use_schedule(const Structure& structure, std::shared_ptr<const pipeline::Schedule> schedule);

  // State of one layer class under a strategy: parameters and saved bytes on one rank.
  const LayerState& layer_state(const Structure& structure, std::size_t layer_class);
  // Forward and backward block of one layer class, without data-parallel transfers.
  const program::Block& forward_block(const Structure& structure, std::size_t layer_class);
  const program::Block& backward_block(const Structure& structure, std::size_t layer_class);

  const ir::Model& model() const;
  std::int64_t sequence() const;
  const ParameterTreatment& treatment() const;
  const FrameworkBehaviour& behaviour() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// The split rules of the dense layers: which dimensions are sharded over the tensor axis, in order of preference.
std::vector<program::SplitRule> split_rules(const Structure& structure);

// The dense mesh, and the mesh of the layers with experts (program/mesh.h). The data axis of the latter has
// tensor x context x data / (expert x expert tensor) ranks.
program::Mesh mesh(const Structure& structure);
program::Mesh expert_mesh(const Structure& structure);

// Split rules of a mixture of experts. Outside the experts tokens are sharded by the rank they come from, inside by
// the expert they go to; going from one to the other is the token exchange (all-to-all). A two-level exchange has two
// rules in place of that of the expert axis, one over domains and one inside a domain, which split the same dimensions.
struct ExpertSplit {
  std::vector<program::SplitRule> rules;
  std::vector<program::Group> groups;  // parallel to rules
};
ExpertSplit expert_split(const Structure& structure, std::int64_t domain);
// Ranks of one expert-parallel group that share a domain.
std::int64_t experts_in_domain(const Structure& structure, std::int64_t domain);
// A token's k copies go to k different experts, any k of E as likely as others, spread evenly over P places. Expected
// distinct places, as each place is missed by C(E - E/P, k) of C(E, k) choices:
//   D(P, E) = P (1 - C(E - E/P, k) / C(E, k))          k with one expert a place; 2 of E = 4 over 2 places: 5/3
// Where P does not divide E, the sum over places of E/P experts, rounded up or down. k is Structure::expert_copies, E
// Structure::experts, or Structure::expert where that is more. N domains follow from Structure::expert and `domain`, L
// is Structure::expert_domain_limit.

// Transfer::across of a token exchange, in (0, 1]: expected domains that a token crosses to, per copy:
//   min(L, D(N, E)) / k
// Where L is 0 every copy crosses by itself, and the share is 1. With Structure::merged_copies 0 is no limit, and the
// share is that of the rows that share_sent leaves:  min(1, min(L, D(N, E)) / (k share_sent))
double share_across(const Structure& structure, std::int64_t domain);
// Rows that an exchange sends over copies of its tokens, in (0, 1]: 1 where every copy is sent; with
// Structure::merged_copies one for each of the expected distinct ranks of a token. Its experts lie in N' = min(L, N)
// domains of R ranks (without a limit all N), whose E N'/N experts it chooses from:
//   D(N' R, E N'/N) / k
double share_sent(const Structure& structure, std::int64_t domain);
bool has_experts(const ir::Model& model);

// Equal numbers of body layers per virtual stage; throws core::ConfigurationError naming the alternatives if they do
// not divide.
std::vector<std::int64_t> even_stages(std::int64_t body_layers, std::int64_t virtual_stages);

}  // namespace cairn::plan
