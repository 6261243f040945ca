// Everything the program measures, in the order in which it is measured.
//
// GEMM shapes lie on a grid over decades (powers of 4, so that a fit can leave whole bands of m, n, k out) and on the
// matrices of the shipped models with their two gradients; attention on equal token counts from short to long
// sequences; memory-bound kernels and transfers on sizes from well inside the L2 to far beyond it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "case.h"

namespace cairn::probe {

const std::vector<std::string_view>& groups();

struct Selection {
  std::vector<std::string> only = {};  // groups; empty: all
  bool quick = false;
  std::string cache = "cold";  // of kernels whose group does not measure both
  int gpus = 1;                // visible; collectives run over 2, 4, 8, ... and all of them
};

std::vector<Case> catalogue(const Selection& selection);

}  // namespace cairn::probe
