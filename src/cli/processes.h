// The processes of one run that mpirun or srun has started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cairn/search/crew.h"

namespace cairn::cli {

// How many were started together with this one, as the launcher says; 1: it is alone.
std::int64_t started_together();

// Whether the launcher kills what it asks to end, a second later, and forwards no more of what it writes: mpirun does,
// of Open MPI and of MPICH. Slurm leaves the time that it is told to.
bool launcher_gives_no_time();

// Throws core::ConfigurationError where there are several, for `what` is no work that they could share.
void refuse_several(const std::string& what);

// While it lives, this process may speak with the others. At its end the first dismisses the rest.
class Processes {
 public:
  // Made after Interruption: MPI has threads of its own. Throws core::CapabilityError where there are several and this
  // build has no MPI, or the machine, or where the launcher is of another MPI than the one of this build.
  Processes();
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // Whether this one has the answer.
  bool first() const { return !wire_ || wire_->rank() == 0; }
  std::size_t count() const { return wire_ ? wire_->ranks() : 1; }
  // Null: it is alone.
  search::Wire* wire() const { return wire_.get(); }
  // As many as are asked for; where `asked` is 0, this process's share of the machine.
  std::size_t threads(std::int64_t asked) const;

 private:
  std::unique_ptr<search::Wire> wire_;
};

}  // namespace cairn::cli
