// Why one experiment's step takes longer than another's: by cause and by setting.
//
//   difference = time of B - time of A
//              = sum over terms of the step ( B's - A's )           predict::Breakdown, Causes
//              = sum over settings that differ of their shares      settings.h, shares.h
//
// in whole picoseconds, so that either sum is exact. Shares come from runs of experiments in between, of which some
// settings are A's and the others B's; whether these fit into memory does not matter for their time.
//
// Either may be a result document (cairn.run/1). Its experiment is run again; where the time is not the document's,
// because another version of Cairn or other configurations made it, the document's seconds are compared, each rounded to
// whole picoseconds: what its terms then lack of its step counts as `other`, and what the runs of now differ less than
// the documents do as Difference::unexplained.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/config/sources.h"
#include "cairn/contrast/settings.h"
#include "cairn/contrast/shares.h"
#include "cairn/predict/prediction.h"

namespace cairn::contrast {

// Terms of a step in the order of result documents.
inline constexpr std::array<std::string_view, 14> k_terms{
    "compute",    "recompute",       "launch", "tp_exposed", "cp_exposed", "ep_exposed",    "pp_exposed",
    "dp_exposed", "offload_exposed", "bubble", "optimizer",  "host",       "links_exposed", "other"};
using Terms = std::array<core::Picoseconds, k_terms.size()>;
Terms terms_of(const predict::Breakdown& breakdown);

// What a result document says of its step. [ps]
struct Recorded {
  core::Picoseconds time = 0;
  std::optional<core::Picoseconds> analytic = {};  // by the analytic engine, where it ran
  Terms terms = {};                                // add up to `time`
};

// An experiment to compare, and what a document says of its step where it comes from one.
struct Compared {
  std::string file = {};  // as it was named
  experiment::LoadedExperiment experiment = {};
  std::optional<Recorded> recorded = {};
  std::optional<Deciding> deciding = {};  // what decides the experiment; none: it is found out
};
// By its name on the command line. With overrides it is another experiment than the document's. Throws
// core::ConfigurationError for what can be read as neither an experiment nor a result.
Compared read(const config::Loader& loader, const std::string& name, const std::vector<std::string>& overrides = {});

struct Side {
  std::string file = {};           // as it was named
  std::string name = {};           // of the experiment
  core::Picoseconds time = 0;      // that is compared
  core::Picoseconds time_now = 0;  // of the run
  bool recorded = false;           // `time` is that of a document which this version does not give
  Terms terms = {};                // of `time`
  predict::Causes causes = {};     // of the run
  predict::MemoryReport memory = {};
  bool fits = true;
};

struct Part {
  std::string_view term = {};  // of k_terms
  core::Picoseconds a = 0;
  core::Picoseconds b = 0;
  core::Picoseconds difference() const { return b - a; }
};
// A cause along the critical path, over all stages.
struct CausePart {
  predict::Cause cause = predict::Cause::compute;
  program::Axis axis = program::Axis::tensor;
  core::Picoseconds a = 0;
  core::Picoseconds b = 0;
  core::Picoseconds difference() const { return b - a; }
};

// Settings that differ and that were changed together.
struct Share {
  std::vector<Difference> settings = {};
  std::vector<std::string> reasons = {};  // why they cannot be changed one by one
  core::Picoseconds time = 0;
};

struct Answer {
  Side a, b;
  std::vector<Part> parts = {};                       // of both steps, the largest difference first
  std::optional<std::vector<CausePart>> causes = {};  // likewise; none where a document's own time is compared
  std::vector<Share> shares = {};                     // the largest first
  core::Picoseconds unexplained = 0;                  // of the difference: neither run of now has it
  std::vector<Difference> untimed = {};               // that differ, too, and do not bear on the time
  bool all_orders = true;                             // false: shares are means of two orders
  std::size_t runs = 0;                               // of experiments in between and of both themselves
  std::vector<std::string> notes = {};                // about the documents
  core::Picoseconds difference() const { return b.time - a.time; }
};

struct Request {
  const config::Loader& loader;
  const Compared& a;
  const Compared& b;
  predict::Engine engine = predict::Engine::analytic;  // analytic or event
  std::function<void(std::size_t done, std::size_t of)> progress = {};
};

// Throws core::ConfigurationError for an experiment that cannot run.
Answer difference(const Request& request);

// What the document says, at its places. Throws core::ConfigurationError where it lacks a time or holds none. None:
// `node` is no document.
std::optional<Recorded> recorded(const config::Node& node);

}  // namespace cairn::contrast
