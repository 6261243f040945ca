// Names that would move a terminal, reorder or hide what it shows: whatever file or option they come from, every
// command shows them escaped, and the documents it writes stay documents.
#include <sstream>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;
using nlohmann::json;
using namespace std::string_literals;

namespace {

// Sets a title, rings, clears by a C1 code, turns the direction, and has a line of its own. In JSON and in double
// quotes of YAML the same text is k_escaped.
const std::string k_evil = "evil\x1b]0;pwned\x07\u009b2J\u202eabc\u2066\u200b\x7f";
const std::string k_escaped = R"(evil\u001b]0;pwned\u0007\u009b2J\u202eabc\u2066\u200b\u007f)";
const std::string k_in_yaml = '"' + k_escaped + R"(\u0000line\ncairn: error: forged")";
const std::string k_raw = "raw\x9b\xff" + k_evil;  // where texts need not be UTF-8

// Nothing but printable text and newlines, all of it UTF-8. The bytes are told apart here by hand, not by Cairn.
void shows_safely(const std::string& text) {
  INFO(json(text).dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 2000));
  CHECK_NOTHROW(json(text).dump());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::string next = text.substr(i, 3);
    const bool control = (byte < 0x20 && byte != '\n') || byte == 0x7f || (byte == 0xc2 && next[1] <= '\x9f');
    const bool direction = next == "\u202e" || next == "\u2066" || next == "\u200b";
    if (control || direction) FAIL("a byte of control at " << i);
  }
}

void says_safely(const Outcome& outcome) {
  shows_safely(outcome.out);
  shows_safely(outcome.err);
  CHECK(outcome.err.find("\ncairn: error: forged") == std::string::npos);
  CHECK(outcome.err.find("internal error") == std::string::npos);
}

// The text or the complaint holds the name, escaped.
void shows_name(const std::vector<std::string>& arguments) {
  INFO(arguments.front() << " " << json(arguments.back()).dump(-1, ' ', true, json::error_handler_t::replace));
  const Outcome outcome = run(arguments);
  says_safely(outcome);
  CHECK((outcome.out + outcome.err).find(R"(\u001b]0;pwned\u0007)") != std::string::npos);
}

std::string experiment(const std::string& changed = "") {
  return "version: 1\nname: " + k_in_yaml + "\nmodel: {kind: transformer, name: " + k_in_yaml +
         ", layers: 8, hidden: 512, heads: 8, ffn: 2048, gated_mlp: false, vocab: 1024, tied_embeddings: false, "
         "position: rope}\n"
         "cluster: {file: dgx-h100, nodes: 2}\ntraining:\n  seq_len: 512\n  global_batch: 16\n" +
         changed;
}

std::string graph() {
  return "version: 1\nname: " + k_in_yaml + "\nendpoints: [" + k_in_yaml + ", b]\nlinks:\n  - {from: " + k_in_yaml +
         ", to: b, bandwidth: 10 GB/s, latency: 1 us}\n";
}

}  // namespace

TEST_CASE("Names in results are shown escaped") {
  const std::string good = write_file("evil.yaml", experiment());
  shows_name({"run", good});
  shows_name({"run", good, "--json"});
  shows_name({"run", good, "--color", "always", "--json"});
  shows_name({"config", "show", good});
  shows_name({"config", "show", good, "--origin"});
  shows_name({"run", "--batch", write_file("evil.jsonl", R"({"file": "evil.yaml"})")});
  const std::string network = write_file("evil-graph.yaml", graph());
  shows_name({"topology", network});
  shows_name({"topology", network, "--json"});
  shows_name({"topology", "--compare", network, network, "--json"});
  says_safely(run({"topology", "--compare", network, network}));
  const std::string order =
      write_file("evil-order.yaml", "name: " + k_in_yaml + "\nstages: 1\nmicro_batches: 1\ndevices:\n  - [F0, B0]\n");
  shows_name({"schedule", "--file", order});
  shows_name({"schedule", "--file", order, "--json"});
  shows_name({"bound", "--cdag", write_file(k_evil + ".cdag", "v a in\nv b out\ne a b\n"), "--fast", "4"});
}

TEST_CASE("Colours of the program pass, those of names do not") {
  const std::string file =
      write_file("red.yaml", "name: \"\\u001b[31mred\"\nstages: 1\nmicro_batches: 1\ndevices:\n  - [F0, B0]\n");
  const Outcome colourful = run({"schedule", "--file", file, "--color", "always"});
  CHECK(colourful.out.find("\x1b[30;44m") != std::string::npos);
  CHECK(colourful.out.find(R"(\u001b[31mred)") != std::string::npos);
  // Whatever a report paints with is known to be its own.
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"run", "llama3-8b-fsdp-dgx-h100"},
                                                    {"topology", "star-8"},
                                                    {"schedule", "--list"},
                                                    {"bound", "matmul m=64 n=64 k=64", "--fast", "512"}}) {
    std::vector<std::string> painted = arguments;
    painted.insert(painted.end(), {"--color", "always"});
    const Outcome outcome = run(painted);
    CHECK(outcome.out.find("\x1b[1m") != std::string::npos);
    CHECK(outcome.out.find("u001b") == std::string::npos);
  }
}

TEST_CASE("Names in complaints are shown escaped") {
  const std::string key = '"' + k_escaped + R"(\ncairn: error: forged")";
  shows_name({"run", write_file("bad.yaml", experiment("strategy: {" + key + ": 1}\n"))});
  shows_name({"run", write_file("bad.yaml", experiment("strategy: {schedule: " + k_in_yaml + "}\n"))});
  shows_name({"run", write_file("bad.yaml", experiment("strategy: {recompute: {operators: [" + k_in_yaml + "]}}\n"))});
  shows_name({"run", write_file("bad.yaml", experiment("  framework: " + k_in_yaml + "\n"))});
  shows_name({"run", write_file("bad.yaml", experiment("extends: " + k_in_yaml + "\n"))});
  shows_name({"run", k_evil});
  shows_name({"run", write_file("good.yaml", experiment()), "--set", k_evil + "=1"});
  shows_name({"run", write_file("good.yaml", experiment()), "--engine", k_evil});
  shows_name({"run", "x", "--color", k_raw});
  shows_name({k_evil});
  shows_name({"help", k_evil});
  shows_name({"config", "list", k_evil});
  shows_name({"config", "model", k_raw});
  shows_name({"schema", k_raw});
  shows_name({"bound", k_raw + " m=1", "--fast", "4"});
  shows_name({"bound", "matmul m=1 n=1 k=1 " + k_raw + "=1", "--fast", "4"});
  shows_name({"bound", "einsum", k_raw, "--fast", "4"});
  shows_name({"bound", "--cdag", write_file("bad.cdag", "v a in\n" + k_raw + " b\n"), "--fast", "4"});
  shows_name({"bound", "--cdag", write_file("bad.cdag", "v a in\ne a " + k_raw + "\n"), "--fast", "4"});
  shows_name({"bound", "--trace", write_file("bad.trace", k_raw + " 1\n"), "--fast", "4"});
  const std::string graph_file = write_file("two.cdag", "v a in\nv b out\ne a b\n");
  shows_name(
      {"bound", "--cdag", graph_file, "--fast", "4", "--moves", write_file("bad.moves", "load " + k_raw + "\n")});
  shows_name({"schedule", k_raw, "--stages", "2", "--micro-batches", "2"});
  shows_name({"schedule", "1f1b", "--stages", "2", "--micro-batches", "2", "--forward", k_raw});
  shows_name({"topology", "star-8", "--flows", write_file("bad.csv", "src,dst," + k_raw + "\n0,1,1\n")});
  shows_name({"topology", "star-8", "--flows", write_file("bad.csv", "src,dst,bytes\n0,1," + k_raw + "\n")});
  shows_name({"topology", k_evil});
  shows_name({"validate", k_evil});
  shows_name({"run", "--batch", k_evil});
  const std::string fill =
      write_file("bad-fill.yaml", "work:\n  - {name: A, after: forward, time: " + k_in_yaml + ", parts: 1}\n");
  shows_name({"schedule", "1f1b", "--stages", "2", "--micro-batches", "2", "--fill", fill});
}

TEST_CASE("Measurements with such names are refused with them escaped") {
  if (run({"calibrate", write_file("none.txt", "")}).code == 4) return;  // built without Eigen
  shows_name({"calibrate", write_file("bad.csv", "source,gpu,kernel,dtype,shape,ms,tflops,gbps," + k_evil +
                                                     "\n1,2,3,4,5,6,7,8,9\n")});
  // A log is read as a terminal shows it: titles and colours are no part of a name, the rest is escaped.
  const Outcome log =
      run({"calibrate",
           write_file(
               "all_gather.txt",
               "# Collective test starting: all_gather_perf\n#  Rank  0 Group  0 Pid  1 on node device  0 [0x07] H100\n"
               "#  Rank  1 Group  0 Pid  1 on node device  1 [0x08] " +
                   k_evil + "\n 1024 256 float none -1 1 1 1 0 1 1 1 0\n")});
  says_safely(log);
  CHECK(log.err.find(R"(evil\u009b2J\u202eabc\u2066\u200b)") != std::string::npos);
}

TEST_CASE("Pictures of networks with such names are XML and hold them") {
  const std::string network = write_file("evil-graph.yaml", graph());
  const std::string svg = scratch() + "/evil.svg", dot = scratch() + "/evil.dot";
  CHECK(run({"topology", network, "--svg", svg, "--dot", dot}).code == 0);
  shows_safely(content(svg));
  shows_safely(content(dot));
  std::istringstream stream(content(svg));
  boost::property_tree::ptree tree;
  CHECK_NOTHROW(boost::property_tree::read_xml(stream, tree));
  CHECK(tree.get<std::string>("svg.text").find(k_escaped) == 0);
  CHECK(content(dot).find(R"(evil\\u001b]0;pwned)") != std::string::npos);
  const std::string order = write_file(
      "evil-order.yaml", "name: \"<&" + k_escaped + "\"\nstages: 1\nmicro_batches: 1\ndevices:\n  - [F0, B0]\n");
  CHECK(run({"schedule", "--file", order, "--svg", svg}).code == 0);
  shows_safely(content(svg));
  std::istringstream schedule(content(svg));
  CHECK_NOTHROW(boost::property_tree::read_xml(schedule, tree));
  CHECK(tree.get<std::string>("svg.text").find("<&" + k_escaped) == 0);
}

TEST_CASE("JSON and YAML with such names read back as they were") {
  const std::string name = k_evil + "\0line\ncairn: error: forged"s;
  const Outcome shown = run({"run", write_file("evil.yaml", experiment()), "--json"});
  CHECK(json::parse(shown.out)["experiment"]["name"] == name);
  // An imported network, with a link that goes to a device of such a name.
  const std::string xml = write_file(
      "named.xml",
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"1\" modelid=\"1\">"
      "<pci busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"0\" "
      "sm=\"80\"/></pci>"
      "<pci busid=\"" +
          k_evil +
          "\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"1\" sm=\"80\"/></pci>"
          "</cpu></system>");
  const std::string yaml = scratch() + "/named.yaml";
  const Outcome imported = run({"import", "nccl-topo", xml, "-o", yaml});
  says_safely(imported);
  if (imported.code == 0) {
    shows_safely(content(yaml));
    CHECK(run({"topology", yaml}).code == 0);
  }
}
