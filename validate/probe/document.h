// The document cairn.measurement/1 (README.md), and how a row gets into it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "case.h"
#include "options.h"
#include "smi.h"
#include "statistics.h"

namespace cairn::probe {

struct DeviceFacts {
  std::string name;
  int visible = 0;
  std::string compute_capability;
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  int memory_bus_bits = 0;
};

struct SoftwareFacts {
  std::string cuda_driver, cuda_runtime, nvcc, cublas;
  std::optional<std::string> nccl;
};

struct Measured {
  Case row;
  Summary time = {};
  int check_samples = 0;
  double check_worst = 0;
  std::optional<Reading> state = {};
};

struct Skipped {
  Case row;
  std::string reason;
};

struct Document {
  std::string version, date;
  bool complete = false;
  Options options = {};
  DeviceFacts device = {};
  SoftwareFacts software = {};
  Inventory inventory = {};
  std::vector<Measured> rows = {};
  std::vector<Skipped> skipped = {};
};

std::string to_text(const Document& document);

// As each library counts its versions: 13000 -> "13.0", 22809 -> "2.28.9", 130002 -> "13.0.2".
std::string cuda_version(int code);
std::string nccl_version(int code);
std::string cublas_version(std::size_t code);

}  // namespace cairn::probe
