// cairn-probe: see README.md.
#include <cublasLt.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>

#include "catalogue.h"
#include "document.h"
#include "measure.h"
#include "options.h"
#include "smi.h"

#ifdef CAIRN_PROBE_NCCL
#include <nccl.h>
#endif

namespace cairn::probe {

namespace {

volatile std::sig_atomic_t g_interrupted = 0;

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d", &utc)};
}

struct Visible {
  int count = 0;
  std::string why_none;
};

Visible visible_gpus() {
  Visible visible;
  const cudaError_t status = cudaGetDeviceCount(&visible.count);
  if (status != cudaSuccess) {
    visible.count = 0;
    visible.why_none = cudaGetErrorString(status);
  } else if (visible.count == 0) {
    visible.why_none = "no device is visible";
  }
  return visible;
}

std::string pci_address(int device) {
  char text[32] = {};
  check(cudaDeviceGetPCIBusId(text, sizeof text, device), "cudaDeviceGetPCIBusId");
  return text;
}

DeviceFacts device_facts(int device, int visible) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return {.name = properties.name,
          .visible = visible,
          .compute_capability = std::to_string(properties.major) + "." + std::to_string(properties.minor),
          .multiprocessors = properties.multiProcessorCount,
          .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
          .l2_bytes = properties.l2CacheSize,
          .memory_bus_bits = properties.memoryBusWidth};
}

SoftwareFacts software_facts() {
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  SoftwareFacts facts{.cuda_driver = cuda_version(driver),
                      .cuda_runtime = cuda_version(runtime),
                      .nvcc = CAIRN_PROBE_NVCC,
                      .cublas = cublas_version(cublasLtGetVersion()),
                      .nccl = std::nullopt};
#ifdef CAIRN_PROBE_NCCL
  int nccl = 0;
  if (ncclGetVersion(&nccl) == ncclSuccess) facts.nccl = nccl_version(nccl);
#endif
  return facts;
}

class Progress {  // on stderr
 public:
  explicit Progress(std::size_t rows) : rows_(rows) {}
  void tell(const Case& row, const std::string& result) {
    std::cerr << "cairn-probe: [" << ++done_ << '/' << rows_ << "] " << describe(row) << ": " << result << '\n';
  }

 private:
  std::size_t rows_, done_ = 0;
};

std::string microseconds(const Summary& time) {
  char text[64];
  constexpr double k_micro = 1e6;
  const int length = std::snprintf(text, sizeof text, "%.3f us (%.3f to %.3f, n %d)", time.median * k_micro,
                                   time.p10 * k_micro, time.p90 * k_micro, time.n);
  return {text, static_cast<std::size_t>(length)};
}

// Measures one row into the document; returns what to tell.
std::string measure_row(Context& context, const Sampler& sampler, const Case& row, Document& document, bool& wrong) {
  const Clock::time_point begin = Clock::now();
  try {
    const Run run = run_case(context, row);
    Case measured = row;
    if (!run.cache.empty()) measured.cache = run.cache;
    if (!run.comparison.passed()) {
      wrong = true;
      std::string reason = "wrong result: off by " + std::to_string(run.comparison.worst()) + " times the tolerance";
      document.skipped.push_back({measured, reason});
      return reason;
    }
    const Summary time = summarise(run.samples);
    document.rows.push_back(
        {measured, time, run.comparison.samples(), run.comparison.worst(), sampler.between(begin, Clock::now())});
    return microseconds(time);
  } catch (const NotMeasurable& reason) {
    document.skipped.push_back({row, reason.what()});
    return std::string("skipped: ") + reason.what();
  }
}

int measure_all(const Options& options, const std::vector<Case>& rows, Document& document) {
  Context context;
  context.timing = options.quick ? quick() : thorough();
  context.device = options.device;
  context.l2_bytes = document.device.l2_bytes;
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, options.device), "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, options.device), "cudaDeviceGetAttribute");
  context.compute_capability = 10 * major + minor;
  const Sampler sampler(pci_address(options.device));
  Progress progress(rows.size());
  bool wrong = false;
  for (const Case& row : rows) {
    if (g_interrupted != 0) return k_interrupted;
    try {
      progress.tell(row, measure_row(context, sampler, row, document, wrong));
    } catch (const DeviceError& failure) {
      document.skipped.push_back({row, std::string("the GPU failed: ") + failure.what()});
      progress.tell(row, failure.what());
      return k_failed;
    }
  }
  document.complete = true;
  if (document.rows.empty())
    std::cerr << "cairn-probe: nothing could be measured"
              << (rows.empty() ? ": collectives need two visible GPUs\n" : ": the document says why\n");
  return wrong || document.rows.empty() ? k_negative : k_ok;
}

// The document goes to FILE.part first: FILE is whole or not there.
class Output {
 public:
  explicit Output(std::string path) : path_(std::move(path)) {
    if (!path_.empty()) file_.open(path_ + ".part");
  }
  bool usable() const { return path_.empty() || file_.is_open(); }
  bool write(const std::string& text) {
    std::ostream& to = path_.empty() ? std::cout : file_;
    to << text << std::flush;
    if (!to) return false;
    if (path_.empty()) return true;
    file_.close();
    return file_ && std::rename((path_ + ".part").c_str(), path_.c_str()) == 0;
  }

 private:
  std::string path_;
  std::ofstream file_;
};

int list(const Options& options) {
  constexpr int k_assumed_gpus = 8;  // where none is visible
  const int gpus = visible_gpus().count;
  for (const Case& row : catalogue({.only = options.only,
                         .quick = options.quick,
                         .cache = options.cache,
                         .gpus = gpus > 0 ? gpus : k_assumed_gpus}))
    std::cout << describe(row) << '\n';
  return std::cout.flush() ? k_ok : k_output;
}

int probe(const Options& options) {
  const Visible visible = visible_gpus();
  if (visible.count == 0) {
    std::cerr << "cairn-probe: no GPU to measure: " << visible.why_none << '\n';
    return k_no_gpu;
  }
  if (options.device >= visible.count) {
    std::cerr << "cairn-probe: --device " << options.device << ": only " << visible.count << " GPUs are visible\n";
    return k_usage;
  }
  Output output(options.output);
  if (!output.usable()) {
    std::cerr << "cairn-probe: cannot write " << options.output << '\n';
    return k_output;
  }
  check(cudaSetDevice(options.device), "cudaSetDevice");
  Document document{.version = CAIRN_PROBE_VERSION, .date = today(), .options = options};
  document.device = device_facts(options.device, visible.count);
  document.software = software_facts();
  document.inventory = take_inventory(pci_address(options.device));
  const int code = measure_all(
      options, catalogue({.only = options.only, .quick = options.quick, .cache = options.cache, .gpus = visible.count}),
      document);
  if (!output.write(to_text(document))) {
    std::cerr << "cairn-probe: cannot write " << (options.output.empty() ? "stdout" : options.output) << '\n';
    return k_output;
  }
  return code;
}

int run(const std::vector<std::string>& arguments) {
  try {
    const Options options = parse_options(arguments);
    if (options.help) {
      std::cout << help_text();
      return k_ok;
    }
    if (options.list) return list(options);
    std::signal(SIGINT, [](int) { g_interrupted = 1; });
    return probe(options);
  } catch (const UsageError& error) {
    std::cerr << "cairn-probe: " << error.what() << '\n';
    return k_usage;
  } catch (const std::exception& error) {
    std::cerr << "cairn-probe: " << error.what() << '\n';
    return k_failed;
  }
}

}  // namespace

}  // namespace cairn::probe

int main(int argc, char** argv) { return cairn::probe::run({argv + 1, argv + argc}); }
