// cairn attention, as a user would ask it.
#include <algorithm>

#include "cli/asked.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

std::vector<std::string> long_sequence(std::vector<std::string> more) {
  more.insert(more.begin(), {"--cluster", "dgx-h100", "--seq", "8Ki", "--heads", "16", "--kv-heads", "4"});
  return more;
}
json attention_answer(std::vector<std::string> more) { return asked("attention", long_sequence(std::move(more))); }
std::vector<std::string> with_command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "attention");
  return arguments;
}

}  // namespace

TEST_CASE("attention: every scheme, the fastest grid first", "[attention]") {
  const json document = attention_answer({});
  CHECK(document["schema"] == "cairn.attention/1");
  CHECK(document["tokens"] == 8192);
  CHECK(document["gpus"] == 8);
  CHECK(document["context_ranks"] == 8);
  double before = 0.0;
  for (const json& way : document["schemes"]) {
    INFO(way.dump());
    CHECK(way["feasible"] == way["reason"].is_null());
    if (!way["feasible"]) continue;
    const double total = way["time_s"]["forward"].get<double>() + way["time_s"]["backward"].get<double>();
    CHECK(total >= before);
    CHECK(way["time_s"]["compute"].get<double>() + way["time_s"]["exposed"].get<double>() == Approx(total));
    before = total;
  }
  // K and V of 7 others, 1,024 tokens of 4 heads of 128 in 2 bytes.
  const auto ring = std::find_if(document["schemes"].begin(), document["schemes"].end(),
                                 [](const json& way) { return way["name"] == "ring"; });
  REQUIRE(ring != document["schemes"].end());
  CHECK((*ring)["bytes_received_per_gpu"]["forward"] == 7 * 2 * 1024 * 4 * 128 * 2);
}

TEST_CASE("attention: the answer on one screen", "[attention]") {
  const Outcome text = run(with_command(long_sequence({"--prove"})));
  INFO(text.out << text.err);
  CHECK(text.code == 0);
  CHECK(std::count(text.out.begin(), text.out.end(), '\n') <= 24);
  CHECK(text.out.find("forward + backward") != std::string::npos);
  CHECK(text.out.find("8,192 tokens, 16 heads of 128, 4 of keys and values, causal") != std::string::npos);
  CHECK(text.out.find("proved on numbers") != std::string::npos);
}

// Of 16 hops of a ring over two nodes 14 stay inside, over 16 links, and 2 leave, by 1 adapter of 8: 16 / 14 and 8.
TEST_CASE("attention: loads of links stand beside the figures", "[attention]") {
  const std::vector<std::string> of_ring{"--cluster", "dgx-h100", "--nodes",  "2",    "--seq",    "16Ki",
                                         "--heads",   "16",       "--scheme", "ring", "--forward"};
  const json way = asked("attention", of_ring)["schemes"][0];
  REQUIRE(way["link_loads"].size() == 2);
  const json& outside = way["link_loads"][1];
  CHECK(outside["level"] == "inter");
  CHECK(outside["links"] == 16);
  CHECK(outside["busiest_bytes"] == way["bytes_sent_per_gpu"]["forward"]);
  CHECK(outside["over_mean"] == Approx(8.0));
  const Outcome text = run(with_command(of_ring));
  INFO(text.out << text.err);
  CHECK(text.out.find("busiest link over the mean: intra 1.14, inter 8.00\n") != std::string::npos);
}

TEST_CASE("attention: several lengths and clusters", "[attention]") {
  const json document = asked("attention", {"--cluster", "dgx-h100", "--nodes", "1,2", "--seq", "4Ki..16Ki", "--heads",
                                            "8", "--scheme", "zigzag", "--forward"});
  CHECK(document["schema"] == "cairn.attention-comparison/1");
  REQUIRE(document["points"].size() == 6);
  CHECK(document["points"][0]["tokens"] == 4096);
  CHECK(document["points"][2]["tokens"] == 16384);
  CHECK(document["points"][5]["gpus"] == 16);
  const std::string svg = scratch() + "/attention.svg";
  const Outcome text = run(
      {"attention", "--cluster", "dgx-h100", "--nodes", "1,2", "--seq", "4Ki..16Ki", "--heads", "8", "--plot", svg});
  CHECK(text.code == 0);
  const std::string drawn = content(svg);
  CHECK(drawn.find("<svg ") == 0);
  CHECK(drawn.find(">8 GPUs<") != std::string::npos);
  CHECK(drawn.find(">16 GPUs<") != std::string::npos);
  CHECK(drawn.find(">16 Ki<") != std::string::npos);
}

TEST_CASE("attention: names of the field and of the options are one", "[attention]") {
  const json split = attention_answer({"--ulysses", "4", "--ring", "2"});
  CHECK(split["schemes"] == attention_answer({"--heads-split", "4", "--ring", "2", "--causal"})["schemes"]);
  for (const json& way : split["schemes"]) {
    CHECK(way["grid"]["head_ranks"] == 4);
    CHECK(way["grid"]["rows"].get<int>() * way["grid"]["columns"].get<int>() == 2);
  }
  CHECK(attention_answer({"--full-mask"})["causal"] == false);
  CHECK(attention_answer({"--tp", "2"})["heads"] == 8);
}

TEST_CASE("attention: proofs stand beside what they prove", "[attention]") {
  const json document = attention_answer({"--scheme", "attention2d", "--grid", "2x4", "--prove"});
  for (const json& way : document["schemes"]) {
    if (!way["feasible"]) continue;
    REQUIRE(way["proof"].is_object());
    CHECK(way["proof"]["fault"].is_null());
    CHECK(way["proof"]["grid"].get<std::string>().starts_with("2 x 4"));
  }
  CHECK(attention_answer({})["schemes"][0]["proof"].is_null());
}

TEST_CASE("attention: the list of schemes", "[attention]") {
  const Outcome text = run({"attention", "--list"});
  CHECK(text.code == 0);
  for (const char* said : {"ring", "zigzag", "attention2d", "2503.15758"})
    CHECK(text.out.find(said) != std::string::npos);
  CHECK(asked("attention", {"--list"})["schemes"].size() >= 16);
}

TEST_CASE("attention: a batch of mixed lengths", "[attention]") {
  const std::string lengths = write_file("lengths.txt", "32Ki\n8192\n4096\n4096\n");
  const std::vector<std::string> batch{"--cluster", "dgx-h100", "--heads",          "16",
                                       "--lengths", lengths,    "--tokens-per-gpu", "16384"};
  const json document = asked("attention", batch);
  CHECK(document["schema"] == "cairn.attention-batch/1");
  CHECK(document["lengths"] == json({32768, 8192, 4096, 4096}));
  CHECK(document["groups"]["time_s"].get<double>() <= document["one_degree"]["time_s"].get<double>());
  CHECK(document["groups"]["time_s"].get<double>() >= document["groups"]["lower_bound_s"].get<double>());
  const Outcome text = run(with_command(batch));
  CHECK(text.code == 0);
  CHECK(text.out.find("4 sequences of 4,096 to 32,768 tokens, 49,152 in all, on 8 ranks") != std::string::npos);
  refused({"attention", "--cluster", "dgx-h100", "--heads", "16", "--lengths", lengths}, {"--tokens-per-gpu"});
  refused({"attention", "--cluster", "dgx-h100", "--heads", "16", "--tokens-per-gpu", "4096", "--lengths",
           write_file("wrong.txt", "4096\nlong\n")},
          {"wrong.txt:2", "no length"});
}

TEST_CASE("attention: what cannot be is refused with a remedy", "[attention]") {
  const auto refuses = [](std::vector<std::string> more, const std::vector<std::string>& words) {
    refused(with_command(long_sequence(std::move(more))), words);
  };
  refuses({"--scheme", "zig-zag"}, {"--scheme", "did you mean 'zigzag'?"});
  refuses({"--scheme", "tree-attention"}, {"--scheme", "is for decoding", "--list"});
  refuses({"--heads-split", "3"}, {"no scheme has a grid of 8 ranks with 3"});
  refuses({"--scheme", "attention2d", "--grid", "3x5"}, {"--scheme", "no grid of 8 ranks", "it stands in"});
  refuses({"--grid", "8"}, {"--grid", "8x8"});
  refuses({"--tp", "3"}, {"--tp", "divisor"});
  refuses({"--full-mask", "--causal"}, {"--full-mask"});
  refuses({"--nodes", "4..1"}, {"--nodes", "downwards"});
  refuses({"--kernel", "unfused"}, {"--kernel"});
  refused({"attention"}, {"--cluster"});
  refused({"attention", "--cluster", "dgx-h100"}, {"--seq", "128Ki"});
  refused({"attention", "--cluster", "dgx-h100", "--seq", "1Ki"}, {"--heads"});
  refused({"attention", "--cluster", "dgx-h100", "--seq", "0", "--heads", "8"}, {"--seq", "whole number"});
  refused({"attention", "--cluster", "dgx-h100", "--seq", "1Ki", "--heads", "8", "--kv-heads", "16"},
          {"--kv-heads", "at most 8"});
  refused({"attention", "--cluster", "dgx-h100", "--seq", "1Ki", "--heads", "8", "--kv-heads", "3"},
          {"--kv-heads", "divisor"});
}

TEST_CASE("attention: where nothing can be shared the answer is negative, and says why", "[attention]") {
  const Outcome text =
      run({"attention", "--cluster", "dgx-h100", "--seq", "1001", "--heads", "8", "--scheme", "zigzag"});
  INFO(text.out << text.err);
  CHECK(text.code == 1);
  CHECK(text.out.find("No scheme can share") != std::string::npos);
  CHECK(text.out.find("pad to 1008") != std::string::npos);
}
