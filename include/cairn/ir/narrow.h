// Matrix products in a format narrower than the activations': a rewriting pass over a differentiated layer.
//
// For every plain contraction of an activation x with a parameter W, and its two derivatives,
//   y  = x W        forward          reads rows(x),     W
//   dx = dy W       input gradient   reads rows(dy),    W
//   dW = dy x       weight gradient  reads columns(dy), columns(x)
// rows() and columns() are x in the narrow format, laid out (or scaled in blocks) along the summed dimension of the
// product that reads it. Each is made by a cast: an operator that reads the wide tensor and writes one copy or both, so
// that its time is that of its bytes. W stays one parameter tensor whose format becomes the narrow one; making it from
// the stored copy is work per step, not per micro-batch, and not part of the layer.
//
//   per-tensor scales  One maximum over the tensor decides the scale. Found from earlier steps it costs nothing here;
//                      found now it is a pass of its own over the wide tensor (or a result of the norm before), over
//                      the ranks that hold parts.
//   second copy        shared: columns(x) is rows(x), where the units take either layout;
//                      transposed: one more copy, made together with the first, or from it once it has been gathered;
//                      quantised: made from the wide tensor, block by block.
//
// Token exchange (MoE): rows sent to experts on other ranks, and results sent back, may be cast to a narrower format
// for the transfer. The cast follows the operator that makes them, and all readers on other ranks share its copy. A
// product reads a row in the format in which it arrived, and operators that only move rows (Operator::moves_rows) pass
// that format on; columns() are made from it on the rank of the product.
//
// What is kept for backward follows: columns(x) where forward makes it, rows(x) where it still has to be gathered and
// transposed, x itself with `save_wide`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cairn/ir/graph.h"

namespace cairn::ir {

// What a normalisation that feeds a product does itself: nothing, find the maximum, or write the narrow copy in place
// of the wide one.
enum class NormWrites : std::uint8_t { wide, maximum, narrow };
enum class SecondCopy : std::uint8_t { shared, transposed, quantised };

// Number formats of a transfer: of activations, and of their gradients. None: the format they were made in.
struct Wire {
  std::optional<numerics::Format> forward = {};
  std::optional<numerics::Format> backward = {};
  friend bool operator==(const Wire&, const Wire&) = default;
};

// Rows that are processed on other ranks than the one they come from (tokens of experts).
struct Journeys {
  // `home`: the dimension of the rank that rows come from; operators whose domain has it under another name run on the
  // rank that the rows were sent to. `work`: the dimension that is spread over ranks there; sums over it are Partial,
  // and combine on the way back in the format they were made in.
  struct Origin {
    std::string home;
    std::string work;
    friend bool operator==(const Origin&, const Origin&) = default;
  };
  std::vector<Origin> origins = {};
  Wire out = {};   // formats on the way to the experts; products read their operands in these
  Wire home = {};  // formats on the way back
  friend bool operator==(const Journeys&, const Journeys&) = default;
};

struct NarrowProducts {
  numerics::Format activations = numerics::Format::fp8_e4m3;
  numerics::Format weights = numerics::Format::fp8_e4m3;
  numerics::Format gradients = numerics::Format::fp8_e5m2;
  bool forward = true;  // which products
  bool input_gradient = true;
  bool weight_gradient = true;
  struct Split {  // which of them accumulate in two stages (Operator::split_accumulation)
    bool forward = false;
    bool input_gradient = false;
    bool weight_gradient = false;
    friend bool operator==(const Split&, const Split&) = default;
  };
  Split split_accumulation = {};
  SecondCopy second_copy = SecondCopy::shared;
  bool finds_maxima = false;  // of each tensor, before it is cast
  NormWrites norm = NormWrites::wide;
  std::string transposing = {};  // Operator::variant of what writes a transposed copy
  bool save_wide = false;
  // Dimensions along which each rank scales its part of an operand by itself, since it is never gathered with others.
  std::vector<std::string> own_parts;
  // Operands without these dimensions, of products with them, are gathered from other ranks first ...
  bool gathered = false;
  bool gather_narrow = true;  // ... after the cast (true) or before it
  Journeys journeys = {};     // its dimensions count as own_parts too
  friend bool operator==(const NarrowProducts&, const NarrowProducts&) = default;
};

// Rewrites `graph`, which must be differentiated. Contractions flagged keeps_format stay.
void narrow_products(Graph& graph, const NarrowProducts& options);

}  // namespace cairn::ir
