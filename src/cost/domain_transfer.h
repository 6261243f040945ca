// The price of a transfer whose ranks all share one domain; transfer.h has the forms.
#pragma once

#include "cairn/cost/transfer.h"

namespace cairn::cost {

// The measured collective whose fits price this one.
Collective fitted_as(Collective collective);

TransferTime domain_transfer_time(Collective collective, double bytes, std::int64_t ranks, const LinkLevel& link,
                                  const DomainLaws& laws, TransferForm form);

}  // namespace cairn::cost
