// Attacks the surfaces of Cairn with changed inputs; one line of figures for each.
//
//   attack [--surface NAME] [--inputs N] [--total N] [--seconds S] [--seed K] [--first I] [--program FILE] [--save DIR]
//          [--jobs N]
//   attack --replay NAME FILE     one input; prints the complaint
//   attack --show NAME INDEX      the input of that number, with --seed
//
// --inputs and --seconds are of every surface, whatever comes first. --total: all surfaces in turn for a few seconds
// each, round after round, until so many inputs were tried; with --seconds no longer than that in all. --program: every
// input is a process of its own. Exit code 1 when anything was found that is not known.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/attack/attack.h"
#include "fuzz/attack/call.h"

namespace {

using namespace cairn::attack;

constexpr double k_turn = 10.0;  // seconds of a surface with --total

struct Options {
  Plan plan{.inputs = 1000};
  std::string surface;
  std::string replay;
  std::string show;
  std::uint64_t total = 0;  // 0: one turn of plan.inputs
  int jobs = 1;
};

[[noreturn]] void usage() {
  std::fprintf(stderr, "usage: see the head of tests/fuzz/programs/attack.cpp\n");
  std::exit(2);
}

Options parse(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string& name = words[i];
    const std::string& value = words[i + 1];
    if (name == "--surface")
      options.surface = value;
    else if (name == "--inputs")
      options.plan.inputs = std::stoull(value);
    else if (name == "--total")
      options.total = std::stoull(value);
    else if (name == "--seconds")
      options.plan.seconds = std::stod(value);
    else if (name == "--seed")
      options.plan.seed = std::stoull(value);
    else if (name == "--first")
      options.plan.first = std::stoull(value);
    else if (name == "--program")
      options.plan.program = std::filesystem::absolute(value);
    else if (name == "--save")
      options.plan.save = std::filesystem::absolute(value);
    else if (name == "--jobs")
      options.jobs = std::stoi(value);
    else if (name == "--replay" || name == "--show") {
      if (i + 2 >= words.size()) usage();
      (name == "--replay" ? options.replay : options.show) = words[i + 2];
      options.surface = value;
      ++i;
    } else
      usage();
  }
  return options;
}

int print(const Surface& surface, const Tally& tally) {
  std::string line(surface.name);
  line.resize(24, ' ');
  std::printf("%s %9llu inputs", line.c_str(), static_cast<unsigned long long>(tally.inputs));
  for (std::size_t code = 0; code < tally.codes.size(); ++code)
    std::printf("  %zu: %llu", code, static_cast<unsigned long long>(tally.codes[code]));
  std::printf("  known: %llu  found: %zu\n", static_cast<unsigned long long>(tally.known), tally.findings.size());
  for (const Finding& each : tally.findings)
    std::printf("    %llu: %s\n", static_cast<unsigned long long>(each.index), each.complaint.c_str());
  std::fflush(stdout);
  return tally.findings.empty() ? 0 : 1;
}

int replay(const Options& options) {
  const Surface* surface = find_surface(options.surface);
  if (surface == nullptr) usage();
  if (!options.show.empty()) {
    std::printf("%s", mutator_of(*surface).input(options.plan.seed, std::stoull(options.show)).c_str());
    return 0;
  }
  const std::string wrong = complaint_here(*surface, read_whole(options.replay));
  std::printf("%s\n", wrong.empty() ? "nothing to complain about" : wrong.c_str());
  return wrong.empty() ? 0 : 1;
}

// What all jobs did, seen by all.
struct Together {
  std::atomic<std::uint64_t> inputs, known, found;
};

void add(Tally& sum, const Tally& more) {
  sum.inputs += more.inputs;
  sum.known += more.known;
  for (std::size_t code = 0; code < sum.codes.size(); ++code) sum.codes[code] += more.codes[code];
  for (const Finding& each : more.findings) {
    const auto same = [&](const Finding& other) { return other.complaint == each.complaint; };
    if (std::none_of(sum.findings.begin(), sum.findings.end(), same)) sum.findings.push_back(each);
  }
}

// Surface i in job i mod jobs.
int run_job(const Options& options, int job, Together& together) {
  std::vector<const Surface*> mine;
  for (std::size_t i = 0; i < surfaces().size(); ++i)
    if (options.surface.empty() ? i % static_cast<std::size_t>(options.jobs) == static_cast<std::size_t>(job)
                                : job == 0 && surfaces()[i].name == options.surface)
      mine.push_back(&surfaces()[i]);
  std::vector<Mutator> mutators;
  for (const Surface* surface : mine) mutators.push_back(mutator_of(*surface));
  std::vector<Tally> tallies(mine.size());
  const auto start = std::chrono::steady_clock::now();
  const auto done = [&] {
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return together.inputs >= options.total || (options.plan.seconds > 0.0 && passed > options.plan.seconds);
  };
  do {
    for (std::size_t i = 0; i < mine.size(); ++i) {
      Plan plan = options.plan;
      plan.first += tallies[i].inputs;
      if (options.total > 0) plan.inputs = options.total;
      if (options.total > 0) plan.seconds = k_turn;
      const Tally tally = attack(*mine[i], mutators[i], plan);
      together.inputs += tally.inputs;
      together.known += tally.known;
      together.found += tally.findings.size();
      add(tallies[i], tally);
      std::fprintf(stderr, "%s: %llu inputs so far, %llu found\n", std::string(mine[i]->name).c_str(),
                   static_cast<unsigned long long>(together.inputs.load()),
                   static_cast<unsigned long long>(together.found.load()));
    }
  } while (!done());
  int code = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) code |= print(*mine[i], tallies[i]);
  return code;
}

int run_jobs(const Options& options) {
  auto* together = static_cast<Together*>(
      mmap(nullptr, sizeof(Together), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (together == MAP_FAILED) return 1;
  std::vector<pid_t> children;
  for (int job = 0; job < options.jobs; ++job) {
    const pid_t child = fork();
    if (child == 0) std::exit(run_job(options, job, *together));
    children.push_back(child);
  }
  int code = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    code |= WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
  const auto figure = [](const std::atomic<std::uint64_t>& value) {
    return static_cast<unsigned long long>(value.load());
  };
  std::printf("%zu surfaces, %llu inputs, %llu known, %llu found\n", surfaces().size(), figure(together->inputs),
              figure(together->known), figure(together->found));
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse({argv + 1, argv + argc});
  return options.replay.empty() && options.show.empty() ? run_jobs(options) : replay(options);
}
