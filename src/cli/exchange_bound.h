// `cairn bound 'all-reduce p=16 n=1GiB'`: what devices that exchange a vector must send and receive.
#pragma once

#include "arguments.h"
#include "cairn/report/bound.h"

namespace cairn::cli {

bool names_exchange(const BoundArguments& arguments);

// p: devices; n: the whole vector, of all-to-all one device's buffer, in words or bytes. Fills in all but the format.
// Errors (core::ConfigurationError): sizes missing, unknown, or no positive amounts; options that speak of a memory.
void bound_exchange(report::BoundAnswer& answer, const BoundArguments& arguments);

}  // namespace cairn::cli
