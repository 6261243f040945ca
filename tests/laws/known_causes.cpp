// Breaches whose cause is known and not mended yet: the one place where a check is left out. Each entry goes with its
// mend; without entries everything is checked.
#include <algorithm>
#include <functional>

#include "run_laws.h"

namespace cairn::laws {
namespace {

struct KnownCause {
  const char* name;
  std::vector<std::string> laws;  // empty: any
  std::function<bool(const Json& experiment, const Breach& breach)> causes;
};

Json at(const Json& experiment, const char* pointer) {
  const Json::json_pointer path(pointer);
  return experiment.contains(path) ? experiment[path] : Json();
}

bool has(const Breach& breach, const char* text) { return breach.what.find(text) != std::string::npos; }

const std::vector<std::string> k_speed{"no time is below its bound", "0 < MFU <= 1", "0 < causal MFU <= 1",
                                       "0 < HFU <= 1", "no piece is below its floor"};

std::string schedule_of(const Json& experiment) {
  const Json schedule = at(experiment, "/strategy/schedule");
  return schedule.is_string() ? schedule.get<std::string>() : schedule.is_object() ? schedule.value("kind", "") : "";
}

// Rates of a device that its kernels were not measured on.
bool foreign_rates(const Json& experiment, const Breach&) {
  const Json accelerator = at(experiment, "/cluster/accelerator");
  if (!at(experiment, "/calibration").is_null()) return true;
  if (!accelerator.is_object()) return false;
  for (const char* key : {"peak", "multiprocessors", "clock", "exponentials_per_clock", "memory", "launch_floor"})
    if (accelerator.contains(key)) return true;
  return false;
}

bool has_wide_products(const Json& precision) {
  const auto is_wide = [](const Json& text) { return text == "fp32" || text == "tf32" || text == "fp64"; };
  if (!precision.is_object()) return is_wide(precision);
  return is_wide(precision.value("recipe", "")) || is_wide(precision.value("gemm", "")) ||
         is_wide(precision.value("activations", ""));
}

bool in_both_directions(const Json& experiment, const Breach&) {
  const std::string kind = schedule_of(experiment);
  return kind == "chimera" || kind == "bitpipe" || kind == "dualpipe";
}

const std::vector<KnownCause>& known_causes() {
  static const std::vector<KnownCause> causes{
      {"prices of another device", k_speed, foreign_rates},
      {"copies of a stage without data parallelism", {}, in_both_directions},
      {"products wider than 16 bits beside fused attention", k_speed,
       [](const Json& e, const Breach&) { return has_wide_products(at(e, "/training/precision")); }},
      {"overlapping transfers each have the link",
       {"no time is below its bound"},
       [](const Json&, const Breach& b) { return has(b, "network") || has(b, "together"); }},
      {"halves of tokens without a causal mask",
       {"what is executed holds the model's FLOPs"},
       [](const Json& e, const Breach&) { return at(e, "/strategy/overlap/tp/kind") == "iso"; }},
      {"executed FLOPs of masked attention",
       {"0 < HFU <= 1", "0 < MFU <= 1"},
       [](const Json&, const Breach&) { return true; }},
      {"the echo leaves settings out",
       {"the echo is an experiment", "the echo is the experiment that ran", "the echo gives the same bytes"},
       [](const Json&, const Breach&) { return true; }},
      {"unmasked pairs are those of the kernel",
       {"a model's FLOPs are its own"},
       [](const Json&, const Breach& b) { return has(b, "unmasked"); }},
      {"rates of the accelerator do not reach prices",
       {},
       [](const Json&, const Breach& b) {
         return b.law.starts_with("what a step waits for shortens it: accelerator") ||
                b.law == "a newer accelerator is never slower";
       }},
      {"latencies of measured collectives are the measured ones",
       {},
       [](const Json&, const Breach& b) {
         return b.law.starts_with("what a step waits for shortens it") && b.law.ends_with("latency") &&
                (has(b, "/cluster/intra/") || has(b, "/cluster/levels/0/"));
       }},
      // connect(): the first network that a cluster describes is a domain, whatever joins it.
      {"a network between nodes of one accelerator is priced as a domain",
       {},
       [](const Json& e, const Breach& b) {
         return b.law.starts_with("what a step waits for shortens it: inter") && at(e, "/cluster/gpus_per_node") == 1;
       }},
      // GemmPricer::time(): the split is chosen by what it takes before clocks drop.
      {"clocks drop after a split is chosen",
       {},
       [](const Json&, const Breach& b) { return b.law == "better is never slower: accelerator/peak"; }},
      {"a protocol is chosen before the links to the root complex are counted",
       {},
       [](const Json& e, const Breach& b) {
         return b.law.starts_with("better is never slower") &&
                e["cluster"].dump().find("pcie-tree") != std::string::npos;
       }},
      // shard_pricer.cpp, gemm_shape(): bytes of an operand are those of the first.
      {"a product's operands are priced in one format",
       {"no piece is below its floor", "no time is below its bound"},
       [](const Json& e, const Breach&) {
         const Json precision = at(e, "/training/precision");
         return precision.is_object() && (precision.contains("parameters") || precision.contains("narrow"));
       }},
      // Attention runs in the activations' format, whose peak may be above that of the products'.
      {"the peak of products alone", k_speed,
       [](const Json& e, const Breach&) { return at(e, "/training/precision/gemm") == "int8"; }},
      {"times beyond what picoseconds count",
       {},
       [](const Json&, const Breach& b) { return b.law.starts_with("beyond sense"); }},
      {"copies without a host",
       {"nothing crashes"},
       [](const Json& e, const Breach& b) {
         return schedule_of(e) == "pipeoffload" && has(b, "cost_pricer.cpp") && has(b, "machine_.has_value");
       }},
      {"integers that overflow",
       {"nothing crashes"},
       [](const Json&, const Breach& b) { return has(b, "integers.h"); }},
      {"steps of days in gaps", {"nothing crashes"}, [](const Json&, const Breach& b) {
         return has(b, "fill_idle.cpp");
       }}};
  return causes;
}

}  // namespace

std::string known_cause(const Json& experiment, const Breach& breach) {
  for (const KnownCause& cause : known_causes()) {
    const bool concerned =
        cause.laws.empty() || std::find(cause.laws.begin(), cause.laws.end(), breach.law) != cause.laws.end();
    if (concerned && cause.causes(experiment, breach)) return cause.name;
  }
  return {};
}

}  // namespace cairn::laws
