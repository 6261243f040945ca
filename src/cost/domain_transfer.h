// The price of a transfer whose ranks all share one domain; transfer.h has the forms.
#pragma once

#include "cairn/cost/transfer.h"

namespace cairn::cost {

// The measured collective whose fits price this one.
Collective fitted_as(Collective collective);

struct DomainLinks {
  LinkLevel link{};
  double crossing_s = 0.0;  // what leaves a PCIe switch needs its link to the root complex for, by whichever protocol
};

TransferTime domain_transfer_time(Collective collective, double bytes, std::int64_t ranks, const DomainLinks& links,
                                  const DomainLaws& laws, TransferForm form);

}  // namespace cairn::cost
