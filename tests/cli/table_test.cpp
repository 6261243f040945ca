// --csv: every result that is a table, by its JSON.
#include <sstream>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

using Fields = std::vector<std::string>;

// RFC 4180, written down once more.
std::vector<Fields> parsed(const std::string& text) {
  std::vector<Fields> lines(1, Fields(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      lines.back().back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      lines.back().emplace_back();
    } else if (!quoted && c == '\n') {
      lines.emplace_back(1);
    } else {
      lines.back().back() += c;
    }
  }
  CHECK_FALSE(quoted);
  CHECK(lines.back() == Fields(1));  // the text ends in a line break
  lines.pop_back();
  for (const Fields& line : lines) CHECK(line.size() == lines.front().size());
  return lines;
}

std::string field_of(const json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return value;
  if (!value.is_array()) return value.dump();
  std::string all;
  for (const json& each : value) all += (all.empty() ? "" : ";") + field_of(each);
  return all;
}

const json* at_path(const json& row, const std::string& path) {
  const json* value = &row;
  std::istringstream keys(path);
  for (std::string key; std::getline(keys, key, '.');) {
    if (!value->is_object() || !value->contains(key)) return nullptr;
    value = &(*value)[key];
  }
  return value;
}

// The columns of a line are keys of its row, with its values.
void holds(const Fields& header, const Fields& line, const json& row) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    INFO(header[i]);
    const json* value = at_path(row, header[i]);
    CHECK(line[i] == (value == nullptr ? "" : field_of(*value)));
  }
}

struct Asked {
  std::vector<std::string> arguments;
  std::string list;  // of the document: its rows; empty: itself
  std::string column;
};

}  // namespace

TEST_CASE("A table has the rows, keys and values of the document") {
  const std::vector<Asked> all{
      {{"run", "llama3-8b-fsdp-dgx-h100", "-q"}, "", "result.time_s.bubble"},
      {{"schedule", "--compare", "--stages", "4", "--micro-batches", "8"}, "/schedules", "result.makespan"},
      {{"schedule", "1f1b", "--stages", "2", "--micro-batches", "2"}, "/result/operations", "micro_batch"},
      {{"schedule", "swarm", "--stages", "2", "--micro-batches", "2"}, "/result/operations", "start"},
      {{"schedule", "--list"}, "/kinds", "source"},
      {{"attention", "--cluster", "dgx-h100", "--seq", "2Ki", "--heads", "8"}, "/schemes", "time_s.exposed"},
      {{"attention", "--cluster", "dgx-h100", "--seq", "2Ki,4Ki", "--heads", "8", "--scheme", "ring"},
       "/points",
       "lower_bound_bytes.forward"},
      {{"attention", "--list"}, "/schemes", "source"},
      {{"partition", "llama3-8b-fsdp-dgx-h100", "--devices", "4"}, "/modules", "exact_device"},
      {{"partition", "--tasks", write_file("tasks.csv", "cost\n5\n4\n3\n3\n3\n"), "--ranks", "2"}, "/rules", "load"},
      {{"topology", "star-8"}, "", "cost_usd"},
      {{"topology", "--compare", "star-8", "torus-1024"}, "/networks", "bill.switches"},
      {{"bound", "matmul m=64 n=64 k=64", "--fast", "1024"}, "", "lower_bytes"},
      {{"bound", "--model", "llama-3.1-8b", "--accelerator", "h100-sxm5-80gb", "--seq", "512"},
       "/layers",
       "layout_copies_bytes.chosen"},
      {{"validate", "korthikanti2022_table5"}, "/rows", "time_s.tp_exposed"},
      {{"config", "show", "llama3-8b-fsdp-dgx-h100", "--origin"}, "/keys", "value"}};
  for (const Asked& asked : all) {
    INFO(asked.arguments[0] << " " << asked.arguments[1]);
    std::vector<std::string> with = asked.arguments;
    with.emplace_back("--json");
    const json document = json::parse(run(with).out);
    with.back() = "--csv";
    const std::vector<Fields> lines = parsed(run(with).out);
    const json rows = asked.list.empty() ? json::array({document}) : document.at(json::json_pointer(asked.list));
    REQUIRE(lines.size() == rows.size() + 1);
    CHECK(std::count(lines.front().begin(), lines.front().end(), asked.column) == 1);
    for (std::size_t i = 0; i < rows.size(); ++i) holds(lines.front(), lines[i + 1], rows[i]);
  }
}

TEST_CASE("Of flows the table has when each ends, in their order") {
  // Two flows from one port of 12.5 GB/s share it until the small one has gone: 2 x 1 GB at half of it takes 160 ms,
  // and the other 1 GB of the second 80 ms more.
  const std::string flows = write_file("two.csv", "src,dst,bytes\n0,1,2GB\n0,2,1GB\n");
  const std::vector<Fields> lines = parsed(run({"topology", "star-8", "--flows", flows, "--csv"}).out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == Fields{"finish_s"});
  CHECK(std::stod(lines[1][0]) == Approx(0.240).epsilon(1e-4));
  CHECK(std::stod(lines[2][0]) == Approx(0.160).epsilon(1e-4));
}

TEST_CASE("A batch is one table, a line that cannot be run a row that says why") {
  const std::string lines =
      write_file("table.jsonl",
                 "{\"file\": \"llama3-8b-fsdp-dgx-h100\"}\n\n"
                 "{\"file\": \"llama3-8b-fsdp-dgx-h100\", \"set\": {\"strategy.tq\": 1}}\n"
                 "{\"extends\": \"llama3-8b-fsdp-dgx-h100\", \"name\": \"short, \\\"quoted\\\"\"}\n");
  const Outcome outcome = run({"run", "--batch", lines, "--csv"});
  CHECK(outcome.code == 2);
  const std::vector<Fields> table = parsed(outcome.out);
  REQUIRE(table.size() == 4);
  const std::vector<Fields> one = parsed(run({"run", "llama3-8b-fsdp-dgx-h100", "--csv", "-q"}).out);
  Fields expected = one[0];
  expected.insert(expected.begin(), "line");
  expected.emplace_back("error");
  CHECK(table[0] == expected);
  Fields first = one[1];
  first.insert(first.begin(), "1");
  first.emplace_back();
  CHECK(table[1] == first);
  CHECK(table[2].front() == "3");
  CHECK(table[2][1].empty());
  CHECK(table[2].back().find("set.strategy.tq: unknown key") != std::string::npos);
  CHECK(table[3].front() == "4");
  CHECK(table[3][1] == "short, \"quoted\"");
}

TEST_CASE("One form at a time, and a table where there is one") {
  refused({"run", "llama3-8b-fsdp-dgx-h100", "--csv", "--json", "-o", scratch() + "/x"}, {"--json", "--csv"});
  refused({"config", "show", "llama3-8b-fsdp-dgx-h100", "--csv"}, {"--csv", "--origin"});
}
