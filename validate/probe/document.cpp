#include "document.h"

namespace cairn::probe {

namespace {

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json device(const Document& document) {
  const DeviceFacts& facts = document.device;
  const Inventory& known = document.inventory;
  return Json::Object{{"name", facts.name},
                      {"vendor", "NVIDIA"},
                      {"visible", facts.visible},
                      {"compute_capability", facts.compute_capability},
                      {"multiprocessors", facts.multiprocessors},
                      {"memory_bytes", facts.memory_bytes},
                      {"l2_bytes", facts.l2_bytes},
                      {"memory_bus_bits", facts.memory_bus_bits},
                      {"clock_hz", maybe(known.clock_hz)},
                      {"memory_clock_hz", maybe(known.memory_clock_hz)},
                      {"power_limit_w", maybe(known.power_limit_w)},
                      {"pcie_generation", maybe(known.pcie_generation)},
                      {"pcie_width", maybe(known.pcie_width)},
                      {"ecc", maybe(known.ecc)}};
}

Json software(const Document& document) {
  const SoftwareFacts& facts = document.software;
  return Json::Object{{"driver", maybe(document.inventory.driver)},
                      {"cuda_driver", facts.cuda_driver},
                      {"cuda_runtime", facts.cuda_runtime},
                      {"nvcc", facts.nvcc},
                      {"cublas", facts.cublas},
                      {"nccl", maybe(facts.nccl)}};
}

Json state(const std::optional<Reading>& reading) {
  if (!reading) return {};
  return Json::Object{{"clock_hz", maybe(reading->clock_hz)},
                      {"memory_clock_hz", maybe(reading->memory_clock_hz)},
                      {"power_w", maybe(reading->power_w)},
                      {"temperature_c", maybe(reading->temperature_c)}};
}

Json measured(const Measured& row) {
  Json::Object members = identity(row.row);
  members.emplace_back("bytes", bytes(row.row));
  if (flops(row.row) > 0) members.emplace_back("flops", flops(row.row));
  members.emplace_back(
      "time_s",
      Json::Object{{"median", row.time.median}, {"p10", row.time.p10}, {"p90", row.time.p90}, {"n", row.time.n}});
  members.emplace_back("check", Json::Object{{"samples", row.check_samples}, {"worst", row.check_worst}});
  members.emplace_back("state", state(row.state));
  return members;
}

Json skipped(const Skipped& row) {
  Json::Object members = identity(row.row);
  members.emplace_back("reason", row.reason);
  return members;
}

Json options(const Options& given) {
  Json::Array only;
  for (const std::string& group : given.only) only.emplace_back(group);
  return Json::Object{{"quick", given.quick}, {"cache", given.cache}, {"only", std::move(only)}};
}

std::string dotted(long long major, long long minor, long long patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace

std::string to_text(const Document& document) {
  Json::Array rows, left_out;
  for (const Measured& row : document.rows) rows.push_back(measured(row));
  for (const Skipped& row : document.skipped) left_out.push_back(skipped(row));
  return Json(Json::Object{{"schema", "cairn.measurement/1"},
                           {"tool", Json::Object{{"name", "cairn-probe"}, {"version", document.version}}},
                           {"date", document.date},
                           {"complete", document.complete},
                           {"options", options(document.options)},
                           {"device", device(document)},
                           {"software", software(document)},
                           {"rows", std::move(rows)},
                           {"skipped", std::move(left_out)}})
      .document();
}

std::string cuda_version(int code) { return std::to_string(code / 1000) + "." + std::to_string(code % 1000 / 10); }

std::string nccl_version(int code) { return dotted(code / 10000, code / 100 % 100, code % 100); }

std::string cublas_version(std::size_t code) {
  const auto value = static_cast<long long>(code);  // major * 10000 + minor * 100 + patch
  return dotted(value / 10000, value / 100 % 100, value % 100);
}

}  // namespace cairn::probe
