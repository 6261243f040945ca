// cairn schedule, as a user would ask it.
#include <fstream>

#include "cli/asked.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

json schedule_answer(std::vector<std::string> arguments) { return asked("schedule", std::move(arguments)); }

void schedule_refused(std::vector<std::string> arguments, const std::string& place, const std::string& remedy) {
  arguments.insert(arguments.begin(), "schedule");
  refused(arguments, {place, remedy});
}

}  // namespace

TEST_CASE("schedule: figures are exact fractions", "[schedule]") {
  // idle = (p-1)(F+B+W)/v = 3 * 3 / 2 where F = B = W = 1; makespan 8 * 3 + 9/2.
  const json document = schedule_answer({"interleaved-1f1b", "--stages", "4", "--micro-batches", "8", "--chunks", "2"});
  CHECK(document["schema"] == "cairn.schedule/1");
  CHECK(document["result"]["makespan"] == 28.5);
  CHECK(document["result"]["exact"]["makespan"] == "57/2");
  CHECK(document["result"]["exact"]["idle"] == json({"9/2", "9/2", "9/2", "9/2"}));
  // p + (p-1)/v of a full stage, and one full stage less per two devices: 5.5 4.5 3.5 2.5
  CHECK(document["result"]["peak_activations"]["release_at_b"] == json({5.5, 4.5, 3.5, 2.5}));
  CHECK(document["result"]["operations"].size() == 4 * 8 * 2 * 2);
  const json& first = document["result"]["operations"][0];
  CHECK(first["kind"] == "forward");
  CHECK(first["start"] == 0.0);
  CHECK(first["end"] == 0.5);
}

TEST_CASE("schedule: a document written part by part is laid out as a whole one is", "[schedule]") {
  // 4 x 2 x 600 operations of about 160 bytes take several parts.
  for (const char* kind : {"1f1b", "dualpipe", "swarm"}) {
    const Outcome outcome = run({"schedule", kind, "--stages", "4", "--micro-batches", "600", "--json"});
    INFO(kind << ": " << outcome.err);
    REQUIRE(outcome.code == 0);
    const auto document = nlohmann::ordered_json::parse(outcome.out);
    CHECK(document["result"]["operations"].size() >= 4 * 2 * 600);
    CHECK((document.dump(2) + "\n" == outcome.out));
    if (kind == std::string("dualpipe")) CHECK(outcome.out.find("joined_with_next") != std::string::npos);
  }
}

TEST_CASE("schedule: times with units are seconds in the document", "[schedule]") {
  // gpipe: (m + p - 1)(F + B + W) = 3 * 6 ms.
  const json document = schedule_answer({"gpipe", "--stages", "2", "--micro-batches", "2", "--forward", "1ms",
                                         "--input-grad", "2 ms", "--weight-grad", "3000us"});
  CHECK(document["schedule"]["times"]["unit"] == "s");
  CHECK(document["result"]["makespan"].get<double>() == Approx(18e-3));
}

TEST_CASE("schedule: a picture and a comparison", "[schedule]") {
  const Outcome text = run({"schedule", "1f1b", "--stages", "2", "--micro-batches", "2"});
  CHECK(text.code == 0);
  // F 1, B+W 2, three columns a unit: F0 F1 . B0 B1 on device 0; . F0 B0 F1 B1 on device 1.
  CHECK(text.out.find("0  |F0-F1-      B0----   B1----|") != std::string::npos);
  CHECK(text.out.find("1  |   F0-B0----F1-B1----      |") != std::string::npos);
  const Outcome compared = run({"schedule", "--compare", "--stages", "4", "--micro-batches", "8"});
  CHECK(compared.code == 0);
  for (const char* kind : {"gpipe", "zb-h1", "dualpipe", "hanayo"}) CHECK(compared.out.find(kind) != std::string::npos);
  const Outcome kinds = run({"schedule", "--list"});
  CHECK(kinds.out.find("figures checked against published ones") != std::string::npos);
  const std::string picture = scratch() + "/schedule.svg";
  CHECK(run({"schedule", "chimera", "--stages", "4", "--micro-batches", "4", "--svg", picture}).code == 0);
  CHECK(content(picture).starts_with("<svg"));
}

TEST_CASE("schedule: one schedule and a comparison agree, and both say what they count in", "[schedule]") {
  const std::vector<std::string> sizes{"--stages", "8", "--micro-batches", "32"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), sizes.begin(), sizes.end());
    return words;
  };
  const json all = schedule_answer(with({"--compare"}));
  double before = 0.0;
  for (const json& entry : all["schedules"]) {
    const std::string kind = entry["schedule"]["kind"];
    INFO(kind);
    const json one = schedule_answer(with({kind}));
    CHECK(one["result"]["makespan"] == entry["result"]["makespan"]);
    CHECK(one["schedule"]["chunks"] == entry["schedule"]["chunks"]);
    CHECK(entry["result"]["makespan"].get<double>() >= before);
    before = entry["result"]["makespan"];
  }
  // Two chunks: 7 (1 + 2) / 2 beside 32 x 3; one where one is asked for.
  CHECK(schedule_answer(with({"interleaved-1f1b"}))["result"]["makespan"] == 106.5);
  CHECK(schedule_answer(with({"interleaved-1f1b", "--chunks", "1"}))["result"]["makespan"] == 117.0);
  const std::string text = run([&] {
                             auto words = with({"--compare"});
                             words.insert(words.begin(), "schedule");
                             return words;
                           }())
                               .out;
  INFO(text);
  CHECK(text.find('/') == text.find("1/stages") + 1);  // no fraction among the times
  for (const char* said : {"106.5", "longest device", "interleaved-1f1b, 2 chunks", "forward 1, input gradient 1",
                           "pipedream is never emptied: in steady state a micro-batch takes 3, bubble 0.0 %"})
    CHECK(text.find(said) != std::string::npos);
  // Never emptied: each further micro-batch takes its forward and its backward.
  const json steady = schedule_answer(with({"pipedream"}))["result"]["steady_state"];
  CHECK(steady["micro_batch"] == 3.0);
  CHECK(steady["bubble_fraction"].get<double>() == Approx(0.0).margin(1e-12));
  CHECK(schedule_answer(with({"1f1b"}))["result"]["steady_state"].is_null());
}

TEST_CASE("schedule: pictures that can be read", "[schedule]") {
  // 117 units: the first and the last of them in the terminal, each operation with its micro-batch.
  const Outcome text = run({"schedule", "1f1b", "--stages", "8", "--micro-batches", "32"});
  CHECK(text.out.find("--svg FILE draws all of it") != std::string::npos);
  CHECK(text.out.find("|F0-F1-F2-F3-") != std::string::npos);
  CHECK(text.out.find("B31---|") != std::string::npos);
  for (std::size_t at = 0; at < text.out.size(); at = text.out.find('\n', at) + 1)
    CHECK(text.out.find('\n', at) - at <= 100);
  const std::string picture = scratch() + "/long.svg";
  CHECK(run({"schedule", "interleaved-1f1b", "--stages", "8", "--micro-batches", "32", "--svg", picture}).code == 0);
  const std::string drawn = content(picture);
  for (const char* said : {">stage 7<", "makespan 106.5", ">time<", ">31<", "in a box: its micro-batch",
                           "pale: chunks or directions of odd number"})
    CHECK(drawn.find(said) != std::string::npos);
  // Peers of a swarm are rows like any other. The one of the second stage works on end from 1 on, 4 x (1 + 2) units;
  // the last gradient takes 2 more.
  std::vector<std::string> swarm{"swarm", "--stages", "2", "--micro-batches", "4", "--peers", "1,1/1"};
  CHECK(schedule_answer(swarm)["result"]["makespan"] == 15.0);
  swarm.insert(swarm.begin(), "schedule");
  CHECK(run(swarm).out.find("peer\n   0  |F0-") != std::string::npos);
  swarm.insert(swarm.end(), {"--svg", picture});
  CHECK(run(swarm).code == 0);
  for (const char* said : {">peer 2<", "makespan 15, bubble", ">time<", ">15</text>"})
    CHECK(content(picture).find(said) != std::string::npos);
}

TEST_CASE("schedule: a picture names its rows and its time, and leaves out rows in which nothing takes time",
          "[schedule]") {
  // gpipe: (2 + 2 - 1) (F + B + W) = 3 x 3 units of 3 columns.
  const std::string text = run({"schedule", "gpipe", "--stages", "2", "--micro-batches", "2"}).out;
  CHECK(text.find("stage\n   0  |") != std::string::npos);
  CHECK(text.find("time   0" + std::string(25, ' ') + "9\n") != std::string::npos);
  // Copies to the host that take no time, then such as take half a unit.
  const std::vector<std::string> command{"schedule",        "pipeoffload", "--stages", "4",
                                         "--micro-batches", "8",           "--svg",    scratch() + "/beside.svg"};
  CHECK(run(command).out.find("0' |") == std::string::npos);
  CHECK(content(scratch() + "/beside.svg").find("beside") == std::string::npos);
  CHECK(content(scratch() + "/beside.svg").find("offload<") == std::string::npos);
  std::vector<std::string> slow = command;
  slow.insert(slow.end(), {"--copy", "1/2"});
  const std::string shown = run(slow).out;
  CHECK(shown.find("0' |") != std::string::npos);
  CHECK(shown.find("; 0' runs beside the computation of stage 0") != std::string::npos);
  for (const char* said : {">stage 3, beside<", ">offload<", "beside: what runs next to the computation of a stage"})
    CHECK(content(scratch() + "/beside.svg").find(said) != std::string::npos);
}

TEST_CASE("schedule: one of the user's own", "[schedule]") {
  const std::string mine = write_file("mine.yaml",
                                      "stages: 2\nmicro_batches: 2\ndevices:\n"
                                      "  - [F0, F1, B0, B1]\n  - [F0, b0, w0, F1, B1]\n");
  // Device 1: F 1-2, b 2-3, w 3-4, F1 4-5, B1 5-7; device 0: B0 from 3, 3-5, B1 7-9.
  CHECK(schedule_answer({"--file", mine})["result"]["exact"]["makespan"] == "9");
  const std::string stuck = write_file("stuck.yaml",
                                       "stages: 2\nmicro_batches: 2\ndevices:\n"
                                       "  - [F0, B0, F1, B1]\n  - [F0, F1, B0, B1]\n");
  schedule_refused({"--file", stuck},
                   "device 0 at backward of micro-batch 0, chunk 0 waits for device 1 at forward of micro-batch 1",
                   "earlier");
  const std::string odd = write_file("odd.yaml", "stages: 1\nmicro_batches: 1\ndevices:\n  - [F0, X0]\n");
  schedule_refused({"--file", odd}, "odd.yaml:4", "write F0, B0");
}

TEST_CASE("schedule: work in the bubbles", "[schedule]") {
  // BERT-Base on P100s, three layers a stage, as published: 0.761 used without the work, which takes 5.28 times the
  // bubbles; (4 x 3 x 25.55 + 3 x 71.67) / (3 x 32.9).
  const std::string work = write_file("kfac.yaml",
                                      "margin: 1.05\nexposed: 20.43ms\nwork:\n"
                                      "  - {name: A, after: forward, time: 38.325ms, parts: 18}\n"
                                      "  - {name: B, after: backward, time: 38.325ms, parts: 18}\n"
                                      "  - {name: inverse, after: all, time: 215.01ms, parts: 36}\n");
  const json fill =
      schedule_answer({"chimera", "--stages", "4", "--micro-batches", "4", "--forward", "29.25ms", "--input-grad",
                       "49.35ms", "--weight-grad", "0", "--fill", work})["result"]["fill"];
  CHECK(fill["utilisation_before"].get<double>() == Approx(0.761).margin(0.001));
  CHECK(fill["work_over_bubble"].get<double>() == Approx(5.28).epsilon(0.01));
  CHECK(fill["utilisation"].get<double>() >= 0.93);
}

TEST_CASE("schedule: a wrong time in a file of work is refused at its place", "[schedule]") {
  const std::string work =
      write_file("late.yaml", "exposed: 1\nwork:\n  - {name: A, after: forward, time: soon, parts: 1}\n");
  schedule_refused({"1f1b", "--stages", "2", "--micro-batches", "2", "--fill", work},
                   "late.yaml:3:37: error: work[0].time: 'soon' is no time", "write it as 3");
  const std::string mixed =
      write_file("mixed.yaml", "exposed: 1ms\nwork:\n  - {name: A, after: forward, time: 1, parts: 1}\n");
  schedule_refused({"1f1b", "--stages", "2", "--micro-batches", "2", "--fill", mixed},
                   "mixed.yaml:1:10: error: exposed", "some times have a unit");
}

TEST_CASE("schedule: the vocabulary over all devices", "[schedule]") {
  // Two more micro-batches alive on the first device than 1f1b's four.
  const json document = schedule_answer({"1f1b", "--stages", "4", "--micro-batches", "12", "--vocabulary", "vocab-1",
                                         "--vocab-forward", "1/4", "--vocab-backward", "1/4"});
  CHECK(document["result"]["peak_activations"]["release_at_b"][0] == 6.0);
  // Kinds with several chunks have the passes on every device too: 4 devices, 8 micro-batches, two passes each.
  const json waves = schedule_answer({"hanayo", "--stages", "4", "--micro-batches", "8", "--vocabulary", "vocab-2"});
  std::size_t passes = 0;
  for (const json& operation : waves["result"]["operations"])
    passes += operation["kind"] == "vocabulary_forward" || operation["kind"] == "vocabulary_backward" ? 1 : 0;
  CHECK(passes == 4 * 8 * 2);
}

TEST_CASE("schedule: kinds compared on a model and a cluster", "[schedule]") {
  const json document = schedule_answer({"--compare", "--experiment", "llama3-70b-64xdgx-h100"});
  CHECK(document["schema"] == "cairn.schedule-comparison/1");
  double plain = 0.0, interleaved = 0.0;
  for (const json& entry : document["schedules"]) {
    CHECK(entry["schedule"]["stages"] == 4);
    if (entry["schedule"]["kind"] == "1f1b") plain = entry["result"]["makespan"].get<double>();
    if (entry["schedule"]["kind"] == "interleaved-1f1b") interleaved = entry["result"]["makespan"].get<double>();
  }
  // The same pipeline as `cairn run` predicts, gradients and update aside: within a few percent of its step.
  const json step = json::parse(run({"run", "llama3-70b-64xdgx-h100", "--engine", "analytic", "--json"}).out);
  const double whole = step["result"]["iteration_time_s"].get<double>();
  CHECK(plain < whole);
  CHECK(plain > 0.95 * whole);
  CHECK(interleaved < plain);
  // The last stage has the head: every stage takes its own times, and the slowest makes the makespan.
  const json& stages = document["schedules"][0]["schedule"]["times"]["stages"];
  REQUIRE(stages.size() == 4);
  CHECK(stages[3]["forward"].get<double>() > 1.02 * stages[1]["forward"].get<double>());
  const double micro_batches = document["schedules"][0]["schedule"]["micro_batches"];
  CHECK(plain > micro_batches * (stages[3]["forward"].get<double>() + stages[3]["backward"].get<double>()));
  schedule_refused({"1f1b", "--experiment", "llama3-70b-64xdgx-h100"}, "--experiment", "add --compare");
}

TEST_CASE("schedule: a swarm", "[schedule]") {
  // One equal peer per stage: (m + p - 1)(F + B + W) = 9 * 3. Peers that differ and fail get rows of their own.
  const json equal = schedule_answer({"swarm", "--stages", "4", "--micro-batches", "6"});
  CHECK(equal["schema"] == "cairn.schedule/1");
  CHECK(equal["result"]["exact"]["makespan"] == "27");
  const json failing = schedule_answer({"swarm", "--stages", "2", "--micro-batches", "40", "--peers", "2,1/1.5,1",
                                        "--fail", "2@7.5,3@9", "--join", "1@100", "--rebalance", "20", "--seed", "3"});
  const json& swarm = failing["result"]["swarm"];
  CHECK(swarm["failures"] == 2);
  REQUIRE(swarm["peers"].size() == 5);
  CHECK(swarm["peers"][2]["speed"] == 1.5);
  CHECK(swarm["peers"][4]["stage"].is_null());
  // At 20 stage 1 has none left.
  CHECK(swarm["moves"][0]["time"] == 20.0);
  CHECK(swarm["moves"][0]["to"] == 1);
  std::size_t done = 0;
  for (const json& operation : failing["result"]["operations"]) done += operation.contains("lost") ? 0 : 1;
  CHECK(done == 2 * 2 * 40);
  CHECK(run({"schedule", "swarm", "--stages", "2", "--micro-batches", "4", "--mtbf", "9", "--repair", "1", "--json"})
            .out ==
        run({"schedule", "swarm", "--stages", "2", "--micro-batches", "4", "--mtbf", "9", "--repair", "1", "--json"})
            .out);
  schedule_refused({"swarm", "--stages", "2", "--micro-batches", "4", "--peers", "1,1"}, "--peers",
                   "with / between them");
  schedule_refused({"swarm", "--stages", "2", "--micro-batches", "4", "--chunks", "2"}, "--chunks", "leave it out");
  schedule_refused({"swarm", "--stages", "2", "--micro-batches", "4", "--fail", "9@1"}, "no peer 9", "0 to 1");
  schedule_refused({"swarm", "--stages", "2", "--micro-batches", "4", "--fail", "0@1"}, "no peer is left", "rebalance");
  // Ticks of 1/(1000 * 999999937) and a speed of 123456789/10000: the product has more than 63 bits.
  schedule_refused({"swarm", "--stages", "1", "--micro-batches", "2", "--peers", "12345.6789,1", "--forward", "1/1000",
                    "--input-grad", "1/999999937"},
                   "too finely", "fewer digits");
  // 9e6 units of 1e12 ticks each: one fits into 63 bits, input and weight gradient together do not.
  schedule_refused({"swarm", "--stages", "1", "--micro-batches", "2", "--input-grad", "9000000", "--weight-grad",
                    "9000000", "--forward", "1/999999937", "--mtbf", "5"},
                   "too long", "smaller unit");
  schedule_refused({"swarm", "--stages", "2", "--micro-batches", "4", "--copy", "2"}, "--copy", "leave it out");
  schedule_refused({"1f1b", "--stages", "2", "--micro-batches", "4", "--seed", "1"}, "--seed", "swarm");
  schedule_refused({"--compare", "--stages", "2", "--micro-batches", "4", "--peers", "2"}, "--peers", "swarm");
  schedule_refused({"--compare", "--stages", "8", "--micro-batches", "65536"}, "schedule.micro_batches",
                   "compare fewer micro-batches");
}

TEST_CASE("schedule: what can be wrong", "[schedule]") {
  schedule_refused({"1f1"}, "--stages", "add --stages");
  schedule_refused({"1f1b", "--stages", "0", "--micro-batches", "8"}, "--stages", "0 is less than 1");
  schedule_refused({"1f1b", "--stages", "4.5", "--micro-batches", "8"}, "--stages", "'4.5' is no whole number");
  schedule_refused({"1f1", "--stages", "4", "--micro-batches", "8"}, "unknown pipeline schedule",
                   "did you mean '1f1b'");
  schedule_refused({"chimera", "--stages", "3", "--micro-batches", "6"}, "schedule.stages", "use 2 or 4 stages");
  schedule_refused({"dualpipe", "--stages", "4", "--micro-batches", "6"}, "at least 8", "use 8 or more");
  schedule_refused({"interleaved-1f1b", "--stages", "4", "--micro-batches", "6", "--chunks", "2"}, "multiple of 4",
                   "8");
  schedule_refused({"zb-auto", "--stages", "4", "--micro-batches", "6", "--memory-limit", "0"}, "memory_limit",
                   "the least is 1");
  schedule_refused({"1f1b", "--stages", "4", "--micro-batches", "6", "--waves", "2"}, "takes no waves", "hanayo");
  schedule_refused({"1f1b", "--stages", "4", "--micro-batches", "6", "--forward", "soon"}, "--forward", "0.25 or 2/3");
  schedule_refused({"1f1b", "--stages", "4", "--micro-batches", "6", "--forward", "1ms", "--p2p", "2"}, "--p2p",
                   "all of them");
  schedule_refused({}, "no schedule was named", "--list");
}
