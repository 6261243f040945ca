// How far prices reach beyond what was measured: the worst shape of each family of kernels or transfers.
//
//   factor = max(x / largest, least / x) of a size x measured from `least` to `largest`; 1 within
//
// A family is what one set of fitted parameters prices ("matrix products in bf16"), a dimension one of its sizes (m, n,
// k, bytes, ranks). Sizes below the least measured bytes do not count: every form ends in a latency there.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/cost/fit_record.h"
#include "cairn/cost/gemm.h"
#include "cairn/cost/transfer.h"

namespace cairn::cost {

// 1 where x lies in the range.
double factor_outside(double x, const MeasuredRange& range);

class Extrapolation {
 public:
  // Notes that a size x was priced. Of each family the size furthest outside its range is kept.
  void see(const std::string& family, std::string_view dimension, double x, const MeasuredRange& range);
  // The same for m, n and k of a matrix product; m and n are swapped where that lies nearer to the measurements.
  void see(const std::string& family, const GemmShape& shape, const FitRecord& record);
  // The same for a kernel that moves so many bytes.
  void see(const std::string& family, double bytes, const FitRecord& record);
  // The same for bytes and ranks of a collective inside a domain, if that collective was measured.
  void see(Collective collective, double bytes, const GroupBinding& group, const DomainLaws& laws);

  // One sentence for each family of which something lay outside, in alphabetical order.
  std::vector<std::string> sentences() const;

 private:
  struct Worst {
    std::string dimension;
    double x = 0.0;
    MeasuredRange range;
    double factor = 1.0;
  };
  std::map<std::string, Worst> families_;
};

}  // namespace cairn::cost
