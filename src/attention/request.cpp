#include "cairn/attention/request.h"

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/models/transformer_config.h"

namespace cairn::attention {
namespace {

// Iterations of one rank's operator, and so pairs, bytes and FLOPs, stay below what 64 bits count.
constexpr double k_most_iterations = 0x1p61;

class Check {
 public:
  explicit Check(const Request& request) : request_(request) {}

  void all() {
    positive("request.tokens", request_.tokens);
    positive("request.sequences", request_.sequences);
    positive("request.heads", request_.heads);
    positive("request.kv_heads", request_.kv_heads);
    positive("request.head_dim", request_.head_dim);
    positive("request.tensor_ranks", request_.tensor_ranks);
    if (models::keeps_scores(request_.kernel))
      error("request.kernel", "ranks that share a sequence keep no scores in memory", "use flash2, flash3 or cudnn");
    problems_.raise_if_errors();
    heads();
    ranks();
    size();
    problems_.raise_if_errors();
  }

 private:
  void error(const char* field, std::string message, std::string hint) {
    problems_.add({.file = {}, .key_path = field, .message = std::move(message), .hint = std::move(hint)});
  }
  void positive(const char* field, std::int64_t value) {
    if (value < 1) error(field, fmt::format("{} is less than 1", value), "give at least 1");
  }

  void heads() {
    if (request_.kv_heads > request_.heads)
      return error("request.kv_heads",
                   fmt::format("{} heads of keys and values for {} of queries", request_.kv_heads, request_.heads),
                   fmt::format("give at most {}", request_.heads));
    if (request_.heads % request_.kv_heads != 0)
      error("request.kv_heads",
            fmt::format("{} heads of keys and values do not divide {} of queries", request_.kv_heads, request_.heads),
            "each serves equally many queries' heads: choose a divisor");
    if (request_.heads % request_.tensor_ranks != 0 || request_.kv_heads % request_.tensor_ranks != 0)
      error("request.tensor_ranks",
            fmt::format("{} ranks cannot split {} heads, {} of keys and values", request_.tensor_ranks, request_.heads,
                        request_.kv_heads),
            "choose a divisor of both");
  }

  void ranks() {
    const std::int64_t gpus = request_.network.gpus();
    if (gpus % request_.tensor_ranks != 0)
      return error("request.tensor_ranks", fmt::format("{} does not divide {} GPUs", request_.tensor_ranks, gpus),
                   "choose a divisor");
    const std::int64_t ranks = gpus / request_.tensor_ranks;
    if (ranks < 2)
      return error("request.network", fmt::format("{} GPUs leave one rank for the sequence: nothing is shared", gpus),
                   "take more nodes, or fewer tensor ranks");
    if (request_.tokens < ranks)
      error("request.tokens", fmt::format("{} tokens for {} ranks", request_.tokens, ranks),
            fmt::format("give at least {}, a token for each", ranks));
  }

  void size() {
    const auto number = [](std::int64_t value) { return static_cast<double>(value); };
    const double pairs = number(request_.tokens) * number(request_.tokens) * number(request_.sequences);
    if (pairs * number(request_.heads) * number(request_.head_dim) > k_most_iterations)
      error("request.tokens", fmt::format("{} tokens are more than can be counted", request_.tokens),
            "take fewer tokens, sequences or heads");
    if (request_.heads > models::k_max_heads || request_.head_dim > models::k_max_width)
      error("request.heads", fmt::format("{} heads of {} elements", request_.heads, request_.head_dim),
            fmt::format("give at most {} heads of {} elements", models::k_max_heads, models::k_max_width));
  }

  const Request& request_;
  core::Diagnostics problems_;
};

}  // namespace

sequence::Problem Request::problem() const {
  return {.tokens = tokens,
          .sequences = sequences,
          .heads = heads / tensor_ranks,
          .kv_heads = kv_heads / tensor_ranks,
          .head_dim = head_dim,
          .mask = mask,
          .wire = sequence::wire_of(fp32_gradients)};
}

void check(const Request& request) { Check(request).all(); }

}  // namespace cairn::attention
