// `cairn bound` and the library it is made of answer alike, and its refusals speak of its options.
#include "cairn/bound/answer.h"
#include "cairn/hardware/files.h"
#include "cairn/models/huggingface.h"
#include "cairn/pebble/operation_text.h"
#include "cli/asked.h"
#include "support/shipped.h"

using namespace cairn;
using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

json shown(std::vector<std::string> arguments) { return asked("bound", std::move(arguments)); }

void check_same(const json& document, const bound::Answer& answer) {
  CHECK(document["fast"] == answer.fast);
  CHECK(document["lower"] == answer.lower_words());
  CHECK(document["operations"] == answer.operations);
  CHECK(document["method"] == answer.best().method);
  if (answer.upper) CHECK(document["upper"] == answer.upper->words);
  REQUIRE(document.contains("devices") == answer.devices.has_value());
  if (answer.devices) CHECK(document["devices"]["words"] == answer.devices->words);
  REQUIRE(document.contains("network") == answer.network.has_value());
  if (answer.network) CHECK(document["network"]["lower_s"] == answer.network->lower_s);
  REQUIRE(document.contains("machine") == answer.machine.has_value());
}

}  // namespace

TEST_CASE("bound: the command says what the library answers", "[bound]") {
  const config::Loader loader = testing::shipped();
  const hardware::Accelerator h100 = hardware::load_accelerator(loader, "h100-sxm5-80gb");
  const bound::Links links{.name = "dgx-h100", .network = hardware::load_machine(loader, "dgx-h100").network};
  check_same(
      shown({"matmul m=8192 n=8192 k=8192", "--accelerator", "h100-sxm5-80gb", "--devices", "64", "--cluster",
             "dgx-h100", "--dtype", "fp32"}),
      bound::answer(bound::ComputationRequest{.computation = pebble::parse_operation("matmul m=8192 n=8192 k=8192"),
                                              .fast = *h100.on_chip_capacity(),
                                              .format = numerics::Format::fp32,
                                              .accelerator = h100,
                                              .devices = bound::Devices{.count = 64, .links = links}}));
  check_same(
      shown({"attention n=1024 d=64", "--fast", "5000", "--slide"}),
      bound::answer(bound::ComputationRequest{.computation = pebble::parse_operation("attention n=1024 d=64"),
                                              .fast = pebble::Words{5000},
                                              .game = {pebble::Rules::red_blue_white, pebble::Sliding::allowed}}));
  check_same(
      shown({"all-gather p=8 n=1GiB", "--cluster", "dgx-h100"}),
      bound::answer(bound::ExchangeRequest{
          .collective = collective::Collective::all_gather, .devices = 8, .amount = core::k_gibibyte, .links = links}));

  core::Diagnostics none;
  const bound::LayersAnswer layers = bound::answer(
      bound::LayersRequest{.model = models::read_model(config::make_scalar("bert-large", {}), loader, none),
                           .batch = 8,
                           .backward = true,
                           .attention = models::AttentionKernel::fused_softmax,
                           .fast = *h100.on_chip_capacity(),
                           .accelerator = h100,
                           .calibration = cost::load_calibration(loader, "h100-sxm5-80gb")});
  const json document = shown({"--model", "bert-large", "--batch", "8", "--backward", "--attention", "fused_softmax",
                               "--accelerator", "h100-sxm5-80gb"});
  REQUIRE(document["layers"].size() == layers.layers.size());
  for (std::size_t i = 0; i < layers.layers.size(); ++i) {
    CHECK(document["layers"][i]["lower_bytes"] == layers.layers[i].floor.lower_bytes);
    CHECK(document["layers"][i]["operators"][0]["time_s"] == layers.layers[i].time_s[0]);
  }
}

TEST_CASE("bound: what is wrong with a request is said of its option", "[bound]") {
  const std::string sum = write_file("pair.cdag", "v a in\nv b in\nv s out\ne a s\ne b s\n");
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> cases{
      {{"matmul m=8 n=8 k=8", "--fast", "3"}, {"--fast: 3 words cannot hold", "(give at least 4 words)"}},
      {{"fft n=1024", "--fast", "30", "--devices", "3"}, {"--devices: of fft", "or its graph by --cdag)"}},
      {{"--cdag", sum, "--fast", "3", "--devices", "4294967297"}, {"--devices: 4294967297", "(give 1 to 2147483648)"}},
      {{"all-reduce p=16 n=5", "--cluster", "dgx-h100"},
       {"--cluster: dgx-h100 has 8 accelerators", "or set more nodes: --set nodes=N)"}},
      {{"all-reduce p=x n=5"}, {"bound.all-reduce: p=x is no number of devices", "write for example"}},
      {{"all-reduce p=2 n=0GiB"}, {"bound.all-reduce: n=0GiB over p=2 is no amount", "write for example"}},
      {{"--model", "bert-large", "--fast", "5MB", "--layer", "99"},
       {"--layer: there is no layer 99", "(give 0 to 25)"}},
      {{"--model", "bert-large", "--fast", "5MB", "--batch", "9007199254740992"}, {"--batch: ", "fewer tokens"}},
      {{"--model", "llama-3.1-8b", "--fast", "5MB", "--seq", "9007199254740993"}, {"--seq: ", "fewer tokens"}}};
  for (auto [arguments, words] : cases) {
    arguments.insert(arguments.begin(), "bound");
    refused(arguments, words);
    CHECK(run(arguments).err.find("request.") == std::string::npos);
  }
}
