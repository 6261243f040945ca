#include "cairn/models/transformer.h"

namespace cairn::models {

void describe(config::Fields& f, Kernels& k) {
  f.choice("attention", k.attention,
           {{"unfused", AttentionKernel::unfused},
            {"fused-softmax", AttentionKernel::fused_softmax},
            {"flash1", AttentionKernel::flash1},
            {"flash2", AttentionKernel::flash2},
            {"flash3", AttentionKernel::flash3},
            {"cudnn", AttentionKernel::cudnn}},
           {.doc = "how attention runs"});
  f.choice("norm", k.norm, {{"fused", NormKernel::fused}, {"unfused", NormKernel::unfused}},
           {.doc = "normalisation in one kernel, or one per elementary operation"});
  f.choice("pointwise", k.pointwise, {{"fused", PointwiseKernel::fused}, {"eager", PointwiseKernel::eager}},
           {.doc = "bias, activation, dropout and residual fused by hand, or one kernel each"});
  f.choice("loss", k.loss,
           {{"eager", LossKernel::eager}, {"log-softmax", LossKernel::log_softmax}, {"fused", LossKernel::fused}},
           {.doc = "cross-entropy as a chain of fp32 kernels by hand, by library operators, or in one"});
  f.flag("compiled", k.compiled, {.doc = "a compiler fuses norms and pointwise chains"});
}

}  // namespace cairn::models
