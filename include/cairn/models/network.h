// Networks that are no decoder-only transformers, each as one graph of loop nests: material for a search that splits
// every operator in its own way (PaSE, SBP).
//
// The graph is a forward pass, not differentiated; each operator says how it is (ir/operator.h). All extents are
// constants, the batch among them; all tensors are in fp32, but indices. Producers come before their consumers. Names of
// operators are unique ("mixed5b.branch1x1.conv"). Inputs of the graph are what comes from outside (images, token ids,
// positional tables, targets), outputs the losses of the samples. A gradient is computed for activations and parameters,
// passed through additions, and none goes to indices, to what comes from outside and to what is made of that alone.
// Accesses stand in the order: activations read, parameters, indices, writes.
//
// What each operator looks like. "rows" are the leading dimensions of the tensor that it reads.
//
//   operator         kind         variant        dims              FLOPs  reads                      writes
//   convolution      contraction  convolution    b c h w r s n     2      x (b, c, S h + r - P, ..)  sum (b, n, h, w)
//                                                                         weight (n, c, r, s)
//     in groups                                  b g c h w r s n   2      x (b, C g + c, ..)         sum (b, N g + n, ..)
//                                                                         weight (N g + n, c, r, s)
//     of volumes                                 b c d h w q r s n 2      likewise                   sum (b, n, d, h, w)
//   dense            contraction                 rows n k          2      x (rows, k), weight (n, k) sum (rows, n)
//   product          contraction                 rows n k          2      a (rows, k), b (.., k, n)  sum (rows, n)
//   einsum           contraction                 output's, summed  2      by its letters             sum by its letters
//   embedding        gather                      rows e v          0      table (v, e), index (rows) (rows, e)
//   pairs            gather       lower-triangle b p i j           0      x (b, i, j)                (b, p)
//   pooling          reduce       max-pool,      b c h w r s,      1      x (b, c, S h + r - P, ..)  max or sum
//                                 average-pool   b c d h w q r s                                     (b, c, h, w)
//   mean             reduce       mean           x's               1      x                          sum (b, c), others
//   normalisation    reduce       batch-norm     x's               7      x, gain (c), shift (c)     y, statistic (c)
//                                 layer-norm     x's               7      x, gain (e), shift (e)     y, statistic (rows)
//   softmax          reduce       softmax        x's               5      x                          y, statistic (rows)
//   loss             reduce       cross-entropy  logits'           4      logits, targets (rows)     statistic (rows)
//                                 squared-error  x's               3      x, targets like x          statistic (rows)
//   activation       pointwise    relu, gelu,    x's               1 ..   x                          y
//                                 dropout, ...
//   addition         pointwise    add            x's               1      two tensors                y
//   combination      pointwise    sub, mul, div  the result's      1      two tensors                y
//   LSTM             scan         lstm           layer seq b n k   16     x (b, seq, k),             y (b, seq, n)
//                                                                         weight (layer, n, k, i)
//   views            opaque       reshape        see below         0
//
// C and N are the channels of one group; where that is one there is no c, or n. A dilated window reads at S h + D r - P.
// S is the stride, P the padding, which no guard cuts off: along an edge of x the window reads up to P elements beside
// it, and FLOPs count them. An output has floor((size - window + 2 P) / S) + 1 positions. The bias of a convolution or a
// product is a further parameter that it reads as an addend; that of an addition is a parameter in place of its second
// tensor; of a constant alone an addition is of one tensor. What an operand of a combination or a product lacks, or has
// at size 1, is repeated; its gradient is then a sum, so it is computed where that of an addend is passed. A tied weight
// is one parameter with several readers. v, i and j of the gathers are selective dimensions of which one value is
// visited, chosen by the rows (i and j: by the pair p).
//
// Views move nothing. One operator may read or write several tensors, or one tensor at several constant indices:
//   reshape   dims of the side of higher rank; the merged index is an affine form (b, 36 c + 6 h + w)
//             (a dimension of size 1 is at 0); of the same shape, a copy in another format
//   transpose dims of x; writes them in another order: a product reads its operands in any
//   split     the reverse of concat: dims of x but the split one, at 0 in x and in every output; a slice has one output
//   concat    dims of x but the concatenated one, whose index is the constant 0 in every input and in the output
//   stack     dims of an input; writes the output at the constants 0, 1, .. of its first dimension, one access each
//   unstack   the reverse: reads x at 0, 1, .. of one of its dimensions, writes the outputs; not always all of x
//
// The weights of an LSTM are eight products, of four gates with the input and with the state; weight (layer, n, k, 8) is
// read at the constants 0 .. 7 of its last dimension. The recurrence itself (h of the step before, h of the layer below)
// is no access: what a split of layer, seq, n or k moves inside is the reader's to know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/ir/graph.h"

namespace cairn::models {

// The networks. Those marked P are the ones of the prototype of PaSE (Elango, IPDPS 2021), layer by layer: no biases,
// 1024 classes in AlexNet, three matrices of 50,000 tokens that share nothing in the transformer; their activations are
// operators here, and Inception has its ReLUs.
//
//   alexnet            P  images of 227 x 227
//   vgg16                 Simonyan and Zisserman 2015, configuration D, 224 x 224, biases, dropout
//   resnet50, resnet152   He et al. 2016, 224 x 224; stride 2 in the 3 x 3 convolution, as torchvision has it
//   inceptionv3        P  299 x 299, without the auxiliary classifier
//   rnnlm              P  vocabulary 100,000, two LSTM layers of 2048, 256 steps
//   transformer-small  P  6 + 6 layers of 512, 8 heads, 256 tokens; no masks
//   bert                  BERT-large, 512 tokens, pre-training: the masked-token loss at every position, over the tied
//                         table, and the next-sentence loss
//   dlrm                  MLPerf Training 0.7 to 2.1: Criteo Terabyte with indices modulo 40 million. Targets are clicks:
//                         the cross-entropy of one logit
//   cosmoflow             MLPerf HPC: 128^3 voxels of 4 channels, 32 to 512 filters of 3^3; padding keeps the size
struct Network {
  std::string name;
  std::int64_t batch = 1;
  ir::Graph graph;
};

std::vector<std::string_view> network_names();

// The network of that name, at its default batch (src/models/networks.def) unless one is given.
// Errors: core::ConfigurationError at `network` for an unknown name, at `batch` for one below 1.
Network build_network(std::string_view name, std::optional<std::int64_t> batch = {});

// Values, parameters and their gradients in another format than fp32; statistics stay in fp32.
void set_format(Network& network, numerics::Format format);

}  // namespace cairn::models
