#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "catch.h"
#include "described.h"

using namespace described;
namespace fs = std::filesystem;

namespace {

// A folder of files for one test, removed afterwards. Its path is cut out of messages.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "cairn_config_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }
  fs::path write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  std::string messages(const core::Diagnostics& diagnostics) const {
    std::string lines;
    for (const core::Diagnostic& diagnostic : diagnostics.all()) {
      if (!lines.empty()) lines += '\n';
      lines += diagnostic.to_string();
    }
    const std::string prefix = path_.string() + "/";
    for (std::size_t at; (at = lines.find(prefix)) != std::string::npos;) lines.erase(at, prefix.size());
    return lines;
  }

 private:
  fs::path path_;
};

std::string text_at(const config::Node& node, const std::string& key) {
  const config::Node* found = node.find(key);
  return found != nullptr ? found->text : "absent";
}

}  // namespace

TEST_CASE("files that cannot be read say why") {
  const Folder folder;
  const auto load = [&folder](const fs::path& file) {
    core::Diagnostics diagnostics;
    const config::Node node = config::Loader().load(file, diagnostics);
    CHECK(node.is_null());
    return folder.messages(diagnostics);
  };
  CHECK(load(folder.path() / "missing.yaml") == "missing.yaml: error: no such file (check the name)");
  fs::create_directory(folder.path() / "dir.yaml");
  CHECK(load(folder.path() / "dir.yaml") == "dir.yaml: error: is a directory (name a file in it)");
  CHECK(load(folder.write("empty.yaml", "")) == "empty.yaml: error: empty file (write at least one key: value)");
  CHECK(load(folder.write("blank.yaml", " \n\t\n")) == "blank.yaml: error: empty file (write at least one key: value)");
  CHECK(load(folder.write("comment.yaml", "# nothing\n")) ==
        "comment.yaml: error: empty file (write at least one key: value)");
  CHECK(load(folder.write("binary.yaml", std::string("a: 1\n\0\1", 7))) ==
        "binary.yaml:2:1: error: binary file (it holds NUL bytes) (name a YAML or JSON text)");
  CHECK(load(folder.write("latin1.yaml", "name: caf\xe9\n")) ==
        "latin1.yaml:1:10: error: not UTF-8 text: byte '\\xe9' (save it as UTF-8)");
  CHECK(load(folder.write("overlong.yaml", "name: \xc0\xaf\n")) ==
        "overlong.yaml:1:7: error: not UTF-8 text: byte '\\xc0' (save it as UTF-8)");
  CHECK(load(folder.write("bad.json", "{\"a\": }")).find("bad.json:1:7: error: not JSON") == 0);
  // Refused by its size alone: the file is sparse, reading it would take long.
  const fs::path huge = folder.write("huge.yaml", "a: 1\n");
  fs::resize_file(huge, config::k_file_limit + 1);
  CHECK(load(huge) == "huge.yaml: error: larger than 64 MiB (a configuration is small: is this the right file?)");
  if (geteuid() != 0) {
    const fs::path secret = folder.write("secret.yaml", "a: 1\n");
    fs::permissions(secret, fs::perms::none);
    CHECK(load(secret).find("secret.yaml: error: cannot be opened: ") == 0);
  }
}

TEST_CASE("extends lays a file over another") {
  const Folder folder;
  folder.write("base.yaml",
               "name: base\nnodes: 1\nintra: {kind: star, bandwidth: {value: 1 GB/s, source: measured, ref: "
               "table}}\nweights: [1, 2, 3]\nratio: 2\n");
  folder.write("middle.yaml", "extends: base\nnodes: 2\nintra: {bandwidth: {value: 2 GB/s}}\n");
  const fs::path top = folder.write("sub/top.yaml", "extends: ../middle.yaml\nname: top\nweights: [4]\nratio: ~\n");
  core::Diagnostics diagnostics;
  const config::Node node = config::Loader().load(top, diagnostics);
  REQUIRE(folder.messages(diagnostics) == "");
  Everything e;
  const config::Origins origins = config::read(node, e, diagnostics);
  REQUIRE(folder.messages(diagnostics) == "");
  CHECK(e.name == "top");
  CHECK(e.nodes == 2);
  CHECK(e.intra.kind == Kind::star);
  CHECK(e.intra.bandwidth.base() == 2e9);
  CHECK(e.weights == std::vector<double>{4.0});             // lists are replaced
  CHECK(e.ratio == 1.0);                                    // null removed the inherited key: the default
  CHECK(origins.find("intra.bandwidth")->reference == "");  // a value with its source is replaced as a whole
  CHECK(fs::path(origins.find("intra.kind")->place.file_name()).filename() == "base.yaml");
  CHECK(fs::path(origins.find("nodes")->place.file_name()).filename() == "middle.yaml");
  CHECK(node.find("extends") == nullptr);
}

TEST_CASE("a tree laid over parts of values") {
  const auto tree = [](const char* text) {
    core::Diagnostics diagnostics;
    return config::parse_text(text, config::Syntax::yaml, "x.yaml", diagnostics);
  };
  const config::Node base = tree(
      "intra: {value: {kind: star, bandwidth: 1 GB/s, room: 4 GB}, source: measured, ref: table}\n"
      "weights: {value: [1, 2], source: measured}\nnodes: {value: {most: 8, least: 2}}\n");
  const config::Node over = tree(
      "intra: {value: {bandwidth: 2 GB/s, room: ~}, source: assumed}\nweights: {value: [4], source: assumed}\n"
      "nodes: {most: 4}\n");
  const config::Node within = config::merge_within_values(base, over);
  CHECK(config::find_path(within, "intra.value.kind")->text == "star");
  CHECK(config::find_path(within, "intra.value.bandwidth")->text == "2 GB/s");
  CHECK(config::find_path(within, "intra.value.room") == nullptr);  // null removed it
  CHECK(config::find_path(within, "intra.source")->text == "assumed");
  CHECK(config::find_path(within, "intra.ref") == nullptr);  // of what was measured alone
  CHECK(config::find_path(within, "weights.value")->items.size() == 1);
  CHECK(config::find_path(within, "nodes.value.most")->text == "4");  // without a source, but of the value all the same
  CHECK(config::find_path(within, "nodes.value.least")->text == "2");
  const config::Node whole = config::merge(base, over);
  CHECK(config::find_path(whole, "intra.value.kind") == nullptr);
  CHECK(config::find_path(whole, "intra.value.bandwidth")->text == "2 GB/s");
}

TEST_CASE("extends that leads nowhere or round in a circle") {
  const Folder folder;
  const auto load = [&folder](const fs::path& file) {
    core::Diagnostics diagnostics;
    CHECK(config::Loader().load(file, diagnostics).is_null());
    return folder.messages(diagnostics);
  };
  folder.write("a.yaml", "extends: b.yaml\n");
  CHECK(load(folder.write("b.yaml", "name: b\nextends: a.yaml\n")) ==
        "a.yaml:1:10: error: extends: 'b.yaml' extends itself (break the circle)");
  CHECK(load(folder.write("self.yaml", "extends: self\n")) ==
        "self.yaml:1:10: error: extends: 'self.yaml' extends itself (break the circle)");
  CHECK(load(folder.write("c.yaml", "nodes: 1\nextends: nothing.yaml\n"))
            .find("c.yaml:2:10: error: extends: no such file or name: 'nothing.yaml'") == 0);
  CHECK(load(folder.write("d.yaml", "extends: [a, b]\n")) ==
        "d.yaml:1:10: error: extends: expected the name of a file (write extends: other.yaml)");
  CHECK(load(folder.write("e.yaml", "extends: .\n")).find("e.yaml:1:10: error: extends: ") == 0);
}

TEST_CASE("names are found beside the naming file, then in the search folders, then by kind") {
  const Folder folder;
  folder.write("one/clusters/dgx-h100.yaml", "name: one\n");
  folder.write("two/clusters/dgx-h100.yaml", "name: two\n");
  folder.write("two/clusters/dgx-a100.yaml", "name: a100\n");
  folder.write("two/models/llama/config.json", "{\"name\": \"llama\"}");
  folder.write("here/mine.yaml", "name: mine\n");
  const config::Loader loader({folder.path() / "one", folder.path() / "two"});
  const auto named = [&](const std::string& name, const std::string& kind) {
    core::Diagnostics diagnostics;
    const config::Node node = loader.load_named(name, kind, diagnostics);
    return node.is_null() ? folder.messages(diagnostics) : text_at(node, "name");
  };
  CHECK(named("dgx-h100", "clusters") == "one");
  CHECK(named("dgx-a100", "clusters") == "a100");
  CHECK(named("clusters/dgx-a100.yaml", "models") == "a100");
  CHECK(named("llama", "models") == "llama");
  CHECK(named((folder.path() / "here" / "mine.yaml").string(), "clusters") == "mine");
  CHECK(named("dgx-h10", "clusters") == "error: no such file or name: 'dgx-h10' (did you mean 'dgx-h100'?)");
  CHECK(named("nothing-like-it", "clusters").find("(looked in one/clusters, two/clusters)") != std::string::npos);
  CHECK(loader.names("clusters") == std::vector<std::string>{"dgx-a100", "dgx-h100"});
  CHECK(loader.names("models") == std::vector<std::string>{"llama"});
  CHECK(loader.names("none").empty());

  // Relative to the file that names it.
  core::Diagnostics diagnostics;
  const config::Place place{
      .file = std::make_shared<const std::string>((folder.path() / "here" / "experiment.yaml").string())};
  CHECK(loader.find("mine", "clusters", place, "cluster", diagnostics) == folder.path() / "here" / "mine.yaml");
  CHECK(loader.find("../one/clusters/dgx-h100", "clusters", place, "cluster", diagnostics) ==
        folder.path() / "one" / "clusters" / "dgx-h100.yaml");
  CHECK_FALSE(diagnostics.has_errors());
}

TEST_CASE("a reference is a name, a file with overriding keys, or a block") {
  const Folder folder;
  folder.write("lib/clusters/box.yaml", "name: box\nnodes: 1\nintra: {kind: star, bandwidth: 1 GB/s}\n");
  const fs::path top = folder.write("top.yaml",
                                    "a: box\n"
                                    "b: {file: box, nodes: 4, intra: {bandwidth: 2 GB/s}}\n"
                                    "c: {name: inline}\n"
                                    "d: boxx\n"
                                    "e: {file: [1]}\n");
  const config::Loader loader({folder.path() / "lib"});
  core::Diagnostics diagnostics;
  const config::Node node = loader.load(top, diagnostics);
  const auto resolve = [&](const std::string& key) {
    return loader.resolve(*node.find(key), "clusters", key, diagnostics);
  };
  CHECK(text_at(resolve("a"), "nodes") == "1");
  const config::Node b = resolve("b");
  CHECK(text_at(b, "nodes") == "4");
  CHECK(text_at(*b.find("intra"), "kind") == "star");
  CHECK(text_at(*b.find("intra"), "bandwidth") == "2 GB/s");
  CHECK(b.find("file") == nullptr);
  CHECK(text_at(resolve("c"), "name") == "inline");
  CHECK_FALSE(diagnostics.has_errors());
  CHECK(resolve("d").is_null());
  CHECK(resolve("e").is_null());
  CHECK(folder.messages(diagnostics) ==
        "top.yaml:4:4: error: d: no such file or name: 'boxx' (did you mean 'box'?)\n"
        "top.yaml:5:11: error: e.file: expected the name of a file (write file: name)");
}

TEST_CASE("--set goes through the same parser") {
  core::Diagnostics diagnostics;
  const auto overridden = [&](const std::string& text, const std::vector<std::string>& assignments) {
    core::Diagnostics found;
    config::Node node = config::parse_text(text, config::Syntax::yaml, "x.yaml", found);
    for (const std::string& assignment : assignments)
      config::apply_override(node, assignment, found, {{"cluster", "file"}, {"zero", "stage"}});
    std::string lines = config::to_json(node, -1);
    for (const core::Diagnostic& diagnostic : found.all()) lines.append("\n").append(diagnostic.to_string());
    return lines;
  };
  CHECK(overridden("a: 1", {"b.c=4"}) == R"({"a":1,"b":{"c":4}})");
  CHECK(overridden("a: {b: 1, c: 2}", {"a.b=[7, 8]", "a.d={e: x}"}) == R"({"a":{"b":[7,8],"c":2,"d":{"e":"x"}}})");
  CHECK(overridden("g: [{n: 1}, {n: 2}]", {"g[1].n=5"}) == R"({"g":[{"n":1},{"n":5}]})");
  CHECK(overridden("cluster: dgx", {"cluster.nodes=4"}) == R"({"cluster":{"file":"dgx","nodes":4}})");
  CHECK(overridden("zero: 1", {"zero.shard=8"}) == R"({"zero":{"stage":1,"shard":8}})");
  CHECK(overridden("a: 1", {"a=400 Gb/s"}) == R"({"a":"400 Gb/s"})");
  CHECK(overridden("a: 1", {"a=x=y"}) == R"({"a":"x=y"})");
  CHECK(overridden("a: {value: 1 s, source: measured}", {"a=2 s"}) == R"({"a":"2 s"})");
  CHECK(overridden("a: {b: 1, c: 2}", {"a.b=null"}) == R"({"a":{"b":null,"c":2}})");
  // A name in place of a map over a file; the same without other keys, over a block, and of what names no file.
  CHECK(overridden("cluster: {file: dgx, nodes: 4, price: {}}", {"cluster=hgx"}) ==
        "{\"cluster\":{\"file\":\"dgx\",\"nodes\":4,\"price\":{}}}\n--set: error: 'cluster=hgx': would drop what is "
        "laid over the file named there: nodes, price (write cluster.file=hgx to keep it, or 'cluster={file: hgx}' to "
        "drop it)");
  CHECK(overridden("cluster: {file: dgx}", {"cluster=hgx"}) == R"({"cluster":"hgx"})");
  CHECK(overridden("cluster: {file: dgx, nodes: 4}", {"cluster={file: hgx}"}) == R"({"cluster":{"file":"hgx"}})");
  CHECK(overridden("cluster: {file: dgx, nodes: 4}", {"cluster.file=hgx"}) ==
        R"({"cluster":{"file":"hgx","nodes":4}})");
  CHECK(overridden("cluster: {name: own, nodes: 4}", {"cluster=hgx"}) == R"({"cluster":"hgx"})");
  CHECK(overridden("zero: {stage: 1, shard: 8}", {"zero=2"}) == R"({"zero":2})");
  CHECK(overridden("a: 1", {"a.b=2"}) ==
        "{\"a\":1}\n--set: error: a: is a single value (give the whole of it: --set 'a={...}')");
  CHECK(overridden("a: [1]", {"a[1]=2"}) == "{\"a\":[1]}\n--set: error: a: has 1 items (the first is [0])");
  CHECK(overridden("a: [1]", {"a.b=2"}) ==
        "{\"a\":[1]}\n--set: error: a: is a list (give the whole of it: --set 'a={...}')");
  CHECK(overridden("a: 1", {"a[0]=2"}) == "{\"a\":1}\n--set: error: a: is no list (leave out the index)");
  for (const char* wrong :
       {"a", "=1", "a..b=1", "a.=1", ".a=1", "a[=1", "a[x]=1", "a[0=1", "a=", "a=[1", "a[0]b=1", "a=*x"}) {
    INFO(wrong);
    CHECK(overridden("a: 1", {wrong}).find("--set: error: ") != std::string::npos);
  }

  // A key that is taken back counts as not written; a required one is missing then, and an unknown one stays unknown.
  {
    core::Diagnostics found;
    config::Node taken =
        config::parse_text("nodes: 8\nintra: {bandwidth: 3 GB/s}", config::Syntax::yaml, "x.yaml", found);
    for (const char* each : {"nodes=null", "intra.bandwidth=null", "nodez=null"})
      config::apply_override(taken, each, found);
    Everything read;
    config::read(taken, read, found);
    CHECK(read.nodes == Everything{}.nodes);
    std::vector<std::string> lines;
    for (const core::Diagnostic& each : found.all()) lines.push_back(each.to_string());
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == "--set: error: nodez: unknown key (did you mean 'nodes'?)");
    CHECK(lines[1].find("intra.bandwidth: missing") != std::string::npos);
  }
  config::Node node = config::parse_text("nodes: 1", config::Syntax::yaml, "x.yaml", diagnostics);
  config::apply_override(node, "nodes=eight", diagnostics);
  config::apply_override(node, "intra.bandwdith=3 GB/s", diagnostics);
  Everything e;
  config::read(node, e, diagnostics);
  std::vector<std::string> lines;
  for (const core::Diagnostic& diagnostic : diagnostics.all()) lines.push_back(diagnostic.to_string());
  CHECK(lines == std::vector<std::string>{
                     "--set: error: nodes: expected an integer, found 'eight' (how many, for example nodes: 1)",
                     "--set: error: intra.bandwidth: missing (required: per GPU, per direction)",
                     "--set: error: intra.bandwdith: unknown key (did you mean 'bandwidth'?)"});
}

TEST_CASE("a YAML file beyond its limit is refused before it is read as YAML") {
  const Folder folder;
  const fs::path file = folder.write("brackets.yaml", std::string((std::size_t{8} << 20) + 1, '['));
  core::Diagnostics diagnostics;
  CHECK(config::Loader().load(file, diagnostics).is_null());
  CHECK(folder.messages(diagnostics).starts_with("brackets.yaml:1:1: error: larger than 8 MiB"));
}

TEST_CASE("a loader keeps what it has read, errors aside") {
  const Folder folder;
  const fs::path file = folder.write("kept.yaml", "a: 1\n");
  const config::Loader loader;
  core::Diagnostics diagnostics;
  CHECK(loader.load(file, diagnostics).find("a")->text == "1");
  folder.write("kept.yaml", "a: 2\n");
  CHECK(loader.load(file, diagnostics).find("a")->text == "1");
  const fs::path wrong = folder.write("wrong.yaml", "a: 1\na: 2\n");
  for (std::size_t times = 1; times <= 2; ++times) {
    (void)loader.load(wrong, diagnostics);
    CHECK(diagnostics.error_count() == times);
  }
}

TEST_CASE("a loader makes a value of a file once, and writes down what it read with each use") {
  const Folder folder;
  folder.write("base.yaml", "a: 1\n");
  const fs::path file = folder.write("over.yaml", "extends: base.yaml\nb: 2\n");
  const config::Loader loader;
  int made = 0;
  const auto a_of = [&](const config::Loader& from) {
    return *from.once<std::string>(file, [&](const config::Loader& reader) {
      ++made;
      core::Diagnostics diagnostics;
      return text_at(reader.load(file, diagnostics), "a");
    });
  };
  for (int use = 0; use < 3; ++use) {
    config::Sources sources;
    CHECK(a_of(loader.noting(sources)) == "1");
    CHECK(sources.find(file) != nullptr);
    CHECK(sources.find(folder.path() / "base.yaml") != nullptr);
  }
  CHECK(made == 1);
  CHECK(*loader.once<int>(file, [](const config::Loader&) { return 7; }) == 7);

  int tries = 0;
  const auto throws = [&tries](const config::Loader&) -> double {
    ++tries;
    throw core::ConfigurationError("x", "wrong", "mend it");
  };
  for (int use = 0; use < 2; ++use) CHECK_THROWS_AS(loader.once<double>(file, throws), core::ConfigurationError);
  CHECK(tries == 2);
}
