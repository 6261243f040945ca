// The keys of the calibration files.
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <type_traits>
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

// In the file [ns per square root of a byte]; a picosecond's millionth, which division leaves behind, is not written.
void per_root_byte(Fields& f, std::string_view key, double& x, const config::NumberRule& rule) {
  constexpr double k_digits = 1e9;
  double nanoseconds = std::round(x / k_ns * k_digits) / k_digits;
  f.number(key, nanoseconds, rule);
  x = nanoseconds * k_ns;
}

template <class Structure>
void numbers(Fields& f, Structure& of, std::type_identity_t<std::span<const Number<Structure>>> table) {
  for (const Number<Structure>& number : table) {
    if (number.fit_only) continue;
    double& x = of.*number.member;
    const auto body = [&number](Value& v, double& y) { v.quantity(y, *number.dimension, number.rule); };
    const config::Rule rule{.doc = number.rule.doc, .required = number.rule.required};
    if (number.per_root_byte) {
      per_root_byte(f, number.key, x, number.rule);
    } else if (!number.dimension) {
      f.number(number.key, x, number.rule);
    } else if (number.zero_is_absent) {
      std::optional<double> given = x > 0.0 ? std::optional<double>(x) : std::nullopt;
      f.value(number.key, given, rule, body);
      x = given.value_or(0.0);
    } else {
      f.value(number.key, x, rule, body);
    }
  }
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

void flash_table(Fields& f, std::string_view key, std::vector<FlashPoint>& points) {
  f.list(key, points, {.doc = "by ascending head_dim", .required = true, .minimum_size = 1},
         [](Value& v, FlashPoint& point) {
           v.object([&point](Fields& g) {
             g.count("head_dim", point.head_dim, {.required = true, .minimum = 1});
             numbers(g, point, k_flash_point_numbers);
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
    numbers(g, set.parameters, k_gemm_numbers);
    g.count("max_split", set.parameters.max_split, {.doc = "1: no split-K", .minimum = 1});
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
    numbers(g, set.parameters, k_flash_numbers);
  });
}

void kernel_law(Fields& f, std::string_view key, std::optional<KernelLaw>& law, std::string_view doc) {
  f.value(key, law, {.doc = doc},
          [](Value& v, KernelLaw& x) { v.object([&x](Fields& g) { numbers(g, x, k_kernel_law_numbers); }); });
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

void protocol(Fields& f, std::string_view key, ProtocolLine& x) {
  f.value(key, x, {.required = true},
          [](Value& v, ProtocolLine& y) { v.object([&y](Fields& g) { numbers(g, y, k_protocol_line_numbers); }); });
}

void domain_fit(Fields& f, DomainFit& x) {
  f.choice("collective", x.collective, k_collectives, {.required = true});
  f.count("ranks", x.ranks, {.required = true, .minimum = 2});
  protocol(f, "low_latency", x.protocols[0]);
  protocol(f, "middle", x.protocols[1]);
  protocol(f, "simple", x.protocols[2]);
  numbers(f, x, k_protocol_form_numbers);
  f.value("short_form", x, {.required = true},
          [](Value& v, DomainFit& y) { v.object([&y](Fields& g) { numbers(g, y, k_short_form_numbers); }); });
  fit(f, x.fit);
}

template <class T>
void section(Fields& f, std::string_view key, T& x, config::Rule rule, void (*body)(Fields&, T&)) {
  f.value(key, x, rule, [body](Value& v, T& y) { v.object([body, &y](Fields& g) { body(g, y); }); });
}

void tree_channel(Fields& f, TreeChannel& channel) { numbers(f, channel, k_tree_channel_numbers); }

void transfers(Fields& f, Calibration& x) {
  provenance(f, x.transfer_provenance);
  DomainLaws& laws = x.transfers.domain;
  numbers(f, laws, k_domain_numbers);
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
  numbers(f, x, k_communication_numbers);
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
      numbers(g, y, k_memory_bound_numbers);
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
      numbers(g, set.parameters, k_attention_numbers);
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
      numbers(g, fabric.laws, k_fabric_numbers);
    });
  });
  f.value("communication_kernels", x.communication, {.doc = "what transfers take of the device they run on"},
          [](Value& v, CommunicationKernels& y) { v.object([&y](Fields& g) { communication_kernels(g, y); }); });
}

}  // namespace cairn::cost
