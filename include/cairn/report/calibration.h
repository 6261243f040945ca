// What `cairn calibrate` answers, as JSON (cairn.calibrate/1) and as text: for every family of measurements its rows,
// the fitted parameters, errors in sample and of predictions of what the fit did not see, and what was measured.
//
// Sample of the text:
//   calibration of h100-sxm5-80gb
//
//                                error in sample              error left out
//   family           rows    median      p90     bias    median      p90     bias  measured
//   gemm bf16        1500     3.0 %   10.1 %   +0.1 %     3.3 %   10.3 %   +0.1 %  m 128 to 32768, ...
//
//   gemm bf16
//     shortest call                3.12 us            the least that a framework's call of the operator takes
//
// An error is predicted / measured - 1; median and p90 are of its size, bias is the median with its sign. `left out`
// is what counts for shapes that were not measured.
#pragma once

#include <string>

#include "cairn/calibrate/calibrate.h"

namespace cairn::report {

std::string text(const calibrate::Result& result);
std::string json(const calibrate::Result& result);
std::string calibrate_schema();  // of cairn.calibrate/1

}  // namespace cairn::report
