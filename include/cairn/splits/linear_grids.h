// Linear layers on grids of devices (1D, 2D, 2.5D and 3D tensor parallelism): what a device computes, keeps and moves.
//
//   Y = X W,   dX = dY W^T,   dW = X^T dY         shares of the layer's FLOPs, and of the tensor at hand
//
//   grid    devices   computes   keeps of W   keeps of X, Y   receives forward and backward   messages in a row
//   1D      p         1/p        1/p          1               2 (p-1)/p                       2 (p-1)
//   2D      q q       1/q^2      1/q^2        1/q^2           6 (q-1)/q^2                     6 (q-1)
//   2.5D    d q q     1/(d q^2)  1/q^2        1/(d q^2)       3 (q-1) (d+1)/(d q^2)           6 (q-1)
//   3D      q q q     1/q^3      1/q^3        1/q^3           6 (q-1)/q^3                     6 (q-1)
//
// 1D splits W alone, and a sum of Y (or of dX) is reduced over all. In the others every product moves two operands along
// a line of q devices each, blocks of them in SUMMA's sweeps, gathered or scattered whole in 3D, where X and W stay as
// gathered for the backward pass. What 2.5D reduces over its d layers is the gradient of W, once a step as in data
// parallelism, and not counted.
//
// The documentation of Colossal-AI states the bandwidth of 2D and 2.5D q times as large: it counts what all q devices of
// a line receive, in 1D and 3D what one does. published_bandwidth() is its figure.
//
// Sources: Q. Xu, S. Li, C. Gong, Y. You, "An Efficient 2D Method for Training Super-Large Deep Learning Models", 2021
// (arXiv 2104.05343); B. Wang et al., "Tesseract", 2021 (arXiv 2105.14500); Z. Bian et al., "Maximizing Parallelism in
// Distributed Training for Huge Neural Networks", 2021 (arXiv 2105.14450); documentation of Colossal-AI, "1D", "2D",
// "2.5D" and "3D tensor parallelism".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cairn::splits {

enum class GridKind : std::uint8_t { one, two, two_and_half, three };
std::string_view name(GridKind kind);  // "1D", "2D", "2.5D", "3D"

struct LinearGrid {
  GridKind kind = GridKind::one;
  std::int64_t side = 1;   // p of 1D, else q
  std::int64_t depth = 1;  // d of 2.5D, else 1
  std::int64_t devices() const;
};

enum class LinearOperand : std::uint8_t { input, weight, output };

// An operand, or its gradient, moved along a line of devices.
struct GridMove {
  LinearOperand operand = LinearOperand::input;
  bool gradient = false;
  bool reduced = false;    // summed on the way
  bool backward = false;   // in which pass
  std::int64_t ranks = 1;  // of the line
  double received = 0.0;   // by each of them, as a share of the whole tensor
  std::int64_t messages = 0;
};
std::vector<GridMove> moves(const LinearGrid& grid);

struct GridShares {
  double compute = 0.0;
  double weight = 0.0;
  double activations = 0.0;
  double received = 0.0;      // moves() together, of tensors of one size
  std::int64_t messages = 0;  // one after the other
};
GridShares shares(const LinearGrid& grid);
double published_bandwidth(const LinearGrid& grid);

// All grids of so many devices, 1D first.
std::vector<LinearGrid> grids_of(std::int64_t devices);

}  // namespace cairn::splits
