// Bounds as a program that is built on the library asks for them: no command line, no text, figures by hand.
#include "cairn/bound/answer.h"

#include <cmath>
#include <limits>
#include <map>

#include "cairn/bound/exchanges.h"
#include "cairn/collective/algorithms.h"
#include "cairn/hardware/files.h"
#include "catch.h"
#include "support/complaints.h"
#include "support/shipped.h"

using namespace cairn;
using bound::Answer;
using bound::ComputationRequest;
using bound::ExchangeRequest;
using bound::LayersRequest;
using pebble::Words;
using test::complaints;
using test::contains;

namespace {

bound::Links dgx_h100(int nodes) {
  return {
      .name = "dgx-h100",
      .network = hardware::load_machine(testing::shipped(), "dgx-h100", {"nodes=" + std::to_string(nodes)}).network};
}

// y = a b + c.
bound::Graph multiply_add() {
  pebble::CdagBuilder graph;
  const pebble::Vertex a = graph.input(), b = graph.input(), c = graph.input();
  const pebble::Vertex p = graph.compute({a, b});
  graph.label_output(graph.compute({p, c}));
  return {.name = "y = a b + c", .graph = {.graph = graph.build(), .names = {}}};
}

}  // namespace

TEST_CASE("bound: a product in the fast memory of a machine") {
  // 228 KiB are 116,736 words of two bytes: 2 n^3 / sqrt(S) - 2 S at least.
  const Words n = 8192;
  const Answer answer = bound::answer(ComputationRequest{
      .computation = pebble::matmul_operation({.m = n, .n = n, .k = n}), .fast = 228.0 * 1024.0 * core::k_byte});
  CHECK(answer.fast == 116'736);
  CHECK(answer.what == "C = A B");
  CHECK(static_cast<double>(answer.lower_words()) >=
        2.0 * std::pow(8192.0, 3) / std::sqrt(116'736.0) - 2.0 * 116'736.0 - 1.0);
  REQUIRE(answer.upper);
  CHECK(answer.upper->words >= answer.lower_words());
  CHECK(static_cast<double>(answer.upper->words) <= 1.15 * static_cast<double>(answer.lower_words()));
  CHECK(answer.operations == 2.0 * std::pow(8192.0, 3));

  // All that is on the chip: more than its 50 MB of second-level cache. Through the link of device memory everything
  // passes once; one multiprocessor of 132 has 256 Ki words and a share of n^3 / 132 products.
  const hardware::Accelerator h100 = hardware::load_accelerator(testing::shipped(), "h100-sxm5-80gb");
  const Answer on_chip =
      bound::answer(ComputationRequest{.computation = pebble::matmul_operation({.m = n, .n = n, .k = n}),
                                       .fast = h100.on_chip_capacity().value(),
                                       .accelerator = h100});
  CHECK(on_chip.fast > 25'000'000);
  REQUIRE(on_chip.machine);
  CHECK(on_chip.machine->bytes_per_s == 3.35e12);
  REQUIRE(on_chip.levels.size() == 2);
  CHECK(on_chip.levels[0].words == 3 * n * n);
  CHECK(on_chip.levels[0].least_s(on_chip.bytes_per_word).value() == Approx(2.0 * 3.0 * 8192.0 * 8192.0 / 3.35e12));
  const double s = 256.0 * 1024.0, share = std::pow(8192.0, 3) / 132.0;
  CHECK(static_cast<double>(on_chip.levels[1].words) >= 4.0 * s * (share / std::pow(2.0 * s, 1.5) - 1.0) - 1.0);
}

TEST_CASE("bound: a product over a cube of devices, and their links") {
  // 3 n^2 / p^(2/3) (1 - p^(-1/3)) words sent and received: what 3-d algorithms move. Half of them each way.
  for (const int side : {2, 4, 8}) {
    const int devices = side * side * side;
    const Answer answer =
        bound::answer(ComputationRequest{.computation = pebble::matmul_operation({.m = 8192, .n = 8192, .k = 8192}),
                                         .fast = 100e6 * core::k_byte,
                                         .devices = bound::Devices{.count = devices, .links = dgx_h100(64)}});
    const double words = 3.0 * 8192.0 * 8192.0 / (side * side) * (1.0 - 1.0 / side);
    INFO(devices);
    REQUIRE(answer.devices);
    CHECK(answer.devices->words == Approx(words));
    CHECK(answer.devices->algorithms.back().name == "3d");
    CHECK(answer.devices->algorithms.back().words == Approx(words));
    CHECK(answer.network.value().lower_s == Approx(2.0 * words / 2.0 / (450e9 + 50e9)));
  }
}

TEST_CASE("bound: exchanges over many nodes") {
  // Words that some rank must send or receive of n, over p ranks (the folds of a list are tested in `collective`).
  using collective::Collective;
  const std::map<Collective, double (*)(double)> shares{
      {Collective::all_gather, [](double p) { return (p - 1) / p; }},
      {Collective::all_reduce, [](double p) { return 2 * (p - 1) / p; }},
      {Collective::all_to_all, [](double p) { return (p - 1) / p; }},
      {Collective::broadcast, [](double) { return 1.0; }},
      {Collective::gather, [](double p) { return (p - 1) / p; }},
      {Collective::reduce, [](double) { return 1.0; }},
      {Collective::reduce_scatter, [](double p) { return (p - 1) / p; }}};
  REQUIRE(bound::exchanges().size() == shares.size());
  for (const Collective exchange : bound::exchanges())
    for (const int nodes : {1, 2, 7, 64}) {
      const int p = 8 * nodes;
      INFO(collective::name(exchange) << " over " << p);
      const Answer answer = bound::answer(
          ExchangeRequest{.collective = exchange, .devices = p, .amount = core::k_gibibyte, .links = dgx_h100(nodes)});
      const double words = std::pow(2.0, 29) * shares.at(exchange)(p);
      CHECK(answer.devices.value().words == Approx(words).epsilon(1e-12));
      CHECK(answer.network.value().lower_s == Approx(2.0 * words / (nodes > 1 ? 500e9 : answer.network->bytes_per_s)));
      for (const auto& each : answer.devices->algorithms)
        if (each.left_out.empty()) CHECK(each.words >= words * (1.0 - 1e-12));
    }
  // An amount in words is the same as the bytes that they take.
  const auto words_of = [](bound::Amount amount, numerics::Format format) {
    return bound::answer(ExchangeRequest{.devices = 5, .amount = amount, .format = format}).devices->words;
  };
  CHECK(words_of(Words{100}, numerics::Format::fp32) == 160.0);
  CHECK(words_of(400.0 * core::k_byte, numerics::Format::fp32) == 160.0);
}

TEST_CASE("bound: a graph, its cheapest play and one that is verified") {
  // Three loads and a store, in three words: load a, b; p = a b; a and b leave; load c; y = p + c; store y.
  ComputationRequest request{.computation = multiply_add(), .fast = Words{3}, .exact_states = 1000};
  const Answer found = bound::answer(request);
  CHECK(found.lower_words() == 4);
  CHECK(found.exact.value().cost.value().total() == 4);
  CHECK(found.what == "y = a b + c: 5 values, 3 inputs, 1 outputs");
  REQUIRE(found.cheapest() != nullptr);

  bound::Graph& graph = std::get<bound::Graph>(request.computation);
  graph.moves = bound::Moves{.file = "cheapest", .play = {.moves = *found.cheapest(), .lines = {}}};
  const Answer verified = bound::answer(request);
  CHECK(verified.moves.value().cost.value().total() == 4);
  std::erase_if(graph.moves->play.moves, [](const pebble::Move& each) { return each.kind == pebble::MoveKind::store; });
  CHECK_FALSE(bound::answer(request).moves.value().cost);
  CHECK(contains(bound::answer(request).moves->reason, "output 4 is not in slow memory"));
}

TEST_CASE("bound: the layers of a model that no file describes") {
  // Two blocks of width 64, four heads, an inner width of 256, 2 x 32 tokens, every query with every key, in FLOP:
  //   queries, keys, values and output  2 T h 4 h     linear layers  2 x 2 T h f     scores and context  2 x 2 b s^2 h
  const double tokens = 64, h = 64, f = 256, b = 2, s = 32;
  const double contractions = 2 * tokens * h * 4 * h + 2 * 2 * tokens * h * f + 2 * 2 * b * s * s * h;
  LayersRequest request{.sequence = 32, .batch = 2, .fast = 1e6 * core::k_byte};
  request.model.name = "small";
  request.model.layers = 2;
  request.model.hidden = 64;
  request.model.heads = 4;
  request.model.ffn = 256;
  request.model.vocab = 1000;
  request.model.causal = false;
  const bound::LayersAnswer answer = bound::answer(request);
  REQUIRE(answer.layers.size() == 3);
  const bound::LayerAnswer& block = answer.layers[1];
  CHECK(block.count == 2);
  CHECK(block.floor.flops[static_cast<std::size_t>(cost::OperatorClass::contraction)] == contractions);
  CHECK(block.floor.lower_bytes <= block.floor.fused);
  CHECK(block.floor.fused <= block.floor.unfused);
  CHECK(block.time_s.empty());

  // Times where the kernels of a machine are known: no operator is faster than what it must move.
  request.layer = 1;
  request.accelerator = hardware::load_accelerator(testing::shipped(), "h100-sxm5-80gb");
  request.calibration = cost::load_calibration(testing::shipped(), "h100-sxm5-80gb");
  const bound::LayersAnswer timed = bound::answer(request);
  REQUIRE(timed.layers.size() == 1);
  REQUIRE(timed.layers[0].time_s.size() == timed.layers[0].floor.operators.size());
  for (std::size_t i = 0; i < timed.layers[0].time_s.size(); ++i)
    CHECK(timed.layers[0].time_s[i] >= timed.layers[0].floor.operators[i].lower_bytes / 3.35e12);
}

TEST_CASE("bound: what is wrong names the field of the request") {
  const auto said = [](const auto& request) {
    std::string text = complaints([&] { bound::answer(request); });
    CHECK_FALSE(contains(text, "--"));  // a library knows no options
    return text;
  };
  ComputationRequest product{.computation = pebble::matmul_operation({.m = 8, .n = 8, .k = 8}), .fast = Words{30}};
  const auto with = [&](auto change) {
    ComputationRequest request = product;
    change(request);
    return said(request);
  };
  CHECK(contains(with([](auto& r) { r.fast = Words{0}; }), "request.fast: 0 words (give at least 1)"));
  CHECK(contains(with([](auto& r) { r.fast = 1.0 * core::k_byte; }), "request.fast: 1 bytes are no number of words"));
  CHECK(contains(with([](auto& r) { r.fast = Words{3}; }), "request.fast: 3 words cannot hold"));
  for (const std::int64_t count :
       {std::int64_t{0}, collective::k_most_paired + 1, std::numeric_limits<std::int64_t>::max()})
    CHECK(contains(with([count](auto& r) { r.devices = bound::Devices{.count = count}; }),
                   "is no number of devices (give 1 to 2147483648)"));
  product.computation = pebble::fft_operation(1024);
  CHECK(contains(with([](auto& r) { r.devices = bound::Devices{.count = 3}; }), "request.computation: "));
  product.computation = multiply_add();
  CHECK(contains(with([](auto& r) { r.devices = bound::Devices{.count = (std::int64_t{1} << 32) + 1}; }),
                 "request.devices: 4294967297 is no number of devices"));

  CHECK(contains(said(ExchangeRequest{.devices = 0, .amount = Words{5}}), "request.devices: 0 is no number"));
  CHECK(contains(said(ExchangeRequest{.devices = collective::k_most_paired + 1, .amount = Words{5}}),
                 "request.devices: "));
  CHECK(contains(said(ExchangeRequest{.devices = 2, .amount = Words{0}}), "request.amount: 0 words over 2 devices"));
  CHECK(contains(said(ExchangeRequest{.collective = collective::Collective::send, .devices = 2, .amount = Words{5}}),
                 "request.collective: send is no exchange"));
  CHECK(contains(said(ExchangeRequest{.devices = 16, .amount = Words{5}, .links = dgx_h100(1)}),
                 "request.links: dgx-h100 has 8 accelerators"));

  LayersRequest layers{.sequence = 0, .fast = Words{1000}};
  CHECK(contains(said(layers), "request.sequence: 0 tokens"));
  layers.sequence = 1;
  layers.batch = -1;
  CHECK(contains(said(layers), "request.batch: -1 sequences"));
}
