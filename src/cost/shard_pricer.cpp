#include "cairn/cost/shard_pricer.h"

#include <algorithm>

#include <fmt/format.h>
#include <boost/container/static_vector.hpp>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/cost/operator_floor.h"
#include "cairn/cost/peak.h"

namespace cairn::cost {
namespace {

const ir::Operator& forward_of(const ir::Shard& shard) {
  return shard.op->forward >= 0 ? shard.graph->op(shard.op->forward) : *shard.op;
}

std::int64_t extent_of(const ir::Shard& shard, const char* name) {
  const int dim = shard.op->domain.find(name);
  CAIRN_ASSERT(dim >= 0 && "attention names its dimensions query, key and head_dim");
  return shard.box[static_cast<std::size_t>(dim)].extent();
}

// The calibrated family of products with operands of this format.
std::string_view gemm_family(numerics::Format format) {
  switch (format) {
    case numerics::Format::fp8_e4m3:
    case numerics::Format::fp8_e5m2:
      return "fp8";
    case numerics::Format::fp8_block:
    case numerics::Format::fp8_block_2d:
    case numerics::Format::mxfp8:
      return "fp8-block";
    default:
      return numerics::name(format);
  }
}

numerics::Format format_of(const ir::Shard& shard, const ir::Access& access) {
  return shard.graph->tensor(access.tensor).format;
}

// A scan over steps whose state is multiplied by weights.
struct Recurrence {
  std::int64_t layers = 1;
  std::int64_t steps = 1;
  std::int64_t rows = 1;      // of the input at one step
  std::int64_t units = 1;     // of the state
  std::int64_t inputs = 1;    // that a unit is given
  std::int64_t products = 0;  // of a step and layer, with the input and with the state
};

std::optional<Recurrence> recurrence_of(const ir::Shard& shard) {
  const ir::Operator& op = forward_of(shard);
  if (op.kind != ir::Kind::scan) return std::nullopt;
  Recurrence result;
  int named = 0;
  for (std::size_t dim = 0; dim < shard.box.size(); ++dim) {
    const std::string& name = shard.op->domain.dims()[dim].name;
    std::int64_t& extent = name == "layer" ? result.layers
                           : name == "seq" ? result.steps
                           : name == "n"   ? result.units
                           : name == "k"   ? result.inputs
                                           : result.rows;
    named += &extent != &result.rows ? 1 : 0;
    extent *= shard.box[dim].extent();
  }
  for (const ir::Access& access : op.accesses)
    if (shard.graph->tensor(access.tensor).role == ir::Role::parameter) ++result.products;
  constexpr int k_names = 4;
  return named == k_names && result.products > 0 ? std::optional(result) : std::nullopt;
}

void add_times(KernelTime& sum, const KernelTime& each, std::int64_t count) {
  const auto times = static_cast<double>(count);
  sum.total_s += times * each.total_s;
  sum.compute_s += times * each.compute_s;
  sum.memory_s += times * each.memory_s;
  sum.hidden_s += times * each.hidden_s;
  sum.overhead_s += times * each.overhead_s;
  sum.droop_s += times * each.droop_s;
  sum.launch_s += times * each.launch_s;
  sum.memory_bytes += times * each.memory_bytes;
  if (each.follows.seconds > 0.0) {
    const double before = sum.follows.seconds;
    sum.follows = each.follows;  // the products of a recurrence are of one kind, and none has slack
    sum.follows.seconds = before + times * each.follows.seconds;
  }
}

// A derivative that makes nothing but gradients of parameters.
bool makes_parameter_gradients(const ir::Shard& shard) {
  const auto& accesses = shard.op->accesses;
  return std::all_of(accesses.begin(), accesses.end(), [&shard](const ir::Access& access) {
    const ir::Tensor& tensor = shard.graph->tensor(access.tensor);
    return access.mode == ir::Mode::read || (tensor.role == ir::Role::gradient && tensor.of != ir::k_no_tensor &&
                                             shard.graph->tensor(tensor.of).role == ir::Role::parameter);
  });
}

KernelPass pass_of(const ir::Shard& shard) {
  if (shard.op->phase == ir::Phase::forward) return KernelPass::forward;
  return makes_parameter_gradients(shard) ? KernelPass::parameters : KernelPass::backward;
}

numerics::Format operand_format(const ir::Shard& shard) { return cost::operand_format(*shard.op, *shard.graph); }

}  // namespace

bool is_attention(const ir::Shard& shard) {
  const ir::Operator& op = forward_of(shard);
  return shard.op->kind == ir::Kind::contraction && op.kind == ir::Kind::contraction && !op.is_plain_contraction();
}

GemmShape gemm_shape(const ir::Shard& shard) {
  boost::container::static_vector<const ir::Access*, 4> factors;
  const ir::Access* output = nullptr;
  double added_bytes = 0.0;  // what the result is added to is read first
  for (const ir::Access& access : shard.op->accesses) {
    if (access.mode != ir::Mode::read)
      output = &access;
    else if (access.is_factor())
      factors.push_back(&access);
    else if (!access.addend)
      added_bytes += ir::bytes(shard, access);
  }
  CAIRN_ASSERT(factors.size() == 2 && output != nullptr && "a plain contraction has two factors and one result");
  GemmShape shape{.m = 1, .n = 1, .k = 1};
  for (std::size_t dim = 0; dim < shard.box.size(); ++dim) {
    const auto id = static_cast<loopnest::DimId>(dim);
    const bool in_a = uses(factors[0]->projection, id);
    const bool in_w = uses(factors[1]->projection, id);
    const bool in_c = uses(output->projection, id);
    std::int64_t& role = !in_c ? shape.k : in_a && in_w ? shape.batch : in_a ? shape.m : shape.n;
    role *= shard.box[dim].extent();
  }
  // Fits count elements; scales are part of what they found.
  const auto bytes = [&](const ir::Access& factor) { return numerics::element_bits(format_of(shard, factor)) / 8.0; };
  shape.input_bytes = bytes(*factors[0]);
  shape.second_bytes = bytes(*factors[1]);
  const double elements =
      static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.batch);
  shape.split_accumulation = shard.op->split_accumulation;
  shape.output_bytes = (ir::bytes(shard, *output) + added_bytes) / elements;
  return shape;
}

AttentionShape attention_shape(const ir::Shard& shard) {
  AttentionShape shape;
  shape.s_q = extent_of(shard, "query");
  shape.s_kv = extent_of(shard, "key");
  shape.head_dim = extent_of(shard, "head_dim");
  shape.b = 1;
  shape.heads = 1;
  shape.kv_heads = 1;
  // Keys and values are the accesses that the key dimension indexes.
  const auto key = static_cast<loopnest::DimId>(shard.op->domain.find("key"));
  const ir::Access* keys = nullptr;
  for (const ir::Access& access : shard.op->accesses)
    if (uses(access.projection, key)) keys = &access;
  CAIRN_ASSERT(keys != nullptr);
  for (std::size_t dim = 0; dim < shard.box.size(); ++dim) {
    const std::string& name = shard.op->domain.dims()[dim].name;
    if (name == "query" || name == "key" || name == "head_dim") continue;
    (uses(keys->projection, static_cast<loopnest::DimId>(dim)) ? shape.b : shape.heads) *= shard.box[dim].extent();
  }
  shape.causal = !shard.op->domain.guards().empty();
  shape.bytes_per_element = numerics::bytes_per_element(format_of(shard, *keys));
  constexpr double k_forward_flops = 4.0;    // per pair and element of head_dim: scores and context
  constexpr double k_backward_flops = 10.0;  // scores again and four gradients
  shape.work = shard.op->flops_per_point / (shard.op->phase == ir::Phase::forward ? k_forward_flops : k_backward_flops);
  shape.score_pairs = static_cast<double>(shard.op->domain.points(shard.box)) / static_cast<double>(shape.head_dim);
  return shape;
}

ShardPricer::ShardPricer(const Calibration& calibration, const hardware::Accelerator& accelerator)
    : calibration_(calibration), accelerator_(accelerator) {}

MachineRates ShardPricer::rates(numerics::Format format) const {
  MachineRates rates = calibration_.machine;
  rates.tensor_flops = accelerator_.product_peak(format).base();
  return rates;
}

// Where kernels share a clock, what is not known of one.
void ShardPricer::note_clock(std::string_view kernel, double clock_hz) {
  if (calibration_.power && clock_hz == 0.0)
    assumptions_.insert(fmt::format(
        "{}: clock of short runs and slowdown alone are those of the data sheet and of all kernels", kernel));
}

const GemmPricer& ShardPricer::gemm(numerics::Format format) {
  auto& slot = gemm_[static_cast<std::size_t>(format)];
  if (slot) return *slot;
  const GemmSet* set = calibration_.find_gemm(gemm_family(format));
  if (set) {
    slot.emplace(set->parameters, rates(format));
    if (!set->remark.empty()) assumptions_.insert(set->remark);
    note_clock(fmt::format("matrix products in {}", numerics::name(format)), set->parameters.clock_hz);
    if (format == numerics::Format::mxfp8)
      assumptions_.insert(
          "matrix products in mxfp8: efficiencies of the fp8-block products measured, whose scales are applied outside "
          "the units");
    if (set->provenance.evidence == Evidence::assumed)
      assumptions_.insert(fmt::format("matrix products in {}: efficiencies assumed ({})", numerics::name(format),
                                      set->provenance.source));
    return *slot;
  }
  if (!accelerator_.matrix_peak(format) && numerics::bits_per_element(format) < 16)
    throw core::ConfigurationError(
        "training.precision", fmt::format("{} has no matrix units for {}", accelerator_.name, numerics::name(format)),
        "choose a recipe the accelerator supports, such as bf16 or fp16");
  set = calibration_.find_gemm("bf16");
  CAIRN_ASSERT(set != nullptr && "every calibration has a 16-bit set");
  slot.emplace(set->parameters, rates(format));
  assumptions_.insert(fmt::format("matrix products in {}: efficiencies of the 16-bit ones", numerics::name(format)));
  return *slot;
}

// Kernels that keep their scores on chip are written for the matrix units of 16-bit types.
void ShardPricer::check_kernel(std::string_view kernel, const AttentionShape& shape, numerics::Format format) const {
  // FlashAttention 1 to 3 and cuDNN's kernels: heads of up to 256 elements (their repositories' READMEs, 2024).
  constexpr std::int64_t k_widest_head = 256;
  if (shape.head_dim > k_widest_head)
    throw core::ConfigurationError("training.kernels.attention",
                                   fmt::format("there is no {} kernel for heads of {} elements: it takes up to {}",
                                               kernel, shape.head_dim, k_widest_head),
                                   "use training.kernels.attention: unfused, or narrower heads");
  const bool written = format == numerics::Format::bf16 || format == numerics::Format::fp16;
  if (!written)
    throw core::ConfigurationError(
        "training.kernels.attention",
        fmt::format("there is no {} kernel for {}: it takes bf16 and fp16", kernel, numerics::name(format)),
        "use training.kernels.attention: unfused, or a 16-bit recipe");
  if (!accelerator_.matrix_peak(format))
    throw core::ConfigurationError(
        "training.kernels.attention",
        fmt::format("{} has no matrix units for {}, which {} needs", accelerator_.name, numerics::name(format), kernel),
        "use training.kernels.attention: unfused, or a recipe that the accelerator has units for");
}

KernelTime ShardPricer::price_attention(const ir::Shard& shard) {
  const FlashSet* set = calibration_.find_flash(shard.op->variant);
  if (!set) {
    std::string known;
    for (const FlashSet& each : calibration_.flash_attention)
      known += (known.empty() ? "" : ", ") + each.parameters.kernel;
    throw core::ConfigurationError(
        "training.kernels.attention",
        fmt::format("no timings of attention kernel '{}' on {}", shard.op->variant, calibration_.accelerator),
        known.empty() ? "use unfused or fused_softmax" : "known here: " + known);
  }
  const numerics::Format format = operand_format(shard);
  const AttentionShape shape = attention_shape(shard);
  check_kernel(shard.op->variant, shape, format);
  const AttentionPass pass = shard.op->phase == ir::Phase::forward ? AttentionPass::forward : AttentionPass::backward;
  note_clock(fmt::format("attention kernel {}", shard.op->variant), set->parameters.clock_hz);
  if (set->provenance.evidence == Evidence::assumed)
    assumptions_.insert(
        fmt::format("attention kernel {}: speed assumed ({})", shard.op->variant, set->provenance.source));
  const MeasuredRange heads = head_dims(set->parameters, pass);
  extrapolation_.see(fmt::format("attention kernel {}", shard.op->variant), "head_dim",
                     static_cast<double>(shape.head_dim), heads);
  return flash_attention_time(shape, pass, set->parameters, rates(format));
}

KernelTime ShardPricer::product_time(const GemmShape& shape, numerics::Format format) {
  const GemmPricer& pricer = gemm(format);
  const GemmSet* own = calibration_.find_gemm(gemm_family(format));
  const GemmSet* set = own != nullptr ? own : calibration_.find_gemm("bf16");
  if (set->fit) extrapolation_.see(fmt::format("matrix products in {}", set->type), shape, *set->fit);
  if (shape.split_accumulation && set->parameters.split_accumulation < 1.0)
    assumptions_.insert(
        fmt::format("products in {} that move partial sums to fp32 registers run at {:.3g} of the rate of the others: "
                    "reported, not fitted",
                    numerics::name(format), set->parameters.split_accumulation));
  return pricer.time(shape);
}

KernelTime ShardPricer::memory_time(double bytes, double flops, const MemoryBoundParameters& kernel) {
  if (calibration_.memory_bound_fit) extrapolation_.see("memory-bound kernels", bytes, *calibration_.memory_bound_fit);
  return memory_bound_time(bytes, flops, kernel, calibration_.machine);
}

KernelTime ShardPricer::price_recurrence(const ir::Shard& shard) {
  const Recurrence of = *recurrence_of(shard);
  const ir::Operator& op = forward_of(shard);
  const numerics::Format format = format_of(shard, op.accesses.front());
  const double bytes = numerics::element_bits(format) / 8.0;
  const std::int64_t gates = of.units * of.products / 2, all_rows = of.steps * of.rows;
  const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return product_time({.m = m, .n = n, .k = k, .input_bytes = bytes, .output_bytes = bytes}, format);
  };
  KernelTime sum;
  if (shard.op->kind == ir::Kind::reduce) {  // of the weights' gradients
    add_times(sum, product(gates, of.inputs, all_rows), of.layers);
    add_times(sum, product(gates, of.units, all_rows), of.layers);
    return sum;
  }
  const bool forward = shard.op->phase == ir::Phase::forward;
  const double gate_bytes = bytes * static_cast<double>(of.rows) * static_cast<double>(gates + 2 * of.units);
  add_times(sum, forward ? product(all_rows, gates, of.inputs) : product(all_rows, of.inputs, gates), of.layers);
  add_times(sum, forward ? product(of.rows, gates, of.units) : product(of.rows, of.units, gates), of.layers * of.steps);
  add_times(sum, memory_time(gate_bytes, 0.0, calibration_.memory_bound), of.layers * of.steps);
  return sum;
}

KernelTime ShardPricer::price(const ir::Shard& shard) {
  if (recurrence_of(shard)) return price_recurrence(shard);
  if (is_attention(shard)) return price_attention(shard);
  if (shard.op->is_plain_contraction()) return product_time(gemm_shape(shard), operand_format(shard));
  const std::int64_t width = shard.box.empty() ? 0 : shard.box.back().extent();
  if (const KernelLaw* law = calibration_.find_law(shard.op->variant, pass_of(shard), width))
    return measured_kernel_time(ir::bytes(shard), *law, calibration_.gap_s, calibration_.machine);
  return memory_time(ir::bytes(shard), ir::flops(shard), calibration_.memory_bound_of(shard.op->variant));
}

double ShardPricer::compute_floor_s(const ir::Shard& shard) const {
  if (shard.op->kind != ir::Kind::contraction) return 0.0;
  return ir::flops(shard) / rates(operand_format(shard)).tensor_flops;
}

ShardFloor ShardPricer::floor(const ir::Shard& shard, double on_chip_bytes) const {
  const double bytes = least_bytes(shard, on_chip_bytes, Effort::quick).lower;
  return {
      .compute_s = compute_floor_s(shard), .memory_s = bytes / calibration_.machine.memory_bandwidth, .bytes = bytes};
}

}  // namespace cairn::cost
