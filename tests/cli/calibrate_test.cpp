// `cairn calibrate` from outside: files in, a calibration and a report out, every kind of bad file.
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

// All-gathers: 12 us + x/300 GB/s with x = (n-1)/n of the buffer, times `factor`, as nccl-tests prints them.
std::string gathers_of(int ranks, double factor) {
  std::string text =
      "# Collective test starting: all_gather_perf\n"
      "# nThread 1 nGpus 1 minBytes 1024 maxBytes 1073741824 step: 4(factor) iters: 20\n";
  for (int rank = 0; rank < ranks; ++rank)
    text += "#  Rank  " + std::to_string(rank) + " Group  0 Pid  1 on node device  " + std::to_string(rank) +
            " [0x07] NVIDIA H100 80GB HBM3\n";
  text +=
      "#       size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n"
      "#        (B)  (elements)  (us)  (GB/s)  (GB/s)  (us)  (GB/s)  (GB/s)\n";
  const double share = (ranks - 1.0) / ranks;
  for (double bytes = 1024.0; bytes < 2e9; bytes *= 4.0) {
    const double us = factor * (12.0 + share * bytes / 300e3);
    char line[200];
    std::snprintf(line, sizeof line, " %.0f %.0f float none -1 %.5f %.5f %.5f 0 %.5f %.5f %.5f 0\n", bytes, bytes / 4,
                  us, bytes / us / 1e3, share * bytes / us / 1e3, us, bytes / us / 1e3, share * bytes / us / 1e3);
    text += line;
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 100\n";
}

std::string measured_gathers() { return gathers_of(4, 1.0); }

bool can_fit() { return run({"calibrate", write_file("probe-of-eigen.txt", measured_gathers())}).code != 4; }

}  // namespace

TEST_CASE("A calibration is written, its report read, and both used", "[calibrate]") {
  if (!can_fit()) return;
  const std::string measured = write_file("gathers.txt", measured_gathers());
  const std::string written = scratch() + "/mine.yaml";
  const Outcome text = run({"calibrate", measured, "-o", written});
  CHECK(text.code == 0);
  CHECK(text.out.find("calibration of h100-sxm5-80gb") == 0);
  CHECK(text.out.find("all-gather 4 ranks") != std::string::npos);
  CHECK(text.err.empty());

  const Outcome document = run({"calibrate", measured, "--json", "--gpu", "h100-sxm5-80gb"});
  CHECK(document.code == 0);
  const json result = json::parse(document.out);
  CHECK(result["schema"] == "cairn.calibrate/1");
  CHECK(result["gpu"] == "h100-sxm5-80gb");
  REQUIRE(result["families"].size() == 1);
  const json& family = result["families"][0];
  CHECK(family["kind"] == "all-gather");
  CHECK(family["rows"] == 11);  // 1 KiB to 1 GiB in steps of four
  CHECK(family["in_sample"]["median"] < 0.03);
  CHECK(family["left_out"]["by"] == "decades of the message size");
  CHECK(family["ranges"]["bytes"] == json::array({1024.0, 1073741824.0}));
  // The same files give the same bytes.
  CHECK(run({"calibrate", measured, "--json", "--gpu", "h100-sxm5-80gb"}).out == document.out);

  // The file is a calibration like the shipped ones.
  CHECK(content(written).find("ranks: 4") != std::string::npos);
  const Outcome used =
      run({"run", "llama3-70b-64xdgx-h100", "--engine", "analytic", "--json", "--set", "calibration=" + written});
  CHECK((used.code == 0 || used.code == 1));
  CHECK(json::parse(used.out)["schema"] == "cairn.run/1");
}

TEST_CASE("A log that names no collective is read with --collective", "[calibrate]") {
  if (!can_fit()) return;
  std::string text = measured_gathers();
  text.erase(0, text.find('\n') + 1);
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) text.insert(at, "[1,0]<stdout>:");
  const std::string log = write_file("slurm-17.out", text);
  const Outcome unsaid = run({"calibrate", log});
  CHECK(unsaid.code == 2);
  CHECK(unsaid.err.find("(say it, as in --collective all_gather") != std::string::npos);
  const Outcome said = run({"calibrate", log, "--collective", "all_gather"});
  INFO(said.err);
  CHECK(said.code == 0);
  CHECK(said.out.find("all-gather 4 ranks") != std::string::npos);
  CHECK(run({"calibrate", log, "--collective", "gossip"}).code == 2);
  const Outcome idle =
      run({"calibrate",
           write_file("t.csv", "source,gpu,kernel,dtype,shape,ms\nlab,H200,gemm x,bf16,M512 N768 K1024,0.01\n"),
           "--collective", "all_gather"});
  CHECK(idle.code == 2);
  CHECK(idle.err.find("--collective: none of the files is output of nccl-tests") != std::string::npos);
}

TEST_CASE("Measurements that cannot be of this accelerator are refused", "[calibrate]") {
  if (!can_fit()) return;
  const auto refused = [](const std::string& text, const std::vector<std::string>& words) {
    const std::string written = scratch() + "/never.yaml";
    const Outcome outcome = run({"calibrate", write_file("odd.txt", text), "-o", written});
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK_FALSE(std::filesystem::exists(written));
    for (const std::string& word : words) CHECK(outcome.err.find(word) != std::string::npos);
  };
  // Times in milliseconds under a header of microseconds, rates to match: a thousand times too fast.
  refused(gathers_of(4, 1e-3),
          {"odd.txt:", "all_gather of 4 ranks at a busbw of", "but a link carries 450 GB/s; line"});
  // The other way round no law of links is broken, but no parameters come near.
  refused(gathers_of(4, 1e3),
          {"odd.txt", "all-gather 4 ranks: no parameters describe these rows", "at a bound", "in the median"});
  std::string wrong = measured_gathers();
  const std::size_t zeros = wrong.find(" 0 ", wrong.find("none -1"));
  wrong.replace(zeros, 3, " 12 ");
  refused(wrong, {"the test found '12' wrong values"});
}

TEST_CASE("Rows that take no part in a fit are counted, with the reason", "[calibrate]") {
  if (!can_fit()) return;
  std::string other = gathers_of(8, 1.0);
  for (std::size_t at = 0; (at = other.find("NVIDIA H100 80GB HBM3")) != std::string::npos;)
    other.replace(at, 21, "NVIDIA H200");
  const std::vector<std::string> files{write_file("one.txt", measured_gathers()), write_file("two.txt", other)};
  const Outcome outcome = run({"calibrate", files[0], files[1], "--gpu", "h100-sxm5-80gb", "--json"});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  const json dropped = json::parse(outcome.out)["dropped"];
  REQUIRE(dropped.size() == 1);
  CHECK(dropped[0]["rows"] == 11);
  CHECK(dropped[0]["reason"] == "measured on another device: NVIDIA H200");
  const Outcome report = run({"calibrate", files[0], files[1], "--gpu", "h100-sxm5-80gb"});
  CHECK(report.out.find("rows that take no part\n      11  measured on another device: NVIDIA H200") !=
        std::string::npos);
  CHECK(report.out.find("GB/s") != std::string::npos);
  CHECK(report.out.find("bytes 1 KiB to 1 GiB") != std::string::npos);
}

TEST_CASE("Messages between nodes are refused, with what is assumed in place of them", "[calibrate]") {
  if (!can_fit()) return;
  std::string across = gathers_of(8, 1.0);
  for (int rank = 4; rank < 8; ++rank)
    across.replace(across.find("on node device  " + std::to_string(rank)), 7, "on next");
  // A run of 4 ranks: 2 lines, the ranks, 2 lines, rows in 9 to 19, the summary. Behind it in 22 to 33 the head of 8
  // ranks.
  const std::string both = write_file("sweep.log", measured_gathers() + across);
  const Outcome outcome = run({"calibrate", both, "-o", scratch() + "/never.yaml"});
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  CHECK_FALSE(std::filesystem::exists(scratch() + "/never.yaml"));
  for (const char* word : {"sweep.log:34:1: error: all_gather of 8 ranks in 2 nodes", "cannot be fitted yet",
                           "(inter.latency), 8 us more for each step", "0.92 of the bandwidth",
                           "'infiniband' in configs/calibration/fabrics.yaml (assumed there)", "; lines 34 to 44 ("})
    CHECK(outcome.err.find(word) != std::string::npos);
}

TEST_CASE("Files that cannot be used are refused with place and remedy", "[calibrate]") {
  if (!can_fit()) return;
  const auto refused = [](const std::string& name, const std::string& text, const char* said) {
    const Outcome outcome = run({"calibrate", write_file(name, text)});
    CAPTURE(name, outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find(said) != std::string::npos);
  };
  const std::string good = measured_gathers();
  refused("cut.txt", good.substr(0, good.find("# Out of")), "cut.txt:");
  refused("cut.json", "{\"schema\": \"cairn.measurement/1\", \"rows\": [", "cut.json:1:");
  refused("units.csv",
          "source,gpu,kernel,dtype,shape,ms,tflops,gbps\nlab,H200,gemm,bf16,M512 N768 K10240,42.351,190.15,\n",
          "units.csv:2:1: error: M512 N768 K10240 in 42.351 ms");
  refused("columns.csv", "source,gpu,kernel,dtype,shape,milliseconds\nlab,H200,gemm,bf16,M1 N1 K1,1\n",
          "unknown column 'milliseconds'");
  refused("few.csv", "source,gpu,kernel,dtype,shape,ms\nlab,H200,gemm x,bf16,M512 N768 K1024,0.01\n",
          "few.csv:2:1: error: gemm bf16: 1 rows, a fit needs 12");
  refused("device.csv", "source,gpu,kernel,dtype,shape,ms\nlab,Abacus,gemm x,bf16,M512 N768 K1024,0.01\n",
          "accelerators/abacus.yaml");
  CHECK(run({"calibrate", scratch() + "/none.txt"}).code == 2);
  CHECK(run({"calibrate"}).code == 2);
  CHECK(run({"calibrate", write_file("good.txt", good), "--gpu", "h100-sxm5"}).code == 2);
  CHECK(run({"calibrate", write_file("good.txt", good), "-o", "/nowhere/at/all.yaml"}).code == 3);
}
