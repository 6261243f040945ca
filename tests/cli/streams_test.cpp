// Streams and exit codes.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fcntl.h>
#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"
#include "support/source_dir.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

constexpr const char* k_fits = "llama3-70b-64xdgx-h100";

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("JSON stands alone on standard output, the same bytes every time") {
  const Outcome first = run({"run", k_fits, "--json"});
  CHECK(first.code == 0);
  CHECK(first.err.empty());
  CHECK(json::parse(first.out)["schema"] == "cairn.run/1");
  CHECK(first.out.back() == '\n');
  CHECK(run({"run", k_fits, "--json"}).out == first.out);
  // The same from another folder, and by path instead of by name.
  const std::string path = cairn::testing::source_dir() + "/configs/experiments/" + k_fits + ".yaml";
  CHECK(run({.arguments = {"run", path, "--json"}, .environment = {}, .out_file = {}, .folder = scratch()}).out ==
        first.out);
}

TEST_CASE("Both engines name the same time where nothing is shared") {
  const json both = json::parse(run({"run", k_fits, "--json"}).out)["result"];
  CHECK(both["analytic"]["iteration_time_s"] == both["event"]["iteration_time_s"]);
  const json analytic = json::parse(run({"run", k_fits, "--json", "--engine", "analytic"}).out)["result"];
  CHECK(analytic["iteration_time_s"] == both["iteration_time_s"]);
  CHECK(analytic["event"].is_null());
}

TEST_CASE("A plan that does not fit is an answer: exit code 1 and why") {
  const Outcome outcome = run({"run", k_fits, "--json", "--set", "strategy.micro_batch=8"});
  CHECK(outcome.code == 1);
  const json result = json::parse(outcome.out)["result"];
  CHECK(result["fits"] == false);
  CHECK(result["why_not"]["over_by_bytes"].get<double>() > 0.0);
  CHECK(run({"run", k_fits, "--set", "strategy.micro_batch=8"}).code == 1);
}

TEST_CASE("A command line that cannot be understood is refused") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{},
        {"fly"},
        {"run"},
        {"run", k_fits, "--fast"},
        {"run", k_fits, "--engine", "steam"},
        {"run", k_fits, "again"},
        {"config"},
        {"config", "list", "clutsers"},
        {"schema", "experimnet"},
        {"completion", "tcsh"},
        {"run", k_fits, "--color", "red"},
        {"run", k_fits, "--batch", "x.jsonl"},
        {"run", k_fits, "--engine", "analytic", "--trace", scratch() + "/t.json"},
        {"run", "--batch", scratch() + "/nowhere.jsonl"},
        {"config", "model", "llama-3.1-9b"}}) {
    const Outcome outcome = run(arguments);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK_FALSE(outcome.err.empty());
  }
}

TEST_CASE("Help and version are results") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"--version"}, {"run", "--help"}, {"config", "show", "-h"}}) {
    const Outcome outcome = run(arguments);
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    CHECK_FALSE(outcome.out.empty());
  }
}

TEST_CASE("A result that cannot be written is never a success") {
  CHECK(run({.arguments = {"run", k_fits}, .environment = {}, .out_file = "/dev/full", .folder = {}}).code == 3);
  CHECK(run({.arguments = {"run", k_fits, "--json"}, .environment = {}, .out_file = "/dev/full", .folder = {}}).code ==
        3);
  CHECK(run({.arguments = {"schema", "experiment"}, .environment = {}, .out_file = "/dev/full", .folder = {}}).code ==
        3);
  CHECK(run({.arguments = {"--help"}, .environment = {}, .out_file = "/dev/full", .folder = {}}).code == 3);
  const Outcome full = run({"run", k_fits, "-o", "/dev/full"});
  CHECK(full.code == 3);
  CHECK(full.err.find("/dev/full") != std::string::npos);
  CHECK(run({"run", k_fits, "-o", scratch() + "/no/such/folder/out.json"}).code == 3);
  CHECK(run({"run", k_fits, "--trace", "/dev/full"}).code == 3);
}

TEST_CASE("Interrupted is 130") {
  const std::string pipe = scratch() + "/pipe.jsonl";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int process = start({"run", "--batch", pipe});
  const int held_open = open(pipe.c_str(), O_WRONLY);  // returns once the program reads
  REQUIRE(held_open >= 0);
  REQUIRE(kill(process, SIGINT) == 0);
  CHECK(wait_for(process) == 130);
  close(held_open);
}

TEST_CASE("-o takes the result, and standard output stays empty") {
  const std::string file = scratch() + "/result.json";
  const Outcome outcome = run({"run", k_fits, "--json", "-o", file});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.empty());
  CHECK(content(file) == run({"run", k_fits, "--json"}).out);
}

TEST_CASE("Remarks go to standard error") {
  const Outcome outcome = run({"run", k_fits, "--stats", "--json"});
  CHECK(outcome.err.find("events") != std::string::npos);
  CHECK(json::parse(outcome.out)["schema"] == "cairn.run/1");
}

TEST_CASE("Every command says what it took") {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", k_fits},
                                                {"search", "--method", "pase", "--graph", "alexnet", "--devices", "8"},
                                                {"schema"}}) {
    std::vector<std::string> asked = words;
    asked.emplace_back("--stats");
    CHECK(run(asked).err.find(" of memory") != std::string::npos);
    CHECK(run(words).err.find(" of memory") == std::string::npos);
  }
}

TEST_CASE("Colour only where asked for, or on a terminal") {
  CHECK(run({"run", k_fits}).out.find('\033') == std::string::npos);
  CHECK(run({"run", k_fits, "--color", "always"}).out.find('\033') != std::string::npos);
  CHECK(run({.arguments = {"run", k_fits, "--color", "always"},
             .environment = {{"NO_COLOR", "1"}},
             .out_file = {},
             .folder = {}})
            .out.find('\033') != std::string::npos);
}

TEST_CASE("A batch answers line by line, and goes on after a bad one") {
  const std::string batch = write_file("batch.jsonl", R"({"file": "llama3-70b-64xdgx-h100"}
{"file": "llama3-70b-64xdgx-h100", "set": {"strategy.tp": 3}}

{"file": "llama3-70b-64xdgx-h100", "set": {"strategy.recompute": "full", "strategy.schedule": {"kind": "1f1b"}}}
{"file":
{"version": 1, "model": "llama-3.1-8b", "cluster": "dgx-h100", "training": {"seq_len": 4096, "global_batch": 8}, "strategy": {"tp": 8}}
{"version": 1, "modle": "llama-3.1-8b", "cluster": "dgx-h100", "training": {"seq_len": 4096, "global_batch": 8}}
)");
  const Outcome outcome = run({"run", "--batch", batch, "--engine", "analytic"});
  CHECK(outcome.code == 2);
  const std::vector<json> lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 6);
  const std::vector<std::string> schemas{"cairn.run/1",   "cairn.error/1", "cairn.run/1",
                                         "cairn.error/1", "cairn.run/1",   "cairn.error/1"};
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(lines[i]["schema"] == schemas[i]);
  CHECK(lines[1]["line"] == 2);
  CHECK(lines[3]["line"] == 5);
  CHECK(lines[5]["line"] == 7);
  CHECK(lines[5]["diagnostics"].dump().find("did you mean 'model'") != std::string::npos);
  CHECK(lines[5]["diagnostics"][0]["line"] == 7);
  CHECK(outcome.err.find("3 of 6 lines could not be run, as their answers say: 2, 5, 7\n") != std::string::npos);
  // Each line is what a run of its own says.
  const json alone =
      json::parse(run({"run", k_fits, "--json", "--engine", "analytic", "--set", "strategy.recompute=full"}).out);
  CHECK(lines[2]["result"] == alone["result"]);
}

TEST_CASE("A bad line of a batch costs that line alone, whatever is wrong with it") {
  // Reading /proc/self/mem fails half-way: no mistake of a configuration.
  const std::string batch = write_file("worse.jsonl",
                                       "{\"mod\x94"
                                       "el\": 1}\n"
                                       "{\"file\": \"/proc/self/mem\"}\n"
                                       "{\"file\": \"llama3-8b-fsdp-dgx-h100\", \"set\": {\"name\": \"\xff\"}}\n"
                                       "\xfe\xff\n"
                                       "{\"file\": \"llama3-8b-fsdp-dgx-h100\"}\n");
  const Outcome outcome = run({"run", "--batch", batch, "--engine", "analytic"});
  CHECK(outcome.code == 3);  // the greatest of 2, 3, 2, 2, 0
  const std::vector<json> lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 5);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(lines[i]["schema"] == "cairn.error/1");
    CHECK(lines[i]["line"] == i + 1);
    CHECK_FALSE(lines[i]["diagnostics"].empty());
  }
  CHECK(lines[4]["schema"] == "cairn.run/1");
}

TEST_CASE("Bytes that are not UTF-8 break no document") {
  const std::string graph = write_file("bytes.txt", "v a in\nv b out\ne a b\n");
  const std::string moves = write_file("m\xfc.txt", "load a\ncompute b\nstore b\n");
  const Outcome outcome = run({"bound", "--cdag", graph, "--fast", "4", "--moves", moves, "--json"});
  INFO(outcome.err);
  CHECK(outcome.code <= 1);
  CHECK(json::parse(outcome.out).dump().find("m\xef\xbf\xbd.txt") != std::string::npos);
}

TEST_CASE("With --json what stands in the way of a result is a document, too") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"run", "nothing-like-it", "--json"},
                                                    {"run", k_fits, "--json", "--set", "strategy.tp=3"},
                                                    {"topology", "star-8", "--json", "--fly"},
                                                    {"bound", "--json"}}) {
    const Outcome outcome = run(arguments);
    CHECK(outcome.code == 2);
    CHECK_FALSE(outcome.err.empty());
    const json document = json::parse(outcome.out);
    CHECK(document["schema"] == "cairn.error/1");
    CHECK(document["line"].is_null());
    CHECK(outcome.err.find(document["diagnostics"][0]["message"].get<std::string>()) != std::string::npos);
  }
  // A file that was asked for stays as it is.
  const std::string file = write_file("kept.json", "old");
  CHECK(run({"run", "nothing-like-it", "--json", "-o", file}).out.empty());
  CHECK(content(file) == "old");
}

TEST_CASE("A reader that has gone and remarks that nobody can read are no failures") {
  const auto shell = [](const std::string& command) {
    const int status = std::system(("exec bash -c '" + command + "'").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const std::string program = CAIRN_PROGRAM;
  const std::string remarks = scratch() + "/remarks";
  // 141: ended by SIGPIPE, as cat and ls are. The timeline is more than a pipe holds.
  CHECK(shell(program + " schedule 1f1b --stages 8 --micro-batches 4096 --json 2>" + remarks +
              " | head -1 >/dev/null; exit ${PIPESTATUS[0]}") == 141);
  CHECK(content(remarks).empty());
  CHECK(shell(program + " run " + k_fits + " --stats -v >/dev/null 2>/dev/full") == 0);
  CHECK(shell(program + " run " + k_fits + " --stats -v >/dev/null 2>&-") == 0);
  CHECK(shell(program + " run nothing-like-it 2>/dev/full") == 2);
}

TEST_CASE("A batch without mistakes ends by its answers") {
  const std::string good = write_file("good.jsonl", "{\"file\": \"llama3-70b-64xdgx-h100\"}\n");
  CHECK(run({"run", "--batch", good}).code == 0);
  const std::string large =
      write_file("large.jsonl", "{\"file\": \"llama3-70b-64xdgx-h100\", \"set\": {\"strategy.micro_batch\": 8}}\n");
  CHECK(run({"run", "--batch", large}).code == 1);
}

TEST_CASE("A timeline is written beside the result") {
  const std::string file = scratch() + "/trace.json";
  const Outcome outcome = run({"run", k_fits, "--trace", file, "--json"});
  CHECK(outcome.code == 0);
  CHECK(json::parse(outcome.out)["schema"] == "cairn.run/1");
  CHECK(json::parse(content(file))["traceEvents"].size() > 1000);
  CHECK(outcome.err.find("written " + file + ", open it at https://ui.perfetto.dev\n") != std::string::npos);
  CHECK(run({"run", k_fits, "--trace", file, "--json", "-q"}).err.empty());
  for (const char* option : {"--trace", "--memory-svg", "--html"})
    refused({"run", "--batch", write_file("shown.jsonl", "{\"file\": \"llama3-70b-64xdgx-h100\"}\n"), option, file},
            {option, "run it without --batch"});
}

TEST_CASE("A page is written beside the result and the timeline") {
  const std::string page = scratch() + "/page.html", trace = scratch() + "/beside.json";
  const Outcome outcome = run({"run", k_fits, "--html", page, "--trace", trace, "--json", "-q"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out == run({"run", k_fits, "--json", "-q"}).out);
  CHECK(json::parse(content(trace))["traceEvents"].size() > 1000);
  CHECK(content(page).starts_with("<!DOCTYPE html>"));
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"search", "llama3-8b-fsdp-dgx-h100"},
        {"sweep", "llama3-8b-fsdp-dgx-h100", "--vary", "training.seq_len=1024,2048"}}) {
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--html", "-"});
    const Outcome both = run(words);
    CHECK(both.code == 0);
    CHECK(both.out.starts_with("<!DOCTYPE html>"));
    CHECK(both.out.ends_with(run(command).out));
  }
  const Outcome nowhere = run({"run", k_fits, "--html", scratch() + "/no/such/folder.html"});
  CHECK(nowhere.code == 3);
  CHECK(nowhere.out.empty());
  refused({"search", k_fits, "--method", "galvatron", "--html", page}, {"--html", "layouts of all layers together"});
  refused({"search", k_fits, "--print-space", "--html", page}, {"--html", "a page shows what a search found"});
  refused({"run", "--strategy-file", page, "--html", page}, {"--html"});
  // Neither of two documents can be read where one follows the other; a result in a file is in nobody's way.
  refused({"run", k_fits, "--csv", "--html", "-"}, {"--html", "both be on standard output"});
  // With --json an error is a document, too, and the only one.
  const Outcome mixed = run({"run", k_fits, "--json", "--html", "-"});
  CHECK(mixed.code == 2);
  CHECK(json::parse(mixed.out).at("schema") == "cairn.error/1");
  CHECK(mixed.err.find("both be on standard output") != std::string::npos);
  const Outcome apart = run({"run", k_fits, "--json", "-q", "--html", "-", "-o", scratch() + "/apart.json"});
  CHECK(apart.code == 0);
  CHECK(apart.out.ends_with("</html>\n"));
  for (const char* option : {"--html", "--trace"})
    refused({"run", k_fits, option, ""}, {option, "the file has no name"});
}

TEST_CASE("long work shows how far it has come, on terminals only") {
  // A hundred rows of 5 to 15 ms each: a terminal gets the line and has it taken away again.
  const std::string folder = scratch() + "/progress";
  std::filesystem::create_directory(folder);
  const std::string published = cairn::testing::source_dir() + "/validate/published/";
  std::ofstream(folder + "/layouts.csv") << content(published + "hagemann2023_65b.csv");
  std::string families = content(published + "families.yaml");
  families.replace(families.find("hagemann2023_65b"), std::string("hagemann2023_65b").size(), "layouts");
  std::ofstream(folder + "/families.yaml") << families;
  const std::vector<std::string> arguments{"validate", "layouts", "--data", folder, "--json"};
  CHECK(run(arguments).err.empty());

  int terminal = -1;
  const pid_t process = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (process < 0) {
    WARN("no pseudo-terminal on this machine: the line of progress is not checked");
    return;
  }
  if (process == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    execl(CAIRN_PROGRAM, CAIRN_PROGRAM, "validate", "layouts", "--data", folder.c_str(), "--json", nullptr);
    _exit(127);
  }
  std::string shown;
  char buffer[4096];
  for (ssize_t got; (got = read(terminal, buffer, sizeof buffer)) > 0;)
    shown.append(buffer, static_cast<std::size_t>(got));
  close(terminal);
  CHECK(wait_for(process) == 0);
  const std::size_t last = shown.rfind('\r');
  REQUIRE(last != std::string::npos);
  CHECK(shown.substr(last) == "\r\x1b[K");
  CHECK(shown.find(" of ") != std::string::npos);
}
