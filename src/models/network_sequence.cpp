// A language model of LSTM layers, and a transformer of encoder and decoder.
//
// Letters of the products: b sample, l position, m position that is attended to, e embedding, h head, k head dimension,
// f feed-forward, v vocabulary, s one of query, key and value.
#include <string>
#include <vector>

#include "network_builder.h"

namespace cairn::models {
namespace {

class EncoderDecoder {
 public:
  ir::Graph build(std::int64_t batch) {
    const NamedSizes tokens{{"b", batch}, {"l", k_length}};
    const ir::TensorId positions = net_.input("positions", {{"b", batch}, {"l", k_length}, {"e", k_embed}});
    ir::TensorId encoded = embed("encoder", tokens, positions);
    for (int i = 1; i <= k_layers; ++i) {
      const std::string name = "encoder." + std::to_string(i);
      encoded = feed_forward(name + ".ff", attention(name + ".attention", {encoded}));
    }
    ir::TensorId x = embed("decoder", tokens, positions);
    for (int i = 1; i <= k_layers; ++i) {
      const std::string name = "decoder." + std::to_string(i);
      x = attention(name + ".attention", {x});
      x = attention(name + ".cross", {x, encoded, encoded});
      x = feed_forward(name + ".ff", x);
    }
    const ir::TensorId head = net_.parameter("head.weight", {{"e", k_embed}, {"v", k_vocabulary}});
    net_.cross_entropy("loss", net_.einsum("head", "ble,ev->blv", x, head));
    return net_.finish();
  }

 private:
  static constexpr std::int64_t k_layers = 6, k_embed = 512, k_heads = 8, k_head_dim = 64, k_ff = 2048,
                                k_vocabulary = 50000, k_length = 256;

  ir::TensorId embed(const std::string& name, const NamedSizes& tokens, ir::TensorId positions) {
    const ir::TensorId ids = net_.indices(name + ".tokens", tokens);
    const ir::TensorId table = net_.parameter(name + ".embedding.table", {{"v", k_vocabulary}, {"e", k_embed}});
    return net_.add(name + ".position", net_.embedding(name + ".embedding", ids, table), positions);
  }

  // Of one stream with itself, or of three: queries, keys and values.
  ir::TensorId attention(const std::string& name, const std::vector<ir::TensorId>& streams) {
    const bool cross = streams.size() > 1;
    const ir::TensorId x = cross ? net_.stack(name + ".stack", streams) : streams.front();
    const ir::TensorId in =
        net_.parameter(name + ".qkv.weight", {{"s", 3}, {"h", k_heads}, {"e", k_embed}, {"k", k_head_dim}});
    const ir::TensorId qkv = net_.einsum(name + ".qkv", cross ? "sble,shek->sbhlk" : "ble,shek->sbhlk", x, in);
    const std::vector<ir::TensorId> parts = net_.unstack(name + ".unstack", qkv);
    const ir::TensorId scores = net_.einsum(name + ".scores", "bhlk,bhmk->bhlm", parts[0], parts[1]);
    const ir::TensorId weights = net_.softmax(name + ".softmax", scores);
    const ir::TensorId context = net_.einsum(name + ".context", "bhlm,bhmk->bhlk", weights, parts[2]);
    const ir::TensorId out = net_.parameter(name + ".out.weight", {{"h", k_heads}, {"e", k_embed}, {"k", k_head_dim}});
    const ir::TensorId y = net_.einsum(name + ".out", "bhlk,hek->ble", context, out);
    return net_.layer_norm(name + ".norm", net_.add(name + ".add", streams.front(), y));
  }

  ir::TensorId feed_forward(const std::string& name, ir::TensorId x) {
    const ir::TensorId up = net_.parameter(name + ".up.weight", {{"e", k_embed}, {"f", k_ff}});
    ir::TensorId y = net_.apply(name + ".relu", "relu", net_.einsum(name + ".up", "ble,ef->blf", x, up));
    y = net_.apply(name + ".dropout", "dropout", y);
    const ir::TensorId down = net_.parameter(name + ".down.weight", {{"f", k_ff}, {"e", k_embed}});
    y = net_.einsum(name + ".down", "blf,fe->ble", y, down);
    return net_.layer_norm(name + ".norm", net_.add(name + ".add", x, y));
  }

  NetworkBuilder net_;
};

}  // namespace

ir::Graph build_transformer_small(std::int64_t batch) { return EncoderDecoder().build(batch); }

ir::Graph build_rnnlm(std::int64_t batch) {
  constexpr std::int64_t k_vocabulary = 100000, k_units = 2048, k_length = 256, k_layers = 2;
  NetworkBuilder net;
  const ir::TensorId tokens = net.indices("tokens", {{"b", batch}, {"seq", k_length}});
  const ir::TensorId table = net.parameter("embedding.table", {{"v", k_vocabulary}, {"e", k_units}});
  const ir::TensorId x = net.lstm("lstm", net.embedding("embedding", tokens, table), k_layers);
  net.cross_entropy("loss", net.dense("fc", x, k_vocabulary));
  return net.finish();
}

}  // namespace cairn::models
