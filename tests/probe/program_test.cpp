// The program where it is built. What it says without a GPU is tested where there is none.
#ifdef CAIRN_PROBE_PROGRAM

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "catalogue.h"
#include "catch.h"

namespace cairn::probe {

namespace {

struct Outcome {
  int code;
  std::string out, err;
};

std::string read_and_remove(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::remove(path.c_str());
  return text;
}

// CUDA_VISIBLE_DEVICES= hides what GPUs there are.
Outcome run(const std::string& arguments) {
  const char* temporary = std::getenv("TMPDIR");
  const std::string base =
      std::string(temporary != nullptr ? temporary : "/tmp") + "/cairn-probe-test-" + std::to_string(getpid());
  const std::string command =
      "CUDA_VISIBLE_DEVICES= '" CAIRN_PROBE_PROGRAM "' " + arguments + " >'" + base + ".out' 2>'" + base + ".err'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_and_remove(base + ".out"), read_and_remove(base + ".err")};
}

}  // namespace

TEST_CASE("without a GPU: one sentence, nothing on stdout, exit 4", "[probe]") {
  const Outcome outcome = run("--quick");
  CHECK(outcome.code == 4);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.starts_with("cairn-probe: no GPU to measure: "));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
}

TEST_CASE("the list needs no GPU and is always the same", "[probe]") {
  const Outcome outcome = run("--list --only gemm,attention");
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  const auto rows = catalogue({.only = {"gemm", "attention"}, .gpus = 8}).size();
  CHECK(static_cast<std::size_t>(std::count(outcome.out.begin(), outcome.out.end(), '\n')) == rows);
  CHECK(run("--list --only gemm,attention").out == outcome.out);
}

TEST_CASE("usage errors end with 2", "[probe]") {
  for (const char* wrong : {"--only nothing", "--bogus", "-o", "--device x"}) {
    const Outcome outcome = run(wrong);
    CAPTURE(wrong);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.starts_with("cairn-probe: "));
  }
  CHECK(run("--help").code == 0);
}

}  // namespace cairn::probe

#endif
