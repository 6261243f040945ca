// `mpirun -n N cairn search`: the bytes of one process, from any number of them; what a killed one leaves.
#include "catch.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/program.h"

using namespace cairn::cli_tests;

namespace {

namespace fs = std::filesystem;

constexpr const char* k_experiment = "llama3-70b-64xdgx-h100";

// The launcher's words: more ranks than cores, as root too, and none that waits keeps a core.
std::vector<std::string> together(int ranks, const std::vector<std::string>& words) {
  for (const char* const variable : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
    setenv(variable, "1", 1);
  setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // of MPI's own
  std::vector<std::string> all{"--oversubscribe",     "--bind-to",    "none",  CAIRN_RANKS,
                               std::to_string(ranks), CAIRN_SEARCHER, "search"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

// The process of a rank among those that have `marked` in their environment.
std::optional<pid_t> process_of(int rank, const std::string& marked) {
  std::error_code gone;
  for (const fs::directory_entry& each : fs::directory_iterator("/proc", gone)) {
    const std::string name = each.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string environment = '\0' + content(each.path() / "environ");
    const auto has = [&](const std::string& setting) {
      return environment.find('\0' + setting + '\0') != std::string::npos;
    };
    if (has(marked) && has("OMPI_COMM_WORLD_RANK=" + std::to_string(rank))) return std::stoi(name);
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("One, two and four processes print the same bytes") {
  const std::vector<std::string> words{k_experiment, "--json", "--threads", "1"};
  const Outcome alone = run(together(1, words));
  INFO(alone.err);
  REQUIRE(alone.code == 0);
  for (const int ranks : {2, 4}) {
    const Outcome outcome = run(together(ranks, words));
    INFO(ranks << " processes: " << outcome.err);
    CHECK(outcome.code == 0);
    CHECK(outcome.out == alone.out);
    CHECK(outcome.err.find("processes search together") != std::string::npos);
  }
}

// Open MPI knows of the processes that its own launcher has started; each of the others would answer for itself.
TEST_CASE("Processes that the launcher of another MPI has started are refused") {
  for (const char* const variable : {"PMI_SIZE", "MV2_COMM_WORLD_SIZE"}) {
    setenv(variable, "3", 1);
    const Outcome outcome = run(together(1, {k_experiment}));
    unsetenv(variable);
    INFO(variable << ": " << outcome.err);
    CHECK(outcome.code == 4);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("the MPI of this build knows of 1") != std::string::npos);
    CHECK(outcome.err.find("srun --mpi=pmix") != std::string::npos);
  }
}

TEST_CASE("What is wrong is told once, by the first, and ends all") {
  const Outcome outcome = run(together(3, {"no-such-experiment", "--json"}));
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  const std::size_t told = outcome.err.find("no-such-experiment");
  REQUIRE(told != std::string::npos);
  CHECK(outcome.err.find("error:", outcome.err.find("error:") + 1) == std::string::npos);
}

TEST_CASE("A killed process ends the search, which goes on from its journal to the same bytes") {
  const std::vector<std::string> words{k_experiment, "--json", "--threads", "1", "--exhaustive"};
  const Outcome whole = run(together(1, words));
  REQUIRE(whole.code == 0);
  const std::string marked = "CAIRN_TEST_RUN=" + scratch();
  setenv("CAIRN_TEST_RUN", scratch().c_str(), 1);
  for (const int victim : {0, 1}) {
    const std::string journal = scratch() + "/killed-" + std::to_string(victim) + ".journal";
    std::vector<std::string> resumed = words;
    resumed.insert(resumed.end(), {"--resume", journal});
    const std::string report = scratch() + "/report";
    const int launcher = start(together(2, resumed), report);
    // Some boxes are found, and more are to come.
    std::error_code none;
    const auto grown = [&](std::uintmax_t bytes) {
      return fs::exists(journal) && fs::file_size(journal, none) > bytes;
    };
    for (int wait = 0; wait < 60000 && !grown(20000); ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::optional<pid_t> process = process_of(victim, marked);
    REQUIRE(process);
    kill(*process, SIGKILL);
    CHECK(wait_for(launcher) != 0);
    CHECK(content(report).empty());  // half a report would look like one
    const std::uintmax_t left = fs::file_size(journal);
    const Outcome rest = run(together(2, resumed));
    INFO(rest.err);
    CHECK(rest.code == 0);
    CHECK(rest.out == whole.out);
    CHECK(fs::file_size(journal) > left);
  }
}
