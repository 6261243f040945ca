// What is written: whole or not at all, never over what is read.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"
#include "support/asked.h"
#include "support/source_dir.h"

using namespace cairn::cli_tests;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* k_experiment = "llama3-70b-64xdgx-h100";
const std::string k_source = cairn::testing::source_dir();

std::string shipped(const std::string& file) { return content(k_source + "/configs/" + file); }

std::string small_trace() {
  std::string text;
  for (int i = 0; i < 4; ++i)
    text += "r " + std::to_string(i) + "\nr " + std::to_string(i + 1) + "\nop\nw " + std::to_string(i + 10) + "\n";
  return text;
}

// A command that writes a file, with OUT in place of its name.
struct Writer {
  std::string name;
  std::vector<std::string> arguments;
};

std::vector<Writer> writers() {
  const std::string batch = write_file("writers/in.jsonl", [] {
    std::string lines;
    for (int i = 0; i < 5; ++i) lines += "{\"file\": \"llama3-8b-fsdp-dgx-h100\"}\n";
    return lines;
  }());
  const std::string moves = write_file("writers/graph.txt", "v a in\nv b in\nv c out\ne a c\ne b c\n");
  return {
      {"run", {"run", k_experiment, "--json", "-o", "OUT"}},
      {"run as text", {"run", k_experiment, "-o", "OUT"}},
      {"timeline", {"run", "llama3-8b-fsdp-dgx-h100", "--trace", "OUT"}},
      {"memory, picture", {"run", k_experiment, "--memory-svg", "OUT"}},
      {"run, page", {"run", k_experiment, "--html", "OUT"}},
      {"search, page", {"search", "llama3-8b-fsdp-dgx-h100", "--html", "OUT"}},
      {"sweep, page", {"sweep", "llama3-8b-fsdp-dgx-h100", "--vary", "training.seq_len=1024,2048", "--html", "OUT"}},
      {"batch", {"run", "--batch", batch, "--engine", "analytic", "-o", "OUT"}},
      {"schedule", {"schedule", "1f1b", "--stages", "8", "--micro-batches", "4096", "--json", "-o", "OUT"}},
      {"schedule, picture", {"schedule", "1f1b", "--stages", "8", "--micro-batches", "64", "--svg", "OUT"}},
      {"topology", {"topology", "dgx-h100", "--json", "-o", "OUT"}},
      {"topology, picture", {"topology", "dgx-h100", "--svg", "OUT"}},
      {"topology, graph", {"topology", "dgx-h100", "--dot", "OUT"}},
      {"partition", {"partition", "llama3-8b-fsdp-dgx-h100", "--devices", "4", "-o", "OUT"}},
      {"attention", {"attention", "--cluster", "dgx-h100", "--seq", "2Ki", "--heads", "8", "-o", "OUT"}},
      {"attention, picture", {"attention", "--cluster", "dgx-h100", "--seq", "2Ki", "--heads", "8", "--plot", "OUT"}},
      {"bound", {"bound", "matmul m=64 n=64 k=64", "--fast", "1024", "--json", "-o", "OUT"}},
      {"moves", {"bound", "--cdag", moves, "--fast", "4", "--write-moves", "OUT"}},
      {"validate, picture", {"validate", "korthikanti2022_table5", "--plot", "OUT"}},
      {"config show", {"config", "show", k_experiment, "-o", "OUT"}},
      {"config list", {"config", "list", "-o", "OUT"}},
      {"config model", {"config", "model", "llama-3.1-8b", "-o", "OUT"}},
      {"schema", {"schema", "experiment", "-o", "OUT"}}};
}

std::vector<std::string> to(const Writer& writer, const std::string& file) {
  std::vector<std::string> arguments = writer.arguments;
  for (std::string& argument : arguments)
    if (argument == "OUT") argument = file;
  return arguments;
}

// Names in `folder`.
std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

// An empty folder.
std::string fresh(const std::string& name) {
  const std::string folder = scratch() + "/" + name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

constexpr const char* k_old = "what was there before\n";

}  // namespace

TEST_CASE("Every file that is written arrives whole, and nothing lies beside it") {
  for (const Writer& writer : writers()) {
    INFO(writer.name);
    const std::string folder = fresh("whole");
    const std::string file = folder + "/out";
    const int code = run(to(writer, file)).code;
    CHECK(code <= 1);
    const std::string first = content(file);
    CHECK_FALSE(first.empty());
    std::ofstream(file) << k_old;
    CHECK(run(to(writer, file)).code == code);
    CHECK(content(file) == first);
    CHECK(names_in(folder) == std::set<std::string>{"out"});
  }
}

// CAIRN_KILLS=500 for the whole of it.
TEST_CASE("Killed at any moment, a name holds the old file or the new one") {
  constexpr int k_kills = 3;  // of each command
  const int kills = static_cast<int>(cairn::test::asked("CAIRN_KILLS", k_kills));
  std::mt19937 random(20261122);
  for (const Writer& writer : writers()) {
    const std::string folder = fresh("killed");
    const std::string file = folder + "/out";
    const auto start_of_run = std::chrono::steady_clock::now();
    REQUIRE(run(to(writer, file)).code <= 1);
    const double whole_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_of_run).count();
    const std::string whole = content(file);
    int old = 0;
    int made = 0;
    for (int kill_number = 0; kill_number < kills; ++kill_number) {
      std::ofstream(file, std::ios::binary | std::ios::trunc) << k_old;
      const int process = start(to(writer, file));
      usleep(static_cast<useconds_t>(1e6 * std::uniform_real_distribution(0.0, 1.2 * whole_s)(random)));
      kill(process, SIGKILL);
      wait_for(process);
      const std::string found = content(file);
      (found == k_old ? old : made) += 1;
      INFO(writer.name);
      INFO(found.size());
      CHECK((found == k_old || found == whole));
    }
    if (kills != k_kills)
      WARN(writer.name << ": " << kills << " kills, " << old << " left the old file, " << made << " the new one");
  }
}

TEST_CASE("No input is ever an output, by whatever name") {
  const std::string folder = fresh("inputs");
  const auto given = [&](const std::string& name, const std::string& text) {
    return write_file("inputs/" + name, text);
  };
  const std::string experiment = given("e.yaml", "extends: base.yaml\nname: mine\n");
  const std::string base = given("base.yaml", shipped("experiments/llama3-8b-fsdp-dgx-h100.yaml"));
  const std::string piped = given(
      "piped.yaml", "extends: base.yaml\nstrategy: {pp: 4, zero: 0}\ntraining: {framework: megatron, kernels: ~}\n");
  const std::string calibration = given("mine.yaml", shipped("calibration/h100-sxm5-80gb.yaml"));
  const std::string batch = given("in.jsonl", "{\"file\": \"./e.yaml\"}\n");
  const std::string flows = given("flows.csv", "src,dst,bytes,start_s,after\n0,1,1000,0,\n");
  const std::string graph = given("graph.txt", "v a in\nv b out\ne a b\n");
  const std::string trace = given("trace.txt", small_trace());
  const std::string schedule =
      given("schedule.yaml", "version: 1\nname: x\nstages: 1\nmicro_batches: 1\ndevices:\n  - [F0, B0]\n");
  const std::string probe = given("all_reduce_perf.txt", "# nothing of use\n");
  const std::string xml = given("topo.xml", "<system/>\n");
  struct Case {
    std::vector<std::string> arguments;  // OUT: where the output goes
    std::string input;
  };
  const std::vector<Case> cases{{{"run", experiment, "-o", "OUT"}, experiment},
                                {{"run", experiment, "--trace", "OUT"}, experiment},
                                {{"run", experiment, "--html", "OUT"}, base},
                                {{"search", experiment, "--html", "OUT"}, experiment},
                                {{"sweep", experiment, "--vary", "training.seq_len=1024", "--html", "OUT"}, base},
                                {{"run", experiment, "-o", "OUT"}, base},
                                {{"run", experiment, "--trace", "OUT"}, base},
                                {{"run", experiment, "--set", "calibration=" + calibration, "-o", "OUT"}, calibration},
                                {{"run", "--batch", batch, "-o", "OUT"}, batch},
                                {{"run", "--batch", batch, "-o", "OUT"}, base},
                                {{"config", "show", experiment, "-o", "OUT"}, base},
                                {{"topology", "star-8", "--flows", flows, "-o", "OUT"}, flows},
                                {{"topology", "star-8", "--flows", flows, "--svg", "OUT"}, flows},
                                {{"topology", "star-8", "--flows", flows, "--dot", "OUT"}, flows},
                                {{"bound", "--cdag", graph, "--fast", "4", "--write-moves", "OUT"}, graph},
                                {{"bound", "--trace", trace, "--fast", "4", "-o", "OUT"}, trace},
                                {{"schedule", "--file", schedule, "--svg", "OUT"}, schedule},
                                {{"schedule", "--compare", "--experiment", piped, "-o", "OUT"}, base},
                                {{"calibrate", probe, "-o", "OUT"}, probe},
                                {{"validate", "--data", folder, "-o", "OUT"}, flows},
                                {{"import", "nccl-topo", xml, "-o", "OUT"}, xml},
                                {{"export", "megatron", experiment, "-o", "OUT"}, base}};
  const std::string symbolic = folder + "/symbolic";
  const std::string hard = folder + "/hard";
  for (const Case& each : cases) {
    const std::string before = content(each.input);
    fs::remove(symbolic);
    fs::remove(hard);
    fs::create_symlink(fs::path(each.input).filename(), symbolic);
    fs::create_hard_link(each.input, hard);
    const std::set<std::string> names = names_in(folder);
    for (const std::string& out : {each.input, symbolic, hard}) {
      const Outcome outcome = run(to({{}, each.arguments}, out));
      INFO(each.arguments[0] << " " << each.arguments[1] << " over " << out << ": " << outcome.err);
      CHECK(outcome.code == 2);
      CHECK(outcome.err.find("this command reads it") != std::string::npos);
      CHECK(content(each.input) == before);
    }
    std::set<std::string> after = names_in(folder);
    // What a batch has answered stays beside.
    for (auto name = after.begin(); name != after.end();)
      name = each.arguments[1] == "--batch" && name->find(".tmp.") != std::string::npos ? after.erase(name)
                                                                                        : std::next(name);
    CHECK(after == names);
  }
}

TEST_CASE("Two results do not go to one file") {
  const std::string file = fresh("twice") + "/out";
  const Outcome outcome = run({"run", k_experiment, "-o", file, "--trace", file});
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("two results") != std::string::npos);
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("Nothing is touched before all input is known to be readable") {
  const std::string folder = fresh("untouched");
  const std::string file = write_file("untouched/results.jsonl", k_old);
  CHECK(run({"run", "--batch", folder + "/typo.jsonl", "-o", file}).code == 2);
  CHECK(run({"run", "nothing-like-it", "-o", file}).code == 2);
  CHECK(content(file) == k_old);
  CHECK(names_in(folder).size() == 1);
}

TEST_CASE("A full disk leaves the old file") {
  const std::string folder = fresh("full");
  if (mount("none", folder.c_str(), "tmpfs", 0, "size=8k") != 0) {
    WARN("no file system may be mounted here: a full disk is not checked");
    return;
  }
  const std::string file = folder + "/out";
  std::ofstream(file) << k_old;
  for (const Writer& writer : writers()) {
    const Outcome outcome = run(to(writer, file));
    INFO(writer.name << ": " << outcome.err);
    const bool small = outcome.code <= 1;  // found room beside the old one
    if (!small) {
      CHECK(outcome.code == 3);
      CHECK(outcome.err.find(file + ": cannot be written: No space left") != std::string::npos);
      CHECK(content(file) == k_old);
    }
    for (const std::string& name : names_in(folder))
      if (name != "out") {
        CHECK(writer.name == "batch");
        CHECK(outcome.err.find(name) != std::string::npos);
        fs::remove(folder + "/" + name);
      }
    std::ofstream(file) << k_old;
  }
  umount(folder.c_str());
}

TEST_CASE("Links are followed, permissions kept, pipes and devices written directly") {
  const std::string folder = fresh("links");
  const std::vector<std::string> command{"schema", "fill", "-o"};
  const auto write_to = [&](const std::string& file) {
    std::vector<std::string> arguments = command;
    arguments.push_back(file);
    return run(arguments);
  };
  const std::string expected = run({"schema", "fill"}).out;
  fs::create_directory(folder + "/behind");
  const std::string target = write_file("links/behind/file", k_old);
  fs::permissions(target, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  fs::create_symlink("behind/file", folder + "/link");
  fs::create_symlink("link", folder + "/chain");
  CHECK(write_to(folder + "/chain").code == 0);
  CHECK(fs::is_symlink(folder + "/chain"));
  CHECK(fs::is_symlink(folder + "/link"));
  CHECK(content(target) == expected);
  CHECK(fs::status(target).permissions() == (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
  fs::create_symlink("behind/new", folder + "/dangling");
  CHECK(write_to(folder + "/dangling").code == 0);
  CHECK(content(folder + "/behind/new") == expected);

  const mode_t mask = umask(027);
  CHECK(write_to(folder + "/made").code == 0);
  umask(mask);
  CHECK((fs::status(folder + "/made").permissions() & fs::perms::mask) ==
        (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));

  CHECK(write_to("/dev/stdout").out == expected);
  CHECK(write_to("/dev/null").code == 0);
  const std::string pipe = folder + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int process = start({"schema", "fill", "-o", pipe});
  CHECK(content(pipe) == expected);
  CHECK(wait_for(process) == 0);
  CHECK(fs::is_fifo(pipe));
  CHECK(write_to(folder).code == 3);
}

TEST_CASE("Two that write one file do not mix") {
  const std::string file = fresh("two") + "/out";
  const std::vector<std::string> small{"schedule", "1f1b",   "--stages", "4", "--micro-batches",
                                       "512",      "--json", "-o",       file};
  const std::vector<std::string> large{"schedule", "gpipe",  "--stages", "4", "--micro-batches",
                                       "512",      "--json", "-o",       file};
  std::set<std::string> whole;
  for (const auto& arguments : {small, large}) {
    REQUIRE(run(arguments).code == 0);
    whole.insert(content(file));
  }
  for (int i = 0; i < 5; ++i) {
    const int first = start(small);
    const int second = start(large);
    CHECK(wait_for(first) == 0);
    CHECK(wait_for(second) == 0);
    CHECK(whole.contains(content(file)));
  }
  CHECK(names_in(fs::path(file).parent_path()).size() == 1);
}

TEST_CASE("A batch that is cut off keeps what it has answered, in whole lines, beside the old file") {
  const std::string folder = fresh("cut");
  const std::string file = write_file("cut/out.jsonl", k_old);
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const std::string pipe = folder + "/in";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    const int process = start({"run", "--batch", pipe, "--engine", "analytic", "-o", file});
    const int input = open(pipe.c_str(), O_WRONLY);
    const std::string lines = "{\"file\": \"llama3-8b-fsdp-dgx-h100\"}\nnonsense\n";
    REQUIRE(write(input, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size()));
    const std::string beside = file + ".tmp." + std::to_string(process);
    const auto answered = [&] {
      const std::string text = content(beside);
      return std::count(text.begin(), text.end(), '\n') == 2;
    };
    for (int tries = 0; tries < 1000 && !answered(); ++tries) usleep(10'000);
    REQUIRE(kill(process, signal) == 0);
    const int code = wait_for(process);
    CHECK(code == (signal == SIGINT ? 130 : -signal));
    close(input);
    CHECK(content(file) == k_old);
    const std::string kept = content(beside);
    REQUIRE(std::count(kept.begin(), kept.end(), '\n') == 2);
    CHECK(json::parse(kept.substr(0, kept.find('\n')))["schema"] == "cairn.run/1");
    CHECK(json::parse(kept.substr(kept.find('\n')))["schema"] == "cairn.error/1");
    fs::remove(beside);
    fs::remove(pipe);
  }
}

TEST_CASE("A batch whose answers cannot be written ends while its input is still open") {
  const std::string folder = fresh("open");
  const std::string pipe = folder + "/in";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int process = start({"run", "--batch", pipe, "--engine", "analytic", "--threads", "2", "-o", "/dev/full"});
  const int input = open(pipe.c_str(), O_WRONLY);
  const std::string line = "{\"file\": \"llama3-8b-fsdp-dgx-h100\"}\n";
  REQUIRE(write(input, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  CHECK(wait_for(process) == 3);
  close(input);
}

TEST_CASE("A file that can be read once only serves all lines of a batch") {
  const std::string folder = fresh("once");
  const std::string pipe = folder + "/experiment";
  const std::string line = "{\"file\": \"" + pipe + "\"}\n";
  const std::string file = write_file("once/lines.jsonl", line + line + line + line);
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int process = start({"run", "--batch", file, "--engine", "analytic", "--threads", "4", "-o", folder + "/out"});
  std::ofstream(pipe) << "extends: llama3-8b-fsdp-dgx-h100\n";
  CHECK(wait_for(process) == 0);
  const std::string answers = content(folder + "/out");
  const std::string first = answers.substr(0, answers.find('\n') + 1);
  CHECK(answers == first + first + first + first);
}

TEST_CASE("A batch goes on after a hangup that it was started to ignore") {
  const std::string folder = fresh("hangup");
  const std::string pipe = folder + "/in";
  const std::string file = folder + "/out.jsonl";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::signal(SIGHUP, SIG_IGN);  // as nohup does: the program inherits it
  const int process = start({"run", "--batch", pipe, "--engine", "analytic", "-o", file});
  std::signal(SIGHUP, SIG_DFL);
  const int input = open(pipe.c_str(), O_WRONLY);
  const std::string line = "{\"file\": \"llama3-8b-fsdp-dgx-h100\"}\n";
  const std::string beside = file + ".tmp." + std::to_string(process);
  REQUIRE(write(input, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  for (int tries = 0; tries < 1000 && content(beside).empty(); ++tries) usleep(10'000);
  REQUIRE(kill(process, SIGHUP) == 0);
  REQUIRE(write(input, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  close(input);
  CHECK(wait_for(process) == 0);
  const std::string answers = content(file);
  CHECK(std::count(answers.begin(), answers.end(), '\n') == 2);
}

TEST_CASE("Moves are not written over a file that only a bare name told of") {
  const std::string folder = fresh("moves");
  fs::create_directories(folder + "/accelerators");
  const std::string file = folder + "/accelerators/mine.yaml";
  fs::copy_file(k_source + "/configs/accelerators/a100-sxm4-80gb.yaml", file);
  const std::string before = content(file);
  const std::string graph = write_file("moves/graph.txt", "v a in\nv b in\nv c out\ne a c\ne b c\n");
  const Outcome outcome = run(
      Invocation{.arguments = {"bound", "--cdag", graph, "--fast", "4", "--accelerator", "mine", "--write-moves", file},
                 .environment = {{"CAIRN_CONFIGS", folder}}});
  CHECK(outcome.code == 2);
  CHECK(content(file) == before);
}

TEST_CASE("A file whose name ends in .gz is compressed, the same bytes every time") {
  const std::string folder = fresh("compressed");
  const std::string plain = folder + "/step.json", packed = folder + "/step.json.gz", again = folder + "/again.json.gz";
  for (const std::string& file : {plain, packed, again})
    CHECK(run({"run", "llama3-8b-fsdp-dgx-h100", "--trace", file}).code == 0);
  const std::string bytes = content(packed);
  REQUIRE(bytes.size() > 10);
  // RFC 1952: two bytes that say gzip, deflate, no flags, so no name, and no time.
  CHECK(bytes.substr(0, 8) == std::string("\x1f\x8b\x08\0\0\0\0\0", 8));
  CHECK(bytes == content(again));
  CHECK(10 * bytes.size() < content(plain).size());
  REQUIRE(std::system(("gzip -dc " + packed + " > " + folder + "/unpacked").c_str()) == 0);
  CHECK(content(folder + "/unpacked") == content(plain));
  // Any result is, and a batch line by line.
  const std::string lines =
      write_file("compressed.jsonl", "{\"file\": \"llama3-8b-fsdp-dgx-h100\"}\n{\"file\": \"nowhere\"}\n");
  CHECK(run({"run", "--batch", lines, "-q", "-o", folder + "/lines.gz"}).code == 2);
  REQUIRE(std::system(("gzip -dc " + folder + "/lines.gz > " + folder + "/lines").c_str()) == 0);
  CHECK(content(folder + "/lines") == run({"run", "--batch", lines, "-q"}).out);
}
