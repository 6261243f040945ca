// Everything that was measured, or had to be assumed, about the kernels and transfers of one accelerator.
//
// Files: configs/calibration/<accelerator>.yaml, and fabrics.yaml for the networks between domains. Each set says
// whether its numbers were fitted to measurements of this accelerator or carried over from a neighbour, and from where;
// a prediction that rests on an assumed set says so.
//
// Rates belong to releases of libraries as much as to the chip. `libraries` holds what was measured of other releases
// than those of the file's own sets; frameworks' profiles name theirs, and use() puts its sets in place of these.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/cost/attention.h"
#include "cairn/cost/clock.h"
#include "cairn/cost/fit_record.h"
#include "cairn/cost/gemm.h"
#include "cairn/cost/kernel_time.h"
#include "cairn/cost/memory_bound.h"
#include "cairn/cost/number.h"
#include "cairn/cost/transfer.h"

namespace cairn::config {
class Fields;
class Loader;
struct Node;
}  // namespace cairn::config

namespace cairn::cost {

enum class Evidence : std::uint8_t { fitted, assumed };

struct Provenance {
  Evidence evidence = Evidence::assumed;
  std::string source = {};
};

struct GemmSet {
  std::string type = {};    // bf16 (all 16-bit types) | fp8 (one scale per tensor) | fp8-block
  double peak_flops = 0.0;  // the tensor peak the efficiency is relative to
  Provenance provenance = {};
  std::string remark = {};  // an assumption of every answer that rests on the set; empty: none
  GemmParameters parameters = {};
  // The clock at which these products run alone over `sustained` of the calibration; read where there is a limit of power.
  double relative_clock = 1.0;
  std::optional<FitRecord> fit = {};  // absent where the parameters were not fitted by `cairn calibrate`
};

// The type of the set that holds products of `type`: all 16-bit ones are one.
std::string_view gemm_set_type(std::string_view type);

struct AttentionSet {
  Provenance provenance = {};
  AttentionParameters parameters = {};
  std::optional<FitRecord> fit = {};
};

struct FlashSet {
  Provenance provenance = {};
  FlashParameters parameters = {};
  double relative_clock = 1.0;  // as of a GemmSet
};

// A kernel that writes a transposed copy, beside or instead of a plain one: its instructions rather than the memory limit
// what it reads and writes.
struct TransposeSet {
  std::string kernel = {};
  Provenance provenance = {};
  double bandwidth = 0.0;  // of device memory, read and written [B/s]
};

// The laws of a kernel that was measured over its sizes, by what it computes. An operator names its kernel by its
// variant.
struct KernelSet {
  std::string kernel = {};
  Provenance provenance = {};
  std::vector<std::int64_t> widths = {};  // of the rows that it is made for; empty: any
  std::optional<KernelLaw> forward = {};
  std::optional<KernelLaw> backward = {};    // derivatives of activations
  std::optional<KernelLaw> parameters = {};  // and of parameters, that other operators than products make
};
enum class KernelPass : std::uint8_t { forward, backward, parameters };

// Releases of libraries, by what differs from the file's own sets.
struct Libraries {
  std::optional<PowerLaw> power = {};  // of kernels that share a clock
  std::vector<GemmSet> gemm = {};
  std::vector<FlashSet> flash_attention = {};
  std::vector<KernelSet> kernels = {};
};

// What the kernels that carry out transfers take of the device they run on, beside the links. Each multiprocessor of a
// collective's kernel runs one channel, and there are as many as the links need: with b bytes sent by a rank in t seconds
//   multiprocessors held = min( multiprocessors, b / t / channel_bandwidth )
// not rounded, so that links a little faster never cost more.
struct CommunicationKernels {
  Provenance provenance = {};
  double multiprocessors = 0.0;          // held by a collective at most; 0: not known
  double channel_bandwidth = 0.0;        // that one channel carries [B/s]
  double message_multiprocessors = 0.0;  // by a message, on either side
  double memory_accesses = 0.0;          // bytes of device memory read and written per byte a rank sends
};

inline constexpr auto k_communication_numbers = std::to_array<Number<CommunicationKernels>>(
    {{.key = "multiprocessors",
      .member = &CommunicationKernels::multiprocessors,
      .rule = {.doc = "that a collective's kernel holds at most", .required = true, .positive = true}},
     {.key = "channel_bandwidth",
      .member = &CommunicationKernels::channel_bandwidth,
      .dimension = Dimension::bytes_per_second,
      .rule = {.doc = "what one multiprocessor of a collective carries", .required = true, .positive = true}},
     {.key = "message_multiprocessors",
      .member = &CommunicationKernels::message_multiprocessors,
      .rule = {.doc = "that a message's kernel holds on either side", .required = true}},
     {.key = "memory_accesses",
      .member = &CommunicationKernels::memory_accesses,
      .rule = {.doc = "bytes of device memory read and written per byte that a rank sends", .required = true}}});

struct Calibration {
  std::string name = {};
  std::string accelerator = {};
  // The rates all efficiencies are relative to: those of the accelerator that is priced, once carried over to it
  // (carried.h). tensor_flops belongs to each GemmSet.
  MachineRates machine = {};
  double gap_s = 0.0;  // device-side gap between kernels of a training step
  // Clock of kernels of one kind, run on and on, over that of short runs: 1/u of clock.h. Without `power` also their clock
  // in a training step, whatever else runs there.
  double sustained = 1.0;
  std::optional<PowerLaw> power = {};
  std::vector<GemmSet> gemm = {};
  std::optional<AttentionSet> attention_operator = {};
  std::vector<FlashSet> flash_attention = {};
  std::vector<TransposeSet> transposes = {};
  // Of the libraries in use, by kernel: sets for rows of some widths, and behind them that for rows of any.
  std::map<std::string, std::vector<KernelSet>, std::less<>> kernels = {};
  // By name. Once use() has taken one: what is left of it, which no set of the file's own holds.
  std::vector<std::pair<std::string, Libraries>> libraries = {};
  MemoryBoundParameters memory_bound = {};
  std::optional<FitRecord> memory_bound_fit = {};
  Provenance transfer_provenance = {};
  std::string fabric = {};  // a name of fabrics.yaml
  TransferLaws transfers = {};
  CommunicationKernels communication = {};  // from fabrics.yaml

  // Null when the accelerator has no such set.
  const GemmSet* find_gemm(std::string_view type) const;
  const FlashSet* find_flash(std::string_view kernel) const;
  // The law of a kernel for rows of this width: that of its first set, in the order of the file, that is for the width
  // or for any, so that widths with a set of their own go before the rest. Null: as all memory-bound kernels, also where
  // that set leaves the pass out. A file with two sets of a kernel for one width, or with one behind that of any width,
  // is refused.
  const KernelLaw* find_law(std::string_view kernel, KernelPass pass, std::int64_t width) const;
  // The law of memory-bound kernels for a kernel of this name; that of all of them where it has none of its own.
  MemoryBoundParameters memory_bound_of(std::string_view kernel) const;
  // The rates a set was fitted with.
  MachineRates rates(const GemmSet& set) const;
  // Sets of these libraries take the place of sets of the same type and kernel; libraries that are not listed, or no
  // name, leave the sets as they are. Written out and read again, the same libraries give the same prices.
  void use(std::string_view release);
  // Copies gap_s, sustained and what else all kernels have in common into every kernel set.
  void share_common();
};

// A network between domains, by name.
struct Fabric {
  Provenance provenance = {};
  FabricLaws laws = {};
};
struct Fabrics {
  std::vector<std::pair<std::string, Fabric>> all = {};
  std::optional<CommunicationKernels> communication = {};

  const Fabric* find(std::string_view name) const;
};

void describe(config::Fields& fields, Calibration& calibration);
void describe(config::Fields& fields, Fabrics& fabrics);

// By name in configs/calibration, with the fabric the file names.
// Throws core::ConfigurationError with everything wrong.
Calibration load_calibration(const config::Loader& loader, std::string_view name);
// A name, {file: name, overriding keys} or the whole block.
Calibration load_calibration(const config::Loader& loader, const config::Node& reference);
Fabrics load_fabrics(const config::Loader& loader);

}  // namespace cairn::cost
