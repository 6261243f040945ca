#include "attention_formula.h"

#include <cmath>

namespace cairn::sequence {
namespace {

// Writes tensors and labels of one attention.
class AttentionNotation {
 public:
  explicit AttentionNotation(const AttentionLetters& letters) : letters_(letters), keys_(letters.tokens) {
    keys_.replace(keys_.find(letters.query), 1, 1, letters.key);
    if (letters.causal) guard_ = Guard{.later = letters.query, .earlier = letters.key};
  }

  std::string label(const std::string& name) const { return name + letters_.suffix; }
  // Of queries, of keys, of pairs, of a row of pairs; `last` are the letters behind those of tokens.
  std::string of_queries(const std::string& name, const std::string& last) const {
    return name + letters_.suffix + "[" + letters_.tokens + last + "]";
  }
  std::string of_keys(const std::string& name, const std::string& last) const {
    return name + letters_.suffix + "[" + keys_ + last + "]";
  }
  std::string of_pairs(const std::string& name) const { return of_queries(name, std::string("h") + letters_.key); }
  std::string of_rows(const std::string& name) const { return of_queries(name, "h"); }
  std::string weight(const std::string& name, const std::string& axes) const {
    return name + letters_.suffix + "[" + axes + "]";
  }
  // A tensor that does not end in the suffix.
  std::string tokens(const std::string& name) const { return name + "[" + letters_.tokens + "m]"; }
  std::string tokens_as_keys(const std::string& name) const { return name + "[" + keys_ + "m]"; }

  Terms terms() const { return {.scale = 1.0, .guard = guard_}; }
  Terms scaled() const { return {.scale = letters_.scale, .guard = guard_}; }

 private:
  AttentionLetters letters_;
  std::string keys_;
  std::optional<Guard> guard_;
};

}  // namespace

void add_attention(Formula& formula, const AttentionLetters& letters) {
  const AttentionNotation of(letters);
  const auto q = of.of_queries("Q", "hd"), k = of.of_keys("K", "hd"), v = of.of_keys("V", "hd");
  const auto s = of.of_pairs("S"), p = of.of_pairs("P"), e = of.of_pairs("E");
  const auto most = of.of_rows("X"), sum = of.of_rows("D");
  formula.result(most, formula.bytes_of_element(), Meeting::largest);
  formula.add(of.label("scores"), Kernel::product, s, {q, k}, of.scaled());
  formula.add(of.label("softmax"), Kernel::product, most, {s}, of.terms());
  formula.add(of.label("softmax"), Kernel::exp_difference, e, {s, most}, of.terms());
  formula.add(of.label("softmax"), Kernel::product, sum, {e}, of.terms());
  formula.add(of.label("softmax"), Kernel::ratio, p, {e, sum}, of.terms());
  formula.add(of.label("values"), Kernel::product, of.of_queries("A", "hd"), {p, v}, of.terms());
}

void add_attention_gradients(Formula& formula, const AttentionLetters& letters) {
  const AttentionNotation of(letters);
  const auto q = of.of_queries("Q", "hd"), k = of.of_keys("K", "hd"), v = of.of_keys("V", "hd");
  const auto da = of.of_queries("dA", "hd"), p = of.of_pairs("P"), dp = of.of_pairs("dP"), ds = of.of_pairs("dS");
  const auto delta = of.of_rows("delta");
  formula.add(of.label("weights gradient"), Kernel::product, dp, {da, v}, of.terms());
  formula.add(of.label("values gradient"), Kernel::product, of.of_keys("dV", "hd"), {p, da}, of.terms());
  formula.add(of.label("softmax gradient"), Kernel::product, delta, {dp, p}, of.terms());
  formula.add(of.label("softmax gradient"), Kernel::product_difference, ds, {p, dp, delta}, of.terms());
  formula.add(of.label("query gradient"), Kernel::product, of.of_queries("dQ", "hd"), {ds, k}, of.scaled());
  formula.add(of.label("keys gradient"), Kernel::product, of.of_keys("dK", "hd"), {ds, q}, of.scaled());
}

void add_attention_block(Formula& formula, const AttentionLetters& letters, const std::string& x,
                         const std::string& y) {
  const AttentionNotation of(letters);
  formula.add(of.label("projection"), Kernel::product, of.of_queries("Q", "hd"),
              {of.tokens(x), of.weight("Wq", "mhd")});
  for (const char* name : {"K", "V"})
    formula.add(of.label("projection"), Kernel::product, of.of_keys(name, "hd"),
                {of.tokens_as_keys(x), of.weight(name == std::string("K") ? "Wk" : "Wv", "mhd")});
  add_attention(formula, letters);
  formula.add(of.label("output"), Kernel::product, of.tokens(y), {of.of_queries("A", "hd"), of.weight("Wo", "hdm")});
  formula.add(of.label("residual"), Kernel::product, of.tokens(y), {of.tokens(x)});
}

void add_attention_block_gradients(Formula& formula, const AttentionLetters& letters, const std::string& x,
                                   const std::string& y) {
  const AttentionNotation of(letters);
  const auto dq = of.of_queries("dQ", "hd"), dk = of.of_keys("dK", "hd"), dv = of.of_keys("dV", "hd");
  const auto wq = of.weight("Wq", "mhd"), wk = of.weight("Wk", "mhd"), wv = of.weight("Wv", "mhd");
  const auto dy = of.tokens("d" + y), dx = of.tokens("d" + x), dx_of_keys = of.tokens_as_keys("d" + x);
  const auto x_of_keys = of.tokens_as_keys(x);
  formula.add(of.label("output gradient"), Kernel::product, of.of_queries("dA", "hd"), {dy, of.weight("Wo", "hdm")});
  formula.add(of.label("output weights"), Kernel::product, of.weight("dWo", "hdm"), {of.of_queries("A", "hd"), dy});
  add_attention_gradients(formula, letters);
  formula.add(of.label("projection weights"), Kernel::product, of.weight("dWq", "mhd"), {of.tokens(x), dq});
  formula.add(of.label("projection weights"), Kernel::product, of.weight("dWk", "mhd"), {x_of_keys, dk});
  formula.add(of.label("projection weights"), Kernel::product, of.weight("dWv", "mhd"), {x_of_keys, dv});
  formula.add(of.label("projection gradient"), Kernel::product, dx, {dq, wq});
  formula.add(of.label("projection gradient"), Kernel::product, dx_of_keys, {dk, wk});
  formula.add(of.label("projection gradient"), Kernel::product, dx_of_keys, {dv, wv});
  formula.add(of.label("residual gradient"), Kernel::product, dx, {dy});
}

double attention_scale(std::int64_t head_dim) { return 1.0 / std::sqrt(static_cast<double>(head_dim)); }

}  // namespace cairn::sequence
