// The least that some device has to send and receive in a step, whatever the layout, proved by disjoint paths.
//
// Assumed: classical products, gradients summed over the batch, and no product of a contraction on the chain below
// formed on two devices, be it of the forward pass or of either gradient (once more on the same device is allowed, and
// so is any replication of additions and of pointwise work).
//
// Chain: matrices M_0 .. M_m (n_l inputs, p_l outputs), each complete (every output of a token needs every input of
// that token, each product with a weight of its own), each output of M_l the only way into one input of M_l+1 through
// pointwise work, residual sums and normalisation, channel by channel, p_l = n_l+1. h: the least n_l, p_l. Counted are
// M_1 .. M_m-1: their inputs x and the gradients dy of their outputs are sums of products of the neighbours on the
// chain. W = sum of n_l p_l, Lambda = W / max n_l p_l, over the counted; T tokens. T W products x_l[t,i] dy_l[t,j] make
// the weights' gradients; a device d forms the share phi_tl of those of token t and layer l, phi_t of token t's, phi of
// all.
//
// A word crosses for every channel that d and another device use. Say x_l[t,i] is a factor on both sides. Any product
// of M_l-1 that it sums has one device, so that of the values of channel i of token t between the two matrices (partial
// sums, the sum, what pointwise work makes of it) one comes to the other side. It belongs to (l, t, i) alone; gradients
// likewise. So does a word on a path through products of the chain that joins factors on both sides: two products or
// factors that follow each other on it lie on different sides, and the values between them belong to one channel.
// 1. One layer: r inputs and c outputs of a token are used on both sides. Where d uses an input alone, no output is the
//    others' alone. If neither side has an input alone, r = n; if both have, c = p; if only d has, the others' products
//    lie within r x c, which is (1 - phi_tl) n p at least; if only the others, phi_tl n p. As r + c >= 2 sqrt(r c):
//      words >= h f(phi_tl), f(x) = min(1, 2 sqrt(x), 2 sqrt(1 - x)), concave, f(0) = f(1) = 0
// 2. Two layers a, b with phi_ta >= theta, phi_tb <= 1 - theta (theta >= 1/2): by Koenig a share x of the edges of
//    K_n,p has a matching of x min(n, p) edges. So theta h products of d in M_a and as many of others in M_b are
//    disjoint, and disjoint paths join their inputs forward and their outputs backward, through complete matrices:
//      words >= 2 theta h
//    Where there are no such layers, all phi_tl < theta (or all > 1 - theta), f(x) >= x f(theta) / theta there, and 1.
//    adds up over the layers, whose phi_tl sum up to Lambda phi_t or more (or the same of 1 - phi_tl). So for every
//    theta
//      words of token t >= h G(phi_t), G(x) = min( 2 theta, f(theta) / theta Lambda min(x, 1 - x) )
// 3. A weight of which d forms some tokens' products and not all has its partial sums meet: one word. Let sigma be the
//    share of such weights, pi that of weights whose products are all d's: pi <= phi_t <= pi + sigma. G is concave and
//    symmetric, so with phi <= 1/2 it is G(phi) min(1, x / phi, (1 - x) / phi) at least, and on average over tokens at
//    least what a mixture w of tokens at pi + sigma, 1 - w at pi comes to. With A = T h G(phi) the words sigma W + ...
//    are linear in sigma for given w; at its ends they come to A (sigma = 0), phi W / w + A w >= 2 sqrt(phi W A) (pi =
//    0), or, where pi + sigma > 1 - phi, to min(A, W) or more:
//      words of d >= min( A, W, 2 sqrt(phi W A) )       phi <= 1/2
//    A is what a pipeline sends, W what copies of the model do, the third what copies of pipelines do.
// All three grow with phi, and the busiest device has phi >= 1 / D. Words counted in bytes, of values in A and of
// gradients of weights in W, give the same with bytes for words.
#pragma once

#include <optional>

#include "cairn/hardware/cluster.h"
#include "cairn/ir/model.h"

namespace cairn::predict {

struct ProductChain {
  double tokens = 0.0;   // T
  double width = 0.0;    // h [channels]
  double weights = 0.0;  // W
  double largest = 0.0;  // max n_l p_l [weights]
};

// The longest chain through the model's body, found by following tensors through its operators; tokens of one pass at
// `sizes`. Weights that layers share end it, as their gradients are one. Where a batch runs in several parts, the first
// part's. Empty where no counted matrix is found: layers of routed experts alone, convolutions, sub-layers that stand
// side by side.
std::optional<ProductChain> product_chain(const ir::Model& model, const loopnest::Sizes& sizes);

// Bytes of a word in the narrowest format that may carry it between devices.
struct WordBytes {
  double value = 0.0;            // activations and their gradients
  double weight_gradient = 0.0;  // and partial sums of it
};

// Bytes that a device with the share `share` <= 1/2 of the chain's products sends and receives at least.
double least_crossing_bytes(const ProductChain& chain, double share, const WordBytes& bytes);

// Of all links of one accelerator together, in one direction, that to its host included. [B/s]
double all_links_bytes_per_s(const hardware::Network& network, const std::optional<hardware::Host>& host);

// Seconds: a device forms 1 / devices of the products or more. If more than half, their arithmetic alone takes T W /
// peak (two FLOPs each); else its links carry the bytes above, in and out at once. `devices` >= 2.
double network_bound_s(const ProductChain& chain, double devices, const WordBytes& bytes, double links_bytes_per_s,
                       double peak_flops);

}  // namespace cairn::predict
