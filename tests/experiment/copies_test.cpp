// Copies of a pipeline exchange gradients over the links that join the ranks which hold them.
#include <string>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/shipped.h"

namespace {

using namespace cairn;

using cairn::testing::shipped;

// 16 layers, 1.2 B parameters, without a cluster.
const std::string k_plain_layers = R"(
model: {kind: transformer, layers: 16, hidden: 2048, heads: 16, ffn: 8192, gated_mlp: true, vocab: 32768, tied_embeddings: false}
training: {seq_len: 2048, global_batch: 64}
)";

experiment::Job on_cluster(const std::string& cluster, const std::string& strategy) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(k_plain_layers, config::Syntax::yaml, "copies.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::Job(experiment::read(node, {"cluster=" + cluster, "strategy=" + strategy}), shipped());
}

}  // namespace

TEST_CASE("two copies of a pipeline on one node exchange gradients inside it") {
  for (const char* schedule : {"chimera", "bitpipe", "dualpipe"})
    for (const int stages : {2, 4, 8}) {
      INFO(schedule << ", pp " << stages);
      experiment::Job job = on_cluster("dgx-a100", "{pp: " + std::to_string(stages) + ", schedule: " + schedule + "}");
      const predict::Prediction prediction = job.run(predict::Engine::both).prediction;
      const predict::Volume& data = prediction.volumes[static_cast<std::size_t>(program::Axis::data)];
      REQUIRE(data.sent > 0.0);
      for (const predict::Volume& volume : prediction.volumes) REQUIRE(volume.scale_out == 0.0);
      // NVLink has 300 GB/s, the network of the node 25 GB/s for each rank.
      for (const predict::PriceLine& line : prediction.prices)
        if (line.name.starts_with("dp ")) REQUIRE(line.total_s < data.sent / 100e9);
    }
}

TEST_CASE("two copies of a pipeline on two nodes exchange gradients between them") {
  // Stage s and its mirror image are in different nodes.
  experiment::Job job = on_cluster("{file: dgx-a100, nodes: 2}", "{pp: 8, schedule: dualpipe}");
  const predict::Prediction prediction = job.run(predict::Engine::both).prediction;
  const predict::Volume& data = prediction.volumes[static_cast<std::size_t>(program::Axis::data)];
  REQUIRE(job.strategy().data == 2);
  // An all-reduce over four ranks, two in each node, is a ring: what a rank sends, 2 (4 - 1) / 4 of the bytes, stays in
  // the node by one of its two ranks and leaves by the other.
  REQUIRE(data.scale_out == Approx(data.sent / 2.0));
}

TEST_CASE("two copies of a pipeline run on machines without a network between nodes") {
  for (const char* schedule : {"chimera", "bitpipe", "dualpipe"})
    for (const char* degrees : {"pp: 4", "pp: 2, tp: 2"})
      for (const char* cluster : {"workstation-4x-a100-pcie", "pcie-8x-l20"}) {
        INFO(schedule << ", " << degrees << " on " << cluster);
        experiment::Job job = on_cluster(cluster, std::string("{") + degrees + ", schedule: " + schedule + "}");
        const predict::Prediction prediction = job.run(predict::Engine::both).prediction;
        for (const predict::Volume& volume : prediction.volumes) REQUIRE(volume.scale_out == 0.0);
        REQUIRE(prediction.analytic.time == prediction.event->makespan.time);
      }
}
