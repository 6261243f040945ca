#include "block_traffic.h"

namespace cairn::plan {

void open(StepWriter& writer, const UnitTraffic& traffic, Dependencies& blocking) {
  Dependencies own;  // the end of the unit's own fetch
  if (traffic.awaits) own.push_back(entry_of(Stream::fetched));
  if (traffic.distance == 2) writer.wait(Stream::fetched, {entry_of(Stream::fetched_next)});
  if (!traffic.fetch.empty()) {
    writer.hold(traffic.fetch.bytes, 1.0);
    writer.leave(-traffic.fetch.bytes[static_cast<std::size_t>(Category::activations)]);
    Dependencies come;
    for (const std::vector<Leg>& journey : traffic.fetch.journeys)
      come.push_back(writer.travel(journey, entry_of(Stream::compute)));
    if (traffic.distance == 0)
      own.insert(own.end(), come.begin(), come.end());
    else
      writer.wait(traffic.distance == 1 ? Stream::fetched : Stream::fetched_next, come);
  }
  for (const Stream stream : traffic.closing) writer.wait(stream, {entry_of(Stream::compute)});
  writer.compute(traffic.kernels, own);
  if (traffic.kernels.empty()) blocking.insert(blocking.end(), own.begin(), own.end());
}

void close(StepWriter& writer, const UnitTraffic& traffic, Dependency computed) {
  if (traffic.left_bytes > 0.0) {
    writer.wait(Stream::compute, {entry_of(Stream::to_host)});
    writer.hold_after(Category::activations, -traffic.left_bytes);
  }
  for (std::size_t category = 0; category < k_categories; ++category)
    writer.hold_after(static_cast<Category>(category), -traffic.given_up[category]);
  if (traffic.leaving.empty()) return;
  writer.travel(traffic.leaving, computed);
  writer.leave(std::get<Copy>(traffic.leaving.front().work).bytes);
}

}  // namespace cairn::plan
