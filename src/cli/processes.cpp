#include "processes.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/workers.h"

namespace cairn::cli {
namespace {

constexpr const char* k_library = "cairn-mpi.so";
constexpr const char* k_begin = "cairn_mpi_wire";  // src/mpi.cpp

// 0: the launcher says none.
std::int64_t number_of(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return 0;
  const std::string_view digits(text);
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.begin(), digits.end(), number);
  return problem == std::errc() && end == digits.end() ? number : 0;
}

// Beside the program, where it was built; among libraries, where it was installed.
std::string library() {
  namespace fs = std::filesystem;
  std::error_code problem;
  const fs::path folder = fs::read_symlink("/proc/self/exe", problem).parent_path();
  for (const fs::path& each : {folder, folder.parent_path() / CAIRN_LIBDIR / "cairn"})
    if (fs::exists(each / k_library, problem)) return each / k_library;
  return {};
}

std::unique_ptr<search::Wire> wire_to_others() {
  const std::int64_t count = started_together();
  if (count <= 1) return nullptr;
  const auto cannot = [&](const std::string& why, const char* remedy = "start one, without mpirun") {
    return core::CapabilityError(
        fmt::format("{} processes were started to search together, and {}; {}", count, why, remedy));
  };
  const std::string file = library();
  if (file.empty())
    throw cannot("this build has no MPI (it is built in where Open MPI is found: libopenmpi-dev and openmpi-bin)");
  // What MPI loads in turn looks for names of MPI.
  void* const loaded = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (loaded == nullptr) throw cannot(fmt::format("MPI cannot be loaded: {}", dlerror()));
  const auto begin = reinterpret_cast<search::Wire* (*)()>(dlsym(loaded, k_begin));
  if (begin == nullptr) throw cannot(fmt::format("{} is of another version", file));
  std::unique_ptr<search::Wire> wire(begin());
  if (!wire) throw cannot("this MPI allows no threads");
  // The launcher of another MPI leaves each of them alone, and each would answer.
  if (wire->ranks() != static_cast<std::size_t>(count))
    throw cannot(fmt::format("the MPI of this build knows of {}, as under the launcher of another MPI", wire->ranks()),
                 "start them by the mpirun of Open MPI or by srun --mpi=pmix, or start one, without mpirun");
  return wire;
}

}  // namespace

std::int64_t started_together() {
  // Of Open MPI; of MPICH and what comes of it; of MVAPICH; of jsrun. A script under one may have been started by
  // another.
  std::int64_t most = 0;
  for (const char* const variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "JSM_NAMESPACE_SIZE"})
    most = std::max(most, number_of(variable));
  if (most > 0) return most;
  // By srun --mpi=pmix. Without this variable Slurm's other ones are those of a script that runs a single process.
  if (std::getenv("PMIX_RANK") == nullptr) return 1;
  return std::max<std::int64_t>(1, number_of("SLURM_STEP_NUM_TASKS"));
}

bool launcher_gives_no_time() {
  const bool by_slurm =
      std::getenv("SLURM_STEP_NUM_TASKS") != nullptr && std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
  return !by_slurm && (number_of("OMPI_COMM_WORLD_SIZE") > 0 || number_of("PMI_SIZE") > 0);
}

void refuse_several(const std::string& what) {
  const std::int64_t count = started_together();
  if (count > 1)
    throw core::ConfigurationError("cairn search",
                                   fmt::format("{} processes were started, and {} is done by one alone", count, what),
                                   "start it without mpirun");
}

Processes::Processes() : wire_(wire_to_others()) {
  // Where the first is asked to end it tells the others, once its answer is written.
  if (!first())
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);
}

Processes::~Processes() {
  if (!wire_ || !first()) return;
  try {
    search::dismiss(*wire_);
  } catch (const std::exception&) {
    // Whatever the others have said instead, the answer is out, and the launcher ends them with this process.
  }
}

std::size_t Processes::threads(std::int64_t asked) const {
  const std::size_t all = core::threads(asked);
  if (!wire_ || asked > 0) return all;
  const auto cores = static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  return std::min(all, std::max<std::size_t>(1, cores / wire_->ranks_here()));
}

}  // namespace cairn::cli
