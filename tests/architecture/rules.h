// The rules the tree keeps, checked over its text. Each check returns what breaks its rule, in the order of the paths.
//
//   includes       a module sees itself, core, the modules its cairn_module() line names, and what those see in turn;
//                  its tests see no more
//   rooms          folders inside a module include one another in one direction: no room sees one that sees it
//   system names   loopnest, ir, cost, sim, predict know no system by name (Megatron, ZeRO, Ulysses, Chimera, DGX)
//   conduct        a library neither prints, nor ends the process, nor reads the environment: only cli does
//   headers        no `using namespace`; no type of a YAML, JSON, CLI, logging, CUDA or MPI library in a public header;
//                  CLI11 and spdlog are included by cli alone
//   kinds          a kind of network is named by its own file and kinds.def alone
//   places         no file names a directory of the machine it was written on
//   maps           include/README.md and src/README.md name only headers and sources that exist
#pragma once

#include <filesystem>
#include <iosfwd>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::architecture {

struct Violation {
  std::string file;  // relative to the root, with '/'
  int line = 0;      // 1-based
  std::string what;
};

// Lines "path:line: what", for a test's message.
std::string to_string(const std::vector<Violation>& violations);

// Module -> the modules it may include, itself among them.
using ModuleGraph = std::map<std::string, std::set<std::string>>;

// Reads lines "module: the modules it names" and closes them over their users; core belongs to every module's set.
// Throws std::runtime_error on a name that no earlier line declares, so a graph that was read has no cycle.
ModuleGraph read_module_graph(std::istream& lines);

// C++ text with comments and the insides of string and character literals blanked, every line break kept.
std::string blank_comments_and_literals(std::string_view text);

std::vector<Violation> check_includes(const std::filesystem::path& root, const ModuleGraph& graph);
std::vector<Violation> check_rooms(const std::filesystem::path& root);
std::vector<Violation> check_system_names(const std::filesystem::path& root);
std::vector<Violation> check_conduct(const std::filesystem::path& root);
std::vector<Violation> check_headers(const std::filesystem::path& root);
std::vector<Violation> check_kinds(const std::filesystem::path& root);
std::vector<Violation> check_places(const std::filesystem::path& root);
std::vector<Violation> check_maps(const std::filesystem::path& root);

}  // namespace cairn::architecture
