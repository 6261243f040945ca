// Names of kernels as profilers write them, and their classes.
#include "cairn/profile/kernel_class.h"

#include <set>
#include <string>

#include "catch.h"

using namespace cairn::profile;

TEST_CASE("names of kernels have the class of what they do") {
  struct Case {
    const char* name;
    KernelClass kind;
  };
  // From traces of HolisticTraceAnalysis (tests/data) and the sources of the libraries.
  const Case cases[] = {
      {"volta_sgemm_128x64_nn", KernelClass::matmul},
      {"nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", KernelClass::matmul},
      {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align4>", KernelClass::matmul},
      {"sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", KernelClass::matmul},
      {"void splitKreduce_kernel<float, float, float, float, true, false, false>(cublasSplitKParams<float>)",
       KernelClass::matmul},
      {"Cijk_Ailk_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x256x64", KernelClass::matmul},
      {"triton_tem_fused__to_copy_addmm_gelu_t_view_9", KernelClass::matmul},
      {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t>>",
       KernelClass::attention},
      {"void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<128, 64, 128, 8>>", KernelClass::attention},
      {"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<...>>>",
       KernelClass::attention},
      {"fmha_cutlassF_bf16_aligned_64x128_rf_sm80", KernelClass::attention},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128", KernelClass::attention},
      {"triton_tem_fused_flex_attention_3", KernelClass::attention},
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>", KernelClass::norm},
      {"void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<...>", KernelClass::norm},
      {"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", KernelClass::norm},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, true, false>", KernelClass::softmax},
      {"cross_entropy_kernel", KernelClass::softmax},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, "
       "3>>",
       KernelClass::elementwise},
      {"triton_poi_fused_add_copy__0", KernelClass::elementwise},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>",
       KernelClass::reduction},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<4>, "
       "FusedAdamMathFunctor<float>>",
       KernelClass::optimizer},
      {"void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2, 2, -2, true>",
       KernelClass::embedding},
      {"embedding_backward_feature_kernel", KernelClass::embedding},
      {"void at::native::(anonymous namespace)::sum_and_scatter<c10::BFloat16, long>(long const*, c10::BFloat16*)",
       KernelClass::embedding},
      {"void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long)",
       KernelClass::embedding},
      {"void at::native::lpnorm_cleanup<float, (at::native::NormType)1, float>", KernelClass::optimizer},
      {"_permute_kernel", KernelClass::routing},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", KernelClass::all_reduce},
      {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", KernelClass::reduce_scatter},
      {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", KernelClass::all_gather},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", KernelClass::exchange},
      {"ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", KernelClass::broadcast},
      {"void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>", KernelClass::exchange},
      {"Memcpy HtoD (Pinned -> Device)", KernelClass::host_copy},
      {"Memcpy DtoD (Device -> Device)", KernelClass::device_copy},
      {"Memset (Device)", KernelClass::device_copy},
      {"my_own_kernel", KernelClass::other},
  };
  for (const Case& each : cases) {
    INFO(each.name);
    CHECK(id(class_of_kernel(each.name)) == id(each.kind));
  }
}

TEST_CASE("operators that are no contractions have a class of their own") {
  CHECK(class_of_operator("attention.backward") == KernelClass::attention);
  CHECK(class_of_operator("norm1") == KernelClass::norm);
  CHECK(class_of_operator("kv_a_norm.parameter_gradient") == KernelClass::norm);
  CHECK(class_of_operator("norm1.mean") == KernelClass::reduction);
  CHECK(class_of_operator("loss") == KernelClass::softmax);
  CHECK(class_of_operator("loss.cast") == KernelClass::elementwise);
  CHECK(class_of_operator("qkv.bias_gradient") == KernelClass::reduction);
  CHECK(class_of_operator("router.top_k") == KernelClass::routing);
  CHECK(class_of_operator("residual1") == KernelClass::other);
}

TEST_CASE("patterns: a star is any text, letters of either case are one") {
  CHECK(fits("*gemm*", "sGEMM_nt"));
  CHECK(fits("a*b*c", "a b b c"));
  CHECK(fits("*", ""));
  CHECK(fits("a", "A"));
  CHECK_FALSE(fits("a*b", "a b c"));
  CHECK_FALSE(fits("", "a"));
  CHECK_FALSE(fits("*ab", "abb"));
  CHECK(fits("*aab", "aaab"));
}

TEST_CASE("every class has a name, an id and a group") {
  std::set<std::string_view> ids, names;
  for (std::size_t i = 0; i < k_classes; ++i) {
    const auto kind = static_cast<KernelClass>(i);
    CHECK(ids.insert(id(kind)).second);
    CHECK(names.insert(name(kind)).second);
    CHECK_FALSE(name(group_of(kind)).empty());
  }
}
