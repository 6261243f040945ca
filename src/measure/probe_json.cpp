// cairn.measurement/1; validate/probe/README.md says what each kind, shape and type means.
#include <fmt/format.h>

#include "cairn/config/read.h"
#include "cairn/measure/read.h"
#include "reading.h"

namespace cairn::measure {
namespace {

constexpr std::string_view k_schema = "cairn.measurement/1";

struct ProbeRow {
  std::string kind = {};
  std::string type = {};
  std::vector<std::pair<std::string, std::int64_t>> shape = {};
  double bytes = 0.0;
  std::int64_t ranks = 1;
  TimeSample time = {};
  std::string implementation = {};
  std::string cache = {};
};

void describe(config::Fields& f, TimeSample& x) {
  f.open();
  f.number("median", x.median_s, {.doc = "seconds, the median sample", .required = true, .positive = true});
  f.number("p10", x.p10_s, {.doc = "seconds, that one in ten samples stay below", .required = true, .positive = true});
  f.number("p90", x.p90_s, {.doc = "seconds, that nine in ten samples stay below", .required = true, .positive = true});
  f.count("n", x.n, {.doc = "how many samples", .required = true, .minimum = 1});
}

void describe(config::Fields& f, ProbeRow& x) {
  f.open();
  f.text("kind", x.kind, {.doc = "gemm, attention, copy, all_reduce, ...", .required = true});
  f.text("type", x.type, {.doc = "number format", .required = true});
  f.map("shape", x.shape, {.doc = "named extents", .required = true},
        [](config::Value& v, std::int64_t& extent) { v.count(extent); });
  f.number("bytes", x.bytes, {.doc = "traffic of a kernel, payload of a transfer", .required = true});
  f.count("ranks", x.ranks, {.doc = "devices taking part", .required = true, .minimum = 1});
  f.value("time_s", x.time, {.doc = "of one execution", .required = true},
          [](config::Value& v, TimeSample& y) { v.object([&y](config::Fields& g) { describe(g, y); }); });
  f.text("implementation", x.implementation, {.doc = "what ran"});
  f.text("cache", x.cache, {.doc = "cold or warm"});
}

}  // namespace

struct ProbeDocument {
  struct Device {
    std::string name = {};
  };
  struct Software {
    std::optional<std::string> driver = {};
    std::optional<std::string> cublas = {};
    std::optional<std::string> nccl = {};
  };
  std::string schema = std::string(k_schema);
  bool complete = true;
  Device device = {};
  Software software = {};
  std::vector<ProbeRow> rows = {};
};

void describe(config::Fields& f, ProbeDocument& x) {
  f.open();
  f.name("schema", x.schema, {std::string(k_schema)}, {.doc = "names this kind of document", .required = true});
  f.flag("complete", x.complete, {.doc = "false: the program was interrupted"});
  f.value("device", x.device, {.doc = "what was measured", .required = true},
          [](config::Value& v, ProbeDocument::Device& y) {
            v.object([&y](config::Fields& g) {
              g.open();
              g.text("name", y.name, {.doc = "as its driver says it", .required = true});
            });
          });
  f.value("software", x.software, {.doc = "versions of what ran", .required = true},
          [](config::Value& v, ProbeDocument::Software& y) {
            v.object([&y](config::Fields& g) {
              g.open();
              g.text("driver", y.driver, {.doc = "of the device's driver"});
              g.text("cublas", y.cublas, {.doc = "of the library of products"});
              g.text("nccl", y.nccl, {.doc = "of the library of collectives"});
            });
          });
  f.list("rows", x.rows, {.doc = "what was measured, one kernel or transfer each", .required = true},
         [](config::Value& v, ProbeRow& row) { v.object([&row](config::Fields& g) { describe(g, row); }); });
}

std::string probe_document_schema() { return config::json_schema<ProbeDocument>(k_schema); }

MeasurementFile read_probe(const config::Node& node, const std::string& file_name) {
  Reading reading(file_name, Format::probe);
  ProbeDocument document;
  const config::Origins origins = config::read(node, document, reading.diagnostics());
  reading.diagnostics().raise_if_errors();
  if (!document.complete)
    reading.warn(1, "the probe was interrupted: only part of its rows are here", "run it again for the rest");
  MeasurementFile& result = reading.result();
  result.device = document.device.name;
  const auto software = [&](std::string_view name, const std::optional<std::string>& version) {
    if (version) result.software += fmt::format("{}{} {}", result.software.empty() ? "" : ", ", name, *version);
  };
  software("driver", document.software.driver);
  software("cublas", document.software.cublas);
  software("nccl", document.software.nccl);
  for (std::size_t i = 0; i < document.rows.size(); ++i) {
    const ProbeRow& row = document.rows[i];
    const config::Origin* origin = origins.find(fmt::format("rows[{}]", i));
    reading.add({.kind = row.kind,
                 .type = type_name(row.type),
                 .shape = row.shape,
                 .bytes = row.bytes,
                 .ranks = row.ranks,
                 .nodes = 1,
                 .time = row.time,
                 .method = Method::kernel,
                 .cache = row.cache == "cold"   ? CacheState::cold
                          : row.cache == "warm" ? CacheState::warm
                                                : CacheState::unstated,
                 .implementation = row.implementation,
                 .device = document.device.name,
                 .source = "cairn-probe",
                 .line = origin != nullptr ? origin->place.line : 0});
  }
  return reading.finish();
}

}  // namespace cairn::measure
