// Pages in a browser: Chromium without a window. No errors on its console, every figure that of the document, hovering
// and tapping answer, nothing cut or wider than the window at the widths of a screen and of a phone, and it prints.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"
#include "support/source_dir.h"

using namespace cairn::cli_tests;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct Browsed {
  std::string dom;
  std::string console;  // lines that the page wrote to it
};

Browsed browse(const std::string& address, const std::string& options) {
  const std::string out = scratch() + "/dom", err = scratch() + "/log";
  const std::string command = std::string(CAIRN_CHROMIUM) +
                              " --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir=" + scratch() +
                              "/profile --enable-logging=stderr --v=0 --virtual-time-budget=10000 " + options +
                              " 'file://" + address + "' >" + out + " 2>" + err;
  INFO(command);
  REQUIRE(std::system(command.c_str()) == 0);
  Browsed browsed{.dom = content(out), .console = {}};
  std::istringstream lines(content(err));
  for (std::string line; std::getline(lines, line);)
    if (line.find("CONSOLE") != std::string::npos) browsed.console += line + "\n";
  return browsed;
}

// What check.js finds wrong with the page in a window of that width.
json checked(const std::string& page, int width) {
  std::string text = content(page);
  // The page lets no script run but its own.
  const std::size_t policy = text.find("<meta http-equiv=\"Content-Security-Policy\"");
  REQUIRE(policy != std::string::npos);
  text.erase(policy, text.find("/>", policy) + 2 - policy);
  const std::size_t end = text.rfind("</body>");
  REQUIRE(end != std::string::npos);
  text.insert(end, "<script>" + content(cairn::testing::source_dir() + "/tests/browser/check.js") + "</script>");
  write_file("checked.html", text);
  const std::string frame =
      write_file("frame.html",
                 "<!DOCTYPE html><script>onmessage = function (event) { document.body.dataset.wrong = "
                 "encodeURIComponent(JSON.stringify(event.data)); };</script><body style=\"margin: 0\">"
                 "<iframe src=\"checked.html\" style=\"border: 0\" height=\"1000\" width=\"" +
                     std::to_string(width) + "\"></iframe></body>");
  const Browsed browsed = browse(frame, "--window-size=1400,1000 --dump-dom");
  const std::size_t said = browsed.dom.find("data-wrong=\"");
  INFO(browsed.console);
  REQUIRE(said != std::string::npos);
  const std::string coded = browsed.dom.substr(said + 12, browsed.dom.find('"', said + 12) - said - 12);
  std::string decoded;
  for (std::size_t i = 0; i < coded.size(); ++i)
    if (coded[i] == '%') {
      decoded += static_cast<char>(std::stoi(coded.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      decoded += coded[i];
    }
  return json::parse(decoded);
}

struct Asked {
  std::string name;
  std::vector<std::string> arguments;
};
const std::vector<Asked>& asked() {
  static const std::vector<Asked> all{
      {"dense", {"run", "llama3-70b-64xdgx-h100"}},
      {"experts", {"run", "deepseek-v3-2048xh800"}},
      {"one GPU",
       {"run", "llama3-8b-fsdp-dgx-h100", "--set", "cluster.gpus_per_node=1", "--set", "model.layers=4", "--set",
        "strategy.dp=1"}},
      {"64 stages", {"run", "gpt-1t-384xfrontier", "--engine", "analytic"}},
      {"shared sequences", {"run", "llama3-70b-64xdgx-h100", "--set", "strategy.cp=4", "--set", "strategy.dp=4"}},
      {"too large", {"run", "llama3-70b-64xdgx-h100", "--set", "strategy.micro_batch=8"}},
      {"search", {"search", "llama3-8b-fsdp-dgx-h100"}},
      {"search of steps of minutes", {"search", "llama3-8b-fsdp-dgx-h100", "--set", "training.global_batch=2048"}},
      {"search without a plan",
       {"search", "llama3-70b-64xdgx-h100", "--set", "cluster.nodes=1", "--set", "training.global_batch=8"}},
      {"sweep",
       {"sweep", "llama3-8b-fsdp-dgx-h100", "--set", "strategy.dp=null", "--set", "training.global_batch=512", "--vary",
        "cluster.nodes=1..64*2"}},
      {"sweep of words", {"sweep", "llama3-8b-fsdp-dgx-h100", "--vary", "training.precision=bf16,fp8-delayed"}},
      {"sweep of two keys",
       {"sweep", "llama3-70b-64xdgx-h100", "--set", "strategy.dp=null", "--vary", "cluster.nodes=16..256*2", "--vary",
        "strategy.tp=1,2,4,8"}}};
  return all;
}

}  // namespace

TEST_CASE("Pages show the figures of their documents in a browser, and it has nothing to complain of") {
  for (const Asked& each : asked()) {
    INFO(each.name);
    const std::string page = scratch() + "/page.html";
    std::vector<std::string> arguments = each.arguments;
    for (const char* word : {"--json", "-q", "--html"}) arguments.emplace_back(word);
    arguments.push_back(page);
    const Outcome outcome = run(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.code <= 1);
    const Browsed browsed = browse(page, "--window-size=1280,900 --dump-dom");
    CHECK(browsed.console.empty());
    CHECK(browsed.dom.find("id=\"tip\"") != std::string::npos);
    for (const int width : {1280, 390}) {
      INFO(width);
      CHECK(checked(page, width) == json::array());
    }
    // What is inside is what was answered, but for what pages alone have.
    const std::string text = content(page);
    const std::string mark = "id=\"result\">";
    const std::size_t from = text.find(mark) + mark.size();
    json inside = json::parse(text.substr(from, text.find("</script>", from) - from));
    if (inside.contains("result"))
      for (const char* key : {"timeline", "effects", "in_words"}) inside["result"].erase(key);
    CHECK(inside == json::parse(outcome.out));
  }
}

TEST_CASE("A page prints") {
  const std::string page = scratch() + "/page.html", paper = scratch() + "/page.pdf";
  REQUIRE(run({"run", "llama3-70b-64xdgx-h100", "-q", "--html", page}).code == 0);
  CHECK(browse(page, "--no-pdf-header-footer --print-to-pdf=" + paper).console.empty());
  CHECK(content(paper).starts_with("%PDF"));
}
