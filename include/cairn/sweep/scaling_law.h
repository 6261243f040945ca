// How many tokens a training takes: by scaling laws of language models.
//
//   L(N, D)   = E + A / N^alpha + B / D^beta        loss [nats a token] of N parameters after D tokens in small batches
//   D*(N)     the tokens of the compute that N is best for: with G = (alpha A / (beta B))^(1/(alpha + beta)) and
//             a = beta / (alpha + beta),   D*(N) = (N / G)^(1/a) / N
//   b(L)      = B* / L^(1/alpha_B)                  critical batch [tokens]: at it twice as many tokens are needed
//   D(batch)  = D (1 + batch / b(L(N, D)))          tokens to the same loss, in batches of that many tokens
//
// E, A, B, alpha, beta: Besiroglu, Erdil, Barnett, You, "Chinchilla scaling: a replication attempt" (arXiv 2404.10102, 2024),
// who fitted the third method of Hoffmann et al. (arXiv 2203.15556, 2022) again, whose own values were rounded and not
// converged. Standard errors: E 0.03, A 125, B 1293, alpha 0.02, beta 0.02.
// b(L) and D(batch): Kaplan et al. (arXiv 2001.08361, 2020), equations 1.4 and 5.1, after McCandlish et al. (arXiv
// 1812.06162, 2018). All were fitted to models of up to 16e9 parameters; larger ones are extrapolated.
#pragma once

namespace cairn::sweep {

inline constexpr double k_most_parameters = 16e9;  // that the laws were fitted to

double loss(double parameters, double tokens);
double compute_optimal_tokens(double parameters);
double critical_batch_tokens(double loss);
// Tokens in batches of `batch_tokens` to the loss that `tokens` in small batches reach.
double tokens_in_batches(double parameters, double tokens, double batch_tokens);

}  // namespace cairn::sweep
