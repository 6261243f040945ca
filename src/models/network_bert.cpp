// BERT-large with both heads of its pre-training (Devlin et al. 2019; shapes as in google-research/bert). Letters of the
// products: b sample, l position, m position that is attended to, e embedding, h head, k head dimension, f feed-forward,
// v vocabulary.
#include <string>

#include "network_builder.h"

namespace cairn::models {
namespace {

class Bert {
 public:
  ir::Graph build(std::int64_t batch) {
    const ir::TensorId table = net_.parameter("embedding.table", {{"v", k_vocabulary}, {"e", k_embed}});
    ir::TensorId x = embed({{"b", batch}, {"l", k_length}}, table);
    for (int i = 1; i <= k_layers; ++i) {
      const std::string name = "layer." + std::to_string(i);
      x = attention(name + ".attention", x);
      x = feed_forward(name + ".ff", x);
    }
    predict_tokens(x, table);
    predict_next(x);
    return net_.finish();
  }

 private:
  static constexpr std::int64_t k_layers = 24, k_embed = 1024, k_heads = 16, k_head_dim = 64, k_ff = 4096,
                                k_vocabulary = 30522, k_segments = 2, k_length = 512;

  ir::TensorId embed(const NamedSizes& tokens, ir::TensorId table) {
    ir::TensorId x = net_.embedding("embedding", net_.indices("tokens", tokens), table);
    const ir::TensorId segments = net_.parameter("segment.table", {{"v", k_segments}, {"e", k_embed}});
    const ir::TensorId segment = net_.embedding("segment", net_.indices("segments", tokens), segments);
    x = net_.add("segment.add", x, segment);
    x = net_.add("position", x, net_.parameter("position.table", {{"l", k_length}, {"e", k_embed}}));
    return net_.apply("embedding.dropout", "dropout", net_.layer_norm("embedding.norm", x));
  }

  ir::TensorId project(const std::string& name, ir::TensorId x) {
    const ir::TensorId weight = net_.parameter(name + ".weight", {{"h", k_heads}, {"e", k_embed}, {"k", k_head_dim}});
    return net_.einsum(name, "ble,hek->bhlk", x, weight, "hk");
  }

  // Dropout, the residual stream, normalisation.
  ir::TensorId join(const std::string& name, ir::TensorId x, ir::TensorId y) {
    y = net_.apply(name + ".dropout", "dropout", y);
    return net_.layer_norm(name + ".norm", net_.add(name + ".add", x, y));
  }

  ir::TensorId attention(const std::string& name, ir::TensorId x) {
    const ir::TensorId query = project(name + ".query", x);
    const ir::TensorId key = project(name + ".key", x);
    const ir::TensorId value = project(name + ".value", x);
    ir::TensorId weights =
        net_.softmax(name + ".softmax", net_.einsum(name + ".scores", "bhlk,bhmk->bhlm", query, key));
    weights = net_.apply(name + ".softmax.dropout", "dropout", weights);
    const ir::TensorId context = net_.einsum(name + ".context", "bhlm,bhmk->bhlk", weights, value);
    const ir::TensorId out = net_.parameter(name + ".out.weight", {{"h", k_heads}, {"e", k_embed}, {"k", k_head_dim}});
    return join(name, x, net_.einsum(name + ".out", "bhlk,hek->ble", context, out, "e"));
  }

  ir::TensorId feed_forward(const std::string& name, ir::TensorId x) {
    const ir::TensorId up = net_.parameter(name + ".up.weight", {{"e", k_embed}, {"f", k_ff}});
    const ir::TensorId y = net_.apply(name + ".gelu", "gelu", net_.einsum(name + ".up", "ble,ef->blf", x, up, "f"));
    const ir::TensorId down = net_.parameter(name + ".down.weight", {{"f", k_ff}, {"e", k_embed}});
    return join(name, x, net_.einsum(name + ".down", "blf,fe->ble", y, down, "e"));
  }

  // Each position's token, over the table of the embedding.
  void predict_tokens(ir::TensorId x, ir::TensorId table) {
    x = net_.apply("token.gelu", "gelu", net_.dense("token.transform", x, k_embed, Bias::added));
    x = net_.layer_norm("token.norm", x);
    net_.cross_entropy("token.loss", net_.einsum("token.head", "ble,ve->blv", x, table, "v"));
  }

  // Whether the second sentence follows the first, from the first position.
  void predict_next(ir::TensorId x) {
    ir::TensorId first = net_.unstack("next.first", x, 1, 1).front();
    first = net_.apply("next.tanh", "tanh", net_.dense("next.pooler", first, k_embed, Bias::added));
    net_.cross_entropy("next.loss", net_.dense("next.head", first, 2, Bias::added));
  }

  NetworkBuilder net_;
};

}  // namespace

ir::Graph build_bert(std::int64_t batch) { return Bert().build(batch); }

}  // namespace cairn::models
