#include "rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <istream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "source_text.h"

namespace cairn::architecture {

namespace fs = std::filesystem;

namespace {

// What lies beside the modules belongs to cli: the program, and what it loads where it is one of several processes.
bool is_entry(const std::string& path) { return path == "src/main.cpp" || path == "src/mpi.cpp"; }
bool belongs_to_cli(const std::string& path) { return is_entry(path) || module_of(path) == "cli"; }

template <class Words>
bool contains(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<SourceFile> library_sources(const fs::path& root) {
  std::vector<SourceFile> files = read_sources(root, "include");
  for (SourceFile& file : read_sources(root, "src")) files.push_back(std::move(file));
  return files;
}

// <yaml-cpp/yaml.h> -> yaml-cpp; "cairn/ir/graph.h" -> cairn
std::string_view first_folder(std::string_view target) { return target.substr(1, target.find('/') - 1); }

}  // namespace

std::string to_string(const std::vector<Violation>& violations) {
  std::ostringstream text;
  for (const Violation& violation : violations)
    text << violation.file << ':' << violation.line << ": " << violation.what << '\n';
  return text.str();
}

ModuleGraph read_module_graph(std::istream& lines) {
  ModuleGraph graph;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string module = line.substr(0, colon);
    std::set<std::string> seen = {module, "core"};
    std::istringstream uses(line.substr(colon + 1));
    for (std::string used; uses >> used;) {
      const auto found = graph.find(used);
      if (found == graph.end())
        throw std::runtime_error(module + " uses " + used + ", which no line before it declares");
      seen.insert(found->second.begin(), found->second.end());
    }
    graph[module] = std::move(seen);
  }
  return graph;
}

std::string blank_comments_and_literals(std::string_view text) {
  std::string out(text);
  const auto blank = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, out.size()); ++i)
      if (out[i] != '\n') out[i] = ' ';
  };
  const auto after = [&](std::size_t from, std::string_view what) {
    const std::size_t found = text.find(what, from);
    return found == std::string_view::npos ? text.size() : found + what.size();
  };
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const bool in_word = i > 0 && is_word_character(text[i - 1]);
    std::size_t end = i + 1;
    if (rest.starts_with("//")) {
      end = std::min(text.find('\n', i), text.size());
      blank(i, end);
    } else if (rest.starts_with("/*")) {
      end = after(i + 2, "*/");
      blank(i, end);
    } else if (rest.starts_with("R\"") && !in_word) {
      const std::size_t open = std::min(text.find('(', i), text.size());
      const std::string close = ")" + std::string(text.substr(i + 2, open - i - 2)) + "\"";
      end = after(open, close);
      blank(i + 2, end - 1);
    } else if (text[i] == '"' || (text[i] == '\'' && !in_word)) {
      while (end < text.size() && text[end] != text[i] && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      blank(i + 1, end);
      end = std::min(end + 1, text.size());
    }
    i = end;
  }
  return out;
}

std::vector<Violation> check_includes(const fs::path& root, const ModuleGraph& graph) {
  std::vector<Violation> violations;
  const auto check = [&](const SourceFile& file) {
    const bool is_test = file.path.starts_with("tests/");
    const std::string module = is_entry(file.path) ? "cli" : (is_test ? "tests/" : "") + module_of(file.path);
    const auto may_include = graph.find(module);
    if (may_include == graph.end()) {
      if (!is_test) violations.push_back({file.path, 1, "no cairn_module(" + module + ") declares this folder"});
      return;
    }
    for_each_line(file.text, [&](int line, std::string_view text) {
      const std::string_view target = included(text);
      if (target.find("../") != std::string_view::npos || target.find("src/") != std::string_view::npos)
        violations.push_back({file.path, line, "reaches into another folder: " + std::string(target)});
      if (target.empty() || first_folder(target) != "cairn") return;
      const std::string used = module_of("include/" + std::string(target.substr(1)));
      if (!may_include->second.contains(used))
        violations.push_back({file.path, line, module + " may not include " + used});
    });
  };
  for (const SourceFile& file : library_sources(root)) check(file);
  for (const SourceFile& file : read_sources(root, "tests")) check(file);
  return violations;
}

std::vector<Violation> check_rooms(const fs::path& root) {
  using Room = std::string;                        // module/room
  std::map<Room, std::map<Room, Violation>> sees;  // with the first include that says so
  const auto room_of = [](const std::string& path, const std::string& module) -> std::optional<Room> {
    for (const std::string& folder : {"include/cairn/" + module + "/", "src/" + module + "/"}) {
      if (!path.starts_with(folder)) continue;
      const std::size_t end = path.find('/', folder.size());
      if (end != std::string::npos) return module + "/" + path.substr(folder.size(), end - folder.size());
    }
    return std::nullopt;
  };
  for (const SourceFile& file : library_sources(root)) {
    const std::string module = module_of(file.path);
    const std::optional<Room> own = room_of(file.path, module);
    if (!own) continue;
    for_each_line(file.text, [&](int line, std::string_view text) {
      const std::string_view target = included(text);
      if (target.size() < 2) return;
      const std::string inside(target.substr(1));
      const bool is_public = inside.starts_with("cairn/");
      const std::optional<Room> other = room_of((is_public ? "include/" : "src/" + module + "/") + inside, module);
      if (other && *other != *own) sees[*own].try_emplace(*other, Violation{file.path, line, *own + " sees " + *other});
    });
  }
  std::vector<Violation> violations;
  // Whether `from` sees `to`, also by way of others.
  const std::function<bool(const Room&, const Room&, std::set<Room>&)> reaches = [&](const Room& from, const Room& to,
                                                                                     std::set<Room>& been) {
    if (!been.insert(from).second) return false;
    const auto& next = sees[from];
    return next.contains(to) ||
           std::any_of(next.begin(), next.end(), [&](const auto& each) { return reaches(each.first, to, been); });
  };
  const auto all = sees;
  for (const auto& [room, others] : all)
    for (const auto& [other, violation] : others)
      if (std::set<Room> been; reaches(other, room, been)) {
        violations.push_back(violation);
        violations.back().what += ", which sees it";
      }
  return violations;
}

std::vector<Violation> check_system_names(const fs::path& root) {
  // Inside any word and in any case; none of these stands inside an English word. ZeRO does, so it is matched as
  // it is written, and as the start of zero1, zero_stage, ZeroStage.
  constexpr std::array<std::string_view, 4> k_names = {"megatron", "ulysses", "chimera", "dgx"};
  constexpr std::array<std::string_view, 7> k_zero_forms = {"zero1",  "zero2",  "zero3",    "zero_1",
                                                            "zero_2", "zero_3", "zerostage"};
  std::vector<Violation> violations;
  for (const std::string module : {"loopnest", "ir", "program", "cost", "sim", "predict"}) {
    for (const std::string& folder : {"include/cairn/" + module, "src/" + module}) {
      for (const SourceFile& file : read_files(root, folder)) {
        for_each_word(file.text, [&](int line, std::string_view text, std::size_t begin, std::size_t end) {
          const std::string word(text.substr(begin, end - begin));
          std::string lower = word;
          std::transform(lower.begin(), lower.end(), lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
          const auto inside = [&](std::string_view name) { return lower.find(name) != std::string::npos; };
          const bool zero = word.find("ZeRO") != std::string::npos || lower.starts_with("zero_stage") ||
                            std::any_of(k_zero_forms.begin(), k_zero_forms.end(), inside);
          if (zero || std::any_of(k_names.begin(), k_names.end(), inside))
            violations.push_back({file.path, line, module + " names a system: " + word});
        });
      }
    }
  }
  return violations;
}

std::vector<Violation> check_conduct(const fs::path& root) {
  constexpr std::array<std::string_view, 6> k_streams = {"cout", "cerr", "clog", "stdout", "stderr", "iostream"};
  constexpr std::array<std::string_view, 14> k_calls = {"printf", "vprintf", "puts",       "putchar",      "getenv",
                                                        "setenv", "putenv",  "exit",       "_exit",        "_Exit",
                                                        "abort",  "atexit",  "quick_exit", "secure_getenv"};
  std::vector<Violation> violations;
  for (const SourceFile& file : library_sources(root)) {
    if (belongs_to_cli(file.path)) continue;
    for_each_word(blank_comments_and_literals(file.text),
                  [&](int line, std::string_view text, std::size_t begin, std::size_t end) {
                    const std::string_view word = text.substr(begin, end - begin);
                    const std::string_view before = text.substr(0, begin);
                    const std::string_view after = text.substr(end);
                    const bool member = before.ends_with('.') || before.ends_with("->");
                    const bool stream = contains(k_streams, word) && !member;
                    const bool call = contains(k_calls, word) && !member && after.starts_with('(');
                    const bool fmt_print = word == "print" && before.ends_with("fmt::") && after.starts_with("(\"");
                    if (stream || call || fmt_print)
                      violations.push_back({file.path, line, "only cli may use " + std::string(word)});
                  });
  }
  return violations;
}

std::vector<Violation> check_headers(const fs::path& root) {
  constexpr std::array<std::string_view, 4> k_foreign = {"yaml-cpp", "nlohmann", "CLI", "spdlog"};
  constexpr std::array<std::string_view, 6> k_foreign_headers = {"<cuda.h>", "<cuda_runtime.h>", "<cuda_runtime_api.h>",
                                                                 "<nccl.h>", "<cudnn.h>",        "<mpi.h>"};
  std::vector<Violation> violations;
  std::vector<SourceFile> files = library_sources(root);
  for (SourceFile& file : read_sources(root, "tests")) files.push_back(std::move(file));
  for (const SourceFile& file : files) {
    const bool is_public = file.path.starts_with("include/");
    for_each_line(file.text, [&](int line, std::string_view text) {
      const std::string_view target = included(text);
      if (target.empty()) return;
      const std::string_view folder = first_folder(target);
      const bool foreign =
          (contains(k_foreign, folder) && target != "<nlohmann/json_fwd.hpp>") || contains(k_foreign_headers, target);
      if (is_public && foreign)
        violations.push_back({file.path, line, "foreign types in a public header: " + std::string(target)});
      if (file.path.starts_with("src/") && !belongs_to_cli(file.path) && (folder == "CLI" || folder == "spdlog"))
        violations.push_back({file.path, line, "only cli may include " + std::string(target)});
    });
    if (!is_header(file)) continue;
    for_each_word(blank_comments_and_literals(file.text),
                  [&](int line, std::string_view text, std::size_t begin, std::size_t end) {
                    if (text.substr(begin, end - begin) == "namespace" && text.substr(0, begin).ends_with("using "))
                      violations.push_back({file.path, line, "using namespace in a header"});
                  });
  }
  return violations;
}

namespace {

// Functions of src/topology/kinds.def.
std::vector<std::string> kind_functions(const fs::path& root) {
  constexpr std::string_view k_line = "CAIRN_TOPOLOGY_KIND(";
  std::vector<std::string> functions;
  if (!fs::exists(root / "src/topology/kinds.def")) return functions;
  for_each_line(read_file(root, root / "src/topology/kinds.def").text, [&](int, std::string_view line) {
    if (line.starts_with(k_line)) functions.emplace_back(line.substr(k_line.size(), line.find(')') - k_line.size()));
  });
  return functions;
}

// Words of kinds that mean something else.
bool is_other(const std::string& path, const std::string& word) {
  static const std::map<std::string, std::string> k_meanings = {
      {"src/calibrate/calibrate.cpp", "graph"},  // of launches, CUDA's
      {"src/pebble/generators.cpp", "graph"},    // that pebbles lie on
      {"src/pebble/vertical.cpp", "graph"},
      {"src/cli/schema_command.cpp", "graph"},  // the file of links that topology/graph.h describes
      {"src/topology/nccl.cpp", "nvswitch"},    // a switch in NCCL's description of a machine
  };
  const auto found = k_meanings.find(path);
  return found != k_meanings.end() && found->second == word;
}

}  // namespace

std::vector<Violation> check_kinds(const fs::path& root) {
  std::vector<Violation> violations;
  const std::vector<SourceFile> files = library_sources(root);
  for (const std::string& function : kind_functions(root)) {
    std::string word = function;
    std::replace(word.begin(), word.end(), '_', '-');
    const std::string made = "kinds::" + function + "()", written = '"' + word + '"';
    const auto owner = std::find_if(files.begin(), files.end(), [&](const SourceFile& file) {
      return file.text.find("std::unique_ptr<Kind> " + made) != std::string::npos;
    });
    if (owner == files.end() || owner->text.find(written) == std::string::npos) {
      violations.push_back({"src/topology/kinds.def", 0, "no file makes and names the kind " + word});
      continue;
    }
    for (const SourceFile& file : files) {
      if (file.path == owner->path) continue;
      const std::string code = blank_comments_and_literals(file.text);
      for (const std::string& name : {made, written})
        for (std::size_t at = file.text.find(name); at != std::string::npos; at = file.text.find(name, at + 1)) {
          const bool in_comment = code[at] != name.front();
          if (in_comment || is_other(file.path, word)) continue;
          const auto line = 1 + std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n');
          violations.push_back({file.path, static_cast<int>(line), "names the kind " + word});
        }
    }
  }
  return violations;
}

std::vector<Violation> check_places(const fs::path& root) {
  constexpr std::array<std::string_view, 4> k_top_folders = {"home", "root", "work", "Users"};
  std::vector<SourceFile> files;
  for (const std::string folder : {"src", "include", "configs", "validate", "tests", "tools", ".ci"})
    for (SourceFile& file : read_files(root, folder)) files.push_back(std::move(file));
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && name != ".git") files.push_back(read_file(root, name));
  }
  std::vector<Violation> violations;
  for (const SourceFile& file : files) {
    for_each_word(file.text, [&](int line, std::string_view text, std::size_t begin, std::size_t end) {
      const std::string_view word = text.substr(begin, end - begin);
      const std::string_view before = text.substr(0, begin);
      const bool top = before.ends_with('/') && text.substr(end).starts_with('/') && contains(k_top_folders, word) &&
                       (before.size() == 1 ||
                        std::string_view(" \t\"'=(:`").find(before[before.size() - 2]) != std::string_view::npos);
      // A folder beside the tree, where .ci/run alone may look for measurements.
      const bool beside = word == "shared" && before.ends_with("../") && file.path != ".ci/run";
      if (top || beside) violations.push_back({file.path, line, "names a place of one machine: " + std::string(text)});
    });
  }
  return violations;
}

std::vector<Violation> check_maps(const fs::path& root) {
  // A path between backquotes counts from the root, from the public headers, or from the folder of plan.
  const auto exists = [&](const fs::path& path) {
    return fs::exists(root / path) || fs::exists(root / "include/cairn" / path) || fs::exists(root / "src/plan" / path);
  };
  std::vector<Violation> violations;
  for (const std::string map : {"include/README.md", "src/README.md"}) {
    if (!fs::exists(root / map)) continue;
    for_each_line(read_file(root, root / map).text, [&](int line, std::string_view text) {
      for (std::size_t begin = text.find('`'); begin != std::string_view::npos; begin = text.find('`', begin + 1)) {
        const std::size_t end = text.find('`', begin + 1);
        if (end == std::string_view::npos) return;
        const std::string_view word = text.substr(begin + 1, end - begin - 1);
        const bool path =
            word.find('/') != std::string_view::npos && word.find_first_of("<> ") == std::string_view::npos;
        if (path && (word.ends_with(".h") || word.ends_with(".cpp") || word.ends_with(".def")) && !exists(word))
          violations.push_back({map, line, "names no file: " + std::string(word)});
        begin = end;
      }
    });
  }
  return violations;
}

}  // namespace cairn::architecture
