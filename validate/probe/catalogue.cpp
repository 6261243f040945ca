#include "catalogue.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "model_shapes.h"

namespace cairn::probe {

namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t k_tokens = 4096;  // of one micro-batch, for the matrices of the models

// first, first * factor, ... up to last
Sizes progression(std::int64_t first, std::int64_t last, std::int64_t factor) {
  Sizes out;
  for (std::int64_t x = first; x <= last; x *= factor) out.push_back(x);
  return out;
}

void add_launches(std::vector<Case>& out, const Selection& selection) {
  const Sizes counts = selection.quick ? Sizes{1, 100} : Sizes{1, 10, 100, 1000};
  for (const char* kind : {"launch", "launch_sync", "graph", "graph_launch"})
    for (const std::int64_t count : counts)
      out.push_back({.group = "launch", .kind = kind, .shape = {{"kernels", count}}, .implementation = "own"});
}

void add_copies(std::vector<Case>& out, const Selection& selection) {
  const Sizes sizes = progression(1 << 16, std::int64_t{1} << (selection.quick ? 28 : 32), selection.quick ? 64 : 4);
  for (const auto& [kind, implementation] :
       {std::pair("copy", "kernel"), {"copy", "memcpy"}, {"read", "kernel"}, {"write", "kernel"}})
    for (const char* cache : {"cold", "warm"})
      for (const std::int64_t n : sizes)
        out.push_back({.group = "copy",
                       .kind = kind,
                       .type = Type::byte,
                       .shape = {{"n", n}},
                       .implementation = implementation,
                       .cache = cache});
}

void add_transfers(std::vector<Case>& out, const Selection& selection) {
  const Sizes pinned = progression(1 << 12, std::int64_t{1} << (selection.quick ? 28 : 30), selection.quick ? 256 : 4);
  const Sizes pageable = progression(1 << 16, 1 << 28, selection.quick ? 64 : 16);
  for (const char* kind : {"h2d", "d2h", "h2d_d2h"})
    for (const char* memory : {"pinned", "pageable"}) {
      if (std::string_view(kind) == "h2d_d2h" && std::string_view(memory) == "pageable") continue;
      for (const std::int64_t n : std::string_view(memory) == "pinned" ? pinned : pageable)
        out.push_back({.group = "transfer",
                       .kind = kind,
                       .type = Type::byte,
                       .shape = {{"n", n}},
                       .implementation = "memcpy",
                       .memory = memory});
    }
}

void add_pointwise(std::vector<Case>& out, const Selection& selection) {
  const Sizes sizes = progression(1 << 16, 1 << 28, selection.quick ? 64 : 8);
  for (const auto& [kind, type] : {std::pair("add", Type::bf16),
                                   {"gelu", Type::bf16},
                                   {"gelu_backward", Type::bf16},
                                   {"cast", Type::fp8_e4m3},
                                   {"adam", Type::fp32}})
    for (const std::int64_t n : sizes)
      out.push_back({.group = "pointwise",
                     .kind = kind,
                     .type = type,
                     .shape = {{"n", n}},
                     .implementation = "own",
                     .cache = selection.cache});
  const Sizes columns = selection.quick ? Sizes{14336} : Sizes{1792, 3584, 14336, 28672};
  for (const char* kind : {"swiglu", "swiglu_backward"})
    for (const std::int64_t rows : selection.quick ? Sizes{4096} : Sizes{512, 4096, 16384})
      for (const std::int64_t width : columns)
        out.push_back({.group = "pointwise",
                       .kind = kind,
                       .type = Type::bf16,
                       .shape = {{"rows", rows}, {"columns", width}},
                       .implementation = "own",
                       .cache = selection.cache});
}

void add_norms(std::vector<Case>& out, const Selection& selection) {
  const Sizes rows = selection.quick ? Sizes{4096} : Sizes{256, 1024, 4096, 16384};
  const Sizes columns = selection.quick ? Sizes{1024, 8192} : Sizes{1024, 2048, 4096, 5120, 8192, 12288, 16384};
  for (const char* kind :
       {"layernorm", "layernorm_backward", "rmsnorm", "rmsnorm_backward", "softmax", "softmax_backward"})
    for (const std::int64_t r : rows)
      for (const std::int64_t c : columns)
        out.push_back({.group = "norm",
                       .kind = kind,
                       .type = Type::bf16,
                       .shape = {{"rows", r}, {"columns", c}},
                       .implementation = "own",
                       .cache = selection.cache});
}

class GemmList {
 public:
  GemmList(std::vector<Case>& out, std::string cache) : out_(out), cache_(std::move(cache)) {}

  void add(Type type, std::int64_t m, std::int64_t n, std::int64_t k, const char* layout) {
    if (!seen_.emplace(type, m, n, k, layout).second) return;
    out_.push_back({.group = "gemm",
                    .kind = "gemm",
                    .type = type,
                    .shape = {{"m", m}, {"n", n}, {"k", k}},
                    .implementation = "cublaslt",
                    .layout = layout,
                    .cache = cache_});
  }

 private:
  std::vector<Case>& out_;
  std::string cache_;
  std::set<std::tuple<Type, std::int64_t, std::int64_t, std::int64_t, std::string>> seen_;
};

void add_model_gemms(GemmList& list, const ModelShape& model, std::int64_t tensor_parallel) {
  for (const Matrix& matrix : matrices(model)) {
    if (tensor_parallel > 1 && matrix.split == Split::none) continue;
    const std::int64_t n = matrix.split == Split::outputs ? matrix.n / tensor_parallel : matrix.n;
    const std::int64_t k = matrix.split == Split::inputs ? matrix.k / tensor_parallel : matrix.k;
    const std::int64_t m = matrix.expert ? k_tokens * model.top_k / model.experts : k_tokens;
    list.add(Type::bf16, m, n, k, "TN");
    list.add(Type::bf16, m, k, n, "NN");
    list.add(Type::bf16, n, k, m, "NT");
    list.add(Type::fp8_e4m3, m, n, k, "TN");
  }
}

void add_gemms(std::vector<Case>& out, const Selection& selection) {
  GemmList list(out, selection.cache);
  const Sizes m_sizes = selection.quick ? Sizes{256, 4096} : progression(16, 16384, 4);
  const Sizes nk_sizes = selection.quick ? Sizes{1024, 8192} : progression(64, 16384, 4);
  for (const Type type : {Type::bf16, Type::fp16, Type::fp8_e4m3})
    for (const std::int64_t m : m_sizes)
      for (const std::int64_t n : nk_sizes)
        for (const std::int64_t k : nk_sizes) list.add(type, m, n, k, "TN");
  if (selection.quick) return;
  for (const ModelShape& model : model_shapes())
    for (const std::int64_t tensor_parallel : {1, 8}) add_model_gemms(list, model, tensor_parallel);
}

void add_attention(std::vector<Case>& out, const Selection& selection) {
  constexpr std::int64_t k_attention_tokens = 16384;
  struct Heads {
    std::int64_t query;
    std::int64_t key;
    std::int64_t size;
  };
  // A hidden size of 2048 in heads of 64 and 128, grouped heads, and one of 8 tensor-parallel ranks of a grouped model.
  const std::vector<Heads> heads = selection.quick
                                       ? std::vector<Heads>{{16, 16, 128}}
                                       : std::vector<Heads>{{32, 32, 64}, {16, 16, 128}, {32, 8, 128}, {8, 1, 128}};
  const Sizes lengths = selection.quick ? Sizes{1024, 4096} : progression(512, 16384, 2);
  for (const char* kind : {"attention", "attention_backward"})
    for (const std::int64_t causal : {1, 0})
      for (const Heads& h : heads)
        for (const std::int64_t s : lengths)
          out.push_back({.group = "attention",
                         .kind = kind,
                         .type = Type::bf16,
                         .shape = {{"b", k_attention_tokens / s},
                                   {"s", s},
                                   {"hq", h.query},
                                   {"hkv", h.key},
                                   {"d", h.size},
                                   {"causal", causal}},
                         .implementation = "own mma.sync",
                         .cache = selection.cache});
}

void add_collectives(std::vector<Case>& out, const Selection& selection) {
  Sizes ranks = progression(2, selection.gpus, 2);
  if (selection.gpus > 1 && (ranks.empty() || ranks.back() != selection.gpus)) ranks.push_back(selection.gpus);
  const Sizes sizes = progression(1 << 10, 1 << 30, selection.quick ? 1024 : 4);
  constexpr std::int64_t k_granule = 8;  // elements: 16 B, so that every rank's part is aligned
  for (const auto& [kind, type] : {std::pair("all_reduce", Type::bf16),
                                   {"all_reduce", Type::fp32},
                                   {"all_gather", Type::bf16},
                                   {"reduce_scatter", Type::bf16},
                                   {"broadcast", Type::bf16},
                                   {"all_to_all", Type::bf16},
                                   {"send_recv", Type::bf16}})
    for (const std::int64_t count : ranks)
      for (const std::int64_t size : sizes) {
        const std::int64_t unit = k_granule * count;
        const std::int64_t n = (size / size_of(type) + unit - 1) / unit * unit;
        out.push_back({.group = "collective",
                       .kind = kind,
                       .type = type,
                       .shape = {{"n", n}},
                       .ranks = static_cast<int>(count),
                       .implementation = "nccl"});
      }
}

}  // namespace

const std::vector<std::string_view>& groups() {
  static const std::vector<std::string_view> k_groups = {"launch", "copy", "transfer",  "pointwise",
                                                         "norm",   "gemm", "attention", "collective"};
  return k_groups;
}

std::vector<Case> catalogue(const Selection& selection) {
  std::vector<Case> all;
  add_launches(all, selection);
  add_copies(all, selection);
  add_transfers(all, selection);
  add_pointwise(all, selection);
  add_norms(all, selection);
  add_gemms(all, selection);
  add_attention(all, selection);
  add_collectives(all, selection);
  if (selection.only.empty()) return all;
  std::vector<Case> chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](const Case& row) {
    return std::find(selection.only.begin(), selection.only.end(), row.group) != selection.only.end();
  });
  return chosen;
}

}  // namespace cairn::probe
