#include "parameter_update.h"
#include "vocabulary.h"

#include <string>

namespace cairn::plan {

namespace {

using ir::Mode;

class Builder {
 public:
  // Role::gradient: made and used up by the update, which holds it meanwhile. Role::activation: comes and goes.
  ir::TensorId tensor(std::string name, numerics::Format format, ir::Role role = ir::Role::state) {
    ir::Tensor tensor;
    tensor.name = std::move(name);
    tensor.dims.push_back({"elements", loopnest::Extent::of(1)});
    tensor.format = format;
    tensor.role = role;
    return graph_.add_tensor(std::move(tensor));
  }

  struct Use {
    ir::TensorId tensor;
    Mode mode;
  };
  void pass(std::string name, double flops, std::initializer_list<Use> uses, std::string variant = {}) {
    ir::Operator op;
    op.name = std::move(name);
    op.variant = std::move(variant);
    op.kind = ir::Kind::pointwise;
    op.flops_per_point = flops;
    const loopnest::DimId dim = op.domain.add("elements", loopnest::Extent::of(1));
    for (const Use& use : uses)
      op.accesses.push_back(
          ir::Access{.tensor = use.tensor, .projection = {loopnest::Affine::of(dim)}, .mode = use.mode});
    graph_.add_operator(std::move(op));
  }
  void norms(const ParameterTreatment& treatment, ir::TensorId gradient) {
    for (std::int64_t read = 0; read < treatment.step_end.gradient_reads; ++read)
      pass("gradient_norm", 2.0, {{gradient, Mode::read}});
  }
  void scale(const ParameterTreatment& treatment, ir::TensorId gradient) {
    if (treatment.step_end.gradient_scale)
      pass("gradient_scale", 1.0, {{gradient, Mode::read}, {gradient, Mode::write}});
  }
  ir::Graph finish() { return std::move(graph_); }

 private:
  ir::Graph graph_;
};

// What an update reads and writes: the gradient, what it updates, and the moving averages that it keeps.
struct UpdateTensors {
  ir::TensorId gradient = -1;
  ir::TensorId master = -1;
  ir::TensorId first = -1;   // none: -1
  ir::TensorId second = -1;  // likewise
};

// A kernel that reads all and writes all.
void fused_update(Builder& builder, const UpdateTensors& of) {
  constexpr double k_adam_flops = 12.0;  // two moving averages, bias correction, square root, division, decay, update
  constexpr double k_momentum_flops = 4.0;
  if (of.second >= 0)
    builder.pass("update", k_adam_flops,
                 {{of.gradient, Mode::read},
                  {of.master, Mode::read},
                  {of.master, Mode::write},
                  {of.first, Mode::read},
                  {of.first, Mode::write},
                  {of.second, Mode::read},
                  {of.second, Mode::write}});
  else if (of.first >= 0)
    builder.pass("update", k_momentum_flops,
                 {{of.gradient, Mode::read},
                  {of.master, Mode::read},
                  {of.master, Mode::write},
                  {of.first, Mode::read},
                  {of.first, Mode::write}});
  else
    builder.pass("update", 2.0, {{of.gradient, Mode::read}, {of.master, Mode::read}, {of.master, Mode::write}});
}

// A kernel for every operation; see the header.
void separate_update(Builder& builder, const UpdateTensors& of, numerics::Format moments) {
  constexpr double k_one = 1.0;                  // flops of a product, a sum, a root, a quotient
  constexpr double k_sum_of_product = 2.0;       // and of a sum with a product,
  constexpr double k_sum_of_two_products = 3.0;  // of two factors and a constant, or of a quotient and a constant
  const auto in_place = [&builder](std::string name, double flops, ir::TensorId tensor) {
    builder.pass(std::move(name), flops, {{tensor, Mode::read}, {tensor, Mode::write}});
  };
  if (of.second < 0) {
    if (of.first >= 0) {
      in_place("update.decay_momentum", k_one, of.first);
      builder.pass("update.add_gradient", k_sum_of_product,
                   {{of.first, Mode::read}, {of.gradient, Mode::read}, {of.first, Mode::write}});
    }
    builder.pass(
        "update", k_sum_of_product,
        {{of.master, Mode::read}, {of.first >= 0 ? of.first : of.gradient, Mode::read}, {of.master, Mode::write}});
    return;
  }
  in_place("update.decay_mean", k_one, of.first);
  builder.pass("update.add_gradient", k_sum_of_product,
               {{of.first, Mode::read}, {of.gradient, Mode::read}, {of.first, Mode::write}});
  in_place("update.decay_variance", k_one, of.second);
  builder.pass("update.add_square", k_sum_of_two_products,
               {{of.second, Mode::read}, {of.gradient, Mode::read}, {of.second, Mode::write}});
  const ir::TensorId root = builder.tensor("root of the variance", moments, ir::Role::activation);
  builder.pass("update.root", k_one, {{of.second, Mode::read}, {root, Mode::write}});
  const ir::TensorId denominator = builder.tensor("denominator", moments, ir::Role::activation);
  builder.pass("update.correct_bias", k_one, {{root, Mode::read}, {denominator, Mode::write}});
  in_place("update.add_epsilon", k_one, denominator);
  builder.pass("update", k_sum_of_two_products,
               {{of.master, Mode::read}, {of.first, Mode::read}, {denominator, Mode::read}, {of.master, Mode::write}});
}

}  // namespace

ir::Graph parameter_update(const ParameterTreatment& treatment) {
  Builder builder;
  const numerics::Format wide = treatment.master.value_or(treatment.parameters);
  ir::TensorId gradient = builder.tensor("gradient", treatment.gradients);
  const ir::TensorId parameter = builder.tensor("parameter", treatment.parameters);
  const ir::TensorId master = treatment.master ? builder.tensor("master", wide) : parameter;
  const bool own = !treatment.step_end.whole_gradients;
  if (own) builder.norms(treatment, gradient);
  if (treatment.step_end.gradient_copy &&
      numerics::bits_per_element(treatment.gradients) < numerics::bits_per_element(wide)) {
    if (treatment.step_end.gradient_join) {
      const ir::TensorId joined = builder.tensor("joined gradient", treatment.gradients, ir::Role::gradient);
      builder.pass("gradient_join", 0.0, {{gradient, Mode::read}, {joined, Mode::write}});
      gradient = joined;
    }
    const ir::TensorId copy = builder.tensor("wide gradient", wide, ir::Role::gradient);
    builder.pass("gradient_copy", 1.0, {{gradient, Mode::read}, {copy, Mode::write}});
    gradient = copy;
  }
  if (own) builder.scale(treatment, gradient);
  constexpr double k_factor_flops = 4.0;  // a square, added to the sums of its row and of its column
  if (treatment.factored_moment) builder.pass("factored_moment", k_factor_flops, {{gradient, Mode::read}});
  // Reading and writing one tensor are two accesses of it.
  UpdateTensors of{.gradient = gradient, .master = master};
  if (treatment.moments > 0) of.first = builder.tensor("first moment", treatment.moments_format);
  if (treatment.moments > 1) of.second = builder.tensor("second moment", treatment.moments_format);
  if (treatment.step_end.separate_kernels)
    separate_update(builder, of, treatment.moments_format);
  else
    fused_update(builder, of);
  if (treatment.master && treatment.narrow_shards) {
    if (treatment.step_end.separate_parameter_copy)
      builder.pass("parameter_copy", 1.0, {{master, Mode::read}, {parameter, Mode::write}});
    else
      builder.pass("parameter_write", 1.0, {{parameter, Mode::write}});
  }
  return builder.finish();
}

ir::Graph whole_gradient_passes(const ParameterTreatment& treatment) {
  Builder builder;
  if (!treatment.step_end.whole_gradients) return builder.finish();
  const ir::TensorId gradient = builder.tensor("gradient", treatment.gradients);
  builder.scale(treatment, gradient);
  builder.norms(treatment, gradient);
  return builder.finish();
}

BucketKernels bucket_kernels(const ParameterTreatment& treatment) {
  Builder before, after;
  if (!treatment.step_end.copies_to_buckets) return {.before = before.finish(), .after = after.finish()};
  const bool casts = treatment.reduce != treatment.gradients;
  const ir::TensorId gradient = before.tensor("gradient", treatment.gradients);
  const ir::TensorId joined = before.tensor("bucket", treatment.gradients, ir::Role::gradient);
  before.pass("bucket.join", 0.0, {{gradient, Mode::read}, {joined, Mode::write}});
  before.pass("bucket.divide", 1.0, {{joined, Mode::read}, {joined, Mode::write}});
  const ir::TensorId summed = after.tensor("summed bucket", treatment.gradients);
  if (casts) {
    const ir::TensorId sent = before.tensor("bucket on the wire", treatment.reduce, ir::Role::gradient);
    before.pass("bucket.cast", 0.0, {{joined, Mode::read}, {sent, Mode::write}});
    const ir::TensorId received = after.tensor("bucket on the wire", treatment.reduce);
    after.pass("bucket.cast_back", 0.0, {{received, Mode::read}, {summed, Mode::write}});
  }
  const ir::TensorId reduced = after.tensor("gradient", treatment.gradients);
  after.pass("bucket.copy_out", 0.0, {{summed, Mode::read}, {reduced, Mode::write}});
  return {.before = before.finish(), .after = after.finish()};
}

ir::Graph narrow_copies(const ParameterTreatment& treatment) {
  Builder builder;
  if (!treatment.narrow || treatment.narrow_copies == 0) return builder.finish();
  constexpr double k_maximum_flops = 1.0, k_cast_flops = 2.0;
  const ir::TensorId parameter = builder.tensor("parameter", treatment.parameters);
  if (treatment.narrow_maximum) builder.pass("weight_maximum", k_maximum_flops, {{parameter, Mode::read}});
  const ir::TensorId first = builder.tensor("narrow copy", *treatment.narrow);
  if (treatment.narrow_copies == 1) {
    builder.pass("weight_cast", k_cast_flops, {{parameter, Mode::read}, {first, Mode::write}});
  } else {
    const ir::TensorId second = builder.tensor("second narrow copy", *treatment.narrow);
    builder.pass("weight_cast", k_cast_flops, {{parameter, Mode::read}, {first, Mode::write}, {second, Mode::write}});
  }
  return builder.finish();
}

GatherKernels gather_kernels(const ParameterTreatment& treatment, bool copies) {
  Builder of_shard, of_all;
  const auto tensor = [](Builder& builder, const char* name, numerics::Format format) {
    return builder.tensor(name, format, ir::Role::activation);
  };
  const bool from_master = treatment.master && !treatment.narrow_shards;
  const numerics::Format stored = from_master ? *treatment.master : treatment.parameters;
  const ir::TensorId sent = tensor(of_shard, "sent shard", treatment.gather);
  if (stored != treatment.gather) {
    const ir::TensorId shard = tensor(of_shard, "shard", stored);
    of_shard.pass("gather.cast", 0.0, {{shard, Mode::read}, {sent, Mode::write}}, "gather_cast");
  }
  if (copies) {
    const ir::TensorId place = tensor(of_shard, "place in the gather's buffer", treatment.gather);
    of_shard.pass("gather.copy_in", 0.0, {{sent, Mode::read}, {place, Mode::write}}, "gather_copy");
    const ir::TensorId gathered = tensor(of_all, "gathered", treatment.gather);
    const ir::TensorId own = tensor(of_all, "gathered parameter", treatment.gather);
    of_all.pass("gather.copy_out", 0.0, {{gathered, Mode::read}, {own, Mode::write}}, "gather_copy");
  }
  return {.of_shard = of_shard.finish(), .of_all = of_all.finish()};
}

ir::Graph shard_reduction_kernels(const ParameterTreatment& treatment, const FrameworkBehaviour& behaviour) {
  Builder builder;
  if (!behaviour.pads_gradients && !behaviour.divides_gradients) return builder.finish();
  const auto tensor = [&](const char* name) { return builder.tensor(name, treatment.reduce, ir::Role::activation); };
  ir::TensorId reduced = tensor("whole gradient");
  if (behaviour.pads_gradients) {
    const ir::TensorId padded = tensor("padded gradient");
    builder.pass("reduce.pad", 0.0, {{reduced, Mode::read}, {padded, Mode::write}});
    reduced = padded;
  }
  if (behaviour.divides_gradients) builder.pass("reduce.divide", 1.0, {{reduced, Mode::read}, {reduced, Mode::write}});
  return builder.finish();
}

ir::Graph subgroup_update(ParameterTreatment treatment) {
  treatment.step_end.whole_gradients = false;
  return parameter_update(treatment);
}

ir::Graph host_parameter_update(ParameterTreatment treatment) {
  treatment.step_end.gradient_reads = 0;
  treatment.step_end.separate_kernels = false;
  treatment.step_end.whole_gradients = false;
  if (treatment.step_end.gradient_copy && treatment.master) treatment.gradients = *treatment.master;
  return parameter_update(treatment);
}

double state_bytes(const ParameterTreatment& treatment) {
  return (treatment.master ? numerics::bytes_per_element(*treatment.master) : 0.0) +
         treatment.moments * numerics::bytes_per_element(treatment.moments_format);
}

}  // namespace cairn::plan
