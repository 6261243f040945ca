// What a framework does with gradients whose optimizer is on the host, to the byte and the picosecond.
#include <string>
#include <vector>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/shipped.h"
#include "support/units.h"

using namespace cairn;
using program::Lane;

namespace {

// One device and its host: nothing is gathered or reduced between ranks, and one subgroup holds all parameters.
const std::string k_one_device = R"(
model: {kind: transformer, layers: 4, hidden: 2048, heads: 16, ffn: 8192, gated_mlp: false, vocab: 51200,
        tied_embeddings: false}
cluster: {file: dgx-a100, gpus_per_node: 1,
          host: {memory_bandwidth: 100 GB/s, link: {bandwidth: 10 GB/s, latency: 0 s, shared_by: 1}}}
training: {seq_len: 1024, global_batch: 1, precision: bf16, framework: ideal}
strategy: {zero: {stage: 3, offload: {optimizer: host, subgroup: 1e12}}}
)";

experiment::LoadedExperiment one_device(const std::string& framework) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(k_one_device, config::Syntax::yaml, "one.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::read(node, {"training.framework={file: ideal, " + framework + "}"});
}

struct OneDevice {
  explicit OneDevice(const std::string& framework)
      : job(one_device(framework), cairn::testing::shipped()),
        breakdown(job.run(predict::Engine::both).prediction.breakdown) {}
  double parameters() const { return static_cast<double>(job.model().parameters()); }
  double copied(Lane lane) const { return cairn::testing::copied_bytes(job.program(), lane) / parameters(); }
  experiment::Job job;
  predict::Breakdown breakdown;
};

// An update that reads its gradients once, of bf16 gradients that it widens before if told to.
const std::string k_from_wide =
    "optimizer: {value: {gradient_reads: 0, gradient_copy: false, gradient_scale: false, "
    "separate_parameter_copy: false}}";
std::string from_narrow(bool widens) {
  std::string text = k_from_wide + ", accumulation: {value: {fused: false, format: parameters}}";
  const std::string copy = "gradient_copy: ";
  return text.replace(text.find(copy), copy.size() + 5, copy + (widens ? "true" : "false"));
}
std::string sent_away(const std::string& awaits, const std::string& returns) {
  return ", sharding: {value: {awaits_offloaded: " + awaits + ", returns_offloaded: " + returns + "}}";
}

}  // namespace

TEST_CASE("gradients go to the host as wide as it updates from, and once more there and back where they do") {
  // Of bf16 gradients 2 bytes, or 4 where they are widened first; the parameters come back in 2.
  const OneDevice narrow(from_narrow(false)), wide(from_narrow(true)),
      twice(from_narrow(true) + sent_away("false", "true"));
  CHECK(narrow.copied(Lane::to_host) == 2.0);
  CHECK(narrow.copied(Lane::to_device) == 2.0);
  CHECK(wide.copied(Lane::to_host) == 4.0);
  CHECK(wide.copied(Lane::to_device) == 2.0);
  CHECK(twice.copied(Lane::to_host) == 2.0 + 4.0);
  CHECK(twice.copied(Lane::to_device) == 2.0 + 2.0);
}

TEST_CASE("a host holds gradients as wide as it updates from") {
  // Master copy and two moments take 12 bytes a parameter, gradients as many as come.
  const auto held = [](const OneDevice& of) { return of.job.program().stage(0).host_bytes / of.parameters(); };
  CHECK(held(OneDevice(from_narrow(false))) == 12.0 + 2.0);
  CHECK(held(OneDevice(from_narrow(true))) == 12.0 + 4.0);
}

TEST_CASE("a host that waits for gradients on their way to it leaves the device without work meanwhile") {
  const OneDevice beside(from_narrow(true)), waits(from_narrow(true) + sent_away("true", "false")),
      returns(from_narrow(true) + sent_away("true", "true"));
  // At 10 GB/s a byte of every parameter takes 0.1 ns: 4 there, 2 there and 2 back before, 2 back after the update.
  const double byte_s = 1e-10 * beside.parameters();
  CHECK(core::to_seconds(waits.breakdown.offload) == Approx((4 + 2) * byte_s).epsilon(1e-6));
  CHECK(core::to_seconds(returns.breakdown.offload) == Approx((2 + 2 + 4 + 2) * byte_s).epsilon(1e-6));
  CHECK(beside.breakdown.offload < waits.breakdown.offload);
  CHECK(beside.breakdown.compute == waits.breakdown.compute);
}

TEST_CASE("an update on the host takes longer by what it reaches of the memory bandwidth") {
  // Gradient 4, master copy 8, two moments 16, parameter 2: 30 bytes at 100 GB/s, 0.3 ns a parameter.
  const OneDevice all(k_from_wide), half(k_from_wide + ", host: {value: {memory_share: 0.5}}");
  const double longer_s = core::to_seconds(half.breakdown.host - all.breakdown.host);
  CHECK(longer_s == Approx(0.3e-9 * all.parameters()).epsilon(1e-6));
}
