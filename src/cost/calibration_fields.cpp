// The keys of the calibration files.
#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/cost/calibration.h"

namespace cairn::cost {
namespace {

using config::Dimension;
using config::Fields;
using config::Value;

const config::Choices<Evidence> k_evidence{{"fitted", Evidence::fitted}, {"assumed", Evidence::assumed}};
config::Choices<Collective> measured_collectives() {
  config::Choices<Collective> choices;
  for (const Collective collective : k_measured) choices.emplace_back(measured_name(collective), collective);
  return choices;
}
const config::Choices<Collective> k_collectives = measured_collectives();
constexpr double k_nano = 1e-9;

struct Needed {
  bool required = true;
  bool positive = true;
};

void quantity(Fields& f, std::string_view key, double& x, Dimension dimension, std::string_view doc, Needed needed) {
  f.value(key, x, {.doc = doc, .required = needed.required},
          [&](Value& v, double& y) { v.quantity(y, dimension, {.positive = needed.positive}); });
}
void seconds(Fields& f, std::string_view key, double& x, std::string_view doc, Needed needed = {.positive = false}) {
  quantity(f, key, x, Dimension::seconds, doc, needed);
}
void bandwidth(Fields& f, std::string_view key, double& x, std::string_view doc, Needed needed = {}) {
  quantity(f, key, x, Dimension::bytes_per_second, doc, needed);
}

// Zero in the structure is an absent key.
void optional_bandwidth(Fields& f, std::string_view key, double& x, std::string_view doc) {
  std::optional<double> given = x > 0.0 ? std::optional<double>(x) : std::nullopt;
  f.value(key, given, {.doc = doc},
          [](Value& v, double& y) { v.quantity(y, Dimension::bytes_per_second, {.positive = true}); });
  x = given.value_or(0.0);
}

void provenance(Fields& f, Provenance& x) {
  f.choice("evidence", x.evidence, k_evidence,
           {.doc = "fitted to this accelerator, or assumed from a neighbour", .required = true});
  f.text("source", x.source, {.doc = "what was measured, by whom, how well it fits", .required = true});
}

void scores(Fields& f, FitScores& x) {
  f.number("median", x.median, {.doc = "of absolute errors", .required = true});
  f.number("p90", x.p90, {.doc = "of absolute errors", .required = true});
  f.number("bias", x.bias, {.doc = "median signed error", .required = true, .minimum = -1.0});
}

void residuals(Fields& f, FitRecord& x) {
  f.number("p10", x.residual_p10, {.required = true, .minimum = -1.0});
  f.number("p50", x.residual_p50, {.required = true, .minimum = -1.0});
  f.number("p90", x.residual_p90, {.required = true, .minimum = -1.0});
}

void range(Value& v, MeasuredRange& x) {
  v.object([&x](Fields& f) {
    f.number("from", x.least, {.required = true});
    f.number("to", x.largest, {.required = true});
  });
}

void fit_record(Fields& f, FitRecord& x) {
  f.count("rows", x.rows, {.required = true, .minimum = 1});
  f.value("in_sample", x.in_sample, {.required = true},
          [](Value& v, FitScores& y) { v.object([&y](Fields& g) { scores(g, y); }); });
  f.text("left_out_by", x.left_out_by, {.doc = "families of which each was left out of the fit that predicts it"});
  f.value("left_out", x.left_out, {}, [](Value& v, FitScores& y) { v.object([&y](Fields& g) { scores(g, y); }); });
  f.value("residuals", x, {.doc = "quantiles of measured / predicted - 1", .required = true},
          [](Value& v, FitRecord& y) { v.object([&y](Fields& g) { residuals(g, y); }); });
  f.map("ranges", x.ranges, {.doc = "what was measured, by dimension", .required = true}, range);
}

void fit(Fields& f, std::optional<FitRecord>& x) {
  f.value("fit", x, {.doc = "scores of the fit, fractions"},
          [](Value& v, FitRecord& y) { v.object([&y](Fields& g) { fit_record(g, y); }); });
}

void machine(Fields& f, MachineRates& x) {
  bandwidth(f, "memory_bandwidth", x.memory_bandwidth, "device memory");
  quantity(f, "l2", x.l2_bytes, Dimension::bytes, "last-level cache", {});
  f.number("multiprocessors", x.sm_count, {.required = true, .positive = true});
  quantity(f, "clock", x.clock_hz, Dimension::hertz, "boost clock", {});
  quantity(f, "vector", x.vector_flops, Dimension::flops_per_second, "peak of the fp32 lanes", {});
  f.number("exponentials_per_clock", x.exp_per_clock_per_sm, {.doc = "per multiprocessor", .positive = true});
  seconds(f, "launch_floor", x.launch_floor_s, "shortest kernel in a stream; absent: the gap does not follow it",
          {.required = false, .positive = false});
}

void gemm_parameters(Fields& f, GemmParameters& x) {
  f.number("tensor_efficiency", x.tensor_efficiency, {.doc = "eP", .required = true, .maximum = 1.0, .positive = true});
  f.number("memory_efficiency", x.memory_efficiency,
           {.doc = "eB; above 1 a fit's artefact", .required = true, .positive = true});
  seconds(f, "launch_floor", x.launch_floor_s, "t0, as the benchmark timed it");
  seconds(f, "tile_overhead", x.tile_overhead_s, "tpe: fill and drain per tile",
          {.required = false, .positive = false});
  seconds(f, "step_floor", x.step_floor_s, "tk: shortest K step");
  f.number("step_bytes", x.step_bytes, {.doc = "bytes of K per pipeline step", .positive = true});
  optional_bandwidth(f, "operand_bandwidth", x.operand_bandwidth,
                     "f: operands into one multiprocessor, not hidden; absent: wholly hidden");
  f.number("epilogue", x.epilogue, {.doc = "o: share of the output write not hidden", .required = true});
  seconds(f, "split_cost", x.split_cost_s, "ck: price of split-K", {.required = false, .positive = false});
  f.number(
      "split_accumulation", x.split_accumulation,
      {.doc = "a: rate where partial sums move to fp32 registers every few steps over the rate of fast accumulation; "
              "absent: the units have no such mode",
       .maximum = 1.0,
       .positive = true});
  f.number("overlap_exponent", x.overlap_exponent, {.doc = "p", .required = true, .minimum = 1.0});
  f.number("droop", x.droop, {.doc = "d: slowdown of long kernels", .required = true});
  f.number("quantise_passes", x.quantise_passes, {.doc = "q: quantising A inside the benchmark's call"});
  f.number("wave_quantisation", x.wave_quantisation, {.doc = "sigma", .required = true, .maximum = 1.0});
  f.number("cache_share", x.cache_share, {.doc = "kappa", .positive = true});
  f.number("cache_speed", x.cache_speed, {.doc = "eL: over memory bandwidth", .positive = true});
  f.count("max_split", x.max_split, {.doc = "1: no split-K", .minimum = 1});
}

void attention_parameters(Fields& f, AttentionParameters& x) {
  f.number("tensor_efficiency", x.tensor_efficiency, {.doc = "eP", .required = true, .maximum = 1.0, .positive = true});
  f.number("exp_efficiency", x.exp_efficiency, {.doc = "eE", .required = true, .positive = true});
  seconds(f, "launch_floor", x.launch_floor_s, "t0");
  f.number("tail", x.tail, {.doc = "lat", .required = true});
  seconds(f, "row", x.row_s, "rq: per query row");
  f.number("query_traffic", x.query_traffic, {.doc = "cq", .required = true});
  f.number("kv_traffic", x.kv_traffic, {.doc = "ck", .required = true});
  seconds(f, "pass", x.pass_s, "cx: batch-independent pass of the benchmark");
  f.number("droop", x.droop, {.doc = "d", .required = true});
}

void flash_table(Fields& f, std::string_view key, std::vector<FlashPoint>& points) {
  f.list(key, points, {.doc = "by ascending head_dim", .required = true, .minimum_size = 1},
         [](Value& v, FlashPoint& point) {
           v.object([&point](Fields& g) {
             g.count("head_dim", point.head_dim, {.required = true, .minimum = 1});
             g.number("efficiency", point.efficiency, {.required = true, .maximum = 1.0, .positive = true});
             g.number("row_keys", point.row_keys, {.doc = "S0: extra keys per query row, twice", .required = true});
           });
         });
}

void power(Value& v, PowerLaw& x) {
  v.object([&x](Fields& f) {
    const auto watts = [&f](std::string_view key, double& y, std::string_view doc) {
      quantity(f, key, y, Dimension::watts, doc, {});
    };
    watts("limit", x.limit_w, "P, at which `sustained` and `relative_clock` hold: change it with them");
    watts("idle", x.idle_w, "P0: drawn whatever runs");
    watts("memory", x.memory_w, "Pm: drawn while kernels wait for memory");
    f.number("spread", x.spread,
             {.doc = "standard deviation of the clocks of such chips, of their mean", .maximum = 0.1});
    f.check(
        "idle", [&x] { return x.idle_w < x.limit_w / 2.0; }, "is not below half the limit",
        "give what an idle device draws");
    f.check(
        "memory", [&x] { return x.memory_w >= x.idle_w && x.memory_w <= x.limit_w; }, "is not between idle and limit",
        "give what a plain copy draws");
  });
}

// Of a set whose kernels are limited by their instructions.
void clock(Fields& f, double& clock_hz, double& relative) {
  f.number("relative_clock", relative,
           {.doc = "of these kernels alone, over `sustained`; read beside `power`", .positive = true});
  std::optional<double> given = clock_hz > 0.0 ? std::optional<double>(clock_hz) : std::nullopt;
  f.value("clock", given, {.doc = "c, above which the work gets no faster; absent: the machine's"},
          [](Value& v, double& x) { v.quantity(x, Dimension::hertz, {.positive = true}); });
  clock_hz = given.value_or(0.0);
}

void gemm_set(Value& v, GemmSet& set) {
  v.object([&set](Fields& g) {
    g.text("type", set.type, {.required = true});
    provenance(g, set.provenance);
    quantity(g, "peak", set.peak_flops, Dimension::flops_per_second, "dense tensor peak the efficiency is relative to",
             {});
    g.text("remark", set.remark, {.doc = "what every answer that rests on these products has to say of them"});
    clock(g, set.parameters.clock_hz, set.relative_clock);
    gemm_parameters(g, set.parameters);
    fit(g, set.fit);
  });
}

void flash_set(Value& v, FlashSet& set) {
  v.object([&set](Fields& g) {
    g.text("kernel", set.parameters.kernel, {.required = true});
    provenance(g, set.provenance);
    clock(g, set.parameters.clock_hz, set.relative_clock);
    flash_table(g, "forward", set.parameters.forward);
    flash_table(g, "backward", set.parameters.backward);
    g.number("wave_exponent", set.parameters.wave_exponent, {.doc = "u", .required = true, .maximum = 1.0});
    g.number("tail", set.parameters.tail, {.doc = "l", .required = true});
  });
}

void kernel_law(Fields& f, std::string_view key, std::optional<KernelLaw>& law, std::string_view doc) {
  f.value(key, law, {.doc = doc}, [](Value& v, KernelLaw& x) {
    v.object([&x](Fields& g) {
      seconds(g, "floor", x.floor_s, "with next to nothing to move, the gap to the next kernel included");
      g.number("efficiency", x.efficiency,
               {.doc = "e: of the memory bandwidth", .required = true, .maximum = 1.0, .positive = true});
    });
  });
}

void kernel_set(Value& v, KernelSet& set) {
  v.object([&set](Fields& g) {
    g.text("kernel", set.kernel, {.doc = "that operators name", .required = true});
    provenance(g, set.provenance);
    g.counts("widths", set.widths, {.doc = "of the rows it is made for; absent: any", .minimum = 1});
    kernel_law(g, "forward", set.forward, "absent: as all memory-bound kernels");
    kernel_law(g, "backward", set.backward, "derivatives of activations");
    kernel_law(g, "parameters", set.parameters, "derivatives of parameters");
  });
}

// The first set for rows of a width counts (Calibration::find_law): each width stands once, and before the set of any.
bool each_width_has_one_set(const std::vector<KernelSet>& sets) {
  std::set<std::pair<std::string_view, std::int64_t>> taken;
  std::set<std::string_view> complete;
  for (const KernelSet& set : sets) {
    if (complete.count(set.kernel) > 0) return false;
    for (const std::int64_t width : set.widths)
      if (!taken.emplace(set.kernel, width).second) return false;
    if (set.widths.empty()) complete.insert(set.kernel);
  }
  return true;
}

void libraries(Value& v, Libraries& x) {
  v.object([&x](Fields& g) {
    g.value("power", x.power, {.doc = "in place of that of the file"}, power);
    g.list("gemm", x.gemm, {.doc = "in place of those of the same type"}, gemm_set);
    g.list("flash_attention", x.flash_attention, {.doc = "in place of those of the same kernel"}, flash_set);
    g.list("kernels", x.kernels, {.doc = "memory-bound kernels with laws of their own"}, kernel_set);
    g.check(
        "kernels", [&x] { return each_width_has_one_set(x.kernels); }, "two sets of a kernel for rows of one width",
        "give each width once, and the set of any width last");
  });
}

// [ns per square root of a byte] in the file, seconds in the structure.
void ramp(Fields& f, double& x, bool required, std::string_view key = "ramp") {
  constexpr double k_digits = 1e9;  // a picosecond's millionth: what division leaves behind is not written
  double nanoseconds = std::round(x / k_nano * k_digits) / k_digits;
  f.number(key, nanoseconds, {.doc = "ns per square root of a byte", .required = required});
  x = nanoseconds * k_nano;
}

void protocol(Fields& f, std::string_view key, ProtocolLine& x) {
  f.value(key, x, {.required = true}, [](Value& v, ProtocolLine& y) {
    v.object([&y](Fields& g) {
      seconds(g, "latency", y.latency_s, "a");
      bandwidth(g, "bandwidth", y.bandwidth, "B, of wire bytes");
    });
  });
}

void domain_fit(Fields& f, DomainFit& x) {
  f.choice("collective", x.collective, k_collectives, {.required = true});
  f.count("ranks", x.ranks, {.required = true, .minimum = 2});
  protocol(f, "low_latency", x.protocols[0]);
  protocol(f, "middle", x.protocols[1]);
  protocol(f, "simple", x.protocols[2]);
  ramp(f, x.ramp, false, "simple_ramp");
  f.value("short_form", x, {.required = true}, [](Value& v, DomainFit& y) {
    v.object([&y](Fields& g) {
      seconds(g, "latency", y.alpha_s, "alpha");
      ramp(g, y.gamma, true);
      bandwidth(g, "bandwidth", y.bandwidth, "B, of wire bytes");
    });
  });
  fit(f, x.fit);
}

template <class T>
void section(Fields& f, std::string_view key, T& x, config::Rule rule, void (*body)(Fields&, T&)) {
  f.value(key, x, rule, [body](Value& v, T& y) { v.object([body, &y](Fields& g) { body(g, y); }); });
}

void tree_channel(Fields& f, TreeChannel& channel) {
  optional_bandwidth(f, "two", channel.two, "over two domains; absent: no limit");
  optional_bandwidth(f, "more", channel.more, "over more domains; absent: no limit");
}

void transfers(Fields& f, Calibration& x) {
  provenance(f, x.transfer_provenance);
  DomainLaws& laws = x.transfers.domain;
  optional_bandwidth(f, "link_bandwidth", laws.link_bandwidth, "of the links measured, per rank and direction");
  seconds(f, "link_latency", laws.link_latency_s,
          "one way, of the links measured; absent: latencies do not follow links",
          {.required = false, .positive = false});
  optional_bandwidth(f, "ring_bandwidth", laws.ring_bandwidth, "busbw limit of the ring all-reduce");
  optional_bandwidth(f, "switch_bandwidth", laws.switch_bandwidth, "B_sw of in-switch reduction");
  f.number(
      "assumed_efficiency", laws.assumed_efficiency,
      {.doc = "of stated bandwidth, where nothing was measured", .required = true, .maximum = 1.0, .positive = true});
  section(f, "tree_channel", laws.tree_channel, {.doc = "most that a channel of a tree between domains moves"},
          tree_channel);
  section(f, "switch_tree_channel", laws.switch_tree_channel, {.doc = "the same where the switch reduces"},
          tree_channel);
  f.number("crossover_exponent", laws.crossover_exponent,
           {.doc = "k: how sharply the library changes protocol; absent: a hard minimum"});
  f.list("fits", laws.fits, {.required = true},
         [](Value& v, DomainFit& fit) { v.object([&fit](Fields& g) { domain_fit(g, fit); }); });
  f.choice("form", x.transfers.form,
           {{"three-protocols", TransferForm::three_protocols}, {"short", TransferForm::short_form}});
  f.text("fabric", x.fabric, {.doc = "network between domains, a name of fabrics.yaml", .required = true});
  f.check(
      "link_bandwidth", [&] { return laws.fits.empty() || laws.link_bandwidth > 0.0; },
      "is missing although there are fits", "name the links the fits were measured on");
}

void communication_kernels(Fields& f, CommunicationKernels& x) {
  provenance(f, x.provenance);
  f.number("multiprocessors", x.multiprocessors,
           {.doc = "that a collective's kernel holds at most", .required = true, .positive = true});
  bandwidth(f, "channel_bandwidth", x.channel_bandwidth, "what one multiprocessor of a collective carries");
  f.number("message_multiprocessors", x.message_multiprocessors,
           {.doc = "that a message's kernel holds on either side", .required = true});
  f.number("memory_accesses", x.memory_accesses,
           {.doc = "bytes of device memory read and written per byte that a rank sends", .required = true});
}

}  // namespace

void describe(config::Fields& f, Calibration& x) {
  std::int64_t version = 1;
  f.count("version", version, {.required = true, .minimum = 1, .maximum = 1});
  f.text("name", x.name, {.required = true});
  f.text("accelerator", x.accelerator, {.doc = "a name of configs/accelerators", .required = true});
  section(f, "machine", x.machine, {.doc = "rates the efficiencies are relative to", .required = true}, machine);
  seconds(f, "gap", x.gap_s, "device-side gap between kernels of a training step");
  f.number("sustained", x.sustained,
           {.doc = "clock of long runs over short ones", .required = true, .maximum = 1.0, .positive = true});
  f.value("power", x.power, {.doc = "absent: each kernel has its clock of long runs, whatever runs beside it"}, power);
  f.value("memory_bound", x.memory_bound, {.required = true}, [&x](Value& v, MemoryBoundParameters& y) {
    v.object([&x, &y](Fields& g) {
      g.number("efficiency", y.memory_efficiency, {.required = true, .maximum = 1.0, .positive = true});
      g.number("vector_efficiency", y.vector_efficiency, {.required = true, .maximum = 1.0, .positive = true});
      g.number("overlap_exponent", y.overlap_exponent, {.minimum = 1.0});
      fit(g, x.memory_bound_fit);
    });
  });
  f.list("gemm", x.gemm, {.required = true, .minimum_size = 1}, gemm_set);
  f.check(
      "gemm", [&x] { return x.gemm.empty() || x.find_gemm("bf16") != nullptr; },
      "has no set for 16-bit types, which stands for formats that have none", "add one of type bf16");
  f.value("attention_operator", x.attention_operator, {}, [](Value& v, AttentionSet& set) {
    v.object([&set](Fields& g) {
      provenance(g, set.provenance);
      attention_parameters(g, set.parameters);
      fit(g, set.fit);
    });
  });
  f.list("flash_attention", x.flash_attention, {.required = true}, flash_set);
  f.list("transposes", x.transposes, {.doc = "kernels that write a transposed copy slower than memory takes it"},
         [](Value& v, TransposeSet& set) {
           v.object([&set](Fields& g) {
             g.text("kernel", set.kernel, {.doc = "a kernel of frameworks' kernels.transpose", .required = true});
             provenance(g, set.provenance);
             bandwidth(g, "bandwidth", set.bandwidth, "read and written");
           });
         });
  f.map("libraries", x.libraries, {.doc = "releases of libraries, by the name that frameworks' profiles give"},
        libraries);
  section(f, "transfers", x, {.required = true}, transfers);
}

void describe(config::Fields& f, Fabrics& x) {
  std::int64_t version = 1;
  f.count("version", version, {.required = true, .minimum = 1, .maximum = 1});
  f.map("fabrics", x.all, {.required = true}, [](Value& v, Fabric& fabric) {
    v.object([&fabric](Fields& g) {
      provenance(g, fabric.provenance);
      fabric.laws.fitted = fabric.provenance.evidence == Evidence::fitted;
      g.number("efficiency", fabric.laws.efficiency, {.required = true, .maximum = 1.0, .positive = true});
      seconds(g, "step", fabric.laws.step_s, "software cost of one step");
      ramp(g, fabric.laws.ramp, false);
      seconds(g, "peer", fabric.laws.peer_s, "per peer of an all-to-all");
      seconds(g, "message", fabric.laws.message_s, "per further message of a ring over one network link",
              {.required = false, .positive = false});
    });
  });
  f.value("communication_kernels", x.communication, {.doc = "what transfers take of the device they run on"},
          [](Value& v, CommunicationKernels& y) { v.object([&y](Fields& g) { communication_kernels(g, y); }); });
}

}  // namespace cairn::cost
