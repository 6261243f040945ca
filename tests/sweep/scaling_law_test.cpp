// The laws against the figures of the papers that they are from, and against what defines them.
#include "cairn/sweep/scaling_law.h"

#include "catch.h"

using namespace cairn;

TEST_CASE("The best number of tokens for a model has the least loss at its compute") {
  for (const double parameters : {4e8, 7e9, 7e10, 4e11}) {
    INFO(parameters);
    const double tokens = sweep::compute_optimal_tokens(parameters);
    const double best = sweep::loss(parameters, tokens);
    // The same compute, 6 N D, of a model a little larger or smaller.
    for (const double other : {0.98, 0.999, 1.001, 1.02}) CHECK(sweep::loss(parameters * other, tokens / other) > best);
  }
}

TEST_CASE("About twenty tokens a parameter at the compute of Chinchilla") {
  // 5.76e23 FLOP: 70e9 parameters and 1.4e12 tokens were trained; the replication finds a ratio of about 20 (2404.10102).
  const double parameters = 7e10;
  CHECK(sweep::compute_optimal_tokens(parameters) / parameters == Approx(20.0).epsilon(0.1));
}

TEST_CASE("Batches of the critical size take twice the tokens, and half the steps gain no more than that") {
  const double parameters = 8e9, tokens = 1.6e11;
  const double critical = sweep::critical_batch_tokens(sweep::loss(parameters, tokens));
  // One to two million tokens where the largest models of Kaplan et al. (2001.08361) converge, at a loss of some 2.6.
  CHECK(sweep::critical_batch_tokens(2.6) > 1e6);
  CHECK(sweep::critical_batch_tokens(2.6) < 2.5e6);
  CHECK(critical > 1e6);
  CHECK(critical < 1e7);
  CHECK(sweep::tokens_in_batches(parameters, tokens, critical) == Approx(2.0 * tokens));
  CHECK(sweep::tokens_in_batches(parameters, tokens, 0.0) == Approx(tokens));
  // (S / S_min - 1) (D / D_min - 1) = 1, with S = D / batch and S_min = D_min / critical.
  for (const double batch : {1e5, 1e6, 1e7}) {
    const double needed = sweep::tokens_in_batches(parameters, tokens, batch);
    const double steps = needed / batch, least_steps = tokens / critical;
    CHECK((steps / least_steps - 1.0) * (needed / tokens - 1.0) == Approx(1.0));
  }
}
