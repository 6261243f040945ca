// Matrix products through cuBLASLt, with the algorithm that its heuristic puts first: what frameworks run.
//
// D[m,n] = sum_k A[m,k] B[n,k], all row-major. cuBLASLt is column-major, so it computes the transpose of D: its first
// operand is B, its second A, and `layout` names how it sees them:
//   TN  B stored n x k, A stored m x k    forward:         y = x W^T
//   NN  B stored k x n, A stored m x k    data gradient:   dx = dy W
//   NT  B stored k x n, A stored k x m    weight gradient: dW = dy^T x
#include <cublasLt.h>

#include "measure.h"

namespace cairn::probe {

namespace {

constexpr std::size_t k_workspace = std::size_t{32} << 20;  // what frameworks give on Hopper
constexpr float k_scale_a = 0.5F, k_scale_b = 0.25F;        // of fp8 operands
constexpr int k_fp8_capability = 89;                        // Ada, and all later
constexpr std::int64_t k_alignment = 16;                    // of all that products in fp8 read, their scales included

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string text = std::string(what) + ": " + cublasLtGetStatusString(status);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
      status == CUBLAS_STATUS_ALLOC_FAILED || status == CUBLAS_STATUS_ARCH_MISMATCH)
    throw NotMeasurable(text);
  throw DeviceError(text);
}

cudaDataType_t data_type(Type type) {
  switch (type) {
    case Type::bf16:
      return CUDA_R_16BF;
    case Type::fp16:
      return CUDA_R_16F;
    case Type::fp8_e4m3:
      return CUDA_R_8F_E4M3;
    default:
      return CUDA_R_32F;
  }
}

// A handle of cuBLASLt that frees itself.
template <class Handle, cublasStatus_t (*DESTROY)(Handle)>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (handle_ != nullptr) DESTROY(handle_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle* out() { return &handle_; }
  operator Handle() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

class Matmul {
 public:
  explicit Matmul(const Case& row)
      : m_(row.shape["m"]), n_(row.shape["n"]), k_(row.shape["k"]), row_(row), scales_(2 * k_alignment) {
    check(cublasLtCreate(handle_.out()), "cublasLtCreate");
    check(cublasLtMatmulDescCreate(operation_.out(), CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, row.layout[0] == 'T' ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, row.layout[1] == 'T' ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (row.type == Type::fp8_e4m3) set_scales();
    const cudaDataType_t in = data_type(row.type), out = data_type(output_type(row));
    const auto layout = [](auto& of, cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
      check(cublasLtMatrixLayoutCreate(of.out(), type, static_cast<std::uint64_t>(rows),
                                       static_cast<std::uint64_t>(columns), rows),
            "cublasLtMatrixLayoutCreate");
    };
    row.layout[0] == 'T' ? layout(first_, in, k_, n_) : layout(first_, in, n_, k_);
    row.layout[1] == 'T' ? layout(second_, in, m_, k_) : layout(second_, in, k_, m_);
    layout(result_, out, n_, m_);
    choose();
  }

  // After the descriptions, so that a type that is not supported is told before memory is taken.
  void allocate() { workspace_ = Buffer(static_cast<std::int64_t>(k_workspace)); }

  void launch(const void* a, const void* b, void* d, cudaStream_t stream) const {
    const float one = 1, zero = 0;
    check(cublasLtMatmul(handle_, operation_, &one, b, first_, a, second_, &zero, d, result_, d, result_, &chosen_.algo,
                         workspace_.at(0), k_workspace, stream),
          "cublasLtMatmul");
  }

  Selected row_of_a(std::int64_t i) const {
    return row_.layout == "NT" ? Selected{.start = i, .count = k_, .stride = m_}
                               : Selected{.start = i * k_, .count = k_};
  }
  Selected row_of_b(std::int64_t j) const {
    return row_.layout == "TN" ? Selected{.start = j * k_, .count = k_}
                               : Selected{.start = j, .count = k_, .stride = n_};
  }
  double scale() const { return row_.type == Type::fp8_e4m3 ? k_scale_a * k_scale_b : 1; }

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  }
  void set_scales() {
    const void* of_first = scales_.at(0);
    const void* of_second = scales_.at(k_alignment);
    probe::check(cudaMemcpy(scales_.at(0), &k_scale_b, sizeof k_scale_b, cudaMemcpyHostToDevice), "cudaMemcpy");
    probe::check(cudaMemcpy(scales_.at(k_alignment), &k_scale_a, sizeof k_scale_a, cudaMemcpyHostToDevice),
                 "cudaMemcpy");
    probe::check(cudaDeviceSynchronize(),
                 "cudaDeviceSynchronize");  // the stream of the product does not wait for copies
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, of_first);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, of_second);
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  }
  void choose() {
    Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> preference;
    check(cublasLtMatmulPreferenceCreate(preference.out()), "cublasLtMatmulPreferenceCreate");
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &k_workspace,
                                               sizeof k_workspace),
          "cublasLtMatmulPreferenceSetAttribute");
    int found = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle_, operation_, first_, second_, result_, result_, preference, 1,
                                         &chosen_, &found),
          "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) throw NotMeasurable("cuBLASLt has no algorithm for this product");
    check(chosen_.state, "cublasLtMatmulAlgoGetHeuristic");
  }

  std::int64_t m_, n_, k_;
  const Case& row_;
  Buffer scales_, workspace_;
  Owned<cublasLtHandle_t, cublasLtDestroy> handle_;
  Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> operation_;
  Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy> first_, second_, result_;
  cublasLtMatmulHeuristicResult_t chosen_ = {};
};

}  // namespace

Run run_gemm(Context& context, const Case& row) {
  if (row.type == Type::fp8_e4m3 && context.compute_capability < k_fp8_capability)
    throw NotMeasurable("this GPU has no fp8 tensor cores");
  const std::int64_t m = row.shape["m"], n = row.shape["n"], k = row.shape["k"];
  Matmul matmul(row);
  matmul.allocate();
  const int sets = context.sets(row, bytes(row));
  const Operands a(m * k * size_of(row.type), sets), b(n * k * size_of(row.type), sets);
  const Operands d(m * n * size_of(output_type(row)), sets);
  for (int set = 0; set < sets; ++set) {
    const auto seed = static_cast<std::uint64_t>(set * (m + n) * k);
    fill_normal(a[set], row.type, m * k, seed, 1, 0, context.stream);
    fill_normal(b[set], row.type, n * k, seed + static_cast<std::uint64_t>(m * k), 1, 0, context.stream);
  }
  const auto compare = [&] {
    constexpr int k_samples = 5;  // rows, and columns of each
    Comparison comparison;
    for (const int set : {0, sets - 1}) {
      std::vector<Reals> columns;
      for (const std::int64_t j : sample_indices(n, k_samples))
        columns.push_back(fetch(b[set], row.type, matmul.row_of_b(j)));
      for (const std::int64_t i : sample_indices(m, k_samples)) {
        const Reals left = fetch(a[set], row.type, matmul.row_of_a(i));
        for (std::size_t c = 0; c < columns.size(); ++c) {
          const std::int64_t at = i * n + sample_indices(n, k_samples)[c];
          comparison.add(fetch(d[set], output_type(row), {.start = at, .count = 1})[0],
                         dot(left, columns[c], matmul.scale(), row.type, output_type(row)));
        }
      }
    }
    return comparison;
  };
  Run run = measure(context, {sets, [&] { d.all().poison(context.stream); },
                              [&](int set) { matmul.launch(a[set], b[set], d[set], context.stream); }, compare});
  run.cache = context.cache(bytes(row), sets);
  return run;
}

}  // namespace cairn::probe
