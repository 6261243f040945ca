// nccl-tests -J: {version, args: [program, ...], nccl_version, config: {nthreads, ngpus, devices: [...]}, results:
// [...]}. `devices` has one entry per process (its first rank), so ranks = devices x nthreads x ngpus.
#include <set>

#include <fmt/format.h>

#include "cairn/config/read.h"
#include "nccl_collective.h"
#include "reading.h"

namespace cairn::measure {
namespace {

constexpr std::int64_t k_most = 1 << 20;  // processes, threads, GPUs

struct Device {
  std::string host = {};
  std::string name = {};
};
struct Body {
  std::optional<double> time = {};
  std::optional<double> bandwidth = {};
  std::optional<double> bus_bandwidth = {};
  std::optional<double> wrong = {};  // absent where nothing was checked
};
struct Result {
  std::int64_t bytes = 0;
  std::string type = {};
  std::optional<Body> out_of_place = {};
  std::optional<Body> in_place = {};
};
struct Settings {
  std::int64_t threads = 1;
  std::int64_t gpus = 1;
  std::vector<Device> devices = {};
};
struct Bounds {
  std::int64_t count = 0;
};
struct Document {
  std::vector<std::string> arguments = {};
  std::int64_t version = 0;
  Settings settings = {};
  std::vector<Result> results = {};
  std::optional<Bounds> out_of_bounds = {};
};

void describe(config::Fields& f, Device& x) {
  f.open();
  f.text("hostname", x.host);
  f.text("device_info", x.name);
}
void describe(config::Fields& f, Body& x) {
  f.open();
  f.number("time", x.time);
  f.number("alg_bw", x.bandwidth);
  f.number("bus_bw", x.bus_bandwidth);
  f.number("nwrong", x.wrong);
}
void describe(config::Fields& f, Result& x) {
  f.open();
  f.count("size", x.bytes, {.required = true});
  f.text("type", x.type);
  f.object("out_of_place", x.out_of_place);
  f.object("in_place", x.in_place);
}
void describe(config::Fields& f, Settings& x) {
  f.open();
  f.count("nthreads", x.threads, {.required = true, .minimum = 1, .maximum = k_most});
  f.count("ngpus", x.gpus, {.required = true, .minimum = 1, .maximum = k_most});
  f.objects("devices", x.devices);
}
void describe(config::Fields& f, Bounds& x) {
  f.open();
  f.count("count", x.count);
}
void describe(config::Fields& f, Document& x) {
  f.open();
  f.texts("args", x.arguments);
  f.count("nccl_version", x.version);
  f.object("config", x.settings, {.required = true});
  f.objects("results", x.results, {.required = true});
  f.object("out_of_bounds", x.out_of_bounds);
}

void add(const Document& document, const Result& result, const Measurement& common, int line, NcclTable& table,
         Reading& reading) {
  if (result.bytes == 0) return reading.skip(line, "a message of 0 bytes");
  const std::optional<Body>& body =
      result.out_of_place && result.out_of_place->time ? result.out_of_place : result.in_place;
  if (!body || !body->time) return reading.skip(line, "no time (cpu_time is the processor's)");
  const double seconds = *body->time * k_micro;
  const double computed = static_cast<double>(result.bytes) / seconds / k_giga;
  if (body->bandwidth && contradicts(*body->bandwidth, computed, k_least_bandwidth)) {
    return reading.error(line,
                         fmt::format("{} B in {} us make {:.3g} GB/s, alg_bw says {}", result.bytes, *body->time,
                                     computed, *body->bandwidth),
                         "mixed units: nccl-tests writes B, us and GB/s");
  }
  for (const std::optional<Body>& each : {result.out_of_place, result.in_place}) {
    if (!each || each->wrong.value_or(0.0) == 0.0) continue;
    return reading.error(line, fmt::format("the test found {} wrong values", *each->wrong),
                         "times of a failing run mean nothing: mend it first");
  }
  Measurement row = common;
  row.type = type_name(result.type);
  row.bytes = static_cast<double>(result.bytes);
  row.time = single_time(seconds);
  row.line = line;
  row.implementation = fmt::format("nccl {}", document.version);
  const auto text = [](const std::optional<double>& number) {
    return number ? fmt::format("{}", *number) : std::string();
  };
  table.rows.push_back(
      {.measured = std::move(row), .busbw_to_algbw = printed_ratio(text(body->bus_bandwidth), text(body->bandwidth))});
}

}  // namespace

MeasurementFile read_nccl_json(const config::Node& node, const std::string& file_name, const ReadOptions& options) {
  Reading reading(file_name, Format::nccl_tests_json);
  Document document;
  const config::Origins origins = config::read(node, document, reading.diagnostics());
  reading.diagnostics().raise_if_errors();

  Measurement common;
  common.source = "nccl-tests";
  CollectiveClues clues{.option = options.collective};
  for (const std::string& argument : document.arguments) {
    if (clues.program.empty() && (nccl_test(argument) != nullptr || argument.ends_with("_perf")))
      clues.program = argument;
  }
  std::set<std::string> hosts, names;
  for (const Device& device : document.settings.devices) {
    hosts.insert(device.host);
    names.insert(device.name);
  }
  const auto processes = static_cast<std::int64_t>(std::max<std::size_t>(1, document.settings.devices.size()));
  NcclTable table{.line = 1, .ranks = processes * document.settings.threads * document.settings.gpus};
  common.nodes = static_cast<std::int64_t>(std::max<std::size_t>(1, hosts.size()));
  if (names.size() == 1) common.device = *names.begin();
  if (names.size() > 1) reading.error(1, "several kinds of device", "measure one kind of device at a time");
  if (table.ranks < 2) reading.error(1, "one rank only", "run with -g 8, or several processes");
  if (document.out_of_bounds && document.out_of_bounds->count > 0)
    reading.error(1, "the test found wrong results", "times of a failing run mean nothing: mend it first");
  if (!reading.diagnostics().has_errors()) {
    for (std::size_t i = 0; i < document.results.size(); ++i) {
      const config::Origin* origin = origins.find(fmt::format("results[{}]", i));
      add(document, document.results[i], common, origin != nullptr ? origin->place.line : 0, table, reading);
    }
    if (!table.rows.empty()) settle_collective(std::move(table), clues, reading);
  }
  reading.result().device = common.device;
  reading.result().software = fmt::format("nccl {}", document.version);
  return reading.finish();
}

}  // namespace cairn::measure
