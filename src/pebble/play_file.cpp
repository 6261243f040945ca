#include "cairn/pebble/play_file.h"

#include <array>
#include <istream>
#include <ostream>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "cairn/core/diagnostics.h"

namespace cairn::pebble {
namespace {

constexpr std::array<std::pair<const char*, MoveKind>, 6> k_moves = {{{"load", MoveKind::load},
                                                                      {"store", MoveKind::store},
                                                                      {"compute", MoveKind::compute},
                                                                      {"slide", MoveKind::slide},
                                                                      {"erase", MoveKind::erase},
                                                                      {"forget", MoveKind::forget}}};
constexpr const char* k_form = "a line is 'load V', 'store V', 'compute V', 'slide FROM -> V', 'erase V' or 'forget V'";

class PlayReader {
 public:
  PlayReader(std::string file, std::span<const std::string> names) : file_(std::move(file)), names_(names) {
    for (std::size_t v = 0; v < names.size(); ++v) ids_.emplace(names[v], static_cast<Vertex>(v));
  }

  NumberedPlay read(std::istream& stream) {
    std::string line;
    while (std::getline(stream, line)) {
      ++line_;
      std::istringstream words(line.substr(0, line.find('#')));
      std::vector<std::string> found;
      for (std::string word; words >> word;) found.push_back(std::move(word));
      if (!found.empty()) read_move(found);
    }
    if (stream.bad()) throw core::InputOutputError(file_ + ": reading stopped after line " + std::to_string(line_));
    diagnostics_.raise_if_errors();
    return std::move(play_);
  }

 private:
  void complain(std::string message, std::string hint) {
    diagnostics_.add(core::Diagnostic::at_line(file_, line_, std::move(message), std::move(hint)));
  }

  Vertex vertex(const std::string& name) {
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    const std::string near = core::nearest(name, {names_.begin(), names_.end()});
    complain("the graph has no vertex '" + name + "'",
             near.empty() ? "moves name vertices as the graph's file does" : "did you mean '" + near + "'?");
    return 0;
  }

  void read_move(const std::vector<std::string>& words) {
    const auto* kind = k_moves.begin();
    while (kind != k_moves.end() && words.front() != kind->first) ++kind;
    if (kind == k_moves.end()) return complain("unknown move '" + words.front() + "'", k_form);
    Move move{.kind = kind->second, .vertex = 0};
    if (move.kind == MoveKind::slide) {
      if (words.size() != 4 || words[2] != "->") return complain("a slide is 'slide FROM -> V'", k_form);
      move.from = vertex(words[1]);
    } else if (words.size() != 2) {
      return complain("a move '" + words.front() + "' names one vertex", k_form);
    }
    move.vertex = vertex(words.back());
    play_.moves.push_back(move);
    play_.lines.push_back(line_);
  }

  std::string file_;
  std::span<const std::string> names_;
  std::unordered_map<std::string, Vertex> ids_;
  core::Diagnostics diagnostics_;
  NumberedPlay play_;
  int line_ = 0;
};

}  // namespace

NumberedPlay read_play(std::istream& stream, const std::string& file, std::span<const std::string> names) {
  return PlayReader(file, names).read(stream);
}

void write_play(const Play& play, std::span<const std::string> names, std::ostream& stream) {
  for (const Move& move : play) stream << to_string(move, names) << '\n';
}

}  // namespace cairn::pebble
