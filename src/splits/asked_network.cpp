#include "asked_network.h"

#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/experiment/parts.h"
#include "cairn/models/onnx.h"

namespace cairn::splits {
namespace {

// Of an element: two moments in fp32, and the value in fp32 where it is kept in fewer bits.
double adam_bytes(numerics::Format format) {
  constexpr double k_fp32 = 4.0;
  return 2.0 * k_fp32 + (numerics::bytes_per_element(format) < k_fp32 ? k_fp32 : 0.0);
}

models::Network micro_batch_of(const PlacementStrategy& asked) {
  const std::int64_t micro_batches = asked.micro_batches;
  const std::optional<std::int64_t> whole = asked.batch > 0 ? std::optional(asked.batch) : std::nullopt;
  if (micro_batches == 1) return models::find_network(asked.network, whole);
  const std::int64_t batch = whole ? *whole : models::find_network(asked.network).batch;
  if (batch % micro_batches != 0)
    throw core::ConfigurationError("micro_batches",
                                   fmt::format("{} samples are not {} equal micro-batches", batch, micro_batches),
                                   "give a divisor of the batch");
  return models::find_network(asked.network, batch / micro_batches);
}

// A name that the search folders hold stays; a file of the user's own becomes its block.
config::Node portable(const config::Loader& loader, const config::Node& reference, std::string_view kind) {
  core::Diagnostics none;
  const config::Node* named = reference.is_scalar() ? &reference : reference.find("file");
  if (named == nullptr) return reference;
  const bool is_path = named->text.find('/') != std::string::npos;
  if (!is_path && loader.find_shipped(named->text, kind) == loader.find(named->text, kind, named->place, {}, none))
    return reference;
  return loader.resolve(reference, kind, {}, none);
}

config::Node portable_cluster(const config::Loader& loader, const config::Node& reference) {
  config::Node result = portable(loader, reference, "clusters");
  if (const config::Node* accelerator = result.find("accelerator"))
    result.put("accelerator", portable(loader, *accelerator, "accelerators"));
  return result;
}

}  // namespace

std::unique_ptr<ClusterMesh> AskedNetwork::on(Mesh mesh) const {
  return std::make_unique<ClusterMesh>(std::move(mesh), machine.accelerator.value, machine.network, calibration,
                                       state_bytes);
}

AskedNetwork read_asked(const PlacementStrategy& asked, const config::Loader& loader) {
  core::Diagnostics diagnostics;
  AskedNetwork result;
  result.machine = hardware::read_machine(loader, asked.cluster, "cluster", diagnostics);
  diagnostics.raise_if_errors();
  result.reference = portable_cluster(loader, asked.cluster);
  experiment::Calibrated calibrated = experiment::load_calibrated(loader, result.machine);
  if (!calibrated.carried.empty()) result.assumptions.push_back(std::move(calibrated.carried));
  result.calibration = std::move(calibrated.calibration);
  // Operators are placed and priced one by one here, so that none shares a clock with others.
  result.calibration.power.reset();
  result.calibration.share_common();
  result.network = micro_batch_of(asked);
  const numerics::Format format = numerics::parse_format(asked.format);
  models::set_format(result.network, format);
  result.state_bytes = adam_bytes(format);
  return result;
}

void price_again(ClusterMesh& mesh, const std::vector<PlacedWork>& works) {
  mesh.start_over();
  predict::Pricer& pricer = mesh.setup().pricer;
  for (const PlacedWork& each : works) {
    if (const auto* shard = std::get_if<ir::Shard>(&each.work))
      pricer.shard(*shard);
    else
      pricer.transfer(std::get<program::Transfer>(each.work));
  }
}

}  // namespace cairn::splits
