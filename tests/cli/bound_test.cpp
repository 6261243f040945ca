// cairn bound, as a user would ask it.
#include <cmath>

#include "cli/asked.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

json bound_answer(std::vector<std::string> arguments) { return asked("bound", std::move(arguments)); }

void bound_refused(std::vector<std::string> arguments, const std::string& remedy) {
  arguments.insert(arguments.begin(), "bound");
  refused(arguments, {remedy});
}

}  // namespace

TEST_CASE("bound: a product in 228 KiB of bf16") {
  // 228 KiB are 116,736 words of two bytes. 2 n^3 / sqrt(S) - 2 S = 3,217,876,512, and a bracket of at most 15 percent.
  const json document = bound_answer({"matmul m=8192 n=8192 k=8192", "--fast", "228KiB", "--dtype", "bf16"});
  CHECK(document["schema"] == "cairn.bound/1");
  CHECK(document["fast"] == 116'736);
  const double lower = document["lower"], upper = document["upper"];
  CHECK(lower >= 2.0 * 8192.0 * 8192.0 * 8192.0 / std::sqrt(116'736.0) - 2.0 * 116'736.0 - 1.0);
  CHECK(upper >= lower);
  CHECK(upper <= 1.15 * lower);
  CHECK(document["loads"].get<double>() + document["stores"].get<double>() == upper);
  CHECK(document["lower_bytes"] == 2.0 * lower);
  CHECK(document["intensity"].get<double>() == Approx(2.0 * 8192.0 * 8192.0 * 8192.0 / (2.0 * lower)));
  CHECK(document["exact"].is_null());
  CHECK(document["asymptotic"][0] == "matmul: 2*m*n*k/S^0.5");
}

TEST_CASE("bound: sizes may stand apart, and a bare amount is words") {
  const json joined = bound_answer({"matmul m=64 n=64 k=64", "--fast", "100"});
  const json apart = bound_answer({"matmul", "m=64", "n=64", "k=64", "--fast", "100"});
  CHECK(joined == apart);
  CHECK(joined["fast"] == 100);
  CHECK(bound_answer({"matmul m=64 n=64 k=64", "--fast", "400 B", "--dtype", "fp32"})["lower"] == joined["lower"]);
}

TEST_CASE("bound: an einsum is the product it says") {
  const json einsum =
      bound_answer({"einsum", "bshd,bthd->bhst", "--sizes", "b=2,s=512,t=256,h=4,d=64", "--fast", "1024"});
  const json product = bound_answer({"batched-matmul b=8 m=512 n=256 k=64", "--fast", "1024"});
  CHECK(einsum["lower"] == product["lower"]);
  CHECK(einsum["upper"] == product["upper"]);
}

TEST_CASE("bound: games and exact optima") {
  // Exact optima of the 8-point transform without sliding: 31 transfers at S = 4; 18 at S = 9, with recomputation 17.
  CHECK(bound_answer({"fft n=8", "--fast", "4", "--exact"})["exact"] == 31);
  CHECK(bound_answer({"fft n=8", "--fast", "9", "--exact"})["exact"] == 18);
  const json again = bound_answer({"fft n=8", "--fast", "9", "--exact", "--game", "hk"});
  CHECK(again["exact"] == 17);
  CHECK(again["game"] == "HK");
  CHECK(bound_answer({"fft n=8", "--fast", "9", "--slide"})["game"] == "RBW_slide");
  // Out of states: no optimum, and still a bound.
  const json cut_short = bound_answer({"fft n=8", "--fast", "4", "--exact", "--states", "1000"});
  CHECK(cut_short["exact"].is_null());
  CHECK(cut_short["lower"] <= 31);
  CHECK(cut_short["lower"] >= 16);
}

TEST_CASE("bound: a graph from a file") {
  // y = a b + c: three loads and a store.
  const std::string file =
      write_file("fma.cdag", "# y = a * b + c\nv a in\nv b in\nv c in\nv p\nv y out\ne a p\ne b p\ne p y\ne c y\n");
  const json document = bound_answer({"--cdag", file, "--fast", "3", "--exact"});
  CHECK(document["lower"] == 4);
  CHECK(document["exact"] == 4);
  CHECK(document["upper"] == 4);
  CHECK(document["what"] == "fma.cdag: 5 values, 3 inputs, 1 outputs");
}

TEST_CASE("bound: an execution, and what a better order moves") {
  // Two sweeps over 64 words: b_i = f(a_i), c_i = g(b_i), all of b and c left in memory: 192 words at least. As it ran
  // every b goes out and comes back through a small memory, 256 in all; c_i right after b_i needs no more than 192.
  std::string trace;
  for (int i = 0; i < 64; ++i) trace += "w " + std::to_string(i) + "\nop\n";
  for (int i = 0; i < 64; ++i) trace += "r " + std::to_string(i) + "\nw " + std::to_string(100 + i) + "\nop\n";
  for (int i = 0; i < 64; ++i) trace += "r " + std::to_string(100 + i) + "\nw " + std::to_string(200 + i) + "\nop\n";
  const std::string file = write_file("sweeps.trace", trace);
  const json document = bound_answer({"--trace", file, "--fast", "16", "--locality"});
  CHECK(document["lower"] == 192);
  bool seen = false;
  for (const json& row : document["locality"]) {
    if (row["fast"] != 16) continue;
    seen = true;
    CHECK(row["before"] == 256);
    CHECK(row["after"] == 192);
  }
  CHECK(seen);
}

TEST_CASE("bound: an accelerator gives the memory, the balance and a time") {
  const json document = bound_answer({"matmul m=4096 n=4096 k=4096", "--accelerator", "h100-sxm5-80gb"});
  CHECK(document["balance"].get<double>() == Approx(989e12 / 3.35e12));
  CHECK(document["machine"]["lower_s"].get<double>() == Approx(document["lower_bytes"].get<double>() / 3.35e12));
  CHECK(document["fast"].get<double>() > 25e6);  // more than its 50 MB of second-level cache
}

TEST_CASE("bound: text") {
  const Outcome outcome = run({"bound", "softmax n=1000", "--fast", "500", "--dtype", "fp32"});
  CHECK(outcome.code == 0);
  // 2 n words, and 1000 + 2 - 500 exponentials stored and loaded again.
  CHECK(outcome.out.find("3,004") != std::string::npos);
  CHECK(outcome.out.find("at least") != std::string::npos);
}

TEST_CASE("bound: what is wrong is said") {
  bound_refused({"--fast", "4"}, "for example 'matmul");
  bound_refused({"matmul m=8 n=8 k=8"}, "--accelerator NAME");
  bound_refused({"matmul m=8 n=8 k=8", "--fast", "3"}, "give at least 4 words");
  bound_refused({"matmul m=8 n=8 k=8", "--fast", "0"}, "give at least 1");
  bound_refused({"matmul m=8 n=8 k=8", "--fast", "3 GB/s"}, "--fast");
  bound_refused({"matmull m=8 n=8 k=8", "--fast", "30"}, "did you mean 'matmul'?");
  bound_refused({"matmul m=8 n=8", "--fast", "30"}, "give k=");
  bound_refused({"matmul m=9000000000 n=9000000000 k=9", "--fast", "30"}, "2^61");
  bound_refused({"matmul m=8 n=8 k=8", "--fast", "30", "--exact"}, "64 vertices");
  bound_refused({"matmul m=8 n=8 k=8", "--fast", "30", "--dtype", "bf17"}, "did you mean 'bf16'?");
  bound_refused({"matmul m=8 n=8 k=8", "--fast", "30", "--game", "go"}, "rbw");
  bound_refused({"einsum", "ij", "--fast", "30"}, "ik,kj->ij");
  bound_refused({"einsum", "--fast", "30"}, "--sizes");
  bound_refused({"matmul m=8 n=8 k=8", "--sizes", "m=8", "--fast", "30"}, "behind the operator's name");
  bound_refused({"matmul m=8 n=8 k=8", "--locality", "--fast", "30"}, "--trace FILE");
  bound_refused({"matmul m=8 n=8 k=8", "--states", "5", "--fast", "30"}, "add --exact");
  bound_refused({"--cdag", "/nowhere/at/all", "--fast", "30"}, "cannot be read");
  bound_refused({"--cdag", write_file("cycle.cdag", "v a\nv b\ne a b\ne b a\n"), "--fast", "30"}, "cycle");
  bound_refused({"--cdag", write_file("empty.cdag", "# nothing\n"), "--fast", "30"}, "empty");
  bound_refused({"--trace", write_file("early.trace", "r 5\nw 6\nop\n"), "--fast", "30"}, "5");
  bound_refused({"--cdag", write_file("one.cdag", "v a in out\n"), "matmul m=8 n=8 k=8", "--fast", "30"}, "give one");
}

TEST_CASE("bound: an encoder layer of BERT large, as Ivanov et al. 2021 count it") {
  // 8 x 512 tokens, width 1,024, 16 heads of 64, inner width 4,096, in FLOP:
  //   queries, keys, values  2 x 4,096 x 1,024 x 3,072     scores and context  2 x 2 x 8 x 16 x 512 x 512 x 64
  //   output                 2 x 4,096 x 1,024 x 1,024     linear layers       2 x 2 x 4,096 x 1,024 x 4,096
  const double contractions =
      2.0 * 4096 * 1024 * (3072 + 1024) + 4.0 * 8 * 16 * 512 * 512 * 64 + 4.0 * 4096 * 1024 * 4096;
  const std::vector<std::string> layer{"--model", "bert-large", "--layer",       "1",
                                       "--batch", "8",          "--accelerator", "v100-sxm2-32gb",
                                       "--dtype", "fp16",       "--attention",   "fused_softmax"};
  const json forward = bound_answer(layer)["layers"][0];
  CHECK(forward["classes"]["contraction"]["flops"] == contractions);
  CHECK(contractions == Approx(111.67e9).epsilon(1e-4));

  std::vector<std::string> both = layer;
  both.emplace_back("--backward");
  const json document = bound_answer(both);
  const json whole = document["layers"][0];
  const auto share = [&](const char* name) {
    return whole["classes"][name]["flops"].get<double>() / whole["flops"].get<double>();
  };
  CHECK(whole["classes"]["contraction"]["flops"] == 3.0 * contractions);
  CHECK(share("contraction") == Approx(0.9980).margin(0.003));     // published
  CHECK(share("normalization") == Approx(0.0017).margin(0.0003));  // published
  CHECK(share("elementwise") < 0.003);                             // published 0.0003, with a cheaper activation
  CHECK(whole["fused_bytes"] < whole["separate_bytes"]);
  CHECK(whole["lower_bytes"] < whole["fused_bytes"]);
  for (const json& op : whole["operators"]) {
    CHECK(op["lower_bytes"] >= op["alone_bytes"]);
    CHECK(op["mue"].get<double>() <= 1.0);
  }
  // A layer has 12,596,224 parameters.
  const std::string shorter = write_file("models/shorter.yaml", "extends: bert-large\nlayers: 23\n");
  const auto parameters = [](const std::string& model) {
    return json::parse(run({"config", "model", model, "--json"}).out)["parameters"]["total"].get<std::int64_t>();
  };
  CHECK(parameters("bert-large") - parameters(shorter) == 12'596'224);
  // The published 335,141,888 have a pooler of 1,024 x 1,024 and 1,024 and two token types besides.
  CHECK(parameters("bert-large") + 1024 * 1025 + 2 * 1024 == 335'141'888);
}

TEST_CASE("bound: layers of a model") {
  // Embedding, 126 blocks and head; one of each class by default, each alone when asked for.
  const json all = bound_answer({"--model", "llama-3.1-405b", "--seq", "4096", "--fast", "50MB"});
  REQUIRE(all["layers"].size() == 3);
  CHECK(all["layers"][1]["count"] == 126);
  double lower = 0.0;
  for (const json& layer : all["layers"]) lower += layer["count"].get<double>() * layer["lower_bytes"].get<double>();
  CHECK(all["lower_bytes"] == Approx(lower));
  CHECK(bound_answer({"--model", "llama-3.1-405b", "--seq", "4096", "--fast", "50MB", "--layer",
                      "0"})["layers"][0]["name"] == all["layers"][0]["name"]);
  CHECK(bound_answer({"--model", "llama-3.1-405b", "--seq", "4096", "--fast", "50MB", "--layer",
                      "127"})["layers"][0]["name"] == all["layers"][2]["name"]);
  bound_refused({"--model", "llama-3.1-405b", "--layer", "128", "--fast", "50MB"}, "give 0 to 127");
  bound_refused({"--model", "llama-3.1-405c", "--fast", "50MB"}, "did you mean");
  bound_refused({"--model", "bert-large", "--seq", "4096", "--fast", "50MB"}, "shorten the sequence");
  bound_refused({"--model", "bert-large", "--exact", "--fast", "50MB"}, "--exact out");
  bound_refused({"matmul m=4 n=4 k=4", "--layer", "1", "--fast", "50"}, "give --model NAME");
}

TEST_CASE("bound: levels of an accelerator's memory") {
  const json document = bound_answer({"matmul m=8192 n=8192 k=8192", "--accelerator", "h100-sxm5-80gb"});
  REQUIRE(document["levels"].size() == 2);
  const json& chip = document["levels"][0];
  CHECK(chip["units"] == 1);
  CHECK(chip["words"] == 3 * 8192 * 8192);  // everything once
  CHECK(chip["lower_s"].get<double>() == Approx(2.0 * 3 * 8192 * 8192 / 3.35e12));
  // One of 132 has a share of n^3 / 132 products and 256 Ki words: stretches of T with 2 S + T elements at hand, at the
  // best T = 4 S: 4 S (share / (2 S)^1.5 - 1).
  const json& each = document["levels"][1];
  CHECK(each["units"] == 132);
  CHECK(each["fast"] == 256 * 1024);
  const double s = 256.0 * 1024.0, share = 8192.0 * 8192.0 * 8192.0 / 132.0;
  CHECK(each["words"].get<double>() >= 4.0 * s * (share / std::pow(2.0 * s, 1.5) - 1.0) - 1.0);
  CHECK(each["words"].get<double>() <= 4.0 * s * (share / std::pow(2.0 * s, 1.5) + 1.0));
  // Everything else too: inputs and outputs cross each link, a 132nd of them the busiest multiprocessor's.
  const json softmax = bound_answer({"softmax rows=1000 n=64", "--accelerator", "h100-sxm5-80gb"})["levels"];
  CHECK(softmax[0]["words"] == 128'000);
  CHECK(softmax.back()["words"] == 970);
  // Attention across the link of device memory moves what it moves with that much fast memory.
  const json attention = bound_answer({"attention n=1000000 d=128", "--accelerator", "h100-sxm5-80gb"});
  CHECK(attention["levels"][0]["words"].get<double>() == Approx(attention["lower"].get<double>()).epsilon(1e-3));
  const std::string file = write_file("sum.cdag", "v a in\nv b in\nv s out\ne a s\ne b s\n");
  const json graph = bound_answer({"--cdag", file, "--accelerator", "h100-sxm5-80gb"})["levels"];
  CHECK(graph[0]["words"] == 3);
  CHECK(graph.back()["words"] == 1);
}

TEST_CASE("bound: several devices") {
  // 64 devices in a cube meet the bound of a square product exactly; a square grid that of attention.
  const json product = bound_answer({"matmul m=8192 n=8192 k=8192", "--devices", "64", "--fast", "100MB"})["devices"];
  CHECK(product["words"].get<double>() == Approx(3.0 * 8192 * 8192 / 16.0 * 0.75));
  CHECK(product["counted"] == "sent and received together");
  CHECK(product["algorithms"]["3d"].get<double>() == Approx(product["words"].get<double>()));
  CHECK(product["algorithms"]["2d"].get<double>() > product["words"].get<double>());
  const json attention =
      bound_answer({"attention n=131072 d=128 heads=32", "--devices", "64", "--fast", "1GB"})["devices"];
  CHECK(attention["words"].get<double>() == Approx(4.0 * 7.0 * 131072.0 * 4096.0 / 64.0));
  CHECK(attention["algorithms"]["square grid"].get<double>() == Approx(attention["words"].get<double>()));
  // A convolution's devices do a share of its points: 4 S (points / p / (2 S)^{3/2} - 1) at the least for nine offsets'
  // windows apart, sqrt(9) times fewer with windows that overlap.
  const json conv =
      bound_answer({"conv2d b=64 ci=256 co=256 h=56 w=56 r=3 s=3", "--devices", "8", "--fast", "100000"})["devices"];
  const double points = 64.0 * 256 * 256 * 56 * 56 * 9, s = 100'000;
  CHECK(conv["words"].get<double>() >= 4 * s * (points / 8 / std::pow(2 * s, 1.5) / 3 - 1) - 1);
  CHECK(conv["words"].get<double>() <= 4 * s * (points / 8 / std::pow(2 * s, 1.5)));
  bound_refused({"--cdag", "none", "--devices", "3", "--fast", "5"}, "cannot be read");
  bound_refused({"--model", "gpt3-175b", "--devices", "3", "--fast", "5MB"}, "give an operator");
  bound_refused({"fft n=1024", "--devices", "3", "--fast", "5"}, "give smaller sizes");
  bound_refused({"einsum", "ij,jk,kl->il", "--sizes", "i=4,j=4,k=4,l=4", "--fast", "50"}, "an einsum of two operands");
}

TEST_CASE("bound: algorithms beside a bound have its premises") {
  // 228 KiB on each of 64 devices: the three blocks of a grid of 8 x 8 take 3 x 8192^2 / 64 words, 6 MiB.
  const std::vector<std::string> product{"matmul m=8192 n=8192 k=8192", "--devices", "64"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), product.begin(), product.end());
    return bound_answer(more)["devices"];
  };
  const json small = with({"--fast", "228KiB"});
  CHECK(small["algorithms"].empty());
  CHECK(small["left_out"]["2d"]["reason"] == "does not fit: needs 6 MiB a device, has 228 KiB");
  CHECK(small["premise"].get<std::string>().find("the rest lies elsewhere") != std::string::npos);
  // Accelerators have their device memory.
  const json large = with({"--accelerator", "h100-sxm5-80gb"});
  CHECK(large["memory_words"] == 80.0 * 1024 * 1024 * 1024 / 2.0);
  CHECK(large["left_out"].empty());
  for (const auto& [name, words] : large["algorithms"].items()) CHECK(words >= large["words"]);
  // Heads cut apart lie outside what the bound of attention covers.
  const json attention =
      bound_answer({"attention n=131072 d=128 heads=32", "--devices", "64", "--fast", "1GB"})["devices"];
  CHECK(attention["left_out"].size() == 1);
  CHECK(attention["left_out"].contains("heads split"));
  // In words: no B for billions beside bytes.
  const std::string text = run({"bound", "matmul m=65536 n=65536 k=65536", "--devices", "64", "--fast", "100GB"}).out;
  CHECK(text.find(" M words") != std::string::npos);
  CHECK(text.find(" B  ") == std::string::npos);
}

TEST_CASE("bound: leading terms are of products on their own") {
  // Each product of attention by itself would have 2 n^2 d / sqrt(S): above what the fused two are known to need.
  const json attention = bound_answer({"attention n=4096 d=128", "--fast", "228KiB"});
  CHECK(attention["asymptotic"].empty());
  CHECK(2.0 * 2.0 * 4096.0 * 4096.0 * 128.0 / std::sqrt(116'736.0) > attention["upper"].get<double>());
  CHECK(bound_answer({"matmul m=1000 n=1000 k=1000", "--fast", "1000"})["asymptotic"].size() == 1);
}

TEST_CASE("bound: sizes are missed before a memory") {
  bound_refused({"matmul"}, "size m is missing");
  bound_refused({"matmul m=4 n=4 k=4"}, "give --fast 228KiB");
}

TEST_CASE("bound: an order that nothing beats is said to be one") {
  // A chain of sums, each of the value before and one read once: whatever the memory, nothing is loaded twice.
  std::string trace;
  for (int i = 1; i <= 40; ++i) trace += "w " + std::to_string(i) + "\nop\n";
  trace += "r 1\nr 2\nw 100\nop\n";
  for (int i = 3; i <= 40; ++i)
    trace += "r " + std::to_string(97 + i) + "\nr " + std::to_string(i) + "\nw " + std::to_string(98 + i) + "\nop\n";
  const std::string file = write_file("chain.trace", trace);
  const std::string text = run({"bound", "--trace", file, "--fast", "16", "--locality"}).out;
  INFO(text);
  CHECK(text.find("none better found") != std::string::npos);
}

TEST_CASE("bound: a graph on several nodes, and the time over a cluster's links") {
  // A tree of four leaves, two nodes: one partial sum is received; the node with two sums takes in two leaves and a sum
  // and gives one.
  const std::string file = write_file("tree.cdag",
                                      "v a in\nv b in\nv c in\nv d in\nv l\nv r\nv t out\n"
                                      "e a l\ne b l\ne c r\ne d r\ne l t\ne r t\n");
  const json tree =
      bound_answer({"--cdag", file, "--devices", "2", "--fast", "3", "--dtype", "fp32", "--cluster", "dgx-h100"});
  CHECK(tree["nodes"]["most_values_each"] == 2);
  CHECK(tree["nodes"]["received"]["lower"] == 1);
  CHECK(tree["nodes"]["received"]["exact"] == 1);
  CHECK(tree["nodes"]["received"]["upper"] == 1);
  CHECK(tree["nodes"]["busiest"]["lower"] == 4);
  CHECK(tree["nodes"]["busiest"]["upper"] == 4);
  // One of two nodes receives a word of four bytes, over 450 GB/s and 50 GB/s at once.
  CHECK(tree["network"]["bytes_per_s"] == 500e9);
  CHECK(tree["network"]["lower_s"].get<double>() == Approx(4.0 / 500e9));
  // Half of what a device of a product sends and receives goes each way.
  const json product =
      bound_answer({"matmul m=8192 n=8192 k=8192", "--devices", "64", "--fast", "100MB", "--cluster", "dgx-h100"});
  CHECK(product["network"]["lower_s"].get<double>() ==
        Approx(product["devices"]["words"].get<double>() * 2.0 / 2.0 / 500e9));
  // Values of a small operator are nodes of its graph.
  CHECK(bound_answer({"fft n=8", "--devices", "2", "--fast", "8"})["nodes"]["received"]["lower"].get<int>() >= 1);
  bound_refused({"--cdag", file, "--fast", "3", "--cluster", "dgx-h100"}, "give --devices N");
  bound_refused({"--cdag", file, "--fast", "2", "--devices", "2"}, "at least 3");
  bound_refused({"--cdag", file, "--fast", "3", "--devices", "2", "--cluster", "dgx-h10"}, "dgx-h100");
}

TEST_CASE("bound: a schedule's moves are written, and verified when read again") {
  // y = a b + c. In three words: load a, b; p = a b; a and b leave; load c; y = p + c; store y: four words moved.
  const std::string graph =
      write_file("moved.cdag", "v a in\nv b in\nv c in\nv p\nv y out\ne a p\ne b p\ne p y\ne c y\n");
  const std::string by_hand = "load a\nload b\ncompute p  # a b\nerase a\nerase b\nload c\ncompute y\nstore y\n";
  const json verified = bound_answer({"--cdag", graph, "--fast", "3", "--moves", write_file("hand.moves", by_hand)});
  CHECK(verified["moves"]["words"] == 4);
  CHECK(verified["moves"]["loads"] == 3);
  CHECK(verified["moves"]["stores"] == 1);
  CHECK(verified["moves"]["peak"] == 3);
  CHECK(verified["moves"]["moves"] == 8);
  CHECK(verified["moves"]["illegal"].is_null());

  const std::string written = scratch() + "/written.moves";
  for (const auto& options :
       {std::vector<std::string>{}, {"--exact"}, {"--slide", "--exact"}, {"--game", "hk", "--exact"}}) {
    std::vector<std::string> arguments{"--cdag", graph, "--fast", "3", "--write-moves", written};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const json made = bound_answer(arguments);
    arguments[4] = "--moves";
    const json again = bound_answer(arguments);
    CHECK(again["moves"]["words"] == made["upper"]);
    CHECK(again["moves"]["loads"] == made["loads"]);
  }
  // A trace's values have no names but their numbers.
  const std::string trace = write_file("moved.trace", "w 1\nop\nw 2\nop\nr 1\nr 2\nw 3\nop\nr 3\nw 4\nop\n");
  const json made = bound_answer({"--trace", trace, "--fast", "4", "--write-moves", written});
  CHECK(bound_answer({"--trace", trace, "--fast", "4", "--moves", written})["moves"]["words"] == made["upper"]);
}

TEST_CASE("bound: the first illegal move, with its line and the names of the graph") {
  const std::string graph = write_file("wrong.cdag", "v a in\nv b in\nv y out\ne a y\ne b y\n");
  const auto verdict = [&](const std::string& moves, const std::string& said) {
    const Outcome outcome = run({"bound", "--cdag", graph, "--fast", "3", "--moves", write_file("wrong.moves", moves)});
    CHECK(outcome.code == 1);
    INFO(outcome.out);
    CHECK(outcome.out.find(said) != std::string::npos);
  };
  verdict("load a\n\n# half of it\ncompute y\n", "wrong.moves:4: compute y: its predecessor b is not in fast memory");
  verdict("load a\nload b\ncompute y\n", "wrong.moves:3: output y is not in slow memory at the end");
  verdict("load a\nload b\nslide a -> y\n", "wrong.moves:3: slide a -> y: the game has no sliding");
  verdict("# nothing\n", "wrong.moves:0: input a was never loaded");

  const auto not_read = [&](const std::string& moves, const std::string& said) {
    bound_refused({"--cdag", graph, "--fast", "3", "--moves", write_file("bad.moves", moves)}, said);
  };
  not_read("load a\nlaod b\n", "bad.moves:2:1: error: unknown move 'laod'");
  not_read("load x\n", "the graph has no vertex 'x'");
  not_read("load a b\n", "a move 'load' names one vertex");
  not_read("slide a y\n", "a slide is 'slide FROM -> V'");
  bound_refused({"--cdag", graph, "--fast", "3", "--moves", scratch() + "/none"}, "cannot be read");
  bound_refused({"fft n=8", "--fast", "4", "--write-moves", scratch() + "/m"}, "give --cdag FILE or --trace FILE");
}

TEST_CASE("bound: exchanges between devices") {
  // 1 GiB are 2^29 words of two bytes: each of 16 devices 2 x 15 / 16 of it, all together 2 x 15 times.
  const json sum = bound_answer({"all-reduce p=16 n=1GiB", "--dtype", "bf16"});
  const double n = 536'870'912.0;
  CHECK(sum["devices"]["words"] == 2.0 * n * 15.0 / 16.0);
  CHECK(sum["devices"]["total"] == 2.0 * n * 15.0);
  CHECK(sum["devices"]["counted"] == "each way");
  CHECK(sum["lower"] == 2.0 * n * 15.0 / 16.0);
  CHECK(sum["devices"]["algorithms"]["ring"] == sum["devices"]["words"]);
  CHECK(sum["devices"]["algorithms"]["recursive doubling"] == 4.0 * n);
  CHECK(sum["assumptions"][0] == "no reduction in the network");
  CHECK_FALSE(sum["devices"]["algorithms"].contains("switches add"));  // half as much, outside what the bound covers
  CHECK(sum["devices"]["left_out"]["switches add"]["words"] == n);

  const auto words = [](const std::string& exchange) { return bound_answer({exchange + " p=5 n=100"})["devices"]; };
  for (const char* each : {"all-gather", "reduce-scatter", "all-to-all"}) {
    CHECK(words(each)["words"] == 80.0);
    CHECK(words(each)["total"] == 400.0);
  }
  for (const char* each : {"broadcast", "reduce"}) {
    CHECK(words(each)["words"] == 100.0);
    CHECK(words(each)["total"] == 400.0);
  }
  CHECK(words("gather")["total"] == 80.0);
  CHECK(bound_answer({"all-reduce p=1 n=100"})["lower"] == 0);

  CHECK(bound_answer({"all-gather", "p=8,", "n=1", "GiB"})["lower"] ==
        bound_answer({"all-gather p=8 n=1GiB"})["lower"]);

  // 896 MiB over 450 GB/s and 50 GB/s together.
  const json timed = bound_answer({"all-gather", "p=8", "n=1GiB", "--cluster", "dgx-h100"});
  CHECK(timed["network"]["lower_s"].get<double>() == Approx(896.0 * 1048576.0 / 500e9));

  // 15/16 of 1 GiB, on two nodes of the cluster.
  const json larger = bound_answer({"all-gather", "p=16", "n=1GiB", "--cluster", "dgx-h100", "--set", "nodes=2"});
  CHECK(larger["network"]["lower_s"].get<double>() == Approx(960.0 * 1048576.0 / 500e9));
}

TEST_CASE("bound: exchanges that are none are refused") {
  for (const char* text :
       {"all-reduce p=16", "all-reduce n=5", "all-reduce p=0 n=5", "all-reduce p=2 n=0", "all-reduce p=x n=5",
        "all-reduce p=2147483649 n=5", "all-reduce p=2 n=5 q=1", "all-reduce p=2 n=-5"})
    bound_refused({text}, "write for example 'all-reduce p=16 n=1GiB'");
  bound_refused({"all-reduce p=2 p=3 n=5"}, "'p' is given twice");
  bound_refused({"all-reduce 2 n=5"}, "'2' is no size");
  bound_refused({"all-reduce p=2 n=5 parsecs"}, "unknown unit 'parsecs'");
  bound_refused({"all-reduce p=2 n=5", "--fast", "7"}, "leave --fast out");
  bound_refused({"all-reduce p=2 n=5", "--devices", "7"}, "write p=N");
  bound_refused({"all-reduce p=16 n=5", "--cluster", "dgx-h100"}, "has 8 accelerators");
  bound_refused({"all-reduce p=16 n=5", "--cluster", "dgx-h100"}, "--set nodes=N");
  bound_refused({"all-reduce p=16 n=5", "--cluster", "dgx-h100", "--set", "nods=2"}, "did you mean 'nodes'?");
  bound_refused({"all-reduce p=16 n=5", "--set", "nodes=2"}, "add --cluster NAME");
}

TEST_CASE("bound: the words of a proof are explained where they are used", "[bound]") {
  const std::string product = run({"bound", "matmul m=512 n=512 k=512", "--fast", "1024"}).out;
  INFO(product);
  for (const char* said :
       {"projection: so many values", "in a row: the work is cut", "compulsory: every input", "sums stay: a tile"})
    CHECK(product.find(said) != std::string::npos);
  for (const char* unused : {"wavefront: ", "convex partition: ", "disjoint parts: "})
    CHECK(product.find(unused) == std::string::npos);
  // Here the compulsory bound is the best: it is no other one.
  const std::string small = run({"bound", "matmul m=8 n=8 k=8", "--fast", "1024"}).out;
  CHECK(small.find("Other lower bounds") == std::string::npos);
  const std::string layer =
      run({"bound", "--model", "bert-large", "--layer", "1", "--batch", "8", "--accelerator", "v100-sxm2-32gb"}).out;
  // 2 x 4096 x 1024 x 3072 = 25.8 G: no B beside bytes.
  CHECK(layer.find(" 25.8 G ") != std::string::npos);
  CHECK(layer.find("25.8 B") == std::string::npos);
  CHECK(layer.find("MUE: data-movement utilisation") != std::string::npos);
}

TEST_CASE("bound: a trace that does not say where its operations end is told how they are written", "[bound]") {
  const std::string help = run({"bound", "--help"}).out;
  CHECK(help.find("a = x + y, line by line: w 0, w 8, op, r 0, r 8, w 16, op") != std::string::npos);
  bound_refused({"--trace", write_file("unended.trace", "w 1\nw 2\nr 1\nr 2\nw 3\n"), "--fast", "30"},
                "a line 'op' ends an operation");
  bound_refused({"--trace", write_file("unplaced.trace", "r 7\nw 3\n"), "--fast", "30"}, "by lines 'w 7' and 'op'");
}
